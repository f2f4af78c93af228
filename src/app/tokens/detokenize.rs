//! `POST /detokenize`: returns any JSON in the same shape, with values in place of expressions.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;
use uuid::Uuid;

use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::references::{NamedReferences, Usage};
use crate::domain::audit::Entity;
use crate::domain::mistakes::{Mistakes, deeper};
use crate::domain::time::Timestamp;
use crate::expressions::{Budget, Reference, Template};
use crate::secret::Secret;

/// The state of one call: its references, the common budget of its expressions (a body may hold
/// very many), and its mistakes.
struct Filling<'a> {
    named: NamedReferences,
    budget: &'a Budget,
    mistakes: Mistakes,
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
            match self.open_reference(&snapshot, &reference, Usage::AsShown, now, budget)? {
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
