//! `Erro`: what one party tells another of a message that it did not take.

use serde_json::Value;
use uuid::Uuid;

use crate::threeds::message::Message;
use crate::threeds::message::element::{Element, ElementReader, object};
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

impl Message for Erro {
    const TYPE: &'static str = "Erro";

    fn version(&self) -> ProtocolVersion {
        self.version
    }
}

macro_rules! error_codes {
    ($($name:ident $code:literal $description:literal;)+) => {
        /// What was wrong. Every code that is received is taken, also those not named here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorCode {
            $($name,)+
            Other(u16),
        }

        impl ErrorCode {
            pub const fn number(self) -> u16 {
                match self {
                    $(Self::$name => $code,)+
                    Self::Other(number) => number,
                }
            }

            pub const fn from_number(number: u16) -> Self {
                match number {
                    $($code => Self::$name,)+
                    other => Self::Other(other),
                }
            }

            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$name => $description,)+
                    Self::Other(_) => "An error that this version does not name",
                }
            }
        }
    };
}

error_codes! {
    MessageInvalid 101 "The message is not one that is expected here";
    VersionNotSupported 102 "The message version is not supported; the detail lists those that are";
    MessageLimit 103 "More messages than the limit allows were sent";
    ElementMissing 201 "A required element is missing";
    ExtensionNotRecognised 202 "A critical message extension is not recognised";
    FormatInvalid 203 "An element has an illegal format or value";
    DuplicateElement 204 "An element occurs more than once";
    TransactionUnknown 301 "The transaction is not known here";
    DecryptionFailed 302 "The data could not be decrypted";
    AccessDenied 303 "The sender may not use this endpoint";
    IsoCodeInvalid 304 "A country or currency code is not valid";
    TransactionDataInvalid 305 "The transaction data is not valid";
    MerchantCategoryInvalid 306 "The merchant category code is not valid";
    SerialNumberInvalid 307 "The serial number is not valid";
    TimedOut 402 "The transaction timed out";
    TransientFailure 403 "A system failed for the moment";
    PermanentFailure 404 "A system failed for good";
    ConnectionFailed 405 "A system could not be reached";
}

impl Element for ErrorCode {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let is_code =
            |text: &&str| text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
        let text = value.as_str().filter(is_code);
        let number = text.and_then(|text| text.parse().ok());
        if number.is_none() {
            reader.invalid();
        }
        number.map(Self::from_number)
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(format!("{:03}", self.number()))
    }
}

/// Who found the error.
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

    /// As problem answers name it.
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
        let found = all.into_iter().find(|it| value.as_str() == Some(it.code()));
        if found.is_none() {
            reader.invalid();
        }
        found
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(self.code())
    }
}
