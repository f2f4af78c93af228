//! The lines of `strongroom status`: sections of named values. A name ends in its unit: `_at`,
//! `_bytes`, `_s`, `_us`.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use super::checks::{Checks, Readiness};
use super::histogram::LatencyShare;
use super::page::Amount;
use crate::domain::hex;
use crate::domain::process::ListedProcess;
use crate::domain::time::Timestamp;

#[derive(Debug, Default)]
pub(super) struct Status(Map<String, Value>);

/// The kinds of values that a line can have. None of them is text from outside.
#[derive(Debug)]
pub enum StatusValue {
    /// Addresses that we listen on.
    Addresses(Vec<SocketAddr>),
    Count(u64),
    Flag(bool),
    /// Identifies a master key without revealing it.
    KeyId([u8; 8]),
    /// In microseconds.
    Latency(LatencyShare),
    Name(&'static str),
    /// The processes that share the store.
    Processes(Vec<ListedProcess>),
    Time(Timestamp),
}

impl Status {
    pub(super) fn set(&mut self, section: &'static str, name: &'static str, value: StatusValue) {
        if let Value::Object(lines) = self.section(section) {
            lines.insert(String::from(name), value.into());
        }
    }

    /// Counts are added; a duration is shown in whole seconds.
    pub(super) fn add(&mut self, section: &'static str, name: &'static str, amount: Amount) {
        let before = self.section(section).get(name).and_then(Value::as_u64).unwrap_or(0);
        let value = match amount {
            Amount::Count(count) => StatusValue::Count(before.saturating_add(count)),
            Amount::Micros(micros) => StatusValue::Count(micros.div_euclid(1_000_000)),
            Amount::Time(at) => StatusValue::Time(at),
        };
        self.set(section, name, value);
    }

    /// With the outcome of the checks, in the form of `/readyz`.
    pub(super) fn into_json(mut self, checks: &Checks) -> Value {
        if let Value::Object(ready) = checks.to_json(Readiness::Writes) {
            self.0.extend(ready);
        }
        let mut status = Value::Object(self.0);
        // Sections and lines are sorted by name, whatever reported first.
        status.sort_all_objects();
        status
    }

    fn section(&mut self, name: &'static str) -> &mut Value {
        self.0.entry(name).or_insert_with(|| Value::Object(Map::new()))
    }
}

impl From<StatusValue> for Value {
    fn from(value: StatusValue) -> Self {
        match value {
            StatusValue::Addresses(all) => all.iter().map(ToString::to_string).collect(),
            StatusValue::Count(count) => Self::from(count),
            StatusValue::Flag(flag) => Self::from(flag),
            StatusValue::KeyId(id) => Self::from(hex::encode(&id)),
            StatusValue::Latency(LatencyShare { bound, count, of, is_over: false }) => {
                json!({"within_us": bound, "count": count, "of": of})
            }
            StatusValue::Latency(LatencyShare { bound, count, of, is_over: true }) => {
                json!({"over_us": bound, "count": count, "of": of})
            }
            StatusValue::Name(name) => Self::from(name),
            StatusValue::Processes(all) => all.iter().map(process).collect(),
            StatusValue::Time(at) => Self::from(at.to_wire()),
        }
    }
}

fn process(listed: &ListedProcess) -> Value {
    json!({
        "id": listed.id.to_string(),
        "host": listed.host,
        "version": listed.version,
        "role": listed.role.as_str(),
        "started_at": listed.started_at.to_wire(),
        "beat_at": listed.beat_at.to_wire(),
        "leader": listed.is_leader,
        "this": listed.is_own,
    })
}
