//! The rows of an import. Each is checked as `POST /tokens` checks its body, with these
//! differences: an id is kept unchanged and is never an expression, card verification codes are left
//! out, and token intents and encrypted values are refused.

use std::collections::HashSet;

use crate::app::access::applications::ApplicationDraft;
use crate::app::error::{Error, Fault};
use crate::app::tokens::Tokens;
use crate::app::tokens::draft::{Deduplicate, TokenDraft};
use crate::app::tokens::duplicates::{Duplicate, DuplicatePolicy, duplicate};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::rows;
use crate::domain::expires_at::parse_time;
use crate::domain::exposure::ValueOrigin;
use crate::domain::id::{ApplicationId, TokenId};
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::secret::Secret;
use crate::store::{Change, Snapshot, Table, tables};

#[derive(Debug)]
pub enum ImportRow {
    Application(Box<ApplicationRow>),
    /// A row of unknown kind.
    Bad(Mistakes),
    /// A line of an export that is not imported.
    Skipped,
    Token(Box<RowDraft>),
    /// The client could not read the row, and reports it itself.
    Unreadable,
}

#[derive(Debug)]
pub struct RowDraft {
    pub draft: TokenDraft,
    /// Kept as the time of its creation.
    pub created_at: Option<String>,
}

/// With the texts of its keys.
#[derive(Debug)]
pub struct ApplicationRow {
    pub id: Option<String>,
    pub draft: Result<ApplicationDraft, Mistakes>,
    pub keys: Vec<Secret<String>>,
}

/// `row` counts from the start of the page.
#[derive(Debug)]
pub struct BadRow {
    pub row: usize,
    pub mistakes: Mistakes,
}

pub(super) enum CheckedRow {
    Application(Box<ApplicationRow>),
    Bad(Mistakes),
    Duplicate,
    New(Box<NewToken>),
    Skipped,
    Unreadable,
}

/// With the expectations that its id and its content are new.
pub(super) struct NewToken {
    pub(super) token: Token,
    pub(super) expectations: Change,
    pub(super) policy: DuplicatePolicy,
}

pub type ParseRow = fn(&str) -> ImportRow;

/// On several threads.
pub(super) fn check_rows(
    tokens: Tokens<'_>,
    snapshot: &Snapshot,
    page: &[Secret<String>],
    parse: ParseRow,
    now: Timestamp,
) -> Result<Vec<CheckedRow>, Error> {
    let check = |row: &Secret<String>| match parse(row.expose()) {
        ImportRow::Application(row) => Ok(CheckedRow::Application(row)),
        ImportRow::Bad(mistakes) => Ok(CheckedRow::Bad(mistakes)),
        ImportRow::Skipped => Ok(CheckedRow::Skipped),
        ImportRow::Token(row) => check_token(tokens, snapshot, *row, now),
        ImportRow::Unreadable => Ok(CheckedRow::Unreadable),
    };
    let mut checked: Vec<CheckedRow> =
        in_parallel(page, check)?.into_iter().collect::<Result<_, _>>()?;
    refuse_repetitions(&mut checked);
    Ok(checked)
}

/// Within a page, an id may occur once, and so may a content that is not to be stored twice.
fn refuse_repetitions(checked: &mut [CheckedRow]) {
    let (mut ids, mut contents) = (HashSet::new(), HashSet::new());
    for row in checked {
        let CheckedRow::New(new) = row else { continue };
        let token = &new.token;
        let expression = token.effective_fingerprint_expression();
        let content = (token.fingerprint.clone(), token.containers.clone(), expression.to_owned());
        if new.policy != DuplicatePolicy::Ignore && !contents.insert(content) {
            *row = CheckedRow::Duplicate;
        } else if !ids.insert(token.public_id()) {
            *row = CheckedRow::Bad(Mistakes::one("id", "The file has this id more than once."));
        }
    }
}

fn check_token(
    tokens: Tokens<'_>,
    snapshot: &Snapshot,
    row: RowDraft,
    now: Timestamp,
) -> Result<CheckedRow, Error> {
    let RowDraft { mut draft, created_at } = row;
    let id = draft.id.take();
    let mut mistakes = Mistakes::new();
    if draft.token_intent_id.is_some() {
        mistakes.add("token_intent_id", "An import cannot convert a token intent.");
    }
    if draft.encrypted.is_some() {
        mistakes.add("encrypted", "An import takes data in plain only.");
    }
    let wanted = id.as_deref().map(|text| wanted_id(text, &mut mistakes));
    let created_at = created_at.map(|text| past_time(&text, now, &mut mistakes));
    let Some(containers) = draft.effective_containers() else {
        mistakes.append(draft.mistakes_without_data(now));
        return Ok(CheckedRow::Bad(mistakes));
    };
    let budget = Work::Write.budget();
    let mut token =
        match tokens.check_draft(&mut draft, &containers, ValueOrigin::Own, now, &budget) {
            Ok(checked) => checked.token,
            Err(Error::Invalid(found)) => {
                mistakes.append(found);
                return Ok(CheckedRow::Bad(mistakes));
            }
            Err(error) => return Err(error),
        };
    // A code may not be kept after the authorization, so an import does not bring it back.
    token.cvc = None;
    if !mistakes.is_empty() {
        return Ok(CheckedRow::Bad(mistakes));
    }
    match wanted.flatten() {
        Some(Wanted::Assigned(id)) => token.id = id,
        Some(Wanted::Name(name)) => {
            // An alias of another vault may look like a card number. Only the row's own number is
            // refused.
            if let Err(invalid) = name.require_beside(&token.data) {
                return Ok(CheckedRow::Bad(Mistakes::one("id", invalid.to_string())));
            }
            token.name = Some(name);
        }
        None => (),
    }
    if let Some(at) = created_at.flatten() {
        token.created_at = at;
    }
    // A program looks for the row by its id. Only the row or an option leaves a duplicate out, not
    // the tenant's setting.
    if id.is_some() && draft.deduplicate.is_none() {
        draft.deduplicate = Some(Deduplicate::No);
    }
    let policy = tokens.caller.existing(&draft);
    place(tokens, snapshot, token, (policy, id.is_some()), now)
}

