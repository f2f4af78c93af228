//! `CReq` and `CRes` as a browser carries them between our SDK page and the ACS: JSON in base64url,
//! in a form field.

use uuid::Uuid;

use crate::threeds::codes::{TransactionStatus, WindowSize};
use crate::threeds::message::{ErrorCode, Extensions, Rejection, message, object, parse, render};
use crate::threeds::{ProtocolVersion, base64};

object! {
    Creq {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        acs_transaction: Uuid = "acsTransID" V210;
        window_size: WindowSize = "challengeWindowSize" V210;
        extensions: Option<Extensions> = "messageExtension" V210;
    }
}

object! {
    Cres {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        acs_transaction: Uuid = "acsTransID" V210;
        /// Success or failure only; the `RReq` has the whole result.
        status: TransactionStatus = "transStatus" V210;
        extensions: Option<Extensions> = "messageExtension" V210;
    }
}

message! { Creq = "CReq", extensions }

message! { Cres = "CRes", extensions }

impl Creq {
    pub fn from_form(field: &str) -> Result<Self, Rejection> {
        parse(&decode(field)?)
    }

    #[cfg(any(fuzzing, test))]
    pub fn to_form(&self) -> String {
        base64::encode_url(render(self).expose())
    }
}

impl Cres {
    pub fn from_form(field: &str) -> Result<Self, Rejection> {
        let cres: Self = parse(&decode(field)?)?;
        if matches!(cres.status, TransactionStatus::Successful | TransactionStatus::Failed) {
            Ok(cres)
        } else {
            Err(Rejection::new(ErrorCode::FormatInvalid, "transStatus"))
        }
    }

    pub fn to_form(&self) -> String {
        base64::encode_url(render(self).expose())
    }
}

fn decode(field: &str) -> Result<Vec<u8>, Rejection> {
    let not_base64 = || Rejection::new(ErrorCode::MessageInvalid, "not base64url");
    base64::decode_url(field.trim()).ok_or_else(not_base64)
}
