//! `POST /tokenize`: returns any JSON in the same shape, with tokens in place of values. One change
//! creates all tokens or none.

use std::collections::HashSet;

use serde_json::Value;

use crate::app::audit::entry::AuditedAct;
use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Write};
use crate::app::error::Error;
use crate::app::program_calls::gathered;
use crate::app::tokens::Tokens;
use crate::app::tokens::create::{AdmittedDraft, no_intent};
use crate::app::tokens::create::{TokenOrigin, WriteOutcome};
use crate::app::tokens::draft::TokenDraft;
use crate::app::tokens::duplicates::DuplicatePolicy;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::update::TokenPatch;
use crate::domain::audit::Entity;
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::expressions::Budget;
use crate::secret::Secret;
use crate::store::{Change, Snapshot};

#[derive(Debug)]
pub struct TokenizeDraft {
    /// In the order of the body.
    pub drafts: Vec<Part>,
}

/// One value or token request of a body.
#[derive(Debug)]
pub struct Part {
    pub draft: TokenDraft,
    pub place: Replacement,
    pub path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// The token's id, in place of a single value.
    Id,
    /// The whole token, in place of an object in the form of a token request.
    Token,
}

#[derive(Debug)]
pub enum Piece {
    /// A duplicate of the token at this earlier index.
    SameAs(usize),
    Written(Box<WriteOutcome>),
}

#[derive(Debug)]
pub struct TokenizeOutcome {
    pub written: Vec<(Piece, Replacement)>,
}

impl Tokens<'_> {
    pub async fn tokenize(
        self,
        draft: TokenizeDraft,
        write: &Write<'_, TokenizeOutcome>,
    ) -> Result<CommitOutcome<TokenizeOutcome>, Error> {
        let opened = Opened::by(self.vault, self.caller);
        let tokenized = self.tokenize_opening(draft, write, &opened).await;
        opened.settle(tokenized).await
    }

    async fn tokenize_opening(
        self,
        draft: TokenizeDraft,
        write: &Write<'_, TokenizeOutcome>,
        opened: &Opened<'_>,
    ) -> Result<CommitOutcome<TokenizeOutcome>, Error> {
        let now = self.vault.now();
        let limit = self.caller.tenant.quotas.tokenize_limit;
        if draft.drafts.len() > usize::try_from(limit).unwrap_or(usize::MAX) {
            let message = format!("At most {limit} tokens may be made at once.");
            return Err(Error::invalid("$", message));
        }
        // Check all permissions first: a refused caller must not learn anything about the content
        // of any part.
        let mut mistakes = Mistakes::new();
        let mut admitted = Vec::with_capacity(draft.drafts.len());
        for Part { draft, place, path } in draft.drafts {
            let found = noted(self.admit_draft(draft, now, opened), &path, &mut mistakes)?;
            admitted.extend(found.map(|draft| (draft, place, path)));
        }
        // Two deletions of one intent in the same change would pass its expectation, so check for
        // them here.
        let mut intents = HashSet::new();
        if !admitted.iter().filter_map(|(draft, ..)| draft.intent()).all(|id| intents.insert(id)) {
            return Err(no_intent());
        }
        let settled = self.vault.commit_evaluating(
            self.caller.party(),
            Work::Tokenize,
            write,
            |snapshot, budget| {
                let mut change = Change::new();
                let mut written: Vec<(Piece, Replacement)> = Vec::with_capacity(admitted.len());
                let mut mistakes = mistakes.clone();
                for (draft, place, path) in &mut admitted {
                    let planned = self.plan_piece(snapshot, draft, &written, now, budget, opened);
                    if let Some((one, piece)) = noted(planned, path, &mut mistakes)? {
                        change = change.and(one);
                        written.push((piece, *place));
                    }
                    let consumed = self.plan_consumption(snapshot, draft, now);
                    let consumed = noted(consumed, path, &mut mistakes)?;
                    change = change.and(consumed.unwrap_or_default());
                }
                mistakes.into_result()?;
                let change = self.caller.within_token_limit(snapshot, change)?;
                let converted = admitted.iter().enumerate().filter_map(|(at, (draft, ..))| {
                    draft.conversion(self.caller, token_of(&written, at)?, now)
                });
                let acts: Vec<_> = converted.chain(acts(&written, self.caller, now)).collect();
                let audit = self.vault.audit().acts(self.caller.tenant.id, &acts);
                Ok((change.and(audit), TokenizeOutcome { written }))
            },
        );
        let settled = settled.await;
        if let Ok(settled) = &settled {
            let written = &settled.outcome.written;
            for token in (0..written.len()).filter_map(|at| token_of(written, at)) {
                let code = (token.cvc.as_ref(), token.cvc_expires_at);
                gathered::note_made(&Entity::token(token), code);
            }
            let intents = admitted.iter().filter_map(|(draft, ..)| draft.intent());
            intents.for_each(|id| gathered::note_ended(id.uuid()));
        }
        settled
    }

    /// Plans one token of a call. The snapshot does not contain the earlier tokens of the same
    /// call, so they are compared here.
    fn plan_piece(
        self,
        snapshot: &Snapshot,
        draft: &mut AdmittedDraft,
        written: &[(Piece, Replacement)],
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<(Change, Piece), Error> {
        let latest = latest(written);
        let (change, new) = self.plan_token(snapshot, draft, &latest, now, budget, opened)?;
        let same = earlier(written, &new, |old| same_content(old, &new));
        match (same, draft.existing(self.caller)) {
            (Some(same), DuplicatePolicy::Read) => return Ok((Change::new(), Piece::SameAs(same))),
            (Some(_), DuplicatePolicy::Update) => {
                let fits = |old: &Token| {
                    same_content(old, &new)
                        && self.caller.may_merge(old, &new.shown.token, draft.value_origin())
                };
                if let Some(old) = latest.iter().find(|old| fits(old)) {
                    let patch = TokenPatch::from_new(&new.shown.token);
                    let (change, token) = self.plan_further(old, &patch, now, budget)?;
                    let (origin, value) = (TokenOrigin::Updated, draft.value_origin());
                    let written = self.show_duplicate(token, origin, value, budget)?;
                    return Ok((change, Piece::Written(Box::new(written))));
                }
            }
            (Some(_), DuplicatePolicy::Ignore) | (None, _) => (),
        }
        if earlier(written, &new, |old| same_name(old, &new)).is_some() {
            return Err(Error::Conflict("A token with this id exists already."));
        }
        Ok((change, Piece::Written(Box::new(new))))
    }
}

