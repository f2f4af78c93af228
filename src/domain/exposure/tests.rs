//! The rules, written independently and checked for every combination.

use super::*;

use Transform::{Mask, Redact, Reveal};

const TRANSFORMS: [Option<Transform>; 4] = [None, Some(Redact), Some(Mask), Some(Reveal)];
const RIGHTS: [Right; 5] = [Right::Create, Right::Read, Right::Search, Right::Update, Right::Use];
const ORIGINS: [ValueOrigin; 4] =
    [ValueOrigin::Collected, ValueOrigin::Duplicate, ValueOrigin::Own, ValueOrigin::Stored];

const NONE: Grants = Grants { create: None, read: None, search: None, update: None, usage: None };

fn every_grants() -> impl Iterator<Item = Grants> {
    (0..4_usize.pow(5)).map(|n| {
        let at = |place: u32| TRANSFORMS[n / 4_usize.pow(place) % 4];
        Grants { create: at(0), read: at(1), search: at(2), update: at(3), usage: at(4) }
    })
}

fn held(grants: Grants, right: Right) -> Option<Transform> {
    match right {
        Right::Create => grants.create,
        Right::Read => grants.read,
        Right::Search => grants.search,
        Right::Update => grants.update,
        Right::Use => grants.usage.or(grants.read),
    }
}

/// The rule written independently, over all 1,024 grants, five rights and four origins.
#[test]
fn no_answer_shows_a_stored_value_beyond_the_right_to_read_it() {
    for grants in every_grants() {
        for right in RIGHTS {
            for origin in ORIGINS {
                let case = format!("{grants:?} {right:?} {origin:?}");
                let Some(shown) = grants.exposure(right, origin) else {
                    assert_eq!(held(grants, right), None, "{case}");
                    continue;
                };
                let held = held(grants, right).unwrap();
                assert!(shown.transform <= held, "{case}");
                let writes = matches!(right, Right::Create | Right::Update);
                let foreign = origin != ValueOrigin::Own;
                if writes && foreign {
                    let readable = grants.read.unwrap_or(Mask);
                    assert!(shown.transform <= readable, "{case}");
                    assert!(shown.transform < Reveal || grants.shows_plain(), "{case}");
                }
                if writes && matches!(origin, ValueOrigin::Duplicate | ValueOrigin::Stored) {
                    let outline = shown.extent == Extent::Outline;
                    assert_eq!(outline, grants.read.is_none(), "{case}");
                }
                if shown.extent == Extent::Outline {
                    assert_eq!(shown.transform, Redact, "{case}");
                }
                // A redacted view of a value that the caller may not know has no fingerprint.
                let knows = (writes && origin == ValueOrigin::Own)
                    || (right == Right::Create && origin == ValueOrigin::Duplicate);
                if shown.transform == Redact && !knows {
                    assert_eq!(shown.fingerprint, Fingerprint::Hidden, "{case}");
                }
            }
        }
    }
}

#[test]
fn only_a_right_to_reveal_by_reading_or_using_shows_a_value_in_plain() {
    for grants in every_grants() {
        let expected = [grants.read, grants.usage].contains(&Some(Reveal));
        assert_eq!(grants.shows_plain(), expected, "{grants:?}");
    }
}

#[test]
fn an_exposure_covers_another_if_it_shows_no_less_in_any_respect() {
    let all = || {
        [Extent::Outline, Extent::Full].into_iter().flat_map(|extent| {
            [Redact, Mask, Reveal].into_iter().flat_map(move |transform| {
                [Fingerprint::Hidden, Fingerprint::Shown].map(|fingerprint| Exposure {
                    extent,
                    transform,
                    fingerprint,
                })
            })
        })
    };
    let amount = |shown: Exposure| {
        let extent = u8::from(shown.extent == Extent::Full);
        (extent, shown.transform, u8::from(shown.fingerprint == Fingerprint::Shown))
    };
    for one in all() {
        for other in all() {
            let (more, less) = (amount(one), amount(other));
            let expected = more.0 >= less.0 && more.1 >= less.1 && more.2 >= less.2;
            assert_eq!(one.covers(other), expected, "{one:?} {other:?}");
        }
    }
}

#[track_caller]
fn check(grants: Grants, right: Right, origin: ValueOrigin, expected: &str) {
    let shown = grants.exposure(right, origin).map_or(String::from("refused"), |shown| {
        let extent = match shown.extent {
            Extent::Full => "",
            Extent::Outline => "outline ",
        };
        let fingerprint = match shown.fingerprint {
            Fingerprint::Hidden => "",
            Fingerprint::Shown => " print",
        };
        format!("{extent}{}{fingerprint}", shown.transform.as_str())
    });
    assert_eq!(shown, expected, "{grants:?} {right:?} {origin:?}");
}

