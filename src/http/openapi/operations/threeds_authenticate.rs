//! The body of an authentication by 3-D Secure.

use crate::bounds::THREEDS_EXTENSIONS_MAX;
use crate::http::Schema;
use crate::http::openapi::operations::threeds::text;
use crate::threeds::codes::{
    AccountAge, AccountLastChanged, AccountType, AuthenticationType, Category, ChallengePreference,
    DeliveryTimeFrame, LoginMethod, PasswordLastChanged, PriorMethod, ShippingAddressFirstUsed,
    ShippingMethod, TransactionType, YesNo,
};

pub(super) const EXAMPLE: &str = r#"{"authentication_category":"payment",
    "authentication_type":"payment-transaction","purchase_info":{"amount":"1099",
    "currency":"EUR","exponent":"2","date":"20260131093000",
    "transaction_type":"purchase"},"requestor_info":{"id":"shop-1",
    "name":"Shop","url":"https://shop.example"},"merchant_info":{"mid":"9876543210001",
    "acquirer_bin":"400000","name":"Shop","country_code":"276","category_code":"5411"},
    "cardholder_info":{"name":"Ada Lovelace","email":"ada@shop.example"}}"#;

/// The words of a list of codes.
macro_rules! words {
    ($list:ident) => {
        Schema::word($list::ALL.iter().map(|it| it.word()))
    };
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("AuthenticateRequest", request()),
        ("ThreedsAddress", address()),
        ("ThreedsPhone", phone()),
    ]
}

fn digits(min: usize, max: usize) -> Schema {
    Schema::text().pattern(&format!("^[0-9]{{{min},{max}}}$"))
}

fn date() -> Schema {
    Schema::text().about("YYYYMMDD.").pattern("^[0-9]{8}$")
}

fn country() -> Schema {
    digits(3, 3).about("A numeric code of ISO 3166-1.")
}

fn currency() -> Schema {
    Schema::text().about("A code of ISO 4217, letters or digits.")
}

fn request() -> Schema {
    let requestor = Schema::object().takes("id", text()).takes("name", text()).takes("url", text());
    let extension = Schema::object()
        .has("id", Schema::any_of([text(), Schema::integer()]))
        .has("name", text())
        .takes("critical", Schema::flag())
        .takes("data", Schema::any_of([Schema::text(), Schema::object()]));
    Schema::object()
        .about("The session and the protocol version decide which members are required.")
        .takes("authentication_category", words!(Category))
        .takes(
            "authentication_type",
            Schema::word(AuthenticationType::ALL.map(AuthenticationType::as_str)),
        )
        .takes("challenge_preference", words!(ChallengePreference))
        .takes("request_decoupled_challenge", Schema::flag())
        .takes("decoupled_challenge_max_time", Schema::integer().about("Minutes.").at_least(0))
        .takes("purchase_info", purchase())
        .takes("merchant_info", merchant())
        .takes("requestor_info", requestor)
        .takes("cardholder_info", cardholder())
        .takes("broadcast_info", Schema::object())
        .takes("message_extensions", Schema::list(extension).up_to_items(THREEDS_EXTENSIONS_MAX))
}

fn purchase() -> Schema {
    Schema::object()
        .takes("amount", digits(1, 48).about("In the smallest unit of the currency."))
        .takes("currency", currency())
        .takes("exponent", digits(1, 1).about("The decimal places of the currency."))
        .takes("date", digits(14, 14).about("YYYYMMDDhhmmss."))
        .takes("transaction_type", words!(TransactionType))
        .takes("installment_count", digits(1, 3))
        .takes("recurring_expiration", date())
        .takes("recurring_frequency", digits(1, 4).about("Days."))
}

fn merchant() -> Schema {
    let risk = Schema::object()
        .takes("delivery_email", text())
        .takes("delivery_time_frame", words!(DeliveryTimeFrame))
        .takes("gift_card_amount", digits(1, 48))
        .takes("gift_card_count", digits(1, 9))
        .takes("gift_card_currency", currency())
        .takes("pre_order_purchase", Schema::flag())
        .takes("pre_order_date", date())
        .takes("reordered_purchase", Schema::flag())
        .takes("shipping_method", words!(ShippingMethod));
    Schema::object()
        .takes("mid", text().about("The merchant's number at the acquirer."))
        .takes("acquirer_bin", text())
        .takes("name", text())
        .takes("country_code", country())
        .takes("category_code", digits(4, 4))
        .takes("risk_info", risk)
}

fn cardholder() -> Schema {
    let phone = || Schema::reference("ThreedsPhone");
    let address = || Schema::reference("ThreedsAddress");
    let login = Schema::object()
        .takes("method", words!(LoginMethod))
        .takes("timestamp", minute())
        .takes("data", Schema::text().chars(1, 20_000));
    let prior = Schema::object()
        .takes("method", words!(PriorMethod))
        .takes("timestamp", minute())
        .takes("reference_id", text())
        .takes("data", Schema::text().chars(1, 20_000));
    Schema::object()
        .takes("name", text())
        .takes("email", text())
        .takes("account_id", text())
        .takes("account_type", words!(AccountType))
        .takes("account_info", account())
        .takes("authentication_info", login)
        .takes("prior_authentication_info", prior)
        .takes("phone_number", phone())
        .takes("mobile_phone_number", phone())
        .takes("work_phone_number", phone())
        .takes("billing_shipping_address_match", words!(YesNo))
        .takes("billing_address", address())
        .takes("shipping_address", address())
}

fn minute() -> Schema {
    digits(12, 12).about("YYYYMMDDhhmm.")
}

fn phone() -> Schema {
    Schema::object().takes("country_code", text()).takes("number", text())
}

fn address() -> Schema {
    Schema::object()
        .takes("line1", text())
        .takes("line2", text())
        .takes("line3", text())
        .takes("postal_code", text())
        .takes("city", text())
        .takes("state_code", text())
        .takes("country_code", country())
}

fn account() -> Schema {
    Schema::object()
        .takes("account_age", words!(AccountAge))
        .takes("account_last_changed", words!(AccountLastChanged))
        .takes("account_change_date", date())
        .takes("account_created_date", Schema::text().about("A date, as YYYYMMDD or YYYY-MM-DD."))
        .takes("account_pwd_last_changed", words!(PasswordLastChanged))
        .takes("account_pwd_change_date", date())
        .takes("purchase_count_half_year", digits(1, 9))
        .takes("transaction_count_day", digits(1, 9))
        .takes("transaction_count_year", digits(1, 9))
        .takes("payment_account_age", date())
        .takes("payment_account_created", words!(AccountAge))
        .takes("shipping_address_first_used", words!(ShippingAddressFirstUsed))
        .takes("shipping_address_usage_date", date())
        .takes("shipping_account_name_match", Schema::flag())
        .takes("suspicious_activity_observed", Schema::flag())
}
