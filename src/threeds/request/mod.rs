//! The body of an authenticate call, and the rules about its members.
//!
//! The wire layer checks words and formats when it reads the body. The rules here need the whole
//! body and the session.

use serde_json::{Map, Value};

use crate::domain::mistakes::Mistakes;
use crate::threeds::codes::{
    AccountAge, AccountLastChanged, AccountType, AuthenticationType, Category, ChallengePreference,
    DeliveryTimeFrame, LoginMethod, PasswordLastChanged, PriorMethod, ShippingAddressFirstUsed,
    ShippingMethod, TransactionType, YesNo,
};
use crate::threeds::session::SessionKind;

/// Longest time for a decoupled authentication: a week.
pub const DECOUPLED_MINUTES_MAX: u64 = 10_080;

/// Every member is optional in this type; [`AuthenticationRequest::check`] reports the missing
/// ones.
#[derive(Debug, Default)]
pub struct AuthenticationRequest {
    pub category: Option<Category>,
    pub kind: Option<AuthenticationType>,
    pub decoupled: Option<YesNo>,
    pub decoupled_minutes: Option<u64>,
    pub preference: Option<ChallengePreference>,
    pub purchase: Option<Purchase>,
    pub merchant: Option<Merchant>,
    pub requestor: Option<Requestor>,
    pub cardholder: Option<Cardholder>,
    pub broadcast: Option<Map<String, Value>>,
    pub extensions: Option<Vec<RequestedExtension>>,
}

#[derive(Debug, Default)]
pub struct Purchase {
    pub amount: Option<String>,
    /// The numeric code, even if the caller used the letters.
    pub currency: Option<String>,
    pub exponent: Option<String>,
    pub date: Option<String>,
    pub transaction_type: Option<TransactionType>,
    pub installment_count: Option<String>,
    pub recurring_expiration: Option<String>,
    pub recurring_frequency: Option<String>,
}

#[derive(Debug, Default)]
pub struct Merchant {
    pub mid: Option<String>,
    pub acquirer_bin: Option<String>,
    pub name: Option<String>,
    pub country_code: Option<String>,
    pub category_code: Option<String>,
    pub risk: Option<Risk>,
}

#[derive(Debug, Default)]
pub struct Risk {
    pub delivery_email: Option<String>,
    pub delivery_time_frame: Option<DeliveryTimeFrame>,
    pub gift_card_amount: Option<String>,
    pub gift_card_count: Option<String>,
    pub gift_card_currency: Option<String>,
    pub pre_order_purchase: Option<bool>,
    pub pre_order_date: Option<String>,
    pub reordered_purchase: Option<bool>,
    pub shipping_method: Option<ShippingMethod>,
}

#[derive(Debug, Default)]
pub struct Requestor {
    pub id: Option<String>,
    pub name: Option<String>,
    pub url: Option<String>,
}

#[derive(Debug, Default)]
pub struct Cardholder {
    pub name: Option<String>,
    pub email: Option<String>,
    pub account_id: Option<String>,
    pub account_type: Option<AccountType>,
    pub account: Option<Account>,
    pub login: Option<Login>,
    pub prior: Option<PriorAuthentication>,
    pub phone: Option<PhoneNumber>,
    pub mobile_phone: Option<PhoneNumber>,
    pub work_phone: Option<PhoneNumber>,
    pub address_match: Option<YesNo>,
    pub billing: Option<Address>,
    pub shipping: Option<Address>,
}

#[derive(Debug, Default)]
pub struct PhoneNumber {
    pub country_code: Option<String>,
    pub number: Option<String>,
}

#[derive(Debug, Default)]
pub struct Address {
    pub line1: Option<String>,
    pub line2: Option<String>,
    pub line3: Option<String>,
    pub postal_code: Option<String>,
    pub city: Option<String>,
    pub state_code: Option<String>,
    pub country_code: Option<String>,
}

#[derive(Debug, Default)]
pub struct Account {
    pub age: Option<AccountAge>,
    pub last_changed: Option<AccountLastChanged>,
    pub change_date: Option<String>,
    pub created_date: Option<String>,
    pub password_last_changed: Option<PasswordLastChanged>,
    pub password_change_date: Option<String>,
    pub purchase_count_half_year: Option<String>,
    pub transaction_count_day: Option<String>,
    pub transaction_count_year: Option<String>,
    pub payment_account_age: Option<String>,
    pub payment_account_created: Option<AccountAge>,
    pub shipping_first_used: Option<ShippingAddressFirstUsed>,
    pub shipping_usage_date: Option<String>,
    pub shipping_name_match: Option<bool>,
    pub suspicious_activity: Option<bool>,
}

#[derive(Debug, Default)]
pub struct Login {
    pub method: Option<LoginMethod>,
    pub timestamp: Option<String>,
    pub data: Option<String>,
}

#[derive(Debug, Default)]
pub struct PriorAuthentication {
    pub method: Option<PriorMethod>,
    pub timestamp: Option<String>,
    pub reference_id: Option<String>,
    pub data: Option<String>,
}

