//! The purposes of an authentication, with their codes.

use crate::threeds::version::ProtocolVersion::{self, V210, V220};

/// The purpose of an authentication. Its code depends on the presence of the cardholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthenticationType {
    PaymentTransaction,
    CardholderEmvVerification,
    SplitOrDelayedShipment,
    TopUp,
    MailOrder,
    TelephoneOrder,
    WhitelistStatusCheck,
    OtherPayment,
    BillingAgreement,
    RecurringTransaction,
    InstallmentTransaction,
    AddCard,
    MaintainCard,
    AccountVerification,
}

impl AuthenticationType {
    pub const ALL: [Self; 14] = [
        Self::PaymentTransaction,
        Self::CardholderEmvVerification,
        Self::SplitOrDelayedShipment,
        Self::TopUp,
        Self::MailOrder,
        Self::TelephoneOrder,
        Self::WhitelistStatusCheck,
        Self::OtherPayment,
        Self::BillingAgreement,
        Self::RecurringTransaction,
        Self::InstallmentTransaction,
        Self::AddCard,
        Self::MaintainCard,
        Self::AccountVerification,
    ];

    pub const fn word(self) -> &'static str {
        match self {
            Self::PaymentTransaction => "payment-transaction",
            Self::CardholderEmvVerification => "cardholder-emv-verification",
            Self::SplitOrDelayedShipment => "split-or-delayed-shipment",
            Self::TopUp => "top-up",
            Self::MailOrder => "mail-order",
            Self::TelephoneOrder => "telephone-order",
            Self::WhitelistStatusCheck => "whitelist-status-check",
            Self::OtherPayment => "other-payment",
            Self::BillingAgreement => "billing-agreement",
            Self::RecurringTransaction => "recurring-transaction",
            Self::InstallmentTransaction => "installment-transaction",
            Self::AddCard => "add-card",
            Self::MaintainCard => "maintain-card",
            Self::AccountVerification => "account-verification",
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.word() == word)
    }

    /// The code with the cardholder present; `None` if only a merchant may ask. Account
    /// verification has no code before version 2.3 and is sent as card maintenance.
    pub const fn customer_code(self) -> Option<&'static str> {
        match self {
            Self::PaymentTransaction => Some("01"),
            Self::RecurringTransaction => Some("02"),
            Self::InstallmentTransaction => Some("03"),
            Self::AddCard => Some("04"),
            Self::MaintainCard | Self::AccountVerification => Some("05"),
            Self::CardholderEmvVerification => Some("06"),
            Self::SplitOrDelayedShipment
            | Self::TopUp
            | Self::MailOrder
            | Self::TelephoneOrder
            | Self::WhitelistStatusCheck
            | Self::OtherPayment
            | Self::BillingAgreement => None,
        }
    }

    /// The code without the cardholder, and the version that introduced it; `None` if the
    /// cardholder must be present. A billing agreement has no code before version 2.3 and is sent
    /// as "other payment".
    pub const fn merchant_code(self) -> Option<(&'static str, ProtocolVersion)> {
        match self {
            Self::RecurringTransaction => Some(("01", V210)),
            Self::InstallmentTransaction => Some(("02", V210)),
            Self::AddCard => Some(("03", V210)),
            Self::MaintainCard => Some(("04", V210)),
            Self::AccountVerification => Some(("05", V210)),
            Self::SplitOrDelayedShipment => Some(("06", V220)),
            Self::TopUp => Some(("07", V220)),
            Self::MailOrder => Some(("08", V220)),
            Self::TelephoneOrder => Some(("09", V220)),
            Self::WhitelistStatusCheck => Some(("10", V220)),
            Self::OtherPayment | Self::BillingAgreement => Some(("11", V220)),
            Self::PaymentTransaction | Self::CardholderEmvVerification => None,
        }
    }
}
