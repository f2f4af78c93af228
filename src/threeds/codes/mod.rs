//! The enumerations of the interface with their EMV codes, and the version that introduced each.
//!
//! The wire layer reads and writes the words; messages contain the codes.
#![cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "every list has the same functions, and few lists need all of them"
    )
)]

mod authentication_type;
mod reason;

pub use authentication_type::AuthenticationType;
#[cfg(test)]
use reason::REASONS;
pub use reason::Reason;

use crate::threeds::version::ProtocolVersion::{self, V210, V220};

/// A value of one of these lists, as an element of a message.
pub trait Code: Copy {
    fn parse_code(code: &str, version: ProtocolVersion) -> Option<Self>;
    fn text(self) -> &'static str;
    fn introduced(self) -> ProtocolVersion;
}

/// Declares an enumeration: `Variant "word" "code" since;`.
macro_rules! codes {
    ($($(#[$doc:meta])* $list:ident {
        $($(#[$item:meta])* $name:ident $word:literal $code:literal $since:ident;)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $list { $($(#[$item])* $name),+ }

        impl $list {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The word of the interface.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The code in messages.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            /// The version that introduced it; in older messages the code is reserved.
            pub const fn since(self) -> ProtocolVersion {
                match self { $(Self::$name => $since),+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.word() == word)
            }

            /// Finds the first value with this code that the version has.
            pub fn from_code(code: &str, version: ProtocolVersion) -> Option<Self> {
                let known = |it: &Self| it.code() == code && it.since() <= version;
                Self::ALL.iter().copied().find(known)
            }
        }

        impl Code for $list {
            fn parse_code(code: &str, version: ProtocolVersion) -> Option<Self> {
                Self::from_code(code, version)
            }

            fn text(self) -> &'static str {
                self.code()
            }

            fn introduced(self) -> ProtocolVersion {
                self.since()
            }
        }
    )+};
}

codes! {
    Category {
        Payment "payment" "01" V210;
        NonPayment "non-payment" "02" V210;
    }

    /// The requestor's preference about a challenge.
    ChallengePreference {
        NoPreference "no-preference" "01" V210;
        NoChallenge "no-challenge" "02" V210;
        ChallengeRequested "challenge-requested" "03" V210;
        ChallengeMandated "challenge-mandated" "04" V210;
        NoChallengeRiskAnalysisPerformed "no-challenge-risk-analysis-performed" "05" V220;
        NoChallengeDataSharingOnly "no-challenge-data-sharing-only" "06" V220;
        NoChallengeStrongConsumerAuth "no-challenge-strong-consumer-auth" "07" V220;
        NoChallengeWhitelistExemption "no-challenge-whitelist-exemption" "08" V220;
        ChallengeRequestedWhitelistPrompt "challenge-requested-whitelist-prompt" "09" V220;
        CartesBancaires "cartes-bancaires" "90" V210;
    }

    /// The kind of purchase.
    TransactionType {
        Purchase "purchase" "01" V210;
        CheckAcceptance "check-acceptance" "03" V210;
        AccountFunding "account-funding" "10" V210;
        QuasiCash "quasi-cash" "11" V210;
        PrepaidActivationLoad "prepaid-activation-load" "28" V210;
    }

    DeliveryTimeFrame {
        ElectronicDelivery "electronic-delivery" "01" V210;
        SameDayShipping "same-day-shipping" "02" V210;
        OvernightShipping "overnight-shipping" "03" V210;
        TwoOrMoreDayShipping "two-or-more-day-shipping" "04" V210;
    }

    ShippingMethod {
        ShipToBillingAddress "ship-to-billing-address" "01" V210;
        ShipToVerifiedAddress "ship-to-verified-address" "02" V210;
        ShipToDifferentAddress "ship-to-different-address" "03" V210;
        ShipToStore "ship-to-store" "04" V210;
        DigitalGoods "digital-goods" "05" V210;
        TravelAndEventTickets "travel-and-event-tickets" "06" V210;
        Other "other" "07" V210;
    }

    AccountType {
        Credit "credit" "02" V210;
        Debit "debit" "03" V210;
    }

    /// The age of an account, or of a payment account's enrolment.
    AccountAge {
        NoAccount "no-account" "01" V210;
        CreatedThisTransaction "created-this-transaction" "02" V210;
        LessThan30Days "less-than-30-days" "03" V210;
        From30To60Days "30-to-60-days" "04" V210;
        MoreThan60Days "more-than-60-days" "05" V210;
    }

    AccountLastChanged {
        ChangedThisTransaction "changed-this-transaction" "01" V210;
        LessThan30Days "less-than-30-days" "02" V210;
        From30To60Days "30-to-60-days" "03" V210;
        MoreThan60Days "more-than-60-days" "04" V210;
    }

    PasswordLastChanged {
        NoChange "no-change" "01" V210;
        ChangedThisTransaction "changed-this-transaction" "02" V210;
        LessThan30Days "less-than-30-days" "03" V210;
        From30To60Days "30-to-60-days" "04" V210;
        MoreThan60Days "more-than-60-days" "05" V210;
    }

    ShippingAddressFirstUsed {
        ThisTransaction "this-transaction" "01" V210;
        LessThan30Days "less-than-30-days" "02" V210;
        From30To60Days "30-to-60-days" "03" V210;
        MoreThan60Days "more-than-60-days" "04" V210;
    }

    /// The cardholder's login at the requestor.
    LoginMethod {
        NoLogin "no-login" "01" V210;
        UsernamePassword "username-password" "02" V210;
        FederatedId "federated-id" "03" V210;
        IssuerCredentials "issuer-credentials" "04" V210;
        ThirdParty "third-party" "05" V210;
        Fido "fido" "06" V210;
        FidoDataSigned "fido-data-signed" "07" V220;
        SrcAssuranceData "src-assurance-data" "08" V220;
    }

    PriorMethod {
        Frictionless "frictionless" "01" V210;
        Challenged "challenged" "02" V210;
        AvsVerified "avs-verified" "03" V210;
        Other "other" "04" V210;
    }

    TransactionStatus {
        Successful "successful" "Y" V210;
        Attempted "attempted" "A" V210;
        Failed "failed" "N" V210;
        Unavailable "unavailable" "U" V210;
        Challenge "challenge" "C" V210;
        DecoupledChallenge "decoupled_challenge" "D" V220;
        Rejected "rejected" "R" V210;
        Informational "informational" "I" V220;
    }

    ChallengeType {
        Static "static" "01" V210;
        Dynamic "dynamic" "02" V210;
        OutOfBand "out-of-band" "03" V210;
        Decoupled "decoupled" "04" V220;
    }

    /// Code 03 is new in version 2.2, for a decoupled authentication that timed out.
    CancelReason {
        CardholderCanceled "cardholder-canceled" "01" V210;
        RequestorCanceled "requestor-canceled" "02" V210;
        TransactionAbandoned "transaction-abandoned" "03" V210;
        AcsTimeout "acs-timeout" "04" V210;
        AcsTimeoutRequestNotReceived "acs-timeout-request-not-received" "05" V210;
        Error "error" "06" V210;
        Unknown "unknown" "07" V210;
        /// A timeout at the SDK; the interface has no word for it.
        TimedOutAtSdk "unknown" "08" V220;
    }

    WhitelistStatus {
        MerchantTrusted "merchant-trusted" "Y" V220;
        MerchantNotTrusted "merchant-not-trusted" "N" V220;
        NotEligible "not-eligible" "E" V220;
        PendingConfirmation "pending-confirmation" "P" V220;
        RequestToTrustRejected "request-to-trust-rejected" "R" V220;
        Unknown "unknown" "U" V220;
    }

    WhitelistSource {
        ThreedsServer "3ds-server" "01" V220;
        DirectoryServer "directory-server" "02" V220;
        Acs "acs" "03" V220;
    }

    /// A capability of an ACS for a card range.
    AcsInformation {
        AuthAvailable "threeds-auth-available" "01" V210;
        AttemptsSupported "threeds-attempts-supported" "02" V210;
        DecoupledSupported "threeds-decoupled-supported" "03" V220;
        WhitelistingSupported "threeds-whitelisting-supported" "04" V220;
    }

    /// The channel of the cardholder's device.
    Channel {
        App "app" "01" V210;
        Browser "browser" "02" V210;
        /// Requested by the merchant, without the cardholder ("3RI").
        Merchant "merchant" "03" V210;
    }

    /// Completion of the ACS's browser fingerprinting (the "3DS Method").
    MethodOutcome {
        Completed "Y" "Y" V210;
        NotCompleted "N" "N" V210;
        Unavailable "U" "U" V210;
    }

    YesNo {
        Yes "Y" "Y" V210;
        No "N" "N" V210;
    }

    /// The method by which the cardholder answered a challenge.
    ChallengeMethod {
        StaticPasscode "static-passcode" "01" V210;
        SmsCode "sms-code" "02" V210;
        KeyFob "key-fob" "03" V210;
        AppCode "app-code" "04" V210;
        OtherCode "other-code" "05" V210;
        Knowledge "knowledge" "06" V210;
        OutOfBandBiometrics "out-of-band-biometrics" "07" V210;
        OutOfBandLogin "out-of-band-login" "08" V210;
        OutOfBandOther "out-of-band-other" "09" V210;
        Other "other" "10" V210;
        PushConfirmation "push-confirmation" "11" V220;
    }

    WindowSize {
        Small "250x400" "01" V210;
        Medium "390x400" "02" V210;
        Large "500x600" "03" V210;
        Wide "600x400" "04" V210;
        Full "full" "05" V210;
    }

    /// Our status in the acknowledgement of a result.
    ResultsStatus {
        Received "received" "01" V210;
        NoChallengeSent "no-challenge-sent" "02" V210;
        NotDelivered "not-delivered" "03" V210;
    }
}

impl TransactionStatus {
    /// True for the outcomes of a challenge.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Successful
            | Self::Attempted
            | Self::Failed
            | Self::Unavailable
            | Self::Rejected => true,
            Self::Challenge | Self::DecoupledChallenge | Self::Informational => false,
        }
    }
}

#[cfg(test)]
mod tests;
