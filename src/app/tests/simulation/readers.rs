//! Clients that read a list from page to page while it changes.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::app::tests::simulation::asks::{Application, Ask, Request};
use crate::app::tests::simulation::lists::{ListPosition, Progress, View};
use crate::app::tests::simulation::search::Sent;
use crate::app::tests::simulation::seen::{Outcome, Seen};
use crate::app::tests::simulation::world::World;
use crate::domain::time::Timestamp;

pub(super) const READERS: usize = 3;

#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) tenant: usize,
    pub(super) view: View,
    pub(super) cursor: Option<Vec<u8>>,
    pub(super) progress: Option<Progress>,
    begun_at: Timestamp,
    /// The tokens of earlier pages.
    seen: BTreeMap<String, Timestamp>,
}

impl Reader {
    pub(super) fn request(&self, number: usize) -> Request {
        let ask = Ask::List(self.view.clone(), Some(number));
        Request { tenant: self.tenant, by: self.view.by, ask }
    }

    fn place(&self, seen: &Seen) -> ListPosition {
        let inside = match (&self.view.container, self.view.by) {
            (Some(container), _) => container.as_str(),
            (None, Application::Whole) => "/",
            (None, Application::Part) => "/a/",
        };
        let path = seen.containers.iter().find(|path| path.starts_with(inside)).unwrap();
        (path.clone(), Reverse(seen.created_at))
    }
}

impl World {
    pub(super) fn fill_readers(&mut self) {
        while self.readers.len() < READERS {
            let reader = self.new_reader();
            self.readers.push(reader);
        }
    }

    fn new_reader(&mut self) -> Reader {
        let by = if self.one_in(3) { Application::Part } else { Application::Whole };
        let size = 1 + self.roll(5);
        Reader {
            tenant: self.roll(self.model.tenants.len()),
            view: View { size, ..View::all(by) },
            cursor: None,
            progress: None,
            begun_at: self.clock.now(),
            seen: BTreeMap::new(),
        }
    }

    /// A reader takes its page. No token comes twice, unless it was moved.
    pub(super) fn turn_pages(&mut self, sent: &[Sent], begun_at: Timestamp) {
        for sent in sent {
            let (Ask::List(_, Some(number)), Some(Outcome::Page(page, next))) =
                (&sent.request.ask, &sent.told)
            else {
                continue;
            };
            let mut reader = self.readers[*number].clone();
            for token in page {
                let before = reader.seen.insert(token.id.clone(), token.created_at);
                if before != Some(token.created_at) {
                    continue;
                }
                let known = &self.model.tenants[reader.tenant].tokens.get(&token.id);
                let is_moved = known.is_none_or(|it| it.placed_at > reader.begun_at);
                assert!(is_moved, "a list showed {} twice", token.id);
            }
            if let Some(last) = page.last() {
                let last = reader.place(last);
                reader.progress = Some(Progress { last, at: begun_at });
            }
            reader.cursor.clone_from(next);
            self.readers[*number] = if next.is_some() { reader } else { self.new_reader() };
        }
    }
}
