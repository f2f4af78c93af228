//! The cardholder's part of an authenticate body.

use crate::http::wire::Fields;
use crate::http::wire::threeds::authenticate::{DATE, country};
use crate::http::wire::threeds::{coded, formed, nested, text, text_up_to};
use crate::threeds::codes::{
    AccountAge, AccountLastChanged, AccountType, LoginMethod, PasswordLastChanged, PriorMethod,
    ShippingAddressFirstUsed, YesNo,
};
use crate::threeds::format::{is_date, is_digits, is_email, is_minute};
use crate::threeds::request::{
    Account, Address, Cardholder, Login, PhoneNumber, PriorAuthentication,
};

/// The most characters of authentication data that the protocol takes.
const LOGIN_CHARS_MAX: usize = 20_000;
const MINUTE: &str = "a time of the form YYYYMMDDhhmm";

pub(super) fn parse(fields: &mut Fields<'_>) -> Cardholder {
    Cardholder {
        name: text(fields, "name"),
        email: formed(fields, "email", is_email, "an email address"),
        account_id: text(fields, "account_id"),
        account_type: coded!(fields, "account_type", AccountType),
        account: nested(fields, "account_info", account),
        login: nested(fields, "authentication_info", |fields| Login {
            method: coded!(fields, "method", LoginMethod),
            timestamp: formed(fields, "timestamp", is_minute, MINUTE),
            data: text_up_to(fields, "data", LOGIN_CHARS_MAX),
        }),
        prior: nested(fields, "prior_authentication_info", |fields| PriorAuthentication {
            method: coded!(fields, "method", PriorMethod),
            timestamp: formed(fields, "timestamp", is_minute, MINUTE),
            reference_id: text(fields, "reference_id"),
            data: text_up_to(fields, "data", LOGIN_CHARS_MAX),
        }),
        phone: nested(fields, "phone_number", phone),
        mobile_phone: nested(fields, "mobile_phone_number", phone),
        work_phone: nested(fields, "work_phone_number", phone),
        address_match: coded!(fields, "billing_shipping_address_match", YesNo),
        billing: nested(fields, "billing_address", address),
        shipping: nested(fields, "shipping_address", address),
    }
}

fn phone(fields: &mut Fields<'_>) -> PhoneNumber {
    PhoneNumber { country_code: text(fields, "country_code"), number: text(fields, "number") }
}

fn address(fields: &mut Fields<'_>) -> Address {
    Address {
        line1: text(fields, "line1"),
        line2: text(fields, "line2"),
        line3: text(fields, "line3"),
        postal_code: text(fields, "postal_code"),
        city: text(fields, "city"),
        state_code: text(fields, "state_code"),
        country_code: country(fields),
    }
}

fn account(fields: &mut Fields<'_>) -> Account {
    let date = |fields: &mut Fields<'_>, name: &str| formed(fields, name, is_date, DATE);
    let count = |fields: &mut Fields<'_>, name: &str| {
        formed(fields, name, |it| is_digits(it, 1..=9), "a whole number")
    };
    // The interface says "date string" here and no more.
    let is_loose = |it: &str| it.get(..10).is_some_and(|day| is_date(&day.replace('-', "")));
    let is_any_date = |it: &str| is_date(it) || is_loose(it);
    Account {
        age: coded!(fields, "account_age", AccountAge),
        last_changed: coded!(fields, "account_last_changed", AccountLastChanged),
        change_date: date(fields, "account_change_date"),
        created_date: formed(fields, "account_created_date", is_any_date, "a date"),
        password_last_changed: coded!(fields, "account_pwd_last_changed", PasswordLastChanged),
        password_change_date: date(fields, "account_pwd_change_date"),
        purchase_count_half_year: count(fields, "purchase_count_half_year"),
        transaction_count_day: count(fields, "transaction_count_day"),
        transaction_count_year: count(fields, "transaction_count_year"),
        payment_account_age: date(fields, "payment_account_age"),
        payment_account_created: coded!(fields, "payment_account_created", AccountAge),
        shipping_first_used: coded!(
            fields,
            "shipping_address_first_used",
            ShippingAddressFirstUsed
        ),
        shipping_usage_date: date(fields, "shipping_address_usage_date"),
        shipping_name_match: fields.flag("shipping_account_name_match"),
        suspicious_activity: fields.flag("suspicious_activity_observed"),
    }
}
