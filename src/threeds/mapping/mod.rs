//! Builds the `AReq` from a session, a request and a card.
//!
//! A request that the interface allows is never refused because the protocol is stricter: long
//! texts are cut, codes that are newer than the version become the nearest older one, and values
//! without a legal form are left out.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::outside_json;
use crate::secret::Secret;
use crate::threeds::ProtocolVersion;
use crate::threeds::codes::{Category, ChallengePreference, Channel, LoginMethod, YesNo};
use crate::threeds::message::{
    AccountInfo, Areq, AreqOptions, CardNumber, DeviceRenderOptions, Digits, EcmaObject, Extension,
    Extensions, Flag, LoginInfo, MerchantRisk, Numeric, Phone, PriorInfo, Text, UiTypes,
};
use crate::threeds::request::{
    Account, Address, AuthenticationRequest, Cardholder, Login, Merchant, PhoneNumber,
    PriorAuthentication, Purchase, RequestedExtension, Risk,
};
use crate::threeds::session::{AreqSummary, DeviceInfo, ThreedsSession};

#[derive(Debug)]
pub struct PaymentCard {
    pub number: CardNumber,
    pub expiration_month: Option<u8>,
    pub expiration_year: Option<u16>,
}

/// The identity of this 3DS server at a directory server.
#[derive(Debug, Clone)]
pub struct ServerIdentity {
    pub reference: String,
    pub operator: Option<String>,
    pub results_url: String,
    /// The URL to which the browser returns from a challenge.
    pub notification_url: String,
}

/// Path of a member that is missing or not allowed for the session.
/// [`AuthenticationRequest::check`] reports such members to the client, so this is an error of the
/// caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UncheckedMember(pub &'static str);

/// Builds the request, and the summary that its answers are checked against.
pub fn areq(
    session: &ThreedsSession,
    request: &AuthenticationRequest,
    card: PaymentCard,
    server: &ServerIdentity,
    version: ProtocolVersion,
) -> Result<(Areq, AreqSummary), UncheckedMember> {
    let channel = session.channel();
    let category = category(request, channel, version)?;
    let preference = request.preference.map(|it| downgraded(it, version));
    let decoupled = request.wants_decoupled(session.kind);
    let device = &session.device_info;
    let sdk_transaction = uuid(device.sdk_transaction_id.as_deref());
    let sdk_transaction = sdk_transaction.filter(|_| channel == Channel::App);
    let requestor = request.requestor.as_ref().ok_or(UncheckedMember("requestor_info"))?;
    let mut options = AreqOptions {
        server_operator: server.operator.as_deref().map(Text::cut),
        server_url: Some(Text::cut(&server.results_url)),
        card_expiry: expiry(card.expiration_year, card.expiration_month),
        preference,
        broadcast: request
            .broadcast
            .as_ref()
            .filter(|members| !members.is_empty())
            .and_then(|members| EcmaObject::new(&Value::Object(members.clone()))),
        ..AreqOptions::default()
    };
    if version >= ProtocolVersion::V220 {
        options.decoupled = Some(decoupled);
        let minutes = request.decoupled_minutes.map(|it| it.to_string());
        let minutes = minutes.and_then(|it| Numeric::padded(&it));
        options.decoupled_max = minutes.filter(|_| decoupled == YesNo::Yes);
    }
    fill_kind(&mut options, request, channel, version)?;
    if let Some(purchase) = &request.purchase {
        fill_purchase(&mut options, purchase);
    }
    if let Some(merchant) = &request.merchant {
        fill_merchant(&mut options, merchant);
    }
    if let Some(cardholder) = &request.cardholder {
        fill_cardholder(&mut options, cardholder, version);
    }
    match channel {
        Channel::App => fill_app(&mut options, device, sdk_transaction),
        Channel::Browser => {
            options.method_outcome = Some(session.method_indicator());
            fill_browser(&mut options, device, &server.notification_url);
        }
        Channel::Merchant => (),
    }
    let areq = Areq {
        version,
        channel,
        category,
        server_transaction: session.id.uuid(),
        server_reference: Text::cut(&server.reference),
        requestor_id: required(requestor.id.as_deref(), "requestor_info.id")?,
        requestor_name: required(requestor.name.as_deref(), "requestor_info.name")?,
        requestor_url: required(requestor.url.as_deref(), "requestor_info.url")?,
        card_number: card.number,
        options,
        extensions: extensions(request.extensions.as_deref().unwrap_or_default()),
    };
    let sent = AreqSummary { version, channel, category, preference, decoupled, sdk_transaction };
    Ok((areq, sent))
}

