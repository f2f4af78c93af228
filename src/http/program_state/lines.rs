//! Lines that programs write with `console` and `logger`, and the ends of their calls, if their
//! `runtime` keeps them. They are in memory, the newest of each tenant, and end with the process.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use uuid::Uuid;

use crate::bounds::{
    PROGRAM_LINE_BYTES_MAX, PROGRAM_LINES_ALL_MAX, PROGRAM_LINES_MAX, PROGRAM_LINES_RETENTION,
};
use crate::domain::card::in_text::holds_split_card_number;
use crate::domain::id::TenantId;
use crate::domain::program::LineLevel;
use crate::domain::time::Timestamp;
use crate::lock::Lock;
use crate::secret::Secret;

/// In place of a line with a card number: the right to read logs is no right to see card data.
const HIDDEN: &str = "This line is left out, since it holds digits of a card number.";

#[derive(Debug, Default)]
pub(in crate::http) struct ProgramLines(Lock<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Of each tenant, oldest first.
    tenants: BTreeMap<TenantId, VecDeque<Arc<KeptLine>>>,
    all: usize,
}

#[derive(Debug)]
pub(crate) struct KeptLine {
    /// Random: a number would count the lines of other tenants.
    pub(in crate::http) id: Uuid,
    /// The reactor or the proxy.
    pub(in crate::http) owner: Uuid,
    pub(in crate::http) at: Timestamp,
    pub(in crate::http) level: LineLevel,
    pub(in crate::http) text: Secret<String>,
    pub(in crate::http) trace: String,
    /// Set for the end of a call. Other lines are the words of the program.
    pub(in crate::http) end: Option<ProgramEnd>,
}

#[derive(Debug)]
pub(crate) struct ProgramEnd {
    pub(in crate::http) elapsed_ms: u64,
    /// The kind of failure.
    pub(in crate::http) error: Option<&'static str>,
}

impl KeptLine {
    pub(in crate::http) fn source(&self) -> &'static str {
        if self.end.is_some() { "platform" } else { "application" }
    }

    pub(in crate::http) fn record_type(&self) -> &'static str {
        if self.end.is_some() { "lifecycle" } else { "log" }
    }
}

impl ProgramEnd {
    pub(in crate::http) const fn event(&self) -> &'static str {
        if self.error.is_some() { "failed" } else { "completed" }
    }

    pub(in crate::http) const fn outcome(&self) -> &'static str {
        if self.error.is_some() { "failure" } else { "success" }
    }
}

/// The lines that a page shows.
#[derive(Debug, Default)]
pub(in crate::http) struct LineQuery {
    pub(in crate::http) level: Option<LineLevel>,
    pub(in crate::http) source: Option<String>,
    pub(in crate::http) record_type: Option<String>,
    pub(in crate::http) event: Option<String>,
    pub(in crate::http) outcome: Option<String>,
    pub(in crate::http) trace: Option<String>,
    pub(in crate::http) words: Option<String>,
    /// Only lines before this one.
    pub(in crate::http) before: Option<Uuid>,
}

impl LineQuery {
    fn fits(&self, line: &KeptLine) -> bool {
        let is = |asked: &Option<String>, found: Option<&str>| {
            asked.as_deref().is_none_or(|asked| Some(asked) == found)
        };
        let end = line.end.as_ref();
        self.level.is_none_or(|level| line.level == level)
            && is(&self.source, Some(line.source()))
            && is(&self.record_type, Some(line.record_type()))
            && is(&self.event, end.map(ProgramEnd::event))
            && is(&self.outcome, end.map(ProgramEnd::outcome))
            && self.trace.as_ref().is_none_or(|trace| line.trace == *trace)
            && self.words.as_ref().is_none_or(|words| line.text.expose().contains(words.as_str()))
    }
}

impl ProgramLines {
    pub(in crate::http) fn add(&self, tenant: TenantId, mut line: KeptLine) {
        if holds_split_card_number(line.text.expose()) {
            line.text = Secret::new(String::from(HIDDEN));
        }
        let end = line.text.expose().floor_char_boundary(PROGRAM_LINE_BYTES_MAX);
        line.text.expose_mut().truncate(end);
        let mut kept = self.0.lock();
        kept.drop_old(line.at);
        kept.tenants.entry(tenant).or_default().push_back(Arc::new(line));
        kept.all = kept.all.saturating_add(1);
        if kept.tenants.get(&tenant).is_some_and(|own| own.len() > PROGRAM_LINES_MAX) {
            kept.drop_first(tenant);
        }
        // The tenant with the most lines makes room for the others.
        while kept.all > PROGRAM_LINES_ALL_MAX {
            let most = kept.tenants.iter().max_by_key(|(_, own)| own.len());
            let Some(most) = most.map(|(tenant, _)| *tenant) else { return };
            kept.drop_first(most);
        }
    }

