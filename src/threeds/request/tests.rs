use super::*;

#[expect(clippy::unnecessary_wraps, reason = "every member is optional")]
fn text() -> Option<String> {
    Some(String::from("1"))
}

/// A body that satisfies every rule.
fn whole(category: Category, kind: AuthenticationType) -> AuthenticationRequest {
    AuthenticationRequest {
        category: Some(category),
        kind: Some(kind),
        decoupled_minutes: Some(5),
        purchase: Some(Purchase {
            amount: text(),
            currency: text(),
            exponent: text(),
            date: text(),
            transaction_type: Some(TransactionType::Purchase),
            installment_count: text(),
            recurring_expiration: text(),
            recurring_frequency: text(),
        }),
        merchant: Some(Merchant {
            mid: text(),
            acquirer_bin: text(),
            name: text(),
            country_code: text(),
            category_code: text(),
            risk: None,
        }),
        requestor: Some(Requestor { id: text(), name: text(), url: text() }),
        cardholder: Some(Cardholder { name: text(), email: text(), ..Cardholder::default() }),
        ..AuthenticationRequest::default()
    }
}

fn paths(request: &AuthenticationRequest, session: SessionKind) -> Vec<String> {
    let mut mistakes = Mistakes::new();
    request.check(session, &mut mistakes);
    mistakes.by_path().keys().cloned().collect()
}

#[test]
fn every_type_is_allowed_for_its_session_types_alone() {
    for kind in AuthenticationType::ALL {
        for category in [Category::Payment, Category::NonPayment] {
            let request = whole(category, kind);
            for (session, allowed) in [
                (SessionKind::Customer, kind.customer_code().is_some()),
                (SessionKind::Merchant, kind.merchant_code().is_some()),
            ] {
                let expected: &[&str] = if allowed { &[] } else { &["authentication_type"] };
                assert_eq!(paths(&request, session), expected, "{kind:?} {session:?}");
            }
        }
    }
}

#[test]
fn an_empty_body_lacks_what_is_always_required() {
    let empty = AuthenticationRequest::default();
    let always =
        ["authentication_category", "authentication_type", "cardholder_info", "requestor_info"];
    assert_eq!(paths(&empty, SessionKind::Customer), always);
    let of_merchants = [
        "authentication_category",
        "authentication_type",
        "cardholder_info",
        "decoupled_challenge_max_time",
        "requestor_info",
    ];
    assert_eq!(paths(&empty, SessionKind::Merchant), of_merchants);
}

#[test]
fn purchases_are_required_by_category_and_by_type() {
    use AuthenticationType::{AddCard, InstallmentTransaction, RecurringTransaction};
    let lacks = |category, kind, purchase: Option<Purchase>| {
        let request = AuthenticationRequest { purchase, ..whole(category, kind) };
        paths(&request, SessionKind::Customer)
    };
    let (payment, other) = (Category::Payment, Category::NonPayment);
    assert_eq!(lacks(payment, AddCard, None), ["purchase_info"]);
    assert_eq!(lacks(other, RecurringTransaction, None), ["purchase_info"]);
    assert_eq!(lacks(other, InstallmentTransaction, None), ["purchase_info"]);
    assert_eq!(lacks(other, AddCard, None), [""; 0]);
    let all = ["amount", "currency", "date", "exponent"].map(|it| format!("purchase_info.{it}"));
    let with = |more: &[&str]| {
        let mut paths = all.to_vec();
        paths.extend(more.iter().map(|it| format!("purchase_info.{it}")));
        paths.sort();
        paths
    };
    let none = || Some(Purchase::default());
    assert_eq!(lacks(payment, AddCard, none()), with(&["transaction_type"]));
    assert_eq!(lacks(other, InstallmentTransaction, none()), with(&["installment_count"]));
    assert_eq!(
        lacks(other, RecurringTransaction, none()),
        with(&["recurring_expiration", "recurring_frequency"])
    );
}

#[test]
fn merchants_are_required_for_payments_with_all_their_members() {
    let kind = AuthenticationType::AddCard;
    let none = AuthenticationRequest { merchant: None, ..whole(Category::Payment, kind) };
    assert_eq!(paths(&none, SessionKind::Customer), ["merchant_info"]);
    let empty = AuthenticationRequest {
        merchant: Some(Merchant::default()),
        ..whole(Category::Payment, kind)
    };
    assert_eq!(paths(&empty, SessionKind::Customer).len(), 5);
    let other = AuthenticationRequest { merchant: None, ..whole(Category::NonPayment, kind) };
    assert_eq!(paths(&other, SessionKind::Customer), [""; 0]);
}

#[test]
fn a_decoupled_challenge_needs_a_time_of_up_to_a_week() {
    let request = |decoupled, decoupled_minutes| AuthenticationRequest {
        decoupled,
        decoupled_minutes,
        ..whole(Category::NonPayment, AuthenticationType::AddCard)
    };
    let wrong = ["decoupled_challenge_max_time"];
    let right: [&str; 0] = [];
    for session in [SessionKind::Customer, SessionKind::Merchant] {
        assert_eq!(paths(&request(Some(YesNo::Yes), None), session), wrong);
        for minutes in [0, DECOUPLED_MINUTES_MAX + 1, u64::MAX] {
            assert_eq!(paths(&request(None, Some(minutes)), session), wrong);
        }
        for minutes in [1, DECOUPLED_MINUTES_MAX] {
            assert_eq!(paths(&request(Some(YesNo::Yes), Some(minutes)), session), right);
        }
    }
    assert_eq!(paths(&request(None, None), SessionKind::Customer), right);
    assert_eq!(paths(&request(Some(YesNo::No), None), SessionKind::Merchant), wrong);
    assert_eq!(request(None, None).wants_decoupled(SessionKind::Merchant), YesNo::Yes);
    assert_eq!(request(None, None).wants_decoupled(SessionKind::Customer), YesNo::No);
}

#[test]
fn what_is_wrong_already_is_not_missing_as_well() {
    let mut mistakes = Mistakes::one("authentication_category", "There is no such value.");
    AuthenticationRequest::default().check(SessionKind::Customer, &mut mistakes);
    assert_eq!(mistakes.by_path()["authentication_category"].len(), 1);
}
