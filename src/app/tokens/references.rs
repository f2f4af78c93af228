//! The tokens and intents that expressions name, opened for the caller who may use them.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::codes::{CodeOwner, UsedCode};
use crate::app::tokens::read::{DataView, TokenView};
use crate::app::tokens::rows;
use crate::domain::access::Transform;
use crate::domain::audit::{Act, Entity};
use crate::domain::card::CardDetails;
use crate::domain::condition::Target;
use crate::domain::container::Container;
use crate::domain::exposure::{
    Author, Computation, Exposure, Extent, Fingerprint, Operand, Output, Right, ValueOrigin,
};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::BankDetails;
use crate::expressions::{Budget, Failed, Reference, Scope, ScopedValue};
use crate::secret::Wipe;
use crate::store::Snapshot;

const NOT_PLAIN: &str = "The API key may not use some of these tokens in plain.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Usage {
    /// With the transform of the caller's right, as an answer shows it.
    AsShown,
    /// In plain: the caller may invoke a proxy whose destination the tenant has chosen.
    ByInvocation(Author),
    /// In plain or not at all: a destination must not get a mask in place of a card number.
    Plain(Author),
}

/// The values that the expressions of one call name, each opened once.
pub(in crate::app) struct NamedReferences(pub(in crate::app) HashMap<Reference, ReferencedValue>);

pub(in crate::app) struct ReferencedValue {
    value: Value,
    pub(in crate::app) computation: Computation,
    /// Its card verification code, if the value has one.
    pub(in crate::app) code: Option<UsedCode>,
}

impl Scope for NamedReferences {
    fn variable(&self, _: &str) -> Option<ScopedValue<'_>> {
        None
    }

    fn reference(&self, reference: &Reference) -> Option<ScopedValue<'_>> {
        let ReferencedValue { value, computation, .. } = self.0.get(reference)?;
        Some(ScopedValue { value, computation: *computation })
    }
}

impl NamedReferences {
    /// Takes the codes of these references, each once.
    pub(in crate::app) fn used_codes<'r>(
        &mut self,
        readers: impl Iterator<Item = &'r Reference>,
    ) -> Vec<UsedCode> {
        let mut codes: Vec<UsedCode> = Vec::new();
        for reference in readers {
            let code = self.0.get_mut(reference).and_then(|named| named.code.take());
            // A token may be named by its data and as a whole.
            codes.extend(code.filter(|code| !codes.iter().any(|it| it.is_same(code))));
        }
        codes
    }
}

impl Drop for ReferencedValue {
    fn drop(&mut self) {
        self.value.wipe();
    }
}

impl Tokens<'_> {
    /// `None` if the token or intent does not exist.
    pub(in crate::app) fn open_reference(
        self,
        snapshot: &Snapshot,
        reference: &Reference,
        usage: Usage,
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<Option<ReferencedValue>, Error> {
        let act = match usage {
            Usage::AsShown => Act::Read,
            Usage::ByInvocation(_) | Usage::Plain(_) => Act::Use,
        };
        if let Reference::TokenIntent(id) = reference {
            let Some((intent, _)) =
                self.vault.token_intents(self.caller).find(snapshot, id, now)?
            else {
                return require_may_name(self.caller, id, usage).map(|()| None);
            };
            let home = Container::parse(intent.kind.default_container()).into_iter();
            let home: Vec<_> = home.collect();
            let (exposure, computation) = usable(self.caller, intent.target(&home), usage)?;
            opened.add(act, intent.id.into());
            budget.spend_json(intent.data.json()).map_err(too_much_work)?;
            let (owner, until) = (CodeOwner::Intent(intent.id), intent.cvc_expires_at);
            let code = intent.cvc.as_ref().and(until);
            let code = UsedCode::find(snapshot, intent.tenant, owner, code)?;
            let value = self.whole_intent(intent, exposure);
            return Ok(Some(ReferencedValue { value, computation, code }));
        }
        let (tenant, keys) = (self.caller.tenant.id, &self.caller.keys);
        let found = rows::find(snapshot, keys, tenant, reference.id())?;
        let Some(found) = found.filter(|found| found.token.is_live(now)) else {
            return require_may_name(self.caller, reference.id(), usage).map(|()| None);
        };
        let mut token = found.token;
        let (exposure, computation) = usable(self.caller, token.target(), usage)?;
        opened.add(act, Entity::token(&token));
        self.vault.cvcs().attach(snapshot, &mut token, now)?;
        let code = token.cvc.as_ref().and(token.cvc_expires_at);
        let owner = CodeOwner::Token(token.id);
        let code = UsedCode::find(snapshot, tenant, owner, code)?;
        let shown = self.show(token, exposure, budget);
        // Charge for parsing the data below, and the mask of a whole token.
        let whole = !matches!(reference, Reference::TokenData(_));
        let plain = matches!(shown.data, DataView::Plain).then(|| shown.token.data.json());
        let mask = shown.token.effective_mask().filter(|_| whole);
        for text in plain.into_iter().chain(mask) {
            budget.spend_json(text).map_err(too_much_work)?;
        }
        let value = if whole { whole_token(&shown) } else { data_of(&shown) };
        Ok(Some(ReferencedValue { value, computation, code }))
    }

    fn whole_intent(self, intent: TokenIntent, exposure: Exposure) -> Value {
        let data = match exposure.transform {
            Transform::Reveal => std::mem::take(intent.whole_data().expose_mut()),
            // An intent has no mask, so data that may not be revealed is left out.
            Transform::Mask | Transform::Redact => Value::Null,
        };
        let shown = self.vault.token_intents(self.caller).show_intent(intent);
        let mut whole = json!({
            "id": shown.intent.id.to_string(),
            "tenant_id": shown.intent.tenant.to_string(),
            "type": shown.intent.kind.as_str(),
            "created_by": shown.intent.created_by.to_string(),
            "created_at": shown.intent.created_at.to_wire(),
            "expires_at": shown.intent.expires_at.to_wire(),
        });
        if let Some(members) = whole.as_object_mut() {
            insert(members, "data", (!data.is_null()).then_some(data));
            if exposure.fingerprint == Fingerprint::Shown {
                insert(members, "fingerprint", Some(Value::from(shown.intent.fingerprint)));
            }
            insert(members, "card", shown.card.as_ref().map(CardDetails::to_value));
            insert(members, "bank", shown.bank.as_ref().map(BankDetails::to_value));
            insert(members, "enrichments", shown.card.as_ref().map(CardDetails::enrichments));
        }
        whole
    }
}

