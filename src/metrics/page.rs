//! All observed values, gathered in one pass: families in the text format of Prometheus, version
//! 0.0.4, and the lines of `strongroom status`. A family names its status line, so that both show
//! one value.

use std::fmt::{self, Write as _};

use uuid::Uuid;

use super::checks::Checks;
use super::histogram::{Distribution, Unit};
use super::status::{Status, StatusValue};
use crate::domain::time::Timestamp;

#[derive(Debug, Default)]
pub struct Page {
    text: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

/// The kinds of values that a label can have. None of them is text from outside.
#[derive(Debug, Clone, Copy)]
pub enum Label {
    Id(Uuid),
    /// A constant of this program.
    Name(&'static str),
    Number(u64),
}

/// The kinds of values that a sample can have.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Count(u64),
    /// Shown as seconds.
    Micros(u64),
    /// Shown as seconds since 1970.
    Time(Timestamp),
}

#[derive(Debug)]
pub struct Family<'a> {
    page: &'a mut Page,
    name: &'static str,
    last: Option<Amount>,
}

impl Page {
    pub fn counter(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: impl Into<Amount>,
    ) -> Family<'_> {
        let mut family = self.family(name, help, FamilyKind::Counter);
        family.sample(&[], value);
        family
    }

    pub fn gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: impl Into<Amount>,
    ) -> Family<'_> {
        self.known_gauge(name, help, Some(value))
    }

    /// A gauge without a sample if its value is unknown.
    pub fn known_gauge(
        &mut self,
        name: &'static str,
        help: &'static str,
        value: Option<impl Into<Amount>>,
    ) -> Family<'_> {
        let mut family = self.family(name, help, FamilyKind::Gauge);
        if let Some(value) = value {
            family.sample(&[], value);
        }
        family
    }

    pub fn histogram(&mut self, name: &'static str, help: &'static str, of: &Distribution) {
        self.family(name, help, FamilyKind::Histogram).distribution(&[], of);
    }

    pub fn family(
        &mut self,
        name: &'static str,
        help: &'static str,
        kind: FamilyKind,
    ) -> Family<'_> {
        let kind = match kind {
            FamilyKind::Counter => "counter",
            FamilyKind::Gauge => "gauge",
            FamilyKind::Histogram => "histogram",
        };
        self.write(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        Family { page: self, name, last: None }
    }

    /// A status line without a family; it is left out if its value is unknown.
    pub fn line(
        &mut self,
        section: &'static str,
        name: &'static str,
        value: impl Into<Option<StatusValue>>,
    ) {
        if let Some(value) = value.into() {
            self.status.set(section, name, value);
        }
    }

    /// The status lines of a distribution of microseconds: its count, and bounds of the faster half and
    /// of 99 in a hundred.
    pub fn lines_of(&mut self, section: &'static str, names: [&'static str; 3], of: &Distribution) {
        let [count, median, high] = names;
        self.line(section, count, StatusValue::Count(of.count()));
        for (name, permille) in [(median, 500), (high, 990)] {
            self.line(section, name, of.share(permille).map(StatusValue::Latency));
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn into_status(self, checks: &Checks) -> serde_json::Value {
        self.status.into_json(checks)
    }

    #[expect(clippy::let_underscore_must_use, reason = "writing to a String cannot fail")]
    fn write(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(text);
    }
}

impl Family<'_> {
    pub fn sample(
        &mut self,
        labels: &[(&'static str, Label)],
        value: impl Into<Amount>,
    ) -> &mut Self {
        let value = value.into();
        self.line("", labels, None, value);
        self.last = Some(value);
        self
    }

    /// Adds the last sample to a status line, which the samples of a family may share.
    pub fn status(&mut self, section: &'static str, name: &'static str) {
        if let Some(amount) = self.last {
            self.page.status.add(section, name, amount);
        }
    }

    pub fn distribution(&mut self, labels: &[(&'static str, Label)], of: &Distribution) {
        let amount = |value| match of.unit {
            Unit::Micros => Amount::Micros(value),
            Unit::Plain => Amount::Count(value),
        };
        let mut below: u64 = 0;
        for (at, count) in of.counts.iter().enumerate() {
            below = below.saturating_add(*count);
            let bound = of.bounds.get(at).map_or(Bound::Infinite, |it| Bound::At(amount(*it)));
            self.line("_bucket", labels, Some(bound), Amount::Count(below));
        }
        self.line("_sum", labels, None, amount(of.sum));
        self.line("_count", labels, None, Amount::Count(below));
    }

    fn line(
        &mut self,
        suffix: &str,
        labels: &[(&'static str, Label)],
        bound: Option<Bound>,
        value: Amount,
    ) {
        self.page.write(format_args!("{}{suffix}", self.name));
        let mut before = '{';
        for (name, label) in labels {
            self.page.write(format_args!("{before}{name}=\"{label}\""));
            before = ',';
        }
        if let Some(bound) = bound {
            self.page.write(format_args!("{before}le=\"{bound}\""));
            before = ',';
        }
        let after = if before == ',' { "}" } else { "" };
        self.page.write(format_args!("{after} {value}\n"));
    }
}

enum Bound {
    At(Amount),
    Infinite,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(amount) => amount.fmt(f),
            Self::Infinite => f.write_str("+Inf"),
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Name(name) => f.write_str(name),
            Self::Number(number) => number.fmt(f),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Time(at) => Self::Micros(u64::try_from(at.micros()).unwrap_or(0)).fmt(f),
            Self::Micros(micros) => {
                let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
                if rest == 0 {
                    return seconds.fmt(f);
                }
                let fraction = format!("{rest:06}");
                write!(f, "{seconds}.{}", fraction.trim_end_matches('0'))
            }
        }
    }
}

from_causes!(Amount: u64 => Self::Count, Timestamp => Self::Time);

impl From<std::time::Duration> for Amount {
    fn from(duration: std::time::Duration) -> Self {
        Self::Micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}
