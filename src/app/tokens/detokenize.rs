//! `POST /detokenize`: returns any JSON in the same shape, with values in place of expressions.

use std::collections::HashMap;

use serde_json::Value;

use crate::app::audit::opened::Opened;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::references::{NamedReferences, Usage};
use crate::domain::mistakes::{Mistakes, deeper};
use crate::domain::time::Timestamp;
use crate::expressions::{Budget, Reference, Template};
use crate::secret::Secret;

/// One text for every reason, since the reason depends on the values.
const UNEVALUATED: &str = "The expression cannot be evaluated with the values that it names.";

/// The state of one call: its references, the budget that its expressions share (a body may hold
/// very many), and the path of the first expression that failed. Later ones are not evaluated: each
/// of them would disclose more about the values.
struct Filling<'a> {
    named: NamedReferences,
    budget: &'a Budget,
    failed: Option<String>,
}

impl Tokens<'_> {
    pub async fn detokenize(self, body: &Value) -> Result<Secret<Value>, Error> {
        let now = self.vault.now();
        let opened = Opened::by(self.vault, self.caller);
        let read = |budget: &Budget| self.fill_body(body, now, budget, &opened);
        let filled = self.vault.evaluating(self.caller.party(), Work::Page.budget(), read).await;
        opened.settle(filled).await
    }

    fn fill_body(
        self,
        body: &Value,
        now: Timestamp,
        budget: &Budget,
        opened: &Opened<'_>,
    ) -> Result<Secret<Value>, Error> {
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
        let mut named = NamedReferences(HashMap::new());
        let mut mistakes = Mistakes::new();
        for (path, reference) in references {
            if named.0.contains_key(&reference) {
                continue;
            }
            let usage = Usage::AsShown;
            match self.open_reference(&snapshot, &reference, usage, now, budget, opened)? {
                Some(value) => drop(named.0.insert(reference, value)),
                None => mistakes.add(path, "There is no such token."),
            }
        }
        mistakes.into_result()?;
        let mut filling = Filling { named, budget, failed: None };
        let filled = Secret::new(self.fill(body, "$", &mut filling));
        match filling.failed {
            Some(path) => Err(Error::invalid(&path, UNEVALUATED)),
            None => Ok(filled),
        }
    }

    fn fill(self, value: &Value, path: &str, filling: &mut Filling<'_>) -> Value {
        match value {
            _ if filling.failed.is_some() => Value::Null,
            Value::String(text) => match Template::parse_with_references(text) {
                // `gather` has reported malformed templates before anything was opened.
                Err(_) => Value::Null,
                Ok(template) if template.is_constant() => value.clone(),
                Ok(template) => template
                    .evaluate(&filling.named, self.vault, filling.budget)
                    .unwrap_or_else(|_| {
                        filling.failed = Some(String::from(path));
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

/// Stops at one more reference than the quota.
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
