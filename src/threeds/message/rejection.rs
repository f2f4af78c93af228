//! The reason why a received message is rejected.

/// The `Erro` to the sender carries both values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub code: ErrorCode,
    /// Names of elements, or versions; never values.
    pub detail: String,
}

impl Rejection {
    pub fn new(code: ErrorCode, detail: &str) -> Self {
        Self { code, detail: String::from(detail) }
    }
}

macro_rules! error_codes {
    ($($name:ident $code:literal $description:literal;)+) => {
        /// The error code. Received codes that are not listed here are kept as `Other`.
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
