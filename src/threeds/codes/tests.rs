use std::collections::BTreeSet;

use super::*;

macro_rules! check_lists {
    ($($list:ident),+ $(,)?) => {$(
        for it in $list::ALL {
            assert_eq!($list::from_code(it.code(), V220), Some(*it), "{it:?}");
            assert_eq!($list::from_code(it.code(), V210).is_some(), it.since() == V210, "{it:?}");
        }
        assert_eq!($list::from_word("no such word"), None);
        assert_eq!($list::from_code("79", V220), None);
        let codes: BTreeSet<_> = $list::ALL.iter().map(|it| it.code()).collect();
        assert_eq!(codes.len(), $list::ALL.len());
    )+};
}

#[test]
fn every_code_is_read_back_where_its_version_knows_it_and_is_reserved_before() {
    check_lists!(
        AccountAge,
        AccountLastChanged,
        AccountType,
        AcsInformation,
        CancelReason,
        Category,
        ChallengeMethod,
        ChallengePreference,
        ChallengeType,
        Channel,
        DeliveryTimeFrame,
        LoginMethod,
        MethodOutcome,
        PasswordLastChanged,
        PriorMethod,
        ResultsStatus,
        ShippingAddressFirstUsed,
        ShippingMethod,
        TransactionStatus,
        TransactionType,
        WhitelistSource,
        WhitelistStatus,
        WindowSize,
        YesNo,
    );
}

#[test]
fn authentication_types_belong_to_the_session_types_of_the_interface() {
    let of = |wanted: fn(AuthenticationType) -> bool| -> Vec<_> {
        AuthenticationType::ALL
            .into_iter()
            .filter(|it| wanted(*it))
            .map(AuthenticationType::as_str)
            .collect()
    };
    assert_eq!(
        of(|it| it.customer_code().is_some() && it.merchant_code().is_none()),
        ["payment-transaction", "cardholder-emv-verification"]
    );
    assert_eq!(
        of(|it| it.customer_code().is_none()),
        [
            "split-or-delayed-shipment",
            "top-up",
            "mail-order",
            "telephone-order",
            "whitelist-status-check",
            "other-payment",
            "billing-agreement"
        ]
    );
    assert_eq!(
        of(|it| it.customer_code().is_some() && it.merchant_code().is_some()),
        [
            "recurring-transaction",
            "installment-transaction",
            "add-card",
            "maintain-card",
            "account-verification"
        ]
    );
}

#[test]
fn reasons_from_22_on_are_reserved_in_the_older_version_and_schemes_have_their_own() {
    assert_eq!(Reason::from_code("01", V210).and_then(Reason::word), Some(REASONS[0]));
    assert_eq!(Reason::from_code("21", V210).and_then(Reason::word), Some("3ri-not-supported"));
    assert_eq!(Reason::from_code("22", V210), None);
    assert_eq!(Reason::from_code("26", V220).and_then(Reason::word), Some(REASONS[25]));
    assert_eq!(Reason::from_code("80", V210).map(Reason::word), Some(None));
    for code in ["00", "27", "79", "1", "001", "+1", "xx", ""] {
        assert_eq!(Reason::from_code(code, V220), None, "{code}");
    }
    assert_eq!(Reason::CARDHOLDER_NOT_ENROLLED.word(), Some("cardholder-not-enrolled"));
    assert_eq!(Reason::SUSPECTED_FRAUD.code(), "11");
}

/// Checks a list against the published table of its words and codes: all of them exist, and no
/// others.
macro_rules! check_tables {
    ($($list:ident: $($word:literal $code:literal),+;)+) => {$(
        let table = [$(($word, $code)),+];
        for (word, code) in table {
            let found = $list::from_word(word);
            assert_eq!(found.map(|it| it.code()), Some(code), "{word}");
            assert_eq!($list::from_code(code, V220).map(|it| it.word()), Some(word), "{code}");
        }
        assert_eq!($list::ALL.len(), table.len(), stringify!($list));
    )+};
}

