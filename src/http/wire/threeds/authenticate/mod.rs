//! The body of an authenticate call: codes and formats. The session decides which members are
//! required.

use serde_json::Value;

use crate::bounds::{THREEDS_EXTENSIONS_MAX, THREEDS_METADATA_BYTES_MAX};
use crate::domain::mistakes::Mistakes;
use crate::http::wire::threeds::{cardholder, coded, formed, nested, text, text_or_number, word};
use crate::http::wire::{Fields, WRONG_TYPE};
use crate::threeds::codes::{
    AuthenticationType, Category, ChallengePreference, DeliveryTimeFrame, ShippingMethod,
    TransactionType, YesNo,
};
use crate::threeds::format::{currency, is_date, is_digits, is_email, is_second};
use crate::threeds::request::{
    AuthenticationRequest, Merchant, Purchase, RequestedExtension, Requestor, Risk,
};

pub(crate) fn parse(body: &Value) -> (AuthenticationRequest, Mistakes) {
    let mut fields = Fields::of_body(body);
    let fields = &mut fields;
    let types: Vec<_> = AuthenticationType::ALL.map(AuthenticationType::as_str).to_vec();
    let decoupled = fields.flag("request_decoupled_challenge");
    let request = AuthenticationRequest {
        category: coded!(fields, "authentication_category", Category),
        kind: word(fields, "authentication_type", AuthenticationType::parse, &types),
        decoupled: decoupled.map(|it| if it { YesNo::Yes } else { YesNo::No }),
        decoupled_minutes: fields.number("decoupled_challenge_max_time"),
        preference: coded!(fields, "challenge_preference", ChallengePreference),
        purchase: nested(fields, "purchase_info", purchase),
        merchant: nested(fields, "merchant_info", merchant),
        requestor: nested(fields, "requestor_info", |fields| Requestor {
            id: text(fields, "id"),
            name: text(fields, "name"),
            url: text(fields, "url"),
        }),
        cardholder: nested(fields, "cardholder_info", cardholder::parse),
        broadcast: broadcast(fields),
        extensions: extensions(fields),
    };
    (request, std::mem::take(&mut fields.mistakes))
}

fn purchase(fields: &mut Fields<'_>) -> Purchase {
    let is_amount = |it: &str| is_digits(it, 1..=48);
    let is_exponent = |it: &str| is_digits(it, 1..=1);
    let is_count = |it: &str| is_digits(it, 1..=3);
    let is_days = |it: &str| is_digits(it, 1..=4);
    Purchase {
        amount: formed(fields, "amount", is_amount, "1 to 48 digits without punctuation"),
        currency: currency_code(fields, "currency"),
        exponent: formed(fields, "exponent", is_exponent, "one digit"),
        date: formed(fields, "date", is_second, "a time of the form YYYYMMDDhhmmss"),
        transaction_type: coded!(fields, "transaction_type", TransactionType),
        installment_count: formed(fields, "installment_count", is_count, "1 to 3 digits"),
        recurring_expiration: formed(fields, "recurring_expiration", is_date, DATE),
        recurring_frequency: formed(fields, "recurring_frequency", is_days, "1 to 4 digits"),
    }
}

pub(super) const DATE: &str = "a date of the form YYYYMMDD";
const COUNTRY: &str = "a numeric country code of three digits";

pub(super) fn country(fields: &mut Fields<'_>) -> Option<String> {
    formed(fields, "country_code", |it| is_digits(it, 3..=3), COUNTRY)
}

/// Messages hold the numeric code, also if the caller gave the letters.
fn currency_code(fields: &mut Fields<'_>, name: &str) -> Option<String> {
    let given = formed(fields, name, |it| currency(it).is_some(), "a currency code of ISO 4217")?;
    currency(&given).map(String::from)
}

fn merchant(fields: &mut Fields<'_>) -> Merchant {
    let is_category = |it: &str| is_digits(it, 4..=4);
    Merchant {
        mid: text(fields, "mid"),
        acquirer_bin: text(fields, "acquirer_bin"),
        name: text(fields, "name"),
        country_code: country(fields),
        category_code: formed(fields, "category_code", is_category, "four digits"),
        risk: nested(fields, "risk_info", risk),
    }
}

fn risk(fields: &mut Fields<'_>) -> Risk {
    let is_amount = |it: &str| is_digits(it, 1..=48);
    let is_count = |it: &str| is_digits(it, 1..=9);
    Risk {
        delivery_email: formed(fields, "delivery_email", is_email, "an email address"),
        delivery_time_frame: coded!(fields, "delivery_time_frame", DeliveryTimeFrame),
        gift_card_amount: formed(fields, "gift_card_amount", is_amount, "a whole number"),
        gift_card_count: formed(fields, "gift_card_count", is_count, "a whole number"),
        gift_card_currency: currency_code(fields, "gift_card_currency"),
        pre_order_purchase: fields.flag("pre_order_purchase"),
        pre_order_date: formed(fields, "pre_order_date", is_date, DATE),
        reordered_purchase: fields.flag("reordered_purchase"),
        shipping_method: coded!(fields, "shipping_method", ShippingMethod),
    }
}

fn broadcast(fields: &mut Fields<'_>) -> Option<serde_json::Map<String, Value>> {
    let members = fields.object("broadcast_info")?.clone();
    if Value::Object(members.clone()).to_string().len() <= THREEDS_METADATA_BYTES_MAX {
        return Some(members);
    }
    fields.wrong("broadcast_info", format!("It has at most {THREEDS_METADATA_BYTES_MAX} bytes."));
    None
}

fn extensions(fields: &mut Fields<'_>) -> Vec<RequestedExtension> {
    let Some(items) = fields.list("message_extensions", THREEDS_EXTENSIONS_MAX) else {
        return Vec::new();
    };
    let mut extensions = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let mut inner = Fields::at(item, format!("message_extensions[{at}]"));
        let id = text_or_number(&mut inner, "id");
        let name = text(&mut inner, "name");
        let critical = inner.flag("critical").unwrap_or(false);
        let data = inner.value("data").cloned().unwrap_or(Value::Object(serde_json::Map::new()));
        if !(data.is_string() || data.is_object()) {
            inner.wrong("data", WRONG_TYPE);
        }
        for (member, is_there) in [("id", id.is_some()), ("name", name.is_some())] {
            if !is_there && inner.value(member).is_none() {
                inner.wrong(member, format!("The {member} is required."));
            }
        }
        fields.mistakes.append(inner.mistakes);
        extensions.push(RequestedExtension {
            id: id.unwrap_or_default(),
            name: name.unwrap_or_default(),
            critical,
            data,
        });
    }
    extensions
}

#[cfg(test)]
mod tests;
