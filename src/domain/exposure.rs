//! The part of a stored token that an answer shows.
//!
//! The rule: an answer shows a stored value only with the transform of the caller's right to read
//! it in its containers. A value that the caller sent with the same request is the caller's own and
//! follows the right that stored it. [`Grants::exposure`] is the one place that decides this; every
//! answer about a token goes through it.

use std::cmp::min;

use crate::domain::access::Transform;
use crate::domain::permission::Permission;

/// The right that a request used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Create,
    Read,
    Search,
    Update,
    Use,
}

/// The origin of the token's value in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueOrigin {
    /// A token intent that another application made, or a public one: the caller converts a value
    /// that it may never have seen. For a public application it counts as stored.
    Collected,
    /// A token that was there before and has the same content as the one that the request would
    /// have made.
    Duplicate,
    /// The caller sent it with this request.
    Own,
    /// It was stored before this request.
    Stored,
}

/// Every transform that one caller holds on one token, by right. `None` is a right not held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grants {
    pub create: Option<Transform>,
    pub read: Option<Transform>,
    pub search: Option<Transform>,
    pub update: Option<Transform>,
    /// Using a token in an expression.
    pub usage: Option<Transform>,
}

/// The part of a token that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exposure {
    pub extent: Extent,
    pub transform: Transform,
    /// A fingerprint confirms a guess of the value, so it counts as a part of the data.
    pub fingerprint: Fingerprint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Full,
    /// Id, type, tenant, containers and, where it is shown, the fingerprint.
    Outline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fingerprint {
    Hidden,
    Shown,
}

impl Grants {
    /// The grants of a caller that holds permissions for one container of the token, or for all of
    /// them, with these transforms.
    pub fn new(
        in_any: impl Fn(Permission) -> Option<Transform>,
        in_all: impl Fn(Permission) -> Option<Transform>,
    ) -> Self {
        Self {
            create: in_all(Permission::TokenCreate),
            read: in_any(Permission::TokenRead),
            search: in_any(Permission::TokenSearch),
            update: in_all(Permission::TokenUpdate),
            usage: in_any(Permission::TokenUse),
        }
    }

    /// `None` when the right is not held: the request is refused.
    pub fn exposure(self, right: Right, origin: ValueOrigin) -> Option<Exposure> {
        let held = match right {
            Right::Create => self.create,
            Right::Read => self.read,
            Right::Search => self.search,
            Right::Update => self.update,
            Right::Use => self.usage.or(self.read),
        }?;
        match (right, origin) {
            // These are rights to read: a search follows the transform of its own rule, and an
            // expression that may use a token may put its value out.
            (Right::Read | Right::Search | Right::Use, _) => {
                Some(Exposure::full(held, Fingerprint::of(held)))
            }
            (Right::Create | Right::Update, ValueOrigin::Own) => {
                Some(Exposure::full(held, Fingerprint::Shown))
            }
            // A converted intent is masked for a caller without a right to read, as published. Such a
            // caller cannot choose the mask.
            (Right::Create | Right::Update, ValueOrigin::Collected) => {
                let transform = min(held, self.read.unwrap_or(Transform::Mask));
                Some(Exposure::full(transform, Fingerprint::of(transform)))
            }
            // The caller of a create has sent the content that the duplicate has.
            (Right::Create, ValueOrigin::Duplicate) => Some(match self.read {
                Some(read) => Exposure::full(min(held, read), Fingerprint::Shown),
                None => Exposure::outline(Fingerprint::Shown),
            }),
            // A patch may leave the content alone and meet a duplicate by a move.
            (Right::Update, ValueOrigin::Duplicate)
            | (Right::Create | Right::Update, ValueOrigin::Stored) => Some(match self.read {
                Some(read) => {
                    let transform = min(held, read);
                    Exposure::full(transform, Fingerprint::of(transform))
                }
                None => Exposure::outline(Fingerprint::Hidden),
            }),
        }
    }

    /// True if the caller may see the token's value in plain. Only then may it set the mask, the search
    /// indexes and the fingerprint expression, which all can reveal the value.
    pub fn shows_plain(self) -> bool {
        self.read == Some(Transform::Reveal) || self.usage == Some(Transform::Reveal)
    }

    /// True if the grants `after` would show a caller more of the same token than these.
    pub fn learns_under(self, after: Self) -> bool {
        !self.shows_plain()
            && (after.read > self.read || after.search > self.search || after.usage > self.usage)
    }

    /// The lower of both grants for each right, for an answer about a token that the request has moved.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            create: min(self.create, other.create),
            read: min(self.read, other.read),
            search: min(self.search, other.search),
            update: min(self.update, other.update),
            usage: min(self.usage, other.usage),
        }
    }
}

impl Exposure {
    /// True if it shows everything that `other` shows.
    pub fn covers(self, other: Self) -> bool {
        (self.extent == Extent::Full || other.extent == Extent::Outline)
            && self.transform >= other.transform
            && (self.fingerprint == Fingerprint::Shown || other.fingerprint == Fingerprint::Hidden)
    }

    const fn full(transform: Transform, fingerprint: Fingerprint) -> Self {
        Self { extent: Extent::Full, transform, fingerprint }
    }

    const fn outline(fingerprint: Fingerprint) -> Self {
        Self { extent: Extent::Outline, transform: Transform::Redact, fingerprint }
    }
}

impl Fingerprint {
    const fn of(transform: Transform) -> Self {
        match transform {
            Transform::Redact => Self::Hidden,
            Transform::Mask | Transform::Reveal => Self::Shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Transform::{Mask, Redact, Reveal};

    const TRANSFORMS: [Option<Transform>; 4] = [None, Some(Redact), Some(Mask), Some(Reveal)];
    const RIGHTS: [Right; 5] =
        [Right::Create, Right::Read, Right::Search, Right::Update, Right::Use];
    const ORIGINS: [ValueOrigin; 4] =
        [ValueOrigin::Collected, ValueOrigin::Duplicate, ValueOrigin::Own, ValueOrigin::Stored];

    const NONE: Grants =
        Grants { create: None, read: None, search: None, update: None, usage: None };

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
}
