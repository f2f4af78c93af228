//! The transforms of a proxy's requests and answers.

use serde_json::Value;

use crate::domain::pattern::Pattern;
use crate::domain::program::Runtime;
use crate::domain::proxy::location::Location;
use crate::secret::Secret;

/// The transforms of one side, as given and parsed.
#[derive(Debug, Default)]
pub struct Transforms {
    pub(super) given: Given,
    pub(super) list: Vec<Transform>,
    /// The index of each transform in the request's list. Transforms with mistakes are not in
    /// `list`.
    pub(super) places: Vec<usize>,
}

/// The spelling of the request, which answers repeat. The texts are JSON.
#[derive(Debug, Default)]
pub enum Given {
    #[default]
    Nothing,
    /// `request_transform`, `response_transform`: an object.
    One(Secret<String>),
    /// `request_transforms`, `response_transforms`: a list.
    List(Secret<String>),
}

/// One step. Texts in values may hold expressions.
#[derive(Debug)]
pub enum Transform {
    AppendHeader {
        name: String,
        value: Secret<String>,
    },
    AppendJson {
        location: Location,
        value: Secret<Value>,
    },
    AppendText {
        value: Secret<String>,
    },
    /// A program of the tenant. It is compiled when it is called.
    Code {
        code: Secret<String>,
        runtime: Option<Runtime>,
    },
    Mask {
        matcher: Matcher,
        replacement: char,
    },
    /// Creates a token out of the body of a create request.
    Tokenize {
        token: Secret<Value>,
        identifier: Option<String>,
    },
}

/// The parts of a body that a mask hides.
#[derive(Debug)]
pub enum Matcher {
    ChaseStratusPan,
    /// It has at least one group.
    Pattern(Pattern),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Request,
    Response,
}

impl Transforms {
    /// The same transforms, with the text of the record that they were read from.
    #[must_use]
    pub fn with_given(self, given: Given) -> Self {
        Self { given, ..self }
    }

    pub const fn given(&self) -> &Given {
        &self.given
    }

    pub fn list(&self) -> &[Transform] {
        &self.list
    }

    /// The path of each transform in the request, for its mistakes.
    pub fn paths(&self, side: Side) -> impl Iterator<Item = String> {
        self.places.iter().map(move |place| match self.given {
            Given::Nothing | Given::One(_) => String::from(side.one()),
            Given::List(_) => format!("{}[{place}]", side.list()),
        })
    }

    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Side {
    /// The name of the member with one transform.
    pub const fn one(self) -> &'static str {
        match self {
            Self::Request => "request_transform",
            Self::Response => "response_transform",
        }
    }

    /// The name of the member with a list.
    pub const fn list(self) -> &'static str {
        match self {
            Self::Request => "request_transforms",
            Self::Response => "response_transforms",
        }
    }
}
