//! Lists of tokens in the model: each live token once, by container and newest first.

use std::cmp::Reverse;
use std::rc::Rc;

use crate::app::tests::simulation::asks::Application;
use crate::app::tests::simulation::model::{Kind, Life, Tenant, Token, Window};
use crate::app::tests::simulation::seen::Seen;
use crate::domain::time::Timestamp;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) by: Application,
    pub(super) container: Option<String>,
    pub(super) colour: Option<String>,
    pub(super) kind: Option<Kind>,
    /// The value of a search index.
    pub(super) value: Option<String>,
    pub(super) size: usize,
}

/// Ordered by container, then newest first.
pub(super) type ListPosition = (String, Reverse<Timestamp>);

/// The part of a list that was read before.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    pub(super) last: ListPosition,
    /// The start of the round in which the last page was read.
    pub(super) at: Timestamp,
}

impl View {
    pub(super) fn all(by: Application) -> Self {
        Self { by, container: None, colour: None, kind: None, value: None, size: 100 }
    }

    fn inside(&self) -> &str {
        match (&self.container, self.by) {
            (Some(container), _) => container,
            (None, Application::Whole) => "/",
            (None, Application::Part) => "/a/",
        }
    }

    /// `None` if the list does not have the token.
    pub(super) fn place(&self, token: &Token) -> Option<ListPosition> {
        let path = token.containers.iter().find(|path| path.starts_with(self.inside()))?;
        let is_listed = self.colour.as_ref().is_none_or(|it| *it == token.colour)
            && self.kind.is_none_or(|it| it == token.kind)
            && self.value.as_ref().is_none_or(|it| token.data["value"] == it.as_str());
        is_listed.then(|| (path.clone(), Reverse(token.created_at)))
    }

    fn of<'t>(&self, tenant: &'t Tenant) -> Vec<(ListPosition, &'t String, &'t Rc<Token>)> {
        let placed = tenant
            .tokens
            .iter()
            .filter_map(|(id, token)| self.place(token).map(|place| (place, id, token)));
        let mut placed: Vec<_> = placed.collect();
        placed.sort_by(|one, other| one.0.cmp(&other.0));
        placed
    }

    /// True if the tenant's state gives this page.
    pub(super) fn gives(
        &self,
        tenant: &Tenant,
        seen: &[Seen],
        has_next: bool,
        before: Option<&Progress>,
        window: Window,
    ) -> bool {
        let mut shown = seen.iter().peekable();
        let mut may_have_more = false;
        for (place, id, token) in self.of(tenant) {
            let life = window.life(token.expires_at);
            if before.is_some_and(|before| place <= before.last) || life == Life::Over {
                continue;
            }
            // A token that came while the list was read may be before the cursor.
            let is_new = before.is_some_and(|before| token.placed_at > before.at);
            let is_listed = life == Life::Live && !is_new;
            if shown.peek().is_none() && seen.len() == self.size {
                // The page is full, so the rest is on the next one.
                if is_listed {
                    return has_next;
                }
                may_have_more = true;
                continue;
            }
            let is_shown = shown.next_if(|it| it.id == **id && token.is(it, window)).is_some();
            if is_listed && !is_shown {
                return false;
            }
        }
        shown.next().is_none() && (!has_next || may_have_more)
    }

    /// True if the numbered list gives these tokens: all live ones, newest first.
    pub(super) fn gives_numbered(
        tenant: &Tenant,
        seen: &[Seen],
        total: usize,
        window: Window,
    ) -> bool {
        let mut tokens: Vec<_> = tenant.tokens.iter().collect();
        tokens.sort_by_key(|(_, token)| Reverse(token.created_at));
        let mut shown = seen.iter().peekable();
        for (id, token) in tokens {
            let life = window.life(token.expires_at);
            let is_shown = shown.next_if(|it| it.id == *id && token.is(it, window)).is_some();
            if (is_shown && life == Life::Over) || (!is_shown && life == Life::Live) {
                return false;
            }
        }
        shown.next().is_none() && total == seen.len()
    }
}
