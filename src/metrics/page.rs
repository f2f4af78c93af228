//! The text format of Prometheus, version 0.0.4. A series that was never counted is left out.

use std::fmt::{self, Write as _};

use uuid::Uuid;

use super::histogram::{Distribution, Unit};
use crate::domain::time::Timestamp;

#[derive(Debug, Default)]
pub struct Page(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

/// All that the value of a label can be: never text from outside.
#[derive(Debug, Clone, Copy)]
pub enum Label {
    Id(Uuid),
    /// A name from our own source.
    Name(&'static str),
    Number(u64),
}

/// All that a sample can be.
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Count(u64),
    /// Shown as seconds.
    Micros(u64),
}

/// The samples of one name.
#[derive(Debug)]
pub struct Family<'a> {
    page: &'a mut Page,
    name: &'static str,
}

impl Page {
    pub fn counter(&mut self, name: &'static str, help: &'static str, value: impl Into<Amount>) {
        self.family(name, help, FamilyKind::Counter).sample(&[], value);
    }

    pub fn gauge(&mut self, name: &'static str, help: &'static str, value: impl Into<Amount>) {
        self.family(name, help, FamilyKind::Gauge).sample(&[], value);
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
        Family { page: self, name }
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }

    #[expect(clippy::let_underscore_must_use, reason = "writing to a String cannot fail")]
    fn write(&mut self, text: fmt::Arguments<'_>) {
        let _ = self.0.write_fmt(text);
    }
}

impl Family<'_> {
    pub fn sample(&mut self, labels: &[(&'static str, Label)], value: impl Into<Amount>) {
        self.line("", labels, None, value.into());
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

/// The upper end of a bucket.
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

impl From<u64> for Amount {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<std::time::Duration> for Amount {
    fn from(duration: std::time::Duration) -> Self {
        Self::Micros(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX))
    }
}

/// As seconds since 1970.
impl From<Timestamp> for Amount {
    fn from(at: Timestamp) -> Self {
        Self::Micros(u64::try_from(at.micros()).unwrap_or(0))
    }
}