#[derive(Debug)]
pub struct RequestedExtension {
    pub id: String,
    pub name: String,
    pub critical: bool,
    /// A JSON string or an object.
    pub data: Value,
}

impl AuthenticationRequest {
    /// `Yes` if a decoupled challenge is requested. A merchant's session requests one unless the
    /// body refuses it.
    pub const fn wants_decoupled(&self, session: SessionKind) -> YesNo {
        match (self.decoupled, session) {
            (Some(wanted), _) => wanted,
            (None, SessionKind::Merchant) => YesNo::Yes,
            (None, SessionKind::Customer) => YesNo::No,
        }
    }

    /// Adds missing members and contradictions to `mistakes`. A member that is already reported as
    /// wrong is not also reported as missing.
    pub fn check(&self, session: SessionKind, mistakes: &mut Mistakes) {
        let mut rules = Rules { mistakes };
        rules.require(self.category.is_some(), "authentication_category");
        rules.require(self.kind.is_some(), "authentication_type");
        if let Some(kind) = self.kind {
            let allowed = match session {
                SessionKind::Customer => kind.customer_code().is_some(),
                SessionKind::Merchant => kind.merchant_code().is_some(),
            };
            if !allowed {
                rules.add("authentication_type", "The session's type does not allow this one.");
            }
        }
        if self.decoupled == Some(YesNo::Yes) || session == SessionKind::Merchant {
            rules.require(self.decoupled_minutes.is_some(), "decoupled_challenge_max_time");
        }
        if self.decoupled_minutes.is_some_and(|it| !(1..=DECOUPLED_MINUTES_MAX).contains(&it)) {
            rules.add(
                "decoupled_challenge_max_time",
                format!("The time is from 1 to {DECOUPLED_MINUTES_MAX} minutes."),
            );
        }
        self.check_purchase(&mut rules);
        self.check_merchant(&mut rules);
        rules.require(self.requestor.is_some(), "requestor_info");
        if let Some(requestor) = &self.requestor {
            rules.require(requestor.id.is_some(), "requestor_info.id");
            rules.require(requestor.name.is_some(), "requestor_info.name");
            rules.require(requestor.url.is_some(), "requestor_info.url");
        }
        rules.require(self.cardholder.is_some(), "cardholder_info");
        if let Some(cardholder) = &self.cardholder {
            rules.require(cardholder.name.is_some(), "cardholder_info.name");
            rules.require(cardholder.email.is_some(), "cardholder_info.email");
        }
    }

    fn check_purchase(&self, rules: &mut Rules<'_>) {
        let is_payment = self.category == Some(Category::Payment);
        let is_recurring = self.kind == Some(AuthenticationType::RecurringTransaction);
        let in_installments = self.kind == Some(AuthenticationType::InstallmentTransaction);
        if !(is_payment || is_recurring || in_installments) {
            return;
        }
        rules.require(self.purchase.is_some(), "purchase_info");
        let Some(purchase) = &self.purchase else {
            return;
        };
        rules.require(purchase.amount.is_some(), "purchase_info.amount");
        rules.require(purchase.currency.is_some(), "purchase_info.currency");
        rules.require(purchase.exponent.is_some(), "purchase_info.exponent");
        rules.require(purchase.date.is_some(), "purchase_info.date");
        if is_payment {
            let is_there = purchase.transaction_type.is_some();
            rules.require(is_there, "purchase_info.transaction_type");
        }
        if in_installments {
            let is_there = purchase.installment_count.is_some();
            rules.require(is_there, "purchase_info.installment_count");
        }
        if is_recurring {
            let expires = purchase.recurring_expiration.is_some();
            rules.require(expires, "purchase_info.recurring_expiration");
            let returns = purchase.recurring_frequency.is_some();
            rules.require(returns, "purchase_info.recurring_frequency");
        }
    }

    fn check_merchant(&self, rules: &mut Rules<'_>) {
        if self.category != Some(Category::Payment) {
            return;
        }
        rules.require(self.merchant.is_some(), "merchant_info");
        let Some(merchant) = &self.merchant else {
            return;
        };
        rules.require(merchant.mid.is_some(), "merchant_info.mid");
        rules.require(merchant.acquirer_bin.is_some(), "merchant_info.acquirer_bin");
        rules.require(merchant.name.is_some(), "merchant_info.name");
        rules.require(merchant.country_code.is_some(), "merchant_info.country_code");
        rules.require(merchant.category_code.is_some(), "merchant_info.category_code");
    }
}

struct Rules<'a> {
    mistakes: &'a mut Mistakes,
}

impl Rules<'_> {
    fn require(&mut self, is_there: bool, path: &str) {
        let known = self.mistakes.by_path().contains_key(path);
        if !is_there && !known {
            let name = path.rsplit_once('.').map_or(path, |(_, name)| name);
            self.add(path, format!("The {name} is required."));
        }
    }

    fn add(&mut self, path: &str, message: impl Into<String>) {
        self.mistakes.add(path, message);
    }
}

#[cfg(test)]
mod tests;
