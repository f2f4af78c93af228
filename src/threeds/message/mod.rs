//! The EMV 3-D Secure messages of versions 2.1.0 and 2.2.0: typed, checked when they are received,
//! and rendered so that no message holds what its version does not know.
//!
//! Receiving follows one order: it parses, nothing stands twice, it is of the wanted type, its version
//! is known, nothing required is missing, every value is legal. The first of these that fails is the error; members
//! that no version here defines are ignored.

mod app;
mod areq;
mod ares;
mod challenge;
mod distinct;
mod element;
mod erro;
mod extension;
mod preq;
mod pres;
mod rreq;
#[cfg(test)]
mod tests;
mod values;

use serde_json::Value;

use crate::bounds::JSON_DEPTH_MAX;
use crate::domain::merge_patch::is_within;
use crate::secret::Secret;
use crate::threeds::version::ProtocolVersion;

pub use app::{AcsRenderingType, DeviceRenderOptions, UiTypes};
pub use areq::{
    AccountInfo, Areq, LoginInfo, MerchantRisk, Phone, PriorInfo, RequestorAuthentication,
};
pub use ares::Ares;
pub use challenge::{Creq, Cres};
pub use element::{Element, Flaws};
pub use erro::{Component, Erro, ErrorCode};
pub use extension::{Extension, Extensions};
pub use preq::{AcsInformations, ActionIndicator, CardRange, CardRanges, Preq, Pres};
pub use pres::{RangesAnswer, parse_pres};
pub use rreq::{Rreq, Rres};
pub use values::{AuthenticationValue, CardNumber, Digits, EcmaObject, Flag, Numeric, Text};

use element::ElementReader;

/// A whole message.
pub trait Message: Element {
    /// Its `messageType`.
    const TYPE: &'static str;

    fn version(&self) -> ProtocolVersion;

    fn extensions(&self) -> Option<&Extensions> {
        None
    }
}

/// Why a received message was not taken: what the `Erro` to its sender says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub code: ErrorCode,
    /// Names of elements, or versions; never values.
    pub detail: String,
}

/// A message as bytes, to be wiped: a request holds a card number.
pub fn render<M: Message>(message: &M) -> Secret<Vec<u8>> {
    let mut value = Secret::new(message.write(message.version()));
    if let Some(members) = value.expose_mut().as_object_mut() {
        members.insert(String::from("messageType"), Value::from(M::TYPE));
    }
    let mut bytes = Secret::new(Vec::with_capacity(2_048));
    let written = serde_json::to_writer(bytes.expose_mut(), value.expose());
    debug_assert!(written.is_ok(), "messages hold nothing that JSON cannot");
    bytes
}

/// What a received text is: its members, if it is an object.
pub fn members(bytes: &[u8]) -> Result<Secret<Value>, Rejection> {
    let not_json = Rejection { code: ErrorCode::MessageInvalid, detail: String::from("not JSON") };
    // The parser's own words may quote the message.
    let value = serde_json::from_slice::<Value>(bytes).ok().ok_or(not_json.clone())?;
    let value = Secret::new(value);
    if !value.expose().is_object() || !is_within(value.expose(), JSON_DEPTH_MAX) {
        return Err(not_json);
    }
    match distinct::repeated(bytes) {
        Some(path) => Err(Rejection { code: ErrorCode::DuplicateElement, detail: path }),
        None => Ok(value),
    }
}

/// The `messageType` of a received object.
pub fn type_of(value: &Value) -> Option<&str> {
    value.get("messageType")?.as_str()
}

pub fn parse<M: Message>(bytes: &[u8]) -> Result<M, Rejection> {
    read(members(bytes)?.expose())
}

/// As [`parse`], from an object that was read already.
pub fn read<M: Message>(value: &Value) -> Result<M, Rejection> {
    if type_of(value) != Some(M::TYPE) {
        return Err(Rejection::new(ErrorCode::MessageInvalid, "messageType"));
    }
    let version = version_of(value)?;
    let mut reader = ElementReader::new(version);
    let message = M::read(value, &mut reader);
    match (message, reader.flaws.into_rejection()) {
        (_, Some(rejection)) => Err(rejection),
        (None, None) => Err(Rejection::new(ErrorCode::MessageInvalid, "messageType")),
        (Some(message), None) => match message.extensions().and_then(Extensions::critical) {
            // We know no extension, so one that must be understood cannot be.
            Some(ids) => Err(Rejection { code: ErrorCode::ExtensionNotRecognised, detail: ids }),
            None => Ok(message),
        },
    }
}

fn version_of(value: &Value) -> Result<ProtocolVersion, Rejection> {
    let name = "messageVersion";
    let text = match value.get(name) {
        None | Some(Value::Null) => {
            return Err(Rejection::new(ErrorCode::ElementMissing, name));
        }
        Some(found) => found.as_str(),
    };
    let text = text.ok_or_else(|| Rejection::new(ErrorCode::FormatInvalid, name))?;
    let unknown = || {
        let supported = ProtocolVersion::ALL.map(ProtocolVersion::as_str).join(",");
        Rejection { code: ErrorCode::VersionNotSupported, detail: supported }
    };
    ProtocolVersion::parse(text).ok_or_else(unknown)
}

impl Rejection {
    pub fn new(code: ErrorCode, detail: &str) -> Self {
        Self { code, detail: String::from(detail) }
    }

    /// The message that tells the sender, in the version that it spoke, if we do.
    pub fn into_erro(self, about: &Value, component: Component) -> Erro {
        let of =
            |name: &str| about.get(name).and_then(Value::as_str).and_then(|text| text.parse().ok());
        let kind = type_of(about).filter(|kind| kind.len() == 4);
        Erro {
            version: version_of(about).unwrap_or(ProtocolVersion::V220),
            code: self.code,
            component,
            description: Text::cut(self.code.description()),
            detail: Text::cut(&self.detail),
            message_type: kind.map(Text::cut),
            server_transaction: of("threeDSServerTransID"),
            acs_transaction: of("acsTransID"),
            ds_transaction: of("dsTransID"),
            sdk_transaction: of("sdkTransID"),
        }
    }
}
