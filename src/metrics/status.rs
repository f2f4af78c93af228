//! The state of the server for a person: sections of named values. A name ends in its unit: `_at`,
//! `_bytes`, `_s`, `_us`.

use std::net::SocketAddr;

use serde_json::{Map, Value};

use super::checks::Checks;
use crate::domain::time::Timestamp;

#[derive(Debug, Default)]
pub struct Status(Map<String, Value>);

/// All that a value can be.
#[derive(Debug)]
pub enum StatusValue {
    /// Addresses that we listen on.
    Addresses(Vec<SocketAddr>),
    Count(u64),
    Flag(bool),
    Name(&'static str),
    Time(Timestamp),
}

impl Status {
    pub fn set(&mut self, section: &'static str, name: &'static str, value: StatusValue) {
        let section = self.0.entry(section).or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(members) = section {
            members.insert(String::from(name), value.into());
        }
    }

    /// A value that may not be known.
    pub fn set_known(
        &mut self,
        section: &'static str,
        name: &'static str,
        value: Option<StatusValue>,
    ) {
        if let Some(value) = value {
            self.set(section, name, value);
        }
    }

    /// With what `/readyz` says.
    pub(super) fn into_json(mut self, checks: &Checks) -> Value {
        if let Value::Object(ready) = checks.to_json() {
            self.0.extend(ready);
        }
        Value::Object(self.0)
    }
}

impl From<StatusValue> for Value {
    fn from(told: StatusValue) -> Self {
        match told {
            StatusValue::Addresses(all) => all.iter().map(ToString::to_string).collect(),
            StatusValue::Count(count) => Self::from(count),
            StatusValue::Flag(flag) => Self::from(flag),
            StatusValue::Name(name) => Self::from(name),
            StatusValue::Time(at) => Self::from(at.to_wire()),
        }
    }
}
