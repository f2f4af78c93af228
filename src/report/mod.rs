//! A dated compliance report for auditors: chapters of facts, as plain text and as an HTML page.
//!
//! This module only holds and renders a report. The code that gathers the facts decides which of
//! them need attention.

mod html;
#[cfg(test)]
mod tests;
mod text;

use crate::domain::time::Timestamp;

#[derive(Debug)]
pub struct ComplianceReport {
    pub title: String,
    pub made_at: Timestamp,
    /// Names and values that identify the vault, the standard and the period.
    pub about: Vec<(&'static str, String)>,
    pub chapters: Vec<Chapter>,
}

#[derive(Debug)]
pub struct Chapter {
    pub title: &'static str,
    /// The requirements for which the facts of the chapter are evidence.
    pub requirements: &'static [Requirement],
    pub findings: Vec<Finding>,
    pub table: Option<ReportTable>,
}

/// A requirement of the standard: its number, and its content in our words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirement(pub &'static str, pub &'static str);

#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    pub standing: Standing,
    pub sentence: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Attention,
    Good,
    Unknown,
}

impl Standing {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Good => "good",
            Self::Unknown => "unknown",
        }
    }
}

#[derive(Debug)]
pub struct ReportTable {
    pub head: Vec<&'static str>,
    pub rows: Vec<Vec<String>>,
}

impl ComplianceReport {
    pub fn text(&self) -> String {
        text::render(self)
    }

    pub fn html(&self) -> String {
        html::render(self)
    }

    pub fn unknown(&self) -> usize {
        let all = self.chapters.iter().flat_map(|chapter| &chapter.findings);
        all.filter(|it| it.standing == Standing::Unknown).count()
    }

    /// The sentence of a report without findings that need attention. It does not say that all is
    /// well while something could not be checked.
    pub fn calm(&self) -> String {
        match self.unknown() {
            0 => String::from("Nothing needs attention."),
            1 => String::from("No finding needs attention, but one thing could not be checked."),
            count => {
                format!("No finding needs attention, but {count} things could not be checked.")
            }
        }
    }

    /// The sentences that need attention, with the titles of their chapters.
    pub fn attention(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.chapters.iter().flat_map(|chapter| {
            let urgent = chapter.findings.iter().filter(|it| it.standing == Standing::Attention);
            urgent.map(|finding| (chapter.title, finding.sentence.as_str()))
        })
    }
}

impl Chapter {
    pub const fn new(title: &'static str, requirements: &'static [Requirement]) -> Self {
        Self { title, requirements, findings: Vec::new(), table: None }
    }

    #[must_use]
    pub fn good(self, sentence: impl Into<String>) -> Self {
        self.finding(Standing::Good, sentence)
    }

    #[must_use]
    pub fn attention(self, sentence: impl Into<String>) -> Self {
        self.finding(Standing::Attention, sentence)
    }

    #[must_use]
    pub fn unknown(self, sentence: impl Into<String>) -> Self {
        self.finding(Standing::Unknown, sentence)
    }

    #[must_use]
    pub fn finding(mut self, standing: Standing, sentence: impl Into<String>) -> Self {
        self.findings.push(Finding { standing, sentence: printable(&sentence.into()) });
        self
    }

    #[must_use]
    pub fn table(mut self, head: &[&'static str], rows: Vec<Vec<String>>) -> Self {
        let row = |row: Vec<String>| row.iter().map(|cell| printable(cell)).collect();
        self.table =
            Some(ReportTable { head: head.to_vec(), rows: rows.into_iter().map(row).collect() });
        self
    }
}

/// Replaces control characters. Names come from outside: a line end in one could fake a chapter,
/// and terminal or bidirectional controls could hide text.
pub fn printable(text: &str) -> String {
    let steers = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|letter| if steers(letter) { '?' } else { letter }).collect()
}

pub fn moment(at: Timestamp) -> String {
    at.shown()
}

/// Renders a duration in the largest unit of which it has at least two.
pub fn span(duration: std::time::Duration) -> String {
    let seconds = duration.as_secs();
    for (unit, length) in [("days", 86_400), ("hours", 3_600), ("minutes", 60)] {
        if seconds >= 2 * length {
            return format!("{} {unit}", seconds / length);
        }
    }
    format!("{seconds} seconds")
}
