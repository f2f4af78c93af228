//! A token as a request describes it, and the checks that turn it into a token.

use serde_json::Value;
use smallvec::smallvec;

use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::rows;
use crate::bounds::{MASK_BYTES_MAX, TOKEN_DATA_BYTES_MAX};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::condition::{Target, TargetId};
use crate::domain::container::{Container, Containers};
use crate::domain::data::Data;
use crate::domain::expires_at::parse_expiry;
use crate::domain::exposure::{Computation, Output, ValueOrigin};
use crate::domain::id::{TenantId, TokenId};
use crate::domain::metadata::Metadata;
use crate::domain::mistakes::Mistakes;
use crate::domain::privacy::Privacy;
use crate::domain::tenant::TenantKind;
use crate::domain::time::Timestamp;
use crate::domain::token::{Token, TokenName};
use crate::domain::token_type::{TestNumbers, TokenType};
use crate::expressions::{self, Budget, Failed, Malformed, Mask, Template, Unparsed};
use crate::secret::Secret;

/// The draft carries the mistakes of its shape, so that the permission for its containers is
/// checked before the caller learns anything about its content.
#[derive(Debug, Default)]
pub struct TokenDraft {
    /// A value, or an expression.
    pub id: Option<String>,
    /// The intent to convert. The token takes its type and data.
    pub token_intent_id: Option<String>,
    pub kind: Option<TokenType>,
    pub data: Option<Secret<Value>>,
    /// The first decision checks the data and moves it here. Further decisions read it here.
    pub stored: Option<StoredData>,
    /// Data that the client encrypted, instead of `data`.
    pub encrypted: Option<String>,
    pub mask: Option<Value>,
    pub containers: Option<Vec<Container>>,
    /// Selects the container of a token without containers.
    pub privacy: Option<Privacy>,
    pub metadata: Metadata,
    pub search_indexes: Option<Vec<String>>,
    pub fingerprint_expression: Option<String>,
    pub deduplicate: Option<Deduplicate>,
    pub expires_at: Option<String>,
    pub source: DataSource,
    pub mistakes: Mistakes,
}

/// Valid data in the forms that a token needs.
#[derive(Debug)]
pub struct StoredData {
    kind: TokenType,
    json: Data,
    cvc: Option<Secret<String>>,
    /// The part that expressions may read.
    visible: Secret<Value>,
}

/// The source of the data of a request.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum DataSource {
    /// A field of the vault for cards, in a page that must not learn the value.
    CardElements,
    #[default]
    Caller,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deduplicate {
    No,
    Yes,
}

pub(in crate::app) enum WantedId {
    /// An expression. Each evaluation may give another name.
    Alias(Template),
    Assigned,
    Name(TokenName),
}

/// The parts of a draft besides its type and data, and every mistake that can be found without
/// them.
struct Shape {
    mask: Option<String>,
    wanted: WantedId,
    expires_at: Option<Timestamp>,
    mistakes: Mistakes,
}

/// A draft with all properties of a token except its final id.
pub(in crate::app) struct CheckedDraft<'d> {
    pub(in crate::app) token: Token,
    pub(in crate::app) wanted: WantedId,
    pub(in crate::app) visible: &'d Secret<Value>,
}

impl TokenDraft {
    fn check_shape(&self, now: Timestamp) -> Shape {
        let mut mistakes = self.mistakes.clone();
        let mask = check_mask(self.mask.as_ref(), &mut mistakes);
        let wanted = wanted_id(self.id.as_deref(), &mut mistakes);
        let expires_at = check_expiry(self.expires_at.as_deref(), now, &mut mistakes);
        Shape { mask, wanted, expires_at, mistakes }
    }

    /// Every mistake that can be found without valid data. Expressions are parsed, not evaluated.
    pub(in crate::app) fn mistakes_without_data(&self, now: Timestamp) -> Mistakes {
        let mut mistakes = self.check_shape(now).mistakes;
        let indexes = self.search_indexes.iter().flatten().enumerate();
        let indexes = indexes.map(|(at, text)| (format!("search_indexes[{at}]"), text));
        let print = self.fingerprint_expression.iter();
        let print = print.map(|text| (String::from("fingerprint_expression"), text));
        check_expressions(indexes.chain(print), &mut mistakes);
        mistakes
    }

