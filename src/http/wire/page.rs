//! Pages by number.

use crate::app::PageRange;
use crate::bounds::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX};
use crate::domain::mistakes::Mistakes;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::{Fields, Json, Object, Query};

const PAGE_DEFAULT: usize = 1;
/// Beyond the end of any list; a page past the end is empty.
const PAGE_MAX: usize = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OffsetPage {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) size: usize,
}

impl OffsetPage {
    pub(crate) fn parse(query: &Query, mistakes: &mut Mistakes) -> Self {
        Self::parse_up_to(query, PAGE_SIZE_MAX, mistakes)
    }

    /// For lists with a maximum size of their own.
    pub(crate) fn parse_up_to(query: &Query, size_max: usize, mistakes: &mut Mistakes) -> Self {
        let number = in_query(query, "page", PAGE_DEFAULT, PAGE_MAX, mistakes);
        Self { number, size: in_query(query, "size", PAGE_SIZE_DEFAULT, size_max, mistakes) }
    }

    /// Reads the page from a body.
    pub(crate) fn parse_fields(fields: &mut Fields<'_>) -> Self {
        let number = in_fields(fields, "page", PAGE_DEFAULT, PAGE_MAX);
        Self { number, size: size_in_fields(fields) }
    }

    pub(crate) const fn stretch(self) -> PageRange {
        PageRange { skip: self.skip(), take: self.size }
    }

    pub(crate) const fn skip(self) -> usize {
        self.number.saturating_sub(1).saturating_mul(self.size)
    }

    pub(crate) fn render(self, total: usize, items: &[Json]) -> Json {
        let mut object = Object::new();
        object.object("pagination", |object| OffsetPagination::fill(object, (self, total)));
        object.list("data", items);
        object.close()
    }
}

answer! {
    pub(crate) OffsetPagination<'a>(it: (OffsetPage, usize)) {
        has total_items: count = it.1;
        has page_number: count.at_least(1) = it.0.number;
        has page_size: count.at_least(1) = it.0.size;
        has total_pages: count = it.1.div_ceil(it.0.size.max(1));
    }
}

/// The ids that a list is limited to. A malformed id matches no record.
pub(crate) fn wanted_ids<Id>(query: &Query, parse: fn(&str) -> Option<Id>) -> Option<Vec<Id>> {
    query.all("id").next()?;
    Some(query.all("id").filter_map(parse).collect())
}

pub(crate) fn size_in_query(query: &Query, mistakes: &mut Mistakes) -> usize {
    in_query(query, "size", PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, mistakes)
}

pub(crate) fn size_in_fields(fields: &mut Fields<'_>) -> usize {
    in_fields(fields, "size", PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX)
}

fn in_query(
    query: &Query,
    name: &str,
    default: usize,
    max: usize,
    mistakes: &mut Mistakes,
) -> usize {
    let Some(text) = query.first(name).filter(|text| !text.is_empty()) else {
        return default;
    };
    text.parse().ok().filter(|number| (1..=max).contains(number)).unwrap_or_else(|| {
        mistakes.add(name, format!("The {name} is a whole number from 1 to {max}."));
        default
    })
}

fn in_fields(fields: &mut Fields<'_>, name: &str, default: usize, max: usize) -> usize {
    let Some(value) = fields.value(name) else {
        return default;
    };
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| (1..=max).contains(number)).unwrap_or_else(|| {
        fields.wrong(name, format!("The {name} is a whole number from 1 to {max}."));
        default
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(query: &str, expected: Option<(usize, usize, usize)>) {
        let mut mistakes = Mistakes::new();
        let page = OffsetPage::parse(&Query::parse(query).unwrap(), &mut mistakes);
        let found = mistakes.is_empty().then_some((page.number, page.size, page.skip()));
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn pages_are_numbered_from_1_and_hold_1_to_100() {
        check("", Some((1, 20, 0)));
        check("page=3&size=10", Some((3, 10, 20)));
        check("size=100", Some((1, 100, 0)));
        for bad in ["page=0", "page=-1", "page=x", "size=0", "size=101", "size=1.5"] {
            check(bad, None);
        }
    }
}