/// A token in several places has one act.
fn acts<'w>(
    written: &'w [(Piece, Replacement)],
    caller: &Caller,
    at: Timestamp,
) -> impl Iterator<Item = AuditedAct<'w>> {
    written.iter().filter_map(move |(piece, _)| match piece {
        Piece::SameAs(_) => None,
        Piece::Written(written) => written.audited(caller, at),
    })
}

/// A piece never refers to one that refers to another.
fn token_of(written: &[(Piece, Replacement)], at: usize) -> Option<&Token> {
    let at = match written.get(at)? {
        (Piece::SameAs(earlier), _) => *earlier,
        (Piece::Written(_), _) => at,
    };
    match written.get(at)? {
        (Piece::Written(written), _) => Some(&written.shown.token),
        (Piece::SameAs(_), _) => None,
    }
}

/// Collects mistakes under the path of the part. Other errors are returned.
fn noted<T>(
    outcome: Result<T, Error>,
    path: &str,
    mistakes: &mut Mistakes,
) -> Result<Option<T>, Error> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(Error::Invalid(found)) => {
            mistakes.append(found.under(path));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The tokens that the call has created or changed so far, the last state of each first.
fn latest(written: &[(Piece, Replacement)]) -> Vec<&Token> {
    let tokens = written.iter().rev().filter_map(|(piece, _)| match piece {
        Piece::Written(written) if written.origin != TokenOrigin::Read => {
            Some(&written.shown.token)
        }
        Piece::SameAs(_) | Piece::Written(_) => None,
    });
    tokens.collect()
}

/// The index of the first earlier new token that matches a new one.
fn earlier(
    written: &[(Piece, Replacement)],
    new: &WriteOutcome,
    same: impl Fn(&Token) -> bool,
) -> Option<usize> {
    let matches = |(one, _): &(Piece, Replacement)| match one {
        Piece::SameAs(_) => false,
        Piece::Written(old) => old.origin == TokenOrigin::New && same(&old.shown.token),
    };
    (new.origin == TokenOrigin::New).then(|| written.iter().position(matches)).flatten()
}

fn same_content(old: &Token, new: &WriteOutcome) -> bool {
    let new = &new.shown.token;
    (&old.fingerprint, &old.containers) == (&new.fingerprint, &new.containers)
        && old.effective_fingerprint_expression() == new.effective_fingerprint_expression()
}

fn same_name(old: &Token, new: &WriteOutcome) -> bool {
    old.name.is_some() && old.name == new.shown.token.name
}

/// A single value is stored as a token without a structure.
pub fn leaf(value: &Value) -> TokenDraft {
    TokenDraft {
        kind: Some(crate::domain::token_type::TokenType::Token),
        data: Some(Secret::new(value.clone())),
        ..TokenDraft::default()
    }
}
