//! The report of `verify`, which the checks of all tables share.

use crate::bounds::VERIFY_FINDINGS_MAX;

/// Findings name tables and ids, never values.
#[derive(Debug, Default)]
pub struct Report {
    pub tenants: u64,
    pub applications: u64,
    pub keys: u64,
    pub tokens: u64,
    pub token_intents: u64,
    pub threeds_sessions: u64,
    pub index_entries: u64,
    pub audit_entries: u64,
    /// Card verification codes whose keys exist.
    pub cvcs: u64,
    /// Card verification codes whose keys were destroyed. The sweep has yet to remove them.
    pub cvcs_gone: u64,
    /// Tenants whose deletion is under way. Their remaining rows are not checked.
    pub deletions: u64,
    pub findings: Vec<String>,
    /// The number of findings beyond the listed ones.
    pub more: u64,
}

impl Report {
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    pub(in crate::app) fn find(&mut self, finding: String) {
        if self.findings.len() < VERIFY_FINDINGS_MAX {
            self.findings.push(finding);
        } else {
            self.more = self.more.saturating_add(1);
        }
    }
}
