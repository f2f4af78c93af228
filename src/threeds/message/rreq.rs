//! `RReq`, the result of a challenge from the ACS through the directory server, and `RRes`, our
//! acknowledgement.

use uuid::Uuid;

use crate::threeds::ProtocolVersion;
use crate::threeds::codes::{
    CancelReason, Category, ChallengeMethod, ChallengeType, Reason, ResultsStatus,
    TransactionStatus, WhitelistSource, WhitelistStatus,
};
use crate::threeds::message::{
    AcsRenderingType, AuthenticationValue, Extensions, Numeric, Text, message, object,
};

object! {
    Rreq {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        acs_transaction: Uuid = "acsTransID" V210;
        ds_transaction: Uuid = "dsTransID" V210;
        sdk_transaction: Option<Uuid> = "sdkTransID" V210;
        category: Category = "messageCategory" V210;
        status: Option<TransactionStatus> = "transStatus" V210;
        reason: Option<Reason> = "transStatusReason" V210;
        challenge_type: Option<ChallengeType> = "authenticationType" V210;
        challenge_method: Option<ChallengeMethod> = "authenticationMethod" V210;
        authentication_value: Option<AuthenticationValue> = "authenticationValue" V210;
        eci: Option<Text<2>> = "eci" V210;
        interactions: Option<Numeric<2>> = "interactionCounter" V210;
        acs_rendering_type: Option<AcsRenderingType> = "acsRenderingType" V210;
        cancel: Option<CancelReason> = "challengeCancel" V210;
        whitelist_status: Option<WhitelistStatus> = "whiteListStatus" V220;
        whitelist_source: Option<WhitelistSource> = "whiteListStatusSource" V220;
        extensions: Option<Extensions> = "messageExtension" V210;
    }
}

message! { Rreq = "RReq", extensions }

object! {
    Rres {
        version: ProtocolVersion = "messageVersion" V210;
        server_transaction: Uuid = "threeDSServerTransID" V210;
        acs_transaction: Uuid = "acsTransID" V210;
        ds_transaction: Uuid = "dsTransID" V210;
        sdk_transaction: Option<Uuid> = "sdkTransID" V210;
        results: ResultsStatus = "resultsStatus" V210;
    }
}

message! { Rres = "RRes" }