#[test]
fn words_and_codes_are_those_of_the_published_tables() {
    check_tables! {
        Category: "payment" "01", "non-payment" "02";
        ChallengePreference: "no-preference" "01", "no-challenge" "02", "challenge-requested" "03",
            "challenge-mandated" "04", "no-challenge-risk-analysis-performed" "05",
            "no-challenge-data-sharing-only" "06", "no-challenge-strong-consumer-auth" "07",
            "no-challenge-whitelist-exemption" "08", "challenge-requested-whitelist-prompt" "09",
            "cartes-bancaires" "90";
        TransactionType: "purchase" "01", "check-acceptance" "03", "account-funding" "10",
            "quasi-cash" "11", "prepaid-activation-load" "28";
        DeliveryTimeFrame: "electronic-delivery" "01", "same-day-shipping" "02",
            "overnight-shipping" "03", "two-or-more-day-shipping" "04";
        ShippingMethod: "ship-to-billing-address" "01", "ship-to-verified-address" "02",
            "ship-to-different-address" "03", "ship-to-store" "04", "digital-goods" "05",
            "travel-and-event-tickets" "06", "other" "07";
        AccountType: "credit" "02", "debit" "03";
        AccountAge: "no-account" "01", "created-this-transaction" "02", "less-than-30-days" "03",
            "30-to-60-days" "04", "more-than-60-days" "05";
        AccountLastChanged: "changed-this-transaction" "01", "less-than-30-days" "02",
            "30-to-60-days" "03", "more-than-60-days" "04";
        PasswordLastChanged: "no-change" "01", "changed-this-transaction" "02",
            "less-than-30-days" "03", "30-to-60-days" "04", "more-than-60-days" "05";
        ShippingAddressFirstUsed: "this-transaction" "01", "less-than-30-days" "02",
            "30-to-60-days" "03", "more-than-60-days" "04";
        LoginMethod: "no-login" "01", "username-password" "02", "federated-id" "03",
            "issuer-credentials" "04", "third-party" "05", "fido" "06", "fido-data-signed" "07",
            "src-assurance-data" "08";
        PriorMethod: "frictionless" "01", "challenged" "02", "avs-verified" "03", "other" "04";
        TransactionStatus: "successful" "Y", "attempted" "A", "failed" "N", "unavailable" "U",
            "challenge" "C", "decoupled_challenge" "D", "rejected" "R", "informational" "I";
        ChallengeType: "static" "01", "dynamic" "02", "out-of-band" "03", "decoupled" "04";
        WhitelistStatus: "merchant-trusted" "Y", "merchant-not-trusted" "N", "not-eligible" "E",
            "pending-confirmation" "P", "request-to-trust-rejected" "R", "unknown" "U";
        WhitelistSource: "3ds-server" "01", "directory-server" "02", "acs" "03";
        AcsInformation: "threeds-auth-available" "01", "threeds-attempts-supported" "02",
            "threeds-decoupled-supported" "03", "threeds-whitelisting-supported" "04";
    }
    let cancels = [
        ("cardholder-canceled", "01"),
        ("requestor-canceled", "02"),
        ("transaction-abandoned", "03"),
        ("acs-timeout", "04"),
        ("acs-timeout-request-not-received", "05"),
        ("error", "06"),
        ("unknown", "07"),
        // A timeout at the SDK, for which the interface has no word.
        ("unknown", "08"),
    ];
    for (word, code) in cancels {
        assert_eq!(CancelReason::from_code(code, V220).map(CancelReason::word), Some(word));
    }
    assert_eq!(CancelReason::ALL.len(), cancels.len());
    assert_eq!(CancelReason::from_word("unknown"), Some(CancelReason::Unknown));
}

#[test]
fn reasons_are_those_of_the_published_list_in_its_order() {
    let words = "card-authentication-failed unknown-device unsupported-device \
        too-many-authentication-attempts card-expired invalid-card-number invalid-transaction \
        no-card-record security-failure stolen-card suspected-fraud transaction-not-permitted \
        cardholder-not-enrolled timeout-at-acs low-confidence medium-confidence high-confidence \
        very-high-confidence max-challenges-exceeded non-payment-transaction-not-supported \
        3ri-not-supported acs-technical-issue decoupled-authentication-required \
        decoupled-authentication-timeout insufficient-decoupled-authentication-time \
        authentication-attempted-but-not-performed";
    for (number, word) in (1..).zip(words.split_whitespace()) {
        let code = format!("{number:02}");
        assert_eq!(Reason::from_code(&code, V220).and_then(Reason::word), Some(word), "{code}");
    }
    assert_eq!(words.split_whitespace().count(), REASONS.len());
}
