//! The closed words of the interface beside their EMV codes, and the version that brought each.
//!
//! One table a list: the wire layer reads and writes the words, the messages the codes.

mod authentication_type;
mod reason;

pub use authentication_type::AuthenticationType;
pub use reason::{REASONS, Reason};

use crate::threeds::version::ProtocolVersion::{self, V210, V220};

/// A list of words of the interface: `Variant "word" "code" since;`.
macro_rules! codes {
    ($($(#[$doc:meta])* $list:ident {
        $($(#[$item:meta])* $name:ident $word:literal $code:literal $since:ident;)+
    })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $list { $($(#[$item])* $name),+ }

        impl $list {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// As the interface writes it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// As messages write it.
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }

            /// The version that defined it; in older messages its code is reserved.
            pub const fn since(self) -> ProtocolVersion {
                match self { $(Self::$name => $since),+ }
            }

            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.word() == word)
            }

            /// The first of this code that the version knows.
            pub fn from_code(code: &str, version: ProtocolVersion) -> Option<Self> {
                let known = |it: &Self| it.code() == code && it.since() <= version;
                Self::ALL.iter().copied().find(known)
            }
        }
    )+};
}

codes! {
    /// What is authenticated.
    Category {
        Payment "payment" "01" V210;
        NonPayment "non-payment" "02" V210;
    }

    /// Whether a challenge is wished for.
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

    /// The age of an account; also when a payment account was enrolled.
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

    /// How the cardholder logged in.
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

    /// The outcome.
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

    /// 03 means a decoupled authentication that ran out of time since 2.2, and nothing before.
    CancelReason {
        CardholderCanceled "cardholder-canceled" "01" V210;
        RequestorCanceled "requestor-canceled" "02" V210;
        TransactionAbandoned "transaction-abandoned" "03" V210;
        AcsTimeout "acs-timeout" "04" V210;
        AcsTimeoutRequestNotReceived "acs-timeout-request-not-received" "05" V210;
        Error "error" "06" V210;
        Unknown "unknown" "07" V210;
        /// The app's own time ran out: the interface has no word of its own for it.
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

    /// What an ACS can do for a card range.
    AcsInformation {
        AuthAvailable "threeds-auth-available" "01" V210;
        AttemptsSupported "threeds-attempts-supported" "02" V210;
        DecoupledSupported "threeds-decoupled-supported" "03" V220;
        WhitelistingSupported "threeds-whitelisting-supported" "04" V220;
    }

    /// How the cardholder's device takes part.
    Channel {
        App "app" "01" V210;
        Browser "browser" "02" V210;
        /// Requested by the merchant, without the cardholder ("3RI").
        Merchant "merchant" "03" V210;
    }

    /// Whether the ACS's fingerprinting of the browser ran.
    MethodOutcome {
        Completed "Y" "Y" V210;
        NotCompleted "N" "N" V210;
        Unavailable "U" "U" V210;
    }

    YesNo {
        Yes "Y" "Y" V210;
        No "N" "N" V210;
    }

    /// How a challenge was answered.
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

    /// How large the challenge's window is.
    WindowSize {
        Small "250x400" "01" V210;
        Medium "390x400" "02" V210;
        Large "500x600" "03" V210;
        Wide "600x400" "04" V210;
        Full "full" "05" V210;
    }

    /// What we did with a result.
    ResultsStatus {
        Received "received" "01" V210;
        NoChallengeSent "no-challenge-sent" "02" V210;
        NotDelivered "not-delivered" "03" V210;
    }
}

#[cfg(test)]
mod tests;
