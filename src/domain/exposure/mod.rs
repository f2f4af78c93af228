//! The part of a stored token that an answer shows, and the expressions that may read its value.
//!
//! The rule: an answer shows a stored value only with the transform of the caller's right to read
//! it in its containers. A value that the caller sent with the same request is the caller's own and
//! follows the right that stored it. [`Grants::exposure`] is the one place that decides this; every
//! answer about a token goes through it.
//!
//! The outcome of an expression depends on the value that it reads, so a caller that chooses the
//! expression learns the value from successes and failures. [`Grants::computation`] therefore
//! decides about expressions as [`Grants::exposure`] does about answers.

mod computation;
#[cfg(test)]
mod tests;

use std::cmp::min;

use crate::domain::access::Transform;
use crate::domain::permission::Permission;

pub use computation::{Author, Computation, Operand, Output};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Right {
    Create,
    Read,
    Search,
    Update,
    Use,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueOrigin {
    /// A token intent of another or a public application, or a value that a client encrypted: the
    /// caller stores a value that it may never have seen. For a public application it counts as
    /// stored.
    Collected,
    /// An existing token with the same content as the one that the request would have made.
    Duplicate,
    /// The caller sent it with this request.
    Own,
    /// It was stored before this request.
    Stored,
}

/// Every transform that one caller holds on one token, by right. `None` is a right not held.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
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
    /// The grants of a caller that holds permissions with these transforms, for one container of
    /// the token or for all of them.
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
            // expression that may use a token may output its value.
            (Right::Read | Right::Search | Right::Use, _) => {
                Some(Exposure::full(held, Fingerprint::of(held)))
            }
            (Right::Create | Right::Update, ValueOrigin::Own) => {
                Some(Exposure::full(held, Fingerprint::Shown))
            }
            // A converted intent is masked for a caller without a right to read, as published. Such
            // a caller cannot choose the mask.
            (Right::Create | Right::Update, ValueOrigin::Collected) => {
                let transform = min(held, self.read.unwrap_or(Transform::Mask));
                Some(Exposure::full(transform, Fingerprint::of(transform)))
            }
            // The caller of a create has sent the content of the duplicate.
            (Right::Create, ValueOrigin::Duplicate) => Some(match self.read {
                Some(read) => Exposure::full(min(held, read), Fingerprint::Shown),
                None => Exposure::outline(Fingerprint::Shown),
            }),
            // A patch that only moves a token can meet a duplicate: its caller has not sent the
            // content.
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

    /// True if the caller may see the token's value in plain. Only then may it set the mask, the
    /// search indexes and the fingerprint expression, which all can reveal the value.
    pub fn shows_plain(self) -> bool {
        self.read == Some(Transform::Reveal) || self.usage == Some(Transform::Reveal)
    }

    /// True if the grants `after` would show a caller more of the same token than these.
    pub fn learns_under(self, after: Self) -> bool {
        !self.shows_plain()
            && (after.read > self.read || after.search > self.search || after.usage > self.usage)
    }

    /// The lower grant of both for each right, for an answer about a token that the request has
    /// moved.
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