/// Version 2.1 has no payment authentication without the cardholder.
fn category(
    request: &AuthenticationRequest,
    channel: Channel,
    version: ProtocolVersion,
) -> Result<Category, UncheckedMember> {
    match (channel, version) {
        (Channel::Merchant, ProtocolVersion::V210) => Ok(Category::NonPayment),
        (Channel::App | Channel::Browser | Channel::Merchant, _) => {
            request.category.ok_or(UncheckedMember("authentication_category"))
        }
    }
}

/// The nearest preference that the version supports.
fn downgraded(preference: ChallengePreference, version: ProtocolVersion) -> ChallengePreference {
    if preference.since() <= version {
        preference
    } else if preference == ChallengePreference::ChallengeRequestedWhitelistPrompt {
        ChallengePreference::ChallengeRequested
    } else {
        ChallengePreference::NoChallenge
    }
}

fn fill_kind(
    options: &mut AreqOptions,
    request: &AuthenticationRequest,
    channel: Channel,
    version: ProtocolVersion,
) -> Result<(), UncheckedMember> {
    let unchecked = UncheckedMember("authentication_type");
    let kind = request.kind.ok_or(unchecked)?;
    if channel == Channel::Merchant {
        let (code, since) = kind.merchant_code().ok_or(unchecked)?;
        // For a purchase without the cardholder, version 2.1 has no code but "recurring".
        options.merchant_authentication =
            Numeric::parse(if since <= version { code } else { "01" });
    } else {
        let code = kind.customer_code().ok_or(unchecked)?;
        options.authentication = Numeric::parse(code);
    }
    Ok(())
}

fn fill_purchase(options: &mut AreqOptions, purchase: &Purchase) {
    options.amount = digits(purchase.amount.as_deref());
    options.currency = digits(purchase.currency.as_deref());
    options.exponent = digits(purchase.exponent.as_deref());
    options.date = digits(purchase.date.as_deref());
    options.transaction_type = purchase.transaction_type;
    options.installments = digits(purchase.installment_count.as_deref());
    options.recurring_expiry = digits(purchase.recurring_expiration.as_deref());
    options.recurring_frequency = digits(purchase.recurring_frequency.as_deref());
}

fn fill_merchant(options: &mut AreqOptions, merchant: &Merchant) {
    options.acquirer_bin = cut(merchant.acquirer_bin.as_deref());
    options.acquirer_merchant = cut(merchant.mid.as_deref());
    options.merchant_category = digits(merchant.category_code.as_deref());
    options.merchant_country = digits(merchant.country_code.as_deref());
    options.merchant_name = cut(merchant.name.as_deref());
    options.merchant_risk = merchant.risk.as_ref().map(risk);
}

fn risk(risk: &Risk) -> MerchantRisk {
    let flag =
        |flag: Option<bool>| flag.and_then(|it| Numeric::parse(if it { "02" } else { "01" }));
    let count = risk.gift_card_count.as_deref();
    MerchantRisk {
        delivery_email: whole(risk.delivery_email.as_deref()),
        delivery: risk.delivery_time_frame,
        gift_card_amount: digits(risk.gift_card_amount.as_deref()),
        gift_card_count: count.and_then(Numeric::padded),
        gift_card_currency: digits(risk.gift_card_currency.as_deref()),
        pre_order_date: digits(risk.pre_order_date.as_deref()),
        pre_order: flag(risk.pre_order_purchase),
        reordered: flag(risk.reordered_purchase),
        shipping: risk.shipping_method,
    }
}

