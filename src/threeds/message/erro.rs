//! `Erro`: reports an error in a message to its sender.

use serde_json::Value;
use uuid::Uuid;

use crate::threeds::message::codec::{message, type_of, version_of};
use crate::threeds::message::element::{Element, ElementReader, object};
use crate::threeds::message::rejection::{ErrorCode, Rejection};
use crate::threeds::message::values::Text;
use crate::threeds::version::ProtocolVersion;

object! {
    Erro {
        version: ProtocolVersion = "messageVersion" V210;
        code: ErrorCode = "errorCode" V210;
        component: Component = "errorComponent" V210;
        description: Text<2048> = "errorDescription" V210;
        detail: Text<2048> = "errorDetail" V210;
        message_type: Option<Text<4>> = "errorMessageType" V210;
        server_transaction: Option<Uuid> = "threeDSServerTransID" V210;
        acs_transaction: Option<Uuid> = "acsTransID" V210;
        ds_transaction: Option<Uuid> = "dsTransID" V210;
        sdk_transaction: Option<Uuid> = "sdkTransID" V210;
    }
}

message! { Erro = "Erro" }

impl Element for ErrorCode {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let is_code =
            |text: &&str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        let text = value.as_str().filter(is_code);
        reader.valid(text.and_then(|text| text.parse().ok())).map(Self::from_number)
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(format!("{:03}", self.number()))
    }
}

/// The party that detected the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Component {
    Acs,
    DirectoryServer,
    Sdk,
    ThreedsServer,
}

impl Component {
    const fn code(self) -> &'static str {
        match self {
            Self::Acs => "A",
            Self::DirectoryServer => "D",
            Self::Sdk => "C",
            Self::ThreedsServer => "S",
        }
    }

    /// The name in problem answers.
    pub const fn source(self) -> &'static str {
        match self {
            Self::Acs => "Access Control Server",
            Self::DirectoryServer => "Directory Server",
            Self::Sdk | Self::ThreedsServer => "3DS Server",
        }
    }
}

impl Element for Component {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let all = [Self::Acs, Self::DirectoryServer, Self::Sdk, Self::ThreedsServer];
        reader.valid(all.into_iter().find(|it| value.as_str() == Some(it.code())))
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(self.code())
    }
}

impl Rejection {
    /// Builds the `Erro` about a received message, in the message's version if it is supported.
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
