//! Tests of the cache: entries belong to one tenant, and the cache is bounded.

use uuid::Uuid;

use super::*;
use crate::bounds;
use crate::domain::id::TenantId;
use crate::expressions::cache::Unparsed;

fn tenant(number: u128) -> TenantId {
    TenantId::new(Uuid::from_u128(number))
}

#[test]
fn a_text_is_parsed_once_for_each_owner() {
    let cache = Cache::new();
    let text = "{{ data | upcase }}";
    let find = |owner| cache.template(owner, text, &budget()).unwrap();
    let (one, other) = (Some(tenant(1)), Some(tenant(2)));
    assert!(Arc::ptr_eq(&find(one), &find(one)));
    assert!(!Arc::ptr_eq(&find(one), &find(other)));
    assert!(!Arc::ptr_eq(&find(one), &find(None)));
    assert_eq!(cache.len(), 3);
}

#[test]
fn a_mask_and_an_expression_of_the_same_text_are_two_things() {
    let cache = Cache::new();
    let text = "\"{{ data }}\"";
    let template = cache.template(None, text, &budget()).unwrap();
    let mask = cache.mask(None, text, &budget()).unwrap();
    let data = serde_json::json!("x");
    assert_eq!(template.evaluate(&Data(&data), &Fixed::new(), &budget()), Ok("\"x\"".into()));
    assert_eq!(mask.apply(&data, &Fixed::new(), &budget()), Some("x".into()));
}

#[test]
fn what_is_malformed_is_reported_and_not_kept() {
    let cache = Cache::new();
    let malformed = Template::parse("{{ }}").unwrap_err();
    let found = cache.template(None, "{{ }}", &budget()).err();
    assert_eq!(found, Some(Unparsed::Malformed(malformed)));
    assert!(cache.mask(None, "{", &budget()).is_none());
    assert!(cache.mask(None, "[\"{{\"]", &budget()).is_none());
    assert_eq!(cache.len(), 0);
}

#[test]
fn looking_for_a_text_is_paid_for_whether_it_is_known_or_not() {
    let cache = Cache::new();
    let text = "{{ data }}";
    for _ in 0..2 {
        let few = Budget::of(text.len());
        assert!(cache.mask(None, "\"{{ data }}\"", &few).is_none() && few.ran_out());
        let few = Budget::of(text.len());
        let unpaid = Some(Unparsed::Unpaid(Failed::TooMuchWork));
        assert_eq!(cache.template(None, text, &few).err(), unpaid);
        cache.template(None, text, &budget()).unwrap();
        cache.mask(None, "\"{{ data }}\"", &budget()).unwrap();
    }
}

#[test]
fn there_are_so_many_entries_and_so_many_bytes_of_them() {
    let cache = Cache::new();
    for at in 0..=bounds::PARSED_MAX {
        cache.template(None, &format!("{{{{ data.a{at} }}}}"), &budget()).unwrap();
        assert!(cache.len() <= bounds::PARSED_MAX);
    }
    assert_eq!(cache.len(), 1);
    let mut most = 0;
    for at in 0..1_000 {
        let text = format!("{at}{}", "x".repeat(bounds::TEMPLATE_BYTES_MAX - 8));
        cache.template(None, &text, &budget()).unwrap();
        most = most.max(cache.len());
    }
    assert!(most * bounds::TEMPLATE_BYTES_MAX <= bounds::PARSED_BYTES_MAX, "{most}");
}
