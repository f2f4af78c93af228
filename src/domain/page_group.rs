//! The groups of pages for people. The operator switches each group on or off.

/// Pages, and the routes that only these pages need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageGroup {
    /// Administration by people with a management key.
    Console,
    /// The script that the published Elements packages load, and its frames.
    Elements,
    /// Worked examples, for `strongroom dev` alone.
    Examples,
    /// The card fields that shops mount into their own pages.
    Fields,
    /// The start page and the API reference.
    Reference,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageGroups(Vec<PageGroup>);

impl PageGroups {
    pub fn all() -> Self {
        use PageGroup::{Console, Elements, Examples, Fields, Reference};
        Self(vec![Console, Elements, Examples, Fields, Reference])
    }

    pub fn has(&self, group: PageGroup) -> bool {
        self.0.contains(&group)
    }
}

impl FromIterator<PageGroup> for PageGroups {
    fn from_iter<I: IntoIterator<Item = PageGroup>>(groups: I) -> Self {
        Self(groups.into_iter().collect())
    }
}
