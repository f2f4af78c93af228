//! The purposes of an authentication, with their codes.

use crate::domain::words::words;
use crate::threeds::version::ProtocolVersion::{self, V210, V220};

words! {
    /// The purpose of an authentication. Its code depends on the presence of the cardholder.
    pub enum AuthenticationType:
        /// The code with the cardholder present; `None` if only a merchant may ask. Account
        /// verification has no code before version 2.3 and is sent as card maintenance.
        customer_code -> Option<&'static str>,
        /// The code without the cardholder, and the version that introduced it; `None` if the
        /// cardholder must be present. A billing agreement has no code before version 2.3 and is
        /// sent as "other payment".
        merchant_code -> Option<(&'static str, ProtocolVersion)>
    {
        PaymentTransaction = "payment-transaction", Some("01"), None;
        CardholderEmvVerification = "cardholder-emv-verification", Some("06"), None;
        SplitOrDelayedShipment = "split-or-delayed-shipment", None, Some(("06", V220));
        TopUp = "top-up", None, Some(("07", V220));
        MailOrder = "mail-order", None, Some(("08", V220));
        TelephoneOrder = "telephone-order", None, Some(("09", V220));
        WhitelistStatusCheck = "whitelist-status-check", None, Some(("10", V220));
        OtherPayment = "other-payment", None, Some(("11", V220));
        BillingAgreement = "billing-agreement", None, Some(("11", V220));
        RecurringTransaction = "recurring-transaction", Some("02"), Some(("01", V210));
        InstallmentTransaction = "installment-transaction", Some("03"), Some(("02", V210));
        AddCard = "add-card", Some("04"), Some(("03", V210));
        MaintainCard = "maintain-card", Some("05"), Some(("04", V210));
        AccountVerification = "account-verification", Some("05"), Some(("05", V210));
    }
}