fn fill_cardholder(options: &mut AreqOptions, cardholder: &Cardholder, version: ProtocolVersion) {
    options.cardholder_name = cut(cardholder.name.as_deref());
    options.email = whole(cardholder.email.as_deref());
    options.account_id = cut(cardholder.account_id.as_deref());
    options.account_type = cardholder.account_type;
    options.account = cardholder.account.as_ref().map(account);
    options.login = cardholder.login.as_ref().map(|it| login(it, version));
    options.prior = cardholder.prior.as_ref().map(prior);
    options.home_phone = cardholder.phone.as_ref().and_then(phone);
    options.mobile_phone = cardholder.mobile_phone.as_ref().and_then(phone);
    options.work_phone = cardholder.work_phone.as_ref().and_then(phone);
    options.address_match = cardholder.address_match;
    if let Some(address) = &cardholder.billing {
        options.billing_line1 = cut(address.line1.as_deref());
        options.billing_line2 = cut(address.line2.as_deref());
        options.billing_line3 = cut(address.line3.as_deref());
        options.billing_city = cut(address.city.as_deref());
        options.billing_postal_code = cut(address.postal_code.as_deref());
        options.billing_state = state(address);
        options.billing_country = digits(address.country_code.as_deref());
    }
    if let Some(address) = &cardholder.shipping {
        options.shipping_line1 = cut(address.line1.as_deref());
        options.shipping_line2 = cut(address.line2.as_deref());
        options.shipping_line3 = cut(address.line3.as_deref());
        options.shipping_city = cut(address.city.as_deref());
        options.shipping_postal_code = cut(address.postal_code.as_deref());
        options.shipping_state = state(address);
        options.shipping_country = digits(address.country_code.as_deref());
    }
}

fn account(account: &Account) -> AccountInfo {
    let code =
        |flag: Option<bool>, yes, no| flag.and_then(|it| Numeric::parse(if it { yes } else { no }));
    let created = account.created_date.as_deref().map(|it| it.replace('-', ""));
    AccountInfo {
        age: account.age,
        changed_date: digits(account.change_date.as_deref()),
        changed: account.last_changed,
        created_date: created.and_then(|it| Numeric::parse(it.get(..8)?)),
        password_date: digits(account.password_change_date.as_deref()),
        password: account.password_last_changed,
        purchases_half_year: digits(account.purchase_count_half_year.as_deref()),
        transactions_day: digits(account.transaction_count_day.as_deref()),
        transactions_year: digits(account.transaction_count_year.as_deref()),
        payment_date: digits(account.payment_account_age.as_deref()),
        payment: account.payment_account_created,
        shipping_date: digits(account.shipping_usage_date.as_deref()),
        shipping: account.shipping_first_used,
        shipping_name: code(account.shipping_name_match, "01", "02"),
        suspicious: code(account.suspicious_activity, "02", "01"),
    }
}

/// A method that is newer than the version becomes the nearest older one.
fn login(login: &Login, version: ProtocolVersion) -> LoginInfo {
    let method = login.method.map(|method| {
        if method.since() <= version {
            method
        } else if method == LoginMethod::FidoDataSigned {
            LoginMethod::Fido
        } else {
            LoginMethod::ThirdParty
        }
    });
    let max = if version == ProtocolVersion::V210 { 2_048 } else { 20_000 };
    let data = login.data.as_deref().filter(|it| it.chars().count() <= max);
    LoginInfo { method, timestamp: digits(login.timestamp.as_deref()), data: whole(data) }
}

fn prior(prior: &PriorAuthentication) -> PriorInfo {
    PriorInfo {
        method: prior.method,
        timestamp: digits(prior.timestamp.as_deref()),
        reference: uuid(prior.reference_id.as_deref()),
        data: whole(prior.data.as_deref()),
    }
}

/// Keeps only the digits of both parts; a phone number needs both.
fn phone(phone: &PhoneNumber) -> Option<Phone> {
    let only = |text: Option<&String>| -> Option<String> {
        Some(text?.chars().filter(char::is_ascii_digit).collect())
    };
    Some(Phone {
        country: Digits::parse(&only(phone.country_code.as_ref())?)?,
        number: Digits::parse(&only(phone.number.as_ref())?)?,
    })
}

/// The part after the hyphen. The protocol requires the country with it.
fn state(address: &Address) -> Option<Text<3>> {
    let code = address.state_code.as_deref()?;
    let own = code.split_once('-').map_or(code, |(_, own)| own);
    Text::parse(own).filter(|_| address.country_code.is_some())
}

