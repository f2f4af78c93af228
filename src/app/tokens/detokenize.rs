//! `POST /detokenize`: returns any JSON in the same shape, with values in place of expressions.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::read::{DataView, TokenView};
use crate::app::tokens::rows;
use crate::domain::access::Transform;
use crate::domain::audit::Entity;
use crate::domain::card::CardDetails;
use crate::domain::container::Container;
use crate::domain::exposure::{Exposure, Fingerprint, Right, ValueOrigin};
use crate::domain::mistakes::{Mistakes, deeper};
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::BankDetails;
use crate::expressions::{Budget, Failed, Reference, Scope, Template};
use crate::secret::{Secret, Wipe};
use crate::store::Snapshot;

/// The values that the expressions of one call refer to, each opened once.
struct NamedReferences(HashMap<Reference, Value>);

/// The state of one call: its references, the common budget of its expressions (a body may hold
/// very many), and its mistakes.
struct Filling<'a> {
    named: NamedReferences,
    budget: &'a Budget,
    mistakes: Mistakes,
}

impl Scope for NamedReferences {
    fn variable(&self, _: &str) -> Option<&Value> {
        None
    }

    fn reference(&self, reference: &Reference) -> Option<&Value> {
        self.0.get(reference)
    }
}

impl Drop for NamedReferences {
    fn drop(&mut self) {
        self.0.values_mut().for_each(Wipe::wipe);
    }
}

