//! The search for the last page of a list.

use crate::Outcome;
use crate::client::{Target, block_on};
use crate::model::expect_reply;
use crate::request::{Kind, Load, PAGE_SIZE, Work};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Deserialize)]
struct Page {
    data: Vec<IgnoredAny>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Pagination {
    next: Option<String>,
}

/// Follows the cursors to the last full page, as far as the time allows; returns its cursor and its number.
pub(crate) fn last_page(target: &Target, time_max: Duration) -> Outcome<(String, u64)> {
    let until = Instant::now() + time_max;
    block_on(async {
        let mut connection = target.connect().await?;
        let (mut cursor, mut pages) = (String::new(), 1);
        let mut next = cursor.clone();
        loop {
            let load = Load::Page(next.clone());
            let work = Work { ids: Arc::default(), kind: Kind::Card, load };
            let reply = expect_reply(target, &mut connection, work, 200).await?;
            let page: Page = serde_json::from_str(&reply.body)?;
            if page.data.len() == PAGE_SIZE && !next.is_empty() {
                (cursor, pages) = (next, pages + 1);
            }
            match page.pagination.next {
                Some(further) if Instant::now() < until => next = further,
                _ => return Ok((cursor, pages)),
            }
        }
    })
}
