//! The page at `/`: the start page and the API reference, which its scripts render from the OpenAPI
//! document. Scripts and styles are small files, each for one subject.

use crate::http::front::asset::{Asset, AssetKind, PagePolicy};
use crate::http::front::folder::{Folder, files};

pub(in crate::http) static PAGE: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Alone, &["/reference/"]), || include_str!("index.html"));

pub(in crate::http) static FILES: Folder = files! {
    scripts {
        "chapter_view.js"
        "clients.js"
        "dom.js"
        "examples.js"
        "examples_view.js"
        "highlight.js"
        "main.js"
        "markdown.js"
        "model.js"
        "navigation.js"
        "operation_view.js"
        "own_keys.js"
        "own_values.js"
        "page_text.js"
        "prose.js"
        "quoting.js"
        "request.js"
        "schema.js"
        "schema_view.js"
        "search.js"
        "tabs.js"
        "try_view.js"
    }
    styles {
        "operation.css"
        "page.css"
        "print.css"
    }
    images of "../chapters/" {
        "card-data-flow.svg"
        "key-flow.svg"
    }
};