#[test]
fn what_answers_show_by_right_and_origin() {
    let with = |create, update, read| Grants { create, read, update, ..NONE };
    let writer = |transform| with(Some(transform), Some(transform), None);
    let both = |transform, read| with(Some(transform), Some(transform), Some(read));
    for right in [Right::Create, Right::Update] {
        check(NONE, right, ValueOrigin::Own, "refused");
        check(writer(Reveal), right, ValueOrigin::Own, "reveal print");
        check(writer(Redact), right, ValueOrigin::Own, "redact print");
        check(writer(Reveal), right, ValueOrigin::Stored, "outline redact");
        check(writer(Reveal), right, ValueOrigin::Collected, "mask print");
        check(writer(Redact), right, ValueOrigin::Collected, "redact");
        check(both(Reveal, Redact), right, ValueOrigin::Own, "reveal print");
        check(both(Reveal, Redact), right, ValueOrigin::Stored, "redact");
        check(both(Reveal, Redact), right, ValueOrigin::Collected, "redact");
        check(both(Reveal, Mask), right, ValueOrigin::Stored, "mask print");
        check(both(Reveal, Reveal), right, ValueOrigin::Stored, "reveal print");
        check(both(Reveal, Reveal), right, ValueOrigin::Collected, "reveal print");
        check(both(Mask, Reveal), right, ValueOrigin::Stored, "mask print");
    }
    check(writer(Reveal), Right::Create, ValueOrigin::Duplicate, "outline redact print");
    check(writer(Reveal), Right::Update, ValueOrigin::Duplicate, "outline redact");
    check(both(Reveal, Redact), Right::Create, ValueOrigin::Duplicate, "redact print");
    check(both(Reveal, Redact), Right::Update, ValueOrigin::Duplicate, "redact");
    let reader = |read| Grants { read, ..NONE };
    for right in [Right::Read, Right::Use] {
        check(NONE, right, ValueOrigin::Stored, "refused");
        check(reader(Some(Redact)), right, ValueOrigin::Stored, "redact");
        check(reader(Some(Mask)), right, ValueOrigin::Stored, "mask print");
        check(reader(Some(Reveal)), right, ValueOrigin::Stored, "reveal print");
    }
    let user = Grants { usage: Some(Reveal), read: Some(Redact), ..NONE };
    check(user, Right::Use, ValueOrigin::Stored, "reveal print");
    check(user, Right::Read, ValueOrigin::Stored, "redact");
    let searcher = Grants { search: Some(Redact), read: Some(Reveal), ..NONE };
    check(searcher, Right::Search, ValueOrigin::Stored, "redact");
}

#[test]
fn a_caller_learns_by_a_move_unless_it_saw_the_value_before() {
    for before in every_grants() {
        for (read, search, usage) in [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 0, 0)] {
            let raised = |held: Option<Transform>, by: usize| {
                let at = TRANSFORMS.iter().position(|it| *it == held).unwrap();
                TRANSFORMS[(at + by).min(3)]
            };
            let after = Grants {
                read: raised(before.read, read),
                search: raised(before.search, search),
                usage: raised(before.usage, usage),
                ..before
            };
            let raised = after != before;
            assert_eq!(before.learns_under(after), raised && !before.shows_plain());
            assert!(!after.learns_under(before), "less is shown");
        }
    }
}

#[test]
fn grants_in_two_places_are_the_lesser_of_each() {
    let one = Grants { read: Some(Reveal), update: Some(Mask), ..NONE };
    let other = Grants { read: Some(Mask), update: None, create: Some(Mask), ..NONE };
    assert_eq!(one.and(other), Grants { read: Some(Mask), ..NONE });
}

const AUTHORS: [Author; 4] =
    [Author::Application, Author::Session, Author::Stranger, Author::Tenant];
const OUTPUTS: [Output; 3] = [Output::Answer, Output::Destination, Output::Token];

fn operands() -> impl Iterator<Item = Operand> {
    ORIGINS.map(Operand::Value).into_iter().chain([Operand::Configuration])
}

/// The rule written independently, over all 1,024 grants, four authors, three outputs and five
/// operands.
#[test]
fn no_expression_computes_over_a_value_that_its_author_may_not_see() {
    for grants in every_grants() {
        for author in AUTHORS {
            for operand in operands() {
                let sees = match (author, operand) {
                    (Author::Tenant, _) | (_, Operand::Value(ValueOrigin::Own)) => true,
                    (Author::Stranger, _) | (Author::Session, Operand::Configuration) => false,
                    (Author::Application | Author::Session, _) => {
                        [grants.read, grants.usage].contains(&Some(Reveal))
                    }
                };
                for output in OUTPUTS {
                    let case = format!("{grants:?} {author:?} {output:?} {operand:?}");
                    let allowed = grants.computation(author, output, operand);
                    let configuration = operand == Operand::Configuration;
                    let expected = match output {
                        _ if sees => Computation::Any,
                        _ if configuration => Computation::None,
                        // The value is masked or left out before the expression reads it.
                        Output::Answer if author != Author::Stranger => Computation::Any,
                        Output::Destination => Computation::Placement,
                        Output::Answer | Output::Token => Computation::None,
                    };
                    assert_eq!(allowed, expected, "{case}");
                }
            }
        }
    }
}

#[test]
fn expressions_that_write_a_part_of_a_token_follow_what_its_answer_shows() {
    // An answer that would show the value in plain and an expression over it need the same grants.
    for grants in every_grants() {
        let shown = grants.exposure(Right::Create, ValueOrigin::Collected);
        let collected = Operand::Value(ValueOrigin::Collected);
        if shown.is_some_and(|shown| shown.transform == Reveal) {
            let allowed = grants.computation(Author::Application, Output::Token, collected);
            assert_eq!(allowed, Computation::Any, "{grants:?}");
        }
    }
}
