//! Answers as clients see them.

use std::fmt;

use serde_json::Value;

use crate::app::tests::simulation::model::Kind;
use crate::app::{DataView, Error, TokenIntentView, TokenOrigin, TokenView};
use crate::domain::time::Timestamp;
use crate::domain::token_type::TokenType;

#[derive(Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) data: Value,
    pub(super) cvc: Option<String>,
    pub(super) containers: Vec<String>,
    pub(super) colour: String,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) created_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct SeenIntent {
    pub(super) id: String,
    pub(super) data: Value,
    pub(super) cvc: Option<String>,
    pub(super) created_at: Timestamp,
}

#[derive(Clone)]
pub(super) enum Outcome {
    Token(Seen, TokenOrigin),
    Replayed(String),
    Page(Vec<Seen>, Option<Vec<u8>>),
    Numbered(Vec<Seen>, usize),
    Intent(SeenIntent),
    Session {
        text: String,
        nonce: String,
        expires_at: Timestamp,
    },
    Threeds(String),
    Done,
    Refused(Refusal),
    /// The vault has stopped: the outcome is unknown.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Busy,
    Conflict,
    Forbidden,
    InFlight,
    Invalid,
    NotFound,
    ReadOnly,
    Unauthenticated,
}

impl Seen {
    pub(super) fn new(shown: &TokenView) -> Self {
        assert!(matches!(shown.data, DataView::Plain), "the applications see tokens in plain");
        let token = &shown.token;
        Self {
            id: token.public_id(),
            kind: match token.kind {
                TokenType::Card => Kind::Card,
                _ => Kind::Plain,
            },
            data: token.data.value().expose().clone(),
            cvc: token.cvc.as_ref().map(|code| code.expose().clone()),
            containers: token.containers.iter().map(|it| String::from(it.as_str())).collect(),
            colour: token.metadata.get("colour").map(String::from).unwrap_or_default(),
            expires_at: token.expires_at,
            created_at: token.created_at,
        }
    }
}

impl SeenIntent {
    pub(super) fn new(shown: &TokenIntentView) -> Self {
        let intent = &shown.intent;
        Self {
            id: intent.id.to_string(),
            data: intent.data.value().expose().clone(),
            cvc: intent.cvc.as_ref().map(|code| code.expose().clone()),
            created_at: intent.created_at,
        }
    }
}

/// Short, since a failing run prints many.
impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, data, cvc, containers, colour, expires_at, created_at, .. } = self;
        write!(f, "{id} {data} {cvc:?} {containers:?} {colour} of {}", created_at.micros())?;
        expires_at.map_or(Ok(()), |at| write!(f, " until {}", at.micros()))
    }
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids = |page: &[Seen]| page.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
        match self {
            Self::Token(seen, origin) => write!(f, "{origin:?} {seen:?}"),
            Self::Replayed(id) => write!(f, "replayed {id}"),
            Self::Page(page, next) => write!(f, "{:?}, more: {}", ids(page), next.is_some()),
            Self::Numbered(page, total) => write!(f, "{:?} of {total}", ids(page)),
            Self::Intent(seen) => seen.fmt(f),
            Self::Session { expires_at, .. } => write!(f, "a session until {expires_at:?}"),
            Self::Threeds(id) => write!(f, "3DS session {id}"),
            Self::Done => f.write_str("done"),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl From<Error> for Outcome {
    fn from(error: Error) -> Self {
        Self::Refused(match error {
            Error::Busy => Refusal::Busy,
            Error::Conflict(_) => Refusal::Conflict,
            Error::Forbidden(_) => Refusal::Forbidden,
            Error::InFlight => Refusal::InFlight,
            Error::Invalid(_) => Refusal::Invalid,
            Error::NotFound(_) => Refusal::NotFound,
            Error::ReadOnly(_) => Refusal::ReadOnly,
            Error::Unauthenticated => Refusal::Unauthenticated,
            Error::Replayed(replay) => {
                return Self::Replayed(String::from_utf8(replay.body.expose().clone()).unwrap());
            }
            Error::Stopped | Error::Storage(_) => return Self::Stopped,
            Error::AnswerGone
            | Error::Internal(_)
            | Error::NeedsCvcKey(_)
            | Error::NoPrograms(_)
            | Error::Unprocessable(_)
            | Error::Upstream(_) => {
                panic!("no request of the simulation is answered so: {error:?}")
            }
        })
    }
}