impl Tokens<'_> {
    pub async fn detokenize(self, body: &Value) -> Result<Secret<Value>, Error> {
        let now = self.vault.now();
        let read = |budget: &Budget| self.fill_body(body, now, budget);
        let (filled, opened) = self.vault.evaluating(Work::Page, read).await?;
        self.vault.audit().note_reads(self.caller, opened.into_values(), now).await?;
        Ok(filled)
    }

    /// The body with its values, and the entities that were opened for it, each once.
    fn fill_body(
        self,
        body: &Value,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<(Secret<Value>, BTreeMap<Uuid, Entity>), Error> {
        let mut mistakes = Mistakes::new();
        let mut references = Vec::new();
        let limit = self.caller.tenant.quotas.detokenize_limit;
        let count_max = usize::try_from(limit).unwrap_or(usize::MAX);
        gather(body, "$", count_max, &mut references, &mut mistakes);
        if references.len() > count_max {
            let message = format!("At most {limit} expressions may be used at once.");
            mistakes.add("$", message);
        }
        mistakes.into_result()?;

        let snapshot = self.vault.snapshot()?;
        let mut opened = BTreeMap::new();
        let mut named = NamedReferences(HashMap::new());
        let mut mistakes = Mistakes::new();
        for (path, reference) in references {
            if named.0.contains_key(&reference) {
                continue;
            }
            match self.open_reference(&snapshot, &reference, now, budget)? {
                Some((value, entity)) => {
                    opened.insert(entity.id, entity);
                    named.0.insert(reference, value);
                }
                None => mistakes.add(path, "There is no such token."),
            }
        }
        mistakes.into_result()?;
        let mut filling = Filling { named, budget, mistakes: Mistakes::new() };
        let filled = Secret::new(self.fill(body, "$", &mut filling));
        filling.mistakes.into_result()?;
        Ok((filled, opened))
    }

    /// `None` when there is no such token or intent.
    fn open_reference(
        self,
        snapshot: &Snapshot,
        reference: &Reference,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<Option<(Value, Entity)>, Error> {
        if let Reference::TokenIntent(id) = reference {
            let Some((intent, _)) =
                self.vault.token_intents(self.caller).find(snapshot, id, now)?
            else {
                return Ok(None);
            };
            let home = Container::parse(intent.kind.default_container()).into_iter();
            let home: Vec<_> = home.collect();
            let exposure = self.caller.exposure(&home, Right::Use, ValueOrigin::Stored)?;
            budget.spend_json(intent.data.json()).map_err(too_much_work)?;
            let entity = intent.id.into();
            return Ok(Some((self.whole_intent(intent, exposure), entity)));
        }
        let (tenant, keys) = (self.caller.tenant.id, &self.caller.keys);
        let found = rows::find(snapshot, keys, tenant, reference.id())?;
        let Some(found) = found.filter(|found| found.token.is_live(now)) else { return Ok(None) };
        let mut token = found.token;
        let exposure = self.caller.exposure(&token.containers, Right::Use, ValueOrigin::Stored)?;
        self.vault.cvcs().attach(snapshot, &mut token, now)?;
        let shown = self.show(token, exposure, budget);
        // Charge for the parsing of the data below, and of the mask of a whole token.
        let whole = !matches!(reference, Reference::TokenData(_));
        let plain = matches!(shown.data, DataView::Plain).then(|| shown.token.data.json());
        let mask = shown.token.effective_mask().filter(|_| whole);
        for text in plain.into_iter().chain(mask) {
            budget.spend_json(text).map_err(too_much_work)?;
        }
        let value = if whole { whole_token(&shown) } else { data_of(&shown) };
        Ok(Some((value, Entity::token(&shown.token))))
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

    fn fill(self, value: &Value, path: &str, filling: &mut Filling<'_>) -> Value {
        match value {
            Value::String(text) => match Template::parse_with_references(text) {
                // `gather` has reported malformed templates before anything was opened.
                Err(_) => Value::Null,
                Ok(template) if template.is_constant() => value.clone(),
                Ok(template) => template
                    .evaluate(&filling.named, self.vault, filling.budget)
                    .unwrap_or_else(|failed| {
                        filling.mistakes.add(path, failed.to_string());
                        Value::Null
                    }),
            },
            Value::Array(items) => {
                let fill = |(at, item)| self.fill(item, &deeper(path, &format!("[{at}]")), filling);
                Value::Array(items.iter().enumerate().map(fill).collect())
            }
            Value::Object(members) => {
                let fill = |(name, member): (&String, &Value)| {
                    let path = deeper(path, &format!(".{name}"));
                    (name.clone(), self.fill(member, &path, filling))
                };
                Value::Object(members.iter().map(fill).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

fn too_much_work(failed: Failed) -> Error {
    Error::invalid("$", failed.to_string())
}

/// Collects the references of the body. It stops at one more than the quota.
fn gather(
    value: &Value,
    path: &str,
    count_max: usize,
    references: &mut Vec<(String, Reference)>,
    mistakes: &mut Mistakes,
) {
    if references.len() > count_max {
        return;
    }
    match value {
        Value::String(text) => match Template::parse_with_references(text) {
            Ok(template) => references.extend(
                template.references().map(|reference| (String::from(path), reference.clone())),
            ),
            Err(malformed) => mistakes.add(path, malformed.to_string()),
        },
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let path = deeper(path, &format!("[{at}]"));
                gather(item, &path, count_max, references, mistakes);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let path = deeper(path, &format!(".{name}"));
                gather(member, &path, count_max, references, mistakes);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}

fn data_of(shown: &TokenView) -> Value {
    match &shown.data {
        DataView::Plain => std::mem::take(shown.token.whole_data().expose_mut()),
        DataView::Masked(value) => value.expose().clone(),
        DataView::Absent => Value::Null,
    }
}

/// All members of a token, and its enrichments, which only expressions can see.
fn whole_token(shown: &TokenView) -> Value {
    let token = &shown.token;
    let mut whole = json!({
        "id": token.public_id(),
        "tenant_id": token.tenant.to_string(),
        "type": token.kind.as_str(),
        "fingerprint_expression": token.effective_fingerprint_expression(),
        "containers": token.containers.iter().map(Container::as_str).collect::<Vec<_>>(),
        "metadata": token.metadata,
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
