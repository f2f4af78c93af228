//! `[pages]`: the pages for people that the server has.

use super::reader::SettingsReader;
use crate::domain::page_group::{PageGroup, PageGroups};

impl SettingsReader {
    /// The pages that are switched on. Worked examples are for `strongroom dev` alone.
    pub(super) fn pages(&mut self) -> PageGroups {
        let groups = [
            ("pages.console", PageGroup::Console),
            ("pages.fields", PageGroup::Fields),
            ("pages.reference", PageGroup::Reference),
        ];
        groups.into_iter().filter(|(name, _)| self.flag(name, false)).map(|it| it.1).collect()
    }
}