/// The part of a token or intent that this caller's expression gets, and the expressions that may
/// read it.
fn usable(
    caller: &Caller,
    target: Target<'_>,
    usage: Usage,
) -> Result<(Exposure, Computation), Error> {
    const PLAIN: Exposure = Exposure {
        extent: Extent::Full,
        transform: Transform::Reveal,
        fingerprint: Fingerprint::Shown,
    };
    let (author, output) = match usage {
        Usage::AsShown => (caller.author(), Output::Answer),
        Usage::ByInvocation(author) | Usage::Plain(author) => (author, Output::Destination),
    };
    let value = Operand::Value(ValueOrigin::Stored);
    let computation = caller.grants(target).computation(author, output, value);
    if matches!(usage, Usage::ByInvocation(_)) {
        return Ok((PLAIN, computation));
    }
    let exposure = caller.exposure(target, Right::Use, ValueOrigin::Stored)?;
    if matches!(usage, Usage::Plain(_)) && exposure.transform != Transform::Reveal {
        return Err(Error::Forbidden(NOT_PLAIN));
    }
    Ok((exposure, computation))
}

/// As for reading, an id that conditions hide is refused, whether it exists or not.
fn require_may_name(caller: &Caller, id: &str, usage: Usage) -> Result<(), Error> {
    match usage {
        Usage::ByInvocation(_) => Ok(()),
        Usage::AsShown | Usage::Plain(_) => {
            caller.require_may_name(&[Permission::TokenUse, Permission::TokenRead], id)
        }
    }
}

pub(in crate::app) fn too_much_work(failed: Failed) -> Error {
    Error::invalid("$", failed.to_string())
}

fn data_of(shown: &TokenView) -> Value {
    match &shown.data {
        DataView::Plain => std::mem::take(shown.token.whole_data().expose_mut()),
        DataView::Masked(value) => value.expose().clone(),
        DataView::Absent => Value::Null,
    }
}

/// All members of a token, and its enrichments, which only expressions can read.
pub(in crate::app) fn whole_token(shown: &TokenView) -> Value {
    let token = &shown.token;
    let mut whole = json!({
        "id": token.public_id(),
        "tenant_id": token.tenant.to_string(),
        "type": token.kind.as_str(),
        "fingerprint_expression": token.effective_fingerprint_expression(),
        "containers": token.containers.iter().map(Container::as_str).collect::<Vec<_>>(),
        "metadata": token.metadata.to_value(),
        "search_indexes": token.effective_search_indexes(),
        "created_by": token.created_by.to_string(),
        "created_at": token.created_at.to_wire(),
    });
    if let Some(members) = whole.as_object_mut() {
        let data = data_of(shown);
        insert(members, "data", (!data.is_null()).then_some(data));
        if shown.fingerprint == Fingerprint::Shown {
            insert(members, "fingerprint", Some(Value::from(token.fingerprint.as_str())));
        }
        let mask = token.effective_mask().and_then(|text| serde_json::from_str(text).ok());
        insert(members, "mask", mask);
        insert(members, "card", shown.card.as_ref().map(CardDetails::to_value));
        insert(members, "bank", shown.bank.as_ref().map(BankDetails::to_value));
        insert(members, "enrichments", shown.card.as_ref().map(CardDetails::enrichments));
        let time = |at: Option<Timestamp>| at.map(|at| Value::from(at.to_wire()));
        insert(members, "expires_at", time(token.expires_at));
        insert(members, "modified_at", time(token.modified_at));
        insert(members, "modified_by", token.modified_by.map(|by| Value::from(by.to_string())));
    }
    whole
}

fn insert(members: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        members.insert(String::from(name), value);
    }
}
