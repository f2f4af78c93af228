//! `POST /tokenize`: any JSON in, the same shape out with tokens in place of values. All of it in
//! one change, or none.

use serde_json::Value;

use crate::app::App;
use crate::app::authenticate::Caller;
use crate::app::create_token::{Admitted, Origin, Written};
use crate::app::error::Error;
use crate::app::once::Write;
use crate::app::token_draft::TokenDraft;
use crate::domain::container::Container;
use crate::domain::token::Token;
use crate::secret::Secret;
use crate::store::Change;

/// A body whose values are drafts: the shape of the answer, with a place for each token.
#[derive(Debug)]
pub struct TokenizeDraft {
    /// In the order in which the places of the shape are numbered.
    pub drafts: Vec<(TokenDraft, Place)>,
}

/// What stands in the answer where a token was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A value on its own gives way to the token's id.
    Id,
    /// What was shaped like a token request gives way to the whole token.
    Token,
}

/// One token of the answer.
#[derive(Debug)]
pub enum Piece {
    /// The same content as the token of an earlier place, which it is a duplicate of.
    SameAs(usize),
    Written(Box<Written>),
}

#[derive(Debug)]
pub struct Tokenized {
    pub written: Vec<(Piece, Place)>,
    /// All containers that tokens went to.
    pub containers: Vec<Container>,
}

impl App {
    pub async fn tokenize(
        &self,
        caller: &Caller,
        draft: TokenizeDraft,
        write: &Write<'_, Tokenized>,
    ) -> Result<Tokenized, Error> {
        let now = self.now();
        let limit = caller.tenant.quotas.tokenize_limit;
        if draft.drafts.len() > usize::try_from(limit).unwrap_or(usize::MAX) {
            let message = format!("At most {limit} tokens may be made at once.");
            return Err(Error::invalid("$", message));
        }
        let mut admitted = Vec::with_capacity(draft.drafts.len());
        for (draft, place) in draft.drafts {
            admitted.push((self.admit_draft(caller, draft, now)?, place));
        }
        self.settle_once(write, |snapshot| {
            let mut change = Change::new();
            let mut written: Vec<(Piece, Place)> = Vec::with_capacity(admitted.len());
            for (draft, place) in &admitted {
                let (one, new) = self.plan_token(snapshot, caller, draft, now)?;
                // Two tokens of one call do not find each other in the file.
                if let Some(same) = earlier(&written, &new, |old| same_content(old, &new))
                    && draft.deduplicates(caller)
                {
                    written.push((Piece::SameAs(same), *place));
                    continue;
                }
                if earlier(&written, &new, |old| same_name(old, &new)).is_some() {
                    return Err(Error::Conflict("A token with this id exists already."));
                }
                change = change.and(one);
                written.push((Piece::Written(Box::new(new)), *place));
            }
            let containers = all_containers(&admitted);
            Ok((change, Tokenized { written, containers }))
        })
        .await
    }
}

/// The place of the first earlier token that is the same in this respect as a new one.
fn earlier(
    written: &[(Piece, Place)],
    new: &Written,
    same: impl Fn(&Token) -> bool,
) -> Option<usize> {
    let matches = |(one, _): &(Piece, Place)| match one {
        Piece::SameAs(_) => false,
        Piece::Written(old) => old.origin == Origin::New && same(&old.shown.token),
    };
    (new.origin == Origin::New).then(|| written.iter().position(matches)).flatten()
}

fn same_content(old: &Token, new: &Written) -> bool {
    let new = &new.shown.token;
    (&old.fingerprint, &old.containers) == (&new.fingerprint, &new.containers)
}

fn same_name(old: &Token, new: &Written) -> bool {
    old.name.is_some() && old.name == new.shown.token.name
}

fn all_containers(admitted: &[(Admitted, Place)]) -> Vec<Container> {
    let mut all: Vec<_> =
        admitted.iter().flat_map(|(draft, _)| draft.containers().iter().cloned()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A value on its own is stored as a plain token.
pub fn leaf(value: &Value) -> TokenDraft {
    TokenDraft {
        kind: Some(crate::domain::token_type::TokenType::Token),
        data: Some(Secret::new(value.clone())),
        ..TokenDraft::default()
    }
}
