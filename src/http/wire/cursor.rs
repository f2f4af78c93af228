//! Pages by cursor. A cursor is base64url text: opaque to clients, and safe in a URL without
//! escapes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::bounds::CURSOR_CHARS_MAX;
use crate::domain::mistakes::Mistakes;
use crate::http::wire::answer::{Answer as _, answer};
use crate::http::wire::{Json, Object};

/// The bytes of a cursor, which are not authenticated yet.
pub(crate) fn parse(text: Option<&str>, mistakes: &mut Mistakes) -> Option<Vec<u8>> {
    let text = text.filter(|text| !text.is_empty())?;
    let text = Some(text).filter(|text| text.len() <= CURSOR_CHARS_MAX);
    let bytes = text.and_then(|text| URL_SAFE_NO_PAD.decode(text).ok());
    if bytes.is_none() {
        mistakes.add("start", "The start is the next of an earlier page, unchanged.");
    }
    bytes
}

pub(crate) fn render(cursor: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(cursor)
}

answer! {
    /// `next` is absent on the last page: some published clients loop forever when it is empty.
    pub(crate) CursorPagination<'a>(it: (usize, Option<&'a [u8]>)) {
        has page_size: count.at_least(1) = it.0;
        may_have next: text = it.1.map(render).as_deref(),
            "The `start` of the next page; absent on the last.";
    }
}

pub(crate) fn render_page(size: usize, next: Option<&[u8]>, items: &[Json]) -> Json {
    let mut object = Object::new();
    object.object("pagination", |object| CursorPagination::fill(object, (size, next)));
    object.list("data", items);
    object.close()
}
