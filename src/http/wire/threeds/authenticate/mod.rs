//! The body of an authenticate call: codes and formats. The session decides which members are
//! required.

mod form;

use serde_json::{Map, Value};

use crate::bounds::THREEDS_EXTENSIONS_MAX;
use crate::domain::mistakes::Mistakes;
use crate::http::Schema;
use crate::http::wire::threeds::{free_object, text, text_or_number, word};
use crate::http::wire::{Fields, WRONG_TYPE};
use crate::threeds::codes::{
    AccountAge, AccountLastChanged, AccountType, Category, ChallengePreference, DeliveryTimeFrame,
    LoginMethod, PasswordLastChanged, PriorMethod, ShippingAddressFirstUsed, ShippingMethod,
    TransactionType, YesNo,
};
use crate::threeds::request::{
    Account, Address, AuthenticationRequest, Cardholder, Login, Merchant, PhoneNumber,
    PriorAuthentication, Purchase, RequestedExtension, Requestor, Risk,
};
use form::{
    ADDRESS, AMOUNT, ANY_DATE, COUNT, COUNTRY, CURRENCY, DATE, DAYS, EMAIL, EXPONENT, FLAG, Form,
    GIFT_AMOUNT, INSTALLMENTS, LOGIN_DATA, MERCHANT_CATEGORY, MINUTE, MINUTES, Members, PHONE,
    SECOND, TEXT, TYPE, YES_OR_NO, coded, members, object,
};

pub(crate) fn parse(body: &Value) -> (AuthenticationRequest, Mistakes) {
    let mut fields = Fields::of_body(body);
    let request = AuthenticationRequest::read(&mut fields);
    (request, fields.mistakes)
}

/// The schemas of the body and of its parts, by name.
pub(in crate::http) fn schemas() -> [(&'static str, Schema); 3] {
    let about = "The session and the protocol version decide which members are required.";
    [
        ("AuthenticateRequest", AuthenticationRequest::schema().about(about)),
        ("ThreedsAddress", Address::schema()),
        ("ThreedsPhone", PhoneNumber::schema()),
    ]
}

members! {
    AuthenticationRequest {
        category "authentication_category": coded!(Category);
        kind "authentication_type": TYPE;
        preference "challenge_preference": coded!(ChallengePreference);
        decoupled "request_decoupled_challenge": YES_OR_NO;
        decoupled_minutes "decoupled_challenge_max_time": MINUTES;
        purchase "purchase_info": object::<Purchase>();
        merchant "merchant_info": object::<Merchant>();
        requestor "requestor_info": object::<Requestor>();
        cardholder "cardholder_info": object::<Cardholder>();
        broadcast "broadcast_info": BROADCAST;
        extensions "message_extensions": EXTENSIONS;
    }

    Purchase {
        amount: AMOUNT, "In the smallest unit of the currency.";
        currency: CURRENCY;
        exponent: EXPONENT, "The decimal places of the currency.";
        date: SECOND;
        transaction_type: coded!(TransactionType);
        installment_count: INSTALLMENTS;
        recurring_expiration: DATE;
        recurring_frequency: DAYS, "Days.";
    }

    Merchant {
        mid: TEXT, "The merchant's number at the acquirer.";
        acquirer_bin: TEXT;
        name: TEXT;
        country_code: COUNTRY;
        category_code: MERCHANT_CATEGORY;
        risk "risk_info": object::<Risk>();
    }

    Risk {
        delivery_email: EMAIL;
        delivery_time_frame: coded!(DeliveryTimeFrame);
        gift_card_amount: GIFT_AMOUNT;
        gift_card_count: COUNT;
        gift_card_currency: CURRENCY;
        pre_order_purchase: FLAG;
        pre_order_date: DATE;
        reordered_purchase: FLAG;
        shipping_method: coded!(ShippingMethod);
    }

    Requestor {
        id: TEXT;
        name: TEXT;
        url: TEXT;
    }

    Cardholder {
        name: TEXT;
        email: EMAIL;
        account_id: TEXT;
        account_type: coded!(AccountType);
        account "account_info": object::<Account>();
        login "authentication_info": object::<Login>();
        prior "prior_authentication_info": object::<PriorAuthentication>();
        phone "phone_number": PHONE;
        mobile_phone "mobile_phone_number": PHONE;
        work_phone "work_phone_number": PHONE;
        address_match "billing_shipping_address_match": coded!(YesNo);
        billing "billing_address": ADDRESS;
        shipping "shipping_address": ADDRESS;
    }

    Login {
        method: coded!(LoginMethod);
        timestamp: MINUTE;
        data: LOGIN_DATA;
    }

    PriorAuthentication {
        method: coded!(PriorMethod);
        timestamp: MINUTE;
        reference_id: TEXT;
        data: LOGIN_DATA;
    }

    PhoneNumber {
        country_code: TEXT;
        number: TEXT;
    }

    Address {
        line1: TEXT;
        line2: TEXT;
        line3: TEXT;
        postal_code: TEXT;
        city: TEXT;
        state_code: TEXT;
        country_code: COUNTRY;
    }

    Account {
        age "account_age": coded!(AccountAge);
        last_changed "account_last_changed": coded!(AccountLastChanged);
        change_date "account_change_date": DATE;
        created_date "account_created_date": ANY_DATE;
        password_last_changed "account_pwd_last_changed": coded!(PasswordLastChanged);
        password_change_date "account_pwd_change_date": DATE;
        purchase_count_half_year: COUNT;
        transaction_count_day: COUNT;
        transaction_count_year: COUNT;
        payment_account_age: DATE;
        payment_account_created: coded!(AccountAge);
        shipping_first_used "shipping_address_first_used": coded!(ShippingAddressFirstUsed);
        shipping_usage_date "shipping_address_usage_date": DATE;
        shipping_name_match "shipping_account_name_match": FLAG;
        suspicious_activity "suspicious_activity_observed": FLAG;
    }
}

const BROADCAST: Form<Map<String, Value>> = Form { read: free_object, schema: Schema::object };
const EXTENSIONS: Form<Vec<RequestedExtension>> = Form {
    read: extensions,
    schema: || {
        let extension = Schema::object()
            .has("id", Schema::any_of([(TEXT.schema)(), Schema::integer()]))
            .has("name", (TEXT.schema)())
            .takes("critical", Schema::flag())
            .takes("data", Schema::any_of([Schema::text(), Schema::object()]));
        Schema::list(extension).up_to_items(THREEDS_EXTENSIONS_MAX)
    },
};

fn extensions(fields: &mut Fields<'_>, list: &str) -> Option<Vec<RequestedExtension>> {
    let items = fields.list(list, THREEDS_EXTENSIONS_MAX)?;
    let mut extensions = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let mut inner = Fields::at(item, format!("{list}[{at}]"));
        let id = text_or_number(&mut inner, "id");
        let name = text(&mut inner, "name");
        let critical = inner.flag("critical").unwrap_or(false);
        let data = inner.value("data").cloned().unwrap_or(Value::Object(Map::new()));
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
    Some(extensions)
}

#[cfg(test)]
mod tests;