    /// True if the draft sets the appearance of its value to readers: a mask, expressions that
    /// index or compare it, or an id that is computed from it.
    pub(in crate::app) fn sets_appearance(&self) -> bool {
        let computed = |id: &str| !Template::parse(id).is_ok_and(|id| id.is_constant());
        self.mask.is_some()
            || self.search_indexes.is_some()
            || self.fingerprint_expression.is_some()
            || self.id.as_deref().is_some_and(computed)
    }

    /// Unknown if the id is assigned or computed later.
    pub(in crate::app) fn target_id(&self) -> TargetId<'_> {
        let constant = |id: &&str| Template::parse(id).is_ok_and(|id| id.is_constant());
        self.id.as_deref().filter(constant).map_or(TargetId::Unknown, TargetId::Name)
    }

    /// The draft's containers, else the container of its privacy, else the default of its type;
    /// `None` if none of them is known.
    pub(in crate::app) fn effective_containers(&self) -> Option<Containers> {
        let mut containers = match (&self.containers, self.kind) {
            // All containers were invalid.
            (Some(containers), _) if containers.is_empty() => return None,
            (Some(containers), _) => containers.iter().cloned().collect(),
            (None, Some(kind)) => smallvec![self.privacy.unwrap_or_default().container(kind)?],
            (None, None) => return None,
        };
        containers.sort_unstable();
        containers.dedup();
        Some(containers)
    }
}

impl DataSource {
    /// Refuses data of card elements outside of the containers for cards, where a key of the page
    /// might read it, and a verification code in data that has no place for one.
    pub(in crate::app) fn require_place(
        self,
        kind: Option<TokenType>,
        data: Option<&Secret<Value>>,
        containers: &[Container],
    ) -> Result<(), Error> {
        if self == Self::Caller {
            return Ok(());
        }
        if !containers.iter().all(Container::is_for_cards) {
            return Err(Error::invalid("containers", CARDS_ALONE));
        }
        let has_code = data.is_some_and(|data| data.expose().get("cvc").is_some());
        if has_code && kind != Some(TokenType::Card) {
            return Err(Error::invalid("data.cvc", CODES_ALONE));
        }
        Ok(())
    }
}

const CARDS_ALONE: &str = "The value of a card element may be stored in /pci/ and in containers inside \
                           it alone. Choose such containers, or a type for cards.";
const CODES_ALONE: &str =
    "A verification code from a card element may be stored with a card alone.";

