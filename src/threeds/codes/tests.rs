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
        Status,
        TransactionType,
        WhitelistSource,
        WhitelistStatus,
        WindowSize,
        YesNo,
    );
}

#[test]
fn the_words_of_the_interface_have_their_documented_codes() {
    let preferences: Vec<_> =
        ChallengePreference::ALL.iter().map(|it| (it.word(), it.code())).collect();
    assert_eq!(preferences.len(), 10);
    assert!(preferences.contains(&("no-challenge-data-sharing-only", "06")));
    assert!(preferences.contains(&("cartes-bancaires", "90")));
    let statuses: Vec<_> = Status::ALL.iter().map(|it| it.code()).collect();
    assert_eq!(statuses.concat(), "YANUCDRI");
    assert_eq!(CancelReason::from_word("unknown"), Some(CancelReason::Unknown));
    assert_eq!(CancelReason::from_code("08", V220).map(CancelReason::word), Some("unknown"));
}

#[test]
fn authentication_types_belong_to_the_session_types_of_the_interface() {
    let of = |wanted: fn(AuthenticationType) -> bool| -> Vec<_> {
        AuthenticationType::ALL
            .into_iter()
            .filter(|it| wanted(*it))
            .map(AuthenticationType::word)
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
    for it in AuthenticationType::ALL {
        assert_eq!(AuthenticationType::from_word(it.word()), Some(it));
    }
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