    /// Newest first, and true if there are more. Lines are dropped in their order, so there is
    /// nothing before a line that is gone.
    pub(in crate::http) fn page(
        &self,
        tenant: TenantId,
        owner: Uuid,
        query: &LineQuery,
        size: usize,
    ) -> (Vec<Arc<KeptLine>>, bool) {
        let kept = self.0.lock();
        let own = kept.tenants.get(&tenant).into_iter().flatten().rev();
        let mut own = own.filter(|line| line.owner == owner);
        if let Some(before) = query.before {
            own.by_ref().find(|line| line.id == before);
        }
        let mut found = own.filter(|line| query.fits(line)).map(Arc::clone);
        let page = found.by_ref().take(size).collect();
        let has_more = found.next().is_some();
        (page, has_more)
    }
}

impl Kept {
    fn drop_first(&mut self, tenant: TenantId) {
        if let Some(own) = self.tenants.get_mut(&tenant) {
            if own.pop_front().is_some() {
                self.all = self.all.saturating_sub(1);
            }
            if own.is_empty() {
                self.tenants.remove(&tenant);
            }
        }
    }

    fn drop_old(&mut self, now: Timestamp) {
        let is_old = |line: &Arc<KeptLine>| now >= line.at.plus(PROGRAM_LINES_RETENTION);
        let old: Vec<_> = self
            .tenants
            .iter()
            .map(|(tenant, own)| (*tenant, own.iter().take_while(|line| is_old(line)).count()))
            .filter(|(_, count)| *count > 0)
            .collect();
        for (tenant, count) in old {
            for _ in 0..count {
                self.drop_first(tenant);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(number: u128) -> TenantId {
        TenantId::new(Uuid::from_u128(number))
    }

    fn add(lines: &ProgramLines, of: u128, owner: u128, text: &str, second: i64) {
        let line = KeptLine {
            id: Uuid::from_u128(u128::try_from(second).unwrap()),
            owner: Uuid::from_u128(owner),
            at: Timestamp::from_seconds(second),
            level: LineLevel::Info,
            text: Secret::new(String::from(text)),
            trace: String::from("t-1"),
            end: None,
        };
        lines.add(tenant(of), line);
    }

    fn texts(lines: &ProgramLines, of: u128, owner: u128, query: &LineQuery) -> Vec<String> {
        let (page, _) = lines.page(tenant(of), Uuid::from_u128(owner), query, 10);
        page.iter().map(|line| line.text.expose().clone()).collect()
    }

    #[test]
    fn lines_are_for_their_tenant_and_owner_and_newest_first() {
        let lines = ProgramLines::default();
        add(&lines, 1, 1, "one", 1);
        add(&lines, 1, 2, "other owner", 1);
        add(&lines, 2, 1, "other tenant", 1);
        add(&lines, 1, 1, "two", 2);
        let all = LineQuery::default();
        assert_eq!(texts(&lines, 1, 1, &all), ["two", "one"]);
        let words = LineQuery { words: Some(String::from("on")), ..LineQuery::default() };
        assert_eq!(texts(&lines, 1, 1, &words), ["one"]);
        let warnings = LineQuery { level: Some(LineLevel::Warn), ..LineQuery::default() };
        assert_eq!(texts(&lines, 1, 1, &warnings), [""; 0]);
        let (page, has_more) = lines.page(tenant(1), Uuid::from_u128(1), &all, 1);
        assert!(has_more);
        let before = |id| LineQuery { before: Some(id), ..LineQuery::default() };
        assert_eq!(texts(&lines, 1, 1, &before(page[0].id)), ["one"]);
        assert_eq!(texts(&lines, 1, 1, &before(Uuid::nil())), [""; 0], "a line that is gone");
    }

    #[test]
    fn a_line_is_short_holds_no_card_number_and_ends_in_time() {
        let lines = ProgramLines::default();
        add(&lines, 1, 1, "card 4242 4242 4242 4242", 1);
        add(&lines, 1, 1, &"\u{e9}".repeat(PROGRAM_LINE_BYTES_MAX), 2);
        let found = texts(&lines, 1, 1, &LineQuery::default());
        assert_eq!(found[1], HIDDEN);
        assert!(found[0].len() <= PROGRAM_LINE_BYTES_MAX && found[0].starts_with('\u{e9}'));
        let later = i64::try_from(PROGRAM_LINES_RETENTION.as_secs()).unwrap() + 2;
        add(&lines, 1, 1, "late", later);
        assert_eq!(texts(&lines, 1, 1, &LineQuery::default()), ["late"]);
    }

    #[test]
    fn a_tenant_with_many_lines_takes_no_room_of_others() {
        let lines = ProgramLines::default();
        add(&lines, 9, 1, "kept", 1);
        let tenants = u128::try_from(PROGRAM_LINES_ALL_MAX / PROGRAM_LINES_MAX).unwrap();
        for of in 10..10 + tenants + 2 {
            for _ in 0..=PROGRAM_LINES_MAX {
                add(&lines, of, 1, "x", 1);
            }
        }
        let kept = lines.0.lock();
        assert_eq!(kept.all, PROGRAM_LINES_ALL_MAX);
        assert!(kept.tenants.values().all(|own| own.len() <= PROGRAM_LINES_MAX));
        assert_eq!(kept.tenants[&tenant(9)].len(), 1);
    }
}
