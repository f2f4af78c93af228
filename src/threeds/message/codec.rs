//! Reads and writes whole messages.

use serde_json::Value;

use crate::bounds::JSON_DEPTH_MAX;
use crate::domain::merge_patch::is_within;
use crate::domain::outside_json;
use crate::secret::Secret;
use crate::threeds::ProtocolVersion;
use crate::threeds::message::{Element, ElementReader, ErrorCode, Extensions, Rejection, distinct};

pub trait Message: Element {
    /// The `messageType` element.
    const TYPE: &'static str;

    fn version(&self) -> ProtocolVersion;

    fn extensions(&self) -> Option<&Extensions> {
        None
    }
}

/// Makes an object a message: `Type = "messageType"`, with `extensions` if it can hold them.
macro_rules! message {
    ($name:ident = $kind:literal $(, $extensions:ident)?) => {
        impl $crate::threeds::message::codec::Message for $name {
            const TYPE: &'static str = $kind;

            fn version(&self) -> $crate::threeds::version::ProtocolVersion {
                self.version
            }

            $(fn extensions(&self) -> Option<&$crate::threeds::message::extension::Extensions> {
                self.$extensions.as_ref()
            })?
        }
    };
}
pub(super) use message;

/// Renders a message as bytes that are wiped on drop, since a request contains a card number.
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

/// Parses a received message into a JSON object.
pub fn members(bytes: &[u8]) -> Result<Secret<Value>, Rejection> {
    let not_json = Rejection { code: ErrorCode::MessageInvalid, detail: String::from("not JSON") };
    // The parser's error is dropped because it may quote the message.
    let value = outside_json::parse(bytes).ok_or(not_json.clone())?;
    if !value.expose().is_object() || !is_within(value.expose(), JSON_DEPTH_MAX) {
        return Err(not_json);
    }
    match distinct::repeated(bytes) {
        Some(path) => Err(Rejection { code: ErrorCode::DuplicateElement, detail: path }),
        None => Ok(value),
    }
}

pub fn type_of(value: &Value) -> Option<&str> {
    value.get("messageType")?.as_str()
}

pub fn parse<M: Message>(bytes: &[u8]) -> Result<M, Rejection> {
    read(members(bytes)?.expose())
}

/// As [`parse`], for a message that is already an object.
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
            // No extension is supported, so a critical one is an error.
            Some(ids) => Err(Rejection { code: ErrorCode::ExtensionNotRecognised, detail: ids }),
            None => Ok(message),
        },
    }
}

pub(super) fn version_of(value: &Value) -> Result<ProtocolVersion, Rejection> {
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