impl Tokens<'_> {
    /// Returns all mistakes of the draft at once, or a token.
    pub(in crate::app) fn check_draft<'d>(
        self,
        draft: &'d mut TokenDraft,
        containers: &[Container],
        origin: ValueOrigin,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<CheckedDraft<'d>, Error> {
        let allowed =
            || self.caller.computation(Target::unknown(containers), Output::Token, origin);
        let Shape { mask, wanted, expires_at, mut mistakes } = draft.check_shape(now);
        let stored = match draft.stored.take() {
            Some(stored) => stored,
            None => self.take_data(draft, allowed, now)?,
        };
        let StoredData { kind, json, cvc, visible } = &*draft.stored.insert(stored);
        let mut token = Token {
            id: TokenId::new(self.vault.next_id(now)),
            name: None,
            tenant: self.caller.tenant.id,
            kind: *kind,
            data: json.duplicate(),
            cvc_expires_at: cvc
                .as_ref()
                .map(|_| now.plus(self.vault.cvc_retention(&self.caller.tenant))),
            cvc: cvc.as_ref().map(|cvc| Secret::new(cvc.expose().clone())),
            mask,
            containers: containers.iter().cloned().collect(),
            metadata: draft.metadata.clone(),
            search_indexes: draft.search_indexes.clone(),
            search_terms: Vec::new(),
            fingerprint_expression: draft.fingerprint_expression.clone(),
            fingerprint: String::new(),
            expires_at,
            created_by: self.caller.application.id,
            created_at: now,
            modified_by: None,
            modified_at: None,
            answer_seed: AnswerSeed::new(self.vault.random().bytes()),
            created_under: None,
        };
        mistakes.append(shown_to(allowed, self.evaluate(&mut token, visible.expose(), budget)));
        mistakes.into_result()?;
        rows::check_entries(&token)?;
        Ok(CheckedDraft { token, wanted, visible })
    }

    fn take_data(
        self,
        draft: &mut TokenDraft,
        allowed: impl Fn() -> Computation,
        now: Timestamp,
    ) -> Result<StoredData, Error> {
        let (Some(kind), Some(mut visible)) = (draft.kind, draft.data.take()) else {
            return Err(Error::Invalid(draft.mistakes_without_data(now)));
        };
        let mut wrong = Mistakes::new();
        check_data(kind, self.caller.tenant.kind, &mut visible, &mut wrong);
        if !wrong.is_empty() {
            // A further decision finds the same mistakes.
            draft.data = Some(visible);
            // Expressions over data that does not match its type would only add misleading
            // mistakes.
            let mut wrong = shown_to(allowed, wrong);
            wrong.append(draft.mistakes_without_data(now));
            return Err(Error::Invalid(wrong));
        }
        let cvc = kind.take_cvc(visible.expose_mut());
        let json = Data::from_value(visible.expose());
        sort_for_expressions(&mut visible);
        Ok(StoredData { kind, json, cvc, visible })
    }

    /// Sets the results of the token's expressions, which read the data without the card
    /// verification code. Returns the mistakes of the expressions.
    pub(in crate::app) fn evaluate(
        self,
        token: &mut Token,
        visible: &Value,
        budget: &Budget,
    ) -> Mistakes {
        let mut mistakes = Mistakes::new();
        let indexes = token.effective_search_indexes();
        let owner = token.search_indexes.as_ref().map(|_| token.tenant);
        let search_terms = self.search_terms(owner, &indexes, visible, &mut mistakes, budget);
        let expression = token.effective_fingerprint_expression();
        let scope = expressions::DataAndMetadata::new(visible, &token.metadata);
        let path = "fingerprint_expression";
        let owner = token.fingerprint_expression.as_ref().map(|_| token.tenant);
        let value = match self.evaluate_text(owner, expression, &scope, budget) {
            Ok(value) => Some(value),
            // Data may be an empty text. Only an expression that the caller chose must give a
            // non-empty text.
            Err(EvaluationFailure::Failed(Failed::Empty))
                if token.fingerprint_expression.is_none() =>
            {
                None
            }
            Err(why) => {
                mistakes.add(path, why.to_string());
                None
            }
        };
        let value = value.as_ref().map_or("", |value| value.expose());
        let key = self.caller.keys.fingerprint();
        token.fingerprint = key.fingerprint(token.kind.as_str(), value);
        token.search_terms = search_terms;
        mistakes
    }

    /// One text for each index expression, without duplicates.
    fn search_terms(
        self,
        owner: Option<TenantId>,
        indexes: &[&str],
        visible: &Value,
        mistakes: &mut Mistakes,
        budget: &Budget,
    ) -> Vec<String> {
        let mut terms = Vec::with_capacity(indexes.len());
        for (at, index) in indexes.iter().enumerate() {
            match self.evaluate_text(owner, index, &expressions::Data(visible), budget) {
                Ok(term) => terms.push(term.expose().clone()),
                Err(why) => mistakes.add(format!("search_indexes[{at}]"), why.to_string()),
            }
        }
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    /// `owner` is the tenant of the expression, `None` for a default of the type.
    pub(in crate::app) fn evaluate_text(
        self,
        owner: Option<TenantId>,
        expression: &str,
        scope: &dyn expressions::Scope,
        budget: &Budget,
    ) -> Result<Secret<String>, EvaluationFailure> {
        let template = self.vault.evaluations.parsed.template(owner, expression, budget)?;
        template.evaluate_text(scope, self.vault, budget).map_err(EvaluationFailure::Failed)
    }
}