/// Checks that the id, given or generated, is free, and that the content is new if duplicates are
/// refused.
fn place(
    tokens: Tokens<'_>,
    snapshot: &Snapshot,
    token: Token,
    (policy, is_given): (DuplicatePolicy, bool),
    now: Timestamp,
) -> Result<CheckedRow, Error> {
    let (tenant, keys) = (token.tenant, &tokens.caller.keys);
    let mut expectations = Change::new();
    if policy != DuplicatePolicy::Ignore {
        match duplicate(snapshot, tokens.caller, &token, |_| true, now)? {
            // An import never changes existing tokens, even if the tenant merges duplicates.
            Duplicate::Found(_) => return Ok(CheckedRow::Duplicate),
            Duplicate::None(expectation) => expectations = *expectation,
        }
    }
    let own = tables::tokens(tenant, token.id);
    // A generated id cannot be a name yet.
    let is_named =
        || Ok::<_, Error>(rows::find(snapshot, keys, tenant, &token.public_id())?.is_some());
    let is_taken = snapshot.value(Table::Tokens, &own)?.is_some() || (is_given && is_named()?);
    if is_taken {
        let message = "A token with this id exists already.";
        return Ok(CheckedRow::Bad(Mistakes::one("id", message)));
    }
    expectations = expectations.expect_absent(Table::Tokens, own);
    if let Some(name) = &token.name {
        let place = rows::name_key(keys.index(), tenant, name);
        expectations = expectations.expect_absent(Table::TokenNames, place);
    }
    Ok(CheckedRow::New(Box::new(NewToken { token, expectations, policy })))
}

enum Wanted {
    /// In the form of ids that vaults assign.
    Assigned(TokenId),
    Name(TokenName),
}

/// An id of another vault is kept: in the form of an assigned id it becomes the id of the record,
/// otherwise a predefined id. Braces are not allowed in ids, so no expression passes.
fn wanted_id(text: &str, mistakes: &mut Mistakes) -> Option<Wanted> {
    if let Some(id) = TokenId::parse(text) {
        if id.uuid().is_nil() {
            mistakes.add("id", "The id zero is no id.");
            return None;
        }
        return Some(Wanted::Assigned(id));
    }
    match TokenName::parse(text) {
        Ok(name) => Some(Wanted::Name(name)),
        Err(invalid) => {
            mistakes.add("id", invalid.to_string());
            None
        }
    }
}

pub(super) fn application_id(text: Option<&str>) -> Result<ApplicationId, Mistakes> {
    let parsed = text.and_then(ApplicationId::parse).filter(|id| !id.uuid().is_nil());
    parsed.ok_or_else(|| Mistakes::one("id", "An application needs its id, a UUID in lower case."))
}

fn past_time(text: &str, now: Timestamp, mistakes: &mut Mistakes) -> Option<Timestamp> {
    let at = parse_time(text).filter(|at| *at <= now);
    if at.is_none() {
        mistakes.add("created_at", "This is not a time in the past.");
    }
    at
}

/// Runs `work` on one thread per core, and keeps the order of the items.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = items.len().div_ceil(threads).max(1);
    let work = &work;
    std::thread::scope(|scope| {
        let spawn = |part| scope.spawn(move || <[T]>::iter(part).map(work).collect::<Vec<_>>());
        let running: Vec<_> = items.chunks(size).map(spawn).collect();
        let mut results = Vec::with_capacity(items.len());
        for part in running {
            let fault = Error::Internal(Fault::Impossible("a check of rows panicked"));
            results.extend(part.join().map_err(|_payload| fault)?);
        }
        Ok(results)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for count in [0, 1, 2, 3, 100] {
            let items: Vec<u32> = (0..count).collect();
            let doubled = in_parallel(&items, |it| it * 2).unwrap();
            assert_eq!(doubled, items.iter().map(|it| it * 2).collect::<Vec<_>>());
        }
        assert!(in_parallel(&[1], |_| panic!("a test")).map(|_: Vec<()>| ()).is_err());
    }

    #[test]
    fn ids_are_kept_and_expressions_are_not_ids() {
        let wanted = |text: &str| {
            let mut mistakes = Mistakes::new();
            let wanted = wanted_id(text, &mut mistakes);
            assert_eq!(wanted.is_none(), !mistakes.is_empty(), "{text}");
            wanted
        };
        let uuid = "018bcfe5-6800-4abc-8abc-0123456789ab";
        assert!(matches!(wanted(uuid), Some(Wanted::Assigned(id)) if id.to_string() == uuid));
        let upper = uuid.to_uppercase();
        assert!(matches!(wanted(&upper), Some(Wanted::Name(name)) if name.as_str() == upper));
        assert!(matches!(wanted("customer-1"), Some(Wanted::Name(_))));
        for bad in ["{{ data | last4 }}", "ab", "", "00000000-0000-0000-0000-000000000000"] {
            assert!(wanted(bad).is_none(), "{bad}");
        }
    }
}