fn fill_browser(options: &mut AreqOptions, device: &DeviceInfo, notification_url: &str) {
    options.notification_url = whole(Some(notification_url));
    options.browser_accept = cut(Some(device.browser_accept_header.as_deref().unwrap_or("*/*")));
    options.browser_ip = whole(device.browser_ip.as_deref());
    options.browser_java = Some(Flag::from(device.browser_java_enabled.unwrap_or(false)));
    options.browser_javascript =
        Some(Flag::from(device.browser_javascript_enabled.unwrap_or(false)));
    // The element holds eight characters, so a longer tag is reduced to its language.
    let language = device.browser_language.as_deref().unwrap_or("en");
    let short = language.split('-').next();
    options.browser_language = whole(Some(language)).or_else(|| whole(short));
    options.browser_color_depth = device.browser_color_depth.as_deref().and_then(color_depth);
    options.browser_screen_height = digits(device.browser_screen_height.as_deref());
    options.browser_screen_width = digits(device.browser_screen_width.as_deref());
    options.browser_tz = whole(device.browser_tz.as_deref());
    options.browser_user_agent = cut(Some(device.browser_user_agent.as_deref().unwrap_or("-")));
}

/// Rounds down to a depth that the protocol has.
fn color_depth(text: &str) -> Option<Digits<1, 2>> {
    let bits: u32 = text.parse().ok()?;
    let known = [48_u32, 32, 24, 16, 15, 8, 4, 1].into_iter().find(|it| *it <= bits)?;
    Digits::parse(&known.to_string())
}

fn fill_app(options: &mut AreqOptions, device: &DeviceInfo, transaction: Option<Uuid>) {
    options.sdk_transaction = transaction;
    options.sdk_application = uuid(device.sdk_application_id.as_deref());
    options.sdk_reference = cut(device.sdk_reference_number.as_deref());
    options.sdk_max_timeout = device.sdk_max_timeout.as_deref().and_then(Numeric::padded);
    options.sdk_encrypted = whole(device.sdk_encryption_data.as_deref());
    options.sdk_public_key = device.sdk_ephemeral_public_key.as_ref().and_then(public_key);
    options.sdk_render_options = render_options(device);
}

/// The SDKs send the key as a string that contains a JSON object.
fn public_key(key: &Value) -> Option<EcmaObject<256>> {
    match key.as_str() {
        Some(text) => EcmaObject::new(outside_json::parse(text.as_bytes())?.expose()),
        None => EcmaObject::new(key),
    }
}

fn render_options(device: &DeviceInfo) -> Option<DeviceRenderOptions> {
    Some(DeviceRenderOptions {
        interface: whole(device.sdk_interface.as_deref())?,
        ui_types: UiTypes(device.sdk_ui_types.clone().filter(|it| !it.is_empty())?),
    })
}

/// Data that is not an object is wrapped in one.
fn extensions(requested: &[RequestedExtension]) -> Option<Extensions> {
    let convert = |it: &RequestedExtension| {
        let inner = it.data.as_str().map(|text| {
            let object = outside_json::parse(text.as_bytes());
            let object = object.filter(|object| object.expose().is_object());
            object.unwrap_or_else(|| Secret::new(json!({ "data": text })))
        });
        let data = match inner {
            Some(value) => EcmaObject::new(value.expose()),
            None if it.data.is_object() => EcmaObject::new(&it.data),
            None => EcmaObject::new(&json!({ "data": it.data })),
        };
        Some(Extension {
            name: Text::cut(&it.name),
            id: Text::cut(&it.id),
            critical: Flag::from(it.critical),
            data: data?,
        })
    };
    let converted: Vec<_> = requested.iter().filter_map(convert).collect();
    (!converted.is_empty()).then_some(Extensions(converted))
}

fn expiry(year: Option<u16>, month: Option<u8>) -> Option<Numeric<4>> {
    let year = year?.checked_rem(100)?;
    Numeric::parse(&format!("{year:02}{:02}", month?))
}

fn uuid(text: Option<&str>) -> Option<Uuid> {
    text.filter(|text| text.len() == 36).and_then(|text| Uuid::try_parse(text).ok())
}

fn cut<const MAX: usize>(text: Option<&str>) -> Option<Text<MAX>> {
    text.filter(|text| !text.is_empty()).map(Text::cut)
}

fn required<const MAX: usize>(
    text: Option<&str>,
    path: &'static str,
) -> Result<Text<MAX>, UncheckedMember> {
    text.map(Text::cut).ok_or(UncheckedMember(path))
}

/// Leaves the text out when it is too long or empty.
fn whole<const MAX: usize>(text: Option<&str>) -> Option<Text<MAX>> {
    text.and_then(Text::parse)
}

fn digits<const MIN: usize, const MAX: usize>(text: Option<&str>) -> Option<Digits<MIN, MAX>> {
    text.and_then(Digits::parse)
}

#[cfg(test)]
mod tests;
