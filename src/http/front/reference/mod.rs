//! The page at `/`: the start page and the reference of the API, which its scripts render from the
//! OpenAPI document. Scripts and styles are small files, each for one subject.

use crate::http::front::asset::{Asset, AssetKind, Loader, PagePolicy};

const SCRIPT: AssetKind = AssetKind::Script(Loader::SameOrigin);

pub(in crate::http) static PAGE: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Alone), || include_str!("index.html"));

pub(in crate::http) static PAGE_STYLE: Asset =
    Asset::new(AssetKind::Style, || include_str!("page.css"));
pub(in crate::http) static OPERATION_STYLE: Asset =
    Asset::new(AssetKind::Style, || include_str!("operation.css"));
pub(in crate::http) static PRINT_STYLE: Asset =
    Asset::new(AssetKind::Style, || include_str!("print.css"));

pub(in crate::http) static CHAPTER_VIEW: Asset =
    Asset::new(SCRIPT, || include_str!("chapter_view.js"));
pub(in crate::http) static DOM: Asset = Asset::new(SCRIPT, || include_str!("dom.js"));
pub(in crate::http) static EXAMPLES: Asset = Asset::new(SCRIPT, || include_str!("examples.js"));
pub(in crate::http) static EXAMPLES_VIEW: Asset =
    Asset::new(SCRIPT, || include_str!("examples_view.js"));
pub(in crate::http) static MAIN: Asset = Asset::new(SCRIPT, || include_str!("main.js"));
pub(in crate::http) static MARKDOWN: Asset = Asset::new(SCRIPT, || include_str!("markdown.js"));
pub(in crate::http) static MODEL: Asset = Asset::new(SCRIPT, || include_str!("model.js"));
pub(in crate::http) static NAVIGATION: Asset = Asset::new(SCRIPT, || include_str!("navigation.js"));
pub(in crate::http) static OPERATION_VIEW: Asset =
    Asset::new(SCRIPT, || include_str!("operation_view.js"));
pub(in crate::http) static PROSE: Asset = Asset::new(SCRIPT, || include_str!("prose.js"));
pub(in crate::http) static QUOTING: Asset = Asset::new(SCRIPT, || include_str!("quoting.js"));
pub(in crate::http) static REQUEST: Asset = Asset::new(SCRIPT, || include_str!("request.js"));
pub(in crate::http) static SCHEMA: Asset = Asset::new(SCRIPT, || include_str!("schema.js"));
pub(in crate::http) static SCHEMA_VIEW: Asset =
    Asset::new(SCRIPT, || include_str!("schema_view.js"));
pub(in crate::http) static SEARCH: Asset = Asset::new(SCRIPT, || include_str!("search.js"));
pub(in crate::http) static TABS: Asset = Asset::new(SCRIPT, || include_str!("tabs.js"));
pub(in crate::http) static TRY_VIEW: Asset = Asset::new(SCRIPT, || include_str!("try_view.js"));
