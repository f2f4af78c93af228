//! `Erro`: reports an error in a message to its sender.

use serde_json::Value;
use uuid::Uuid;

use crate::domain::words::words;
use crate::threeds::ProtocolVersion;
use crate::threeds::format::is_digits;
use crate::threeds::message::{
    Element, ElementReader, ErrorCode, Rejection, Text, message, object, textual, type_of,
    version_of,
};

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
        let text = value.as_str().filter(|text| is_digits(text, 3..=3));
        reader.valid(text.and_then(|text| text.parse().ok())).map(Self::from_number)
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(format!("{:03}", self.number()))
    }
}

words! {
    /// The party that detected the error, by its code.
    pub enum Component:
        /// The name in problem answers.
        source -> &'static str
    {
        Acs = "A", "Access Control Server";
        DirectoryServer = "D", "Directory Server";
        Sdk = "C", "3DS Server";
        ThreedsServer = "S", "3DS Server";
    }
}

textual! { <> Component: as_str; }

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