#[derive(Debug)]
pub(in crate::app) enum EvaluationFailure {
    Failed(Failed),
    Malformed(Malformed),
}

impl From<Unparsed> for EvaluationFailure {
    fn from(unparsed: Unparsed) -> Self {
        match unparsed {
            Unparsed::Malformed(malformed) => Self::Malformed(malformed),
            Unparsed::Unpaid(failed) => Self::Failed(failed),
        }
    }
}

impl std::fmt::Display for EvaluationFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(failed) => failed.fmt(f),
            Self::Malformed(malformed) => malformed.fmt(f),
        }
    }
}

/// Paths and texts of the mistakes depend on the data, so a caller that may not compute anything
/// over the data gets a fixed text.
pub(in crate::app) fn shown_to(allowed: impl Fn() -> Computation, mistakes: Mistakes) -> Mistakes {
    if mistakes.is_empty() || allowed() == Computation::Any {
        return mistakes;
    }
    let mut constant = Mistakes::new();
    constant.add("data", UNFIT);
    constant
}

const UNFIT: &str = "The data is not valid for the type and the expressions of the token.";

/// Converts valid data to the form in which it is stored.
pub(in crate::app) fn check_data(
    kind: TokenType,
    tenant: TenantKind,
    data: &mut Secret<Value>,
    mistakes: &mut Mistakes,
) {
    let numbers = match tenant {
        TenantKind::Production => TestNumbers::Refused,
        TenantKind::Test => TestNumbers::Taken,
    };
    match kind.check(data.expose(), numbers) {
        Err(found) => mistakes.append(found),
        Ok(()) => kind.normalize(data.expose_mut()),
    }
    let text = Data::from_value(data.expose());
    if text.json().len() > TOKEN_DATA_BYTES_MAX {
        mistakes.add("data", format!("Data has at most {TOKEN_DATA_BYTES_MAX} bytes as JSON."));
    }
}

pub(in crate::app) fn check_expressions<'e>(
    expressions: impl Iterator<Item = (String, &'e String)>,
    mistakes: &mut Mistakes,
) {
    for (path, text) in expressions {
        if let Err(malformed) = Template::parse(text) {
            mistakes.add(path, malformed.to_string());
        }
    }
}

/// Sorts the members of all objects. The results of fingerprints, search indexes and ids are
/// compared with those of other tokens, so they must not depend on the order of members: an
/// expression may contain the JSON text of an object.
pub(in crate::app) fn sort_for_expressions(data: &mut Secret<Value>) {
    data.expose_mut().sort_all_objects();
}

/// The mask as JSON text, if the draft sets one.
pub(in crate::app) fn check_mask(mask: Option<&Value>, mistakes: &mut Mistakes) -> Option<String> {
    let mask = mask?;
    let text = mask.to_string();
    if text.len() > MASK_BYTES_MAX {
        mistakes.add("mask", format!("A mask has at most {MASK_BYTES_MAX} bytes as JSON."));
    } else if let Err(found) = Mask::parse(mask) {
        for (path, malformed) in found {
            let path = if path.is_empty() { String::from("mask") } else { format!("mask.{path}") };
            mistakes.add(path, malformed.to_string());
        }
    }
    Some(text)
}

pub(in crate::app) fn check_expiry(
    text: Option<&str>,
    now: Timestamp,
    mistakes: &mut Mistakes,
) -> Option<Timestamp> {
    match parse_expiry(text?, now) {
        Ok(at) => Some(at),
        Err(why) => {
            mistakes.add("expires_at", why.message());
            None
        }
    }
}

fn wanted_id(text: Option<&str>, mistakes: &mut Mistakes) -> WantedId {
    let Some(text) = text else { return WantedId::Assigned };
    match Template::parse(text) {
        Err(malformed) => mistakes.add("id", malformed.to_string()),
        Ok(template) if !template.is_constant() => return WantedId::Alias(template),
        Ok(_) => match TokenName::choose(text) {
            Ok(name) => return WantedId::Name(name),
            Err(invalid) => mistakes.add("id", invalid.to_string()),
        },
    }
    WantedId::Assigned
}
