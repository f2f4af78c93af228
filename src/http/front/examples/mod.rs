//! Worked examples, which only `strongroom dev` serves.

use std::sync::{LazyLock, OnceLock};

use serde_json::json;

use crate::http::front::asset::{Asset, AssetKind, PagePolicy};
use crate::http::front::folder::{Folder, files, script};

/// A shop's checkout with hosted card fields and 3-D Secure.
pub(in crate::http) static CHECKOUT: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Framing, &["/examples/", "/fields/v1.js"]), || {
        include_str!("checkout.html")
    });
/// Every element of the published packages, in one page.
pub(in crate::http) static ELEMENTS: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Framing, &["/examples/", "/web-elements/"]), || {
        include_str!("elements.html")
    });
/// Every element in light and in dark, side by side.
pub(in crate::http) static GALLERY: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Framing, &["/examples/", "/web-elements/"]), || {
        include_str!("gallery.html")
    });
/// The programs of the chapter about Elements. The page of the example shows them.
pub(in crate::http) static SOURCES: Asset = Asset::new(AssetKind::Json, || {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let chapter = include_str!("../chapters/elements.md");
        json!({"react": program(chapter, "jsx"), "html": program(chapter, "html")}).to_string()
    });
    &TEXT
});

/// The first code block of a language.
fn program<'c>(chapter: &'c str, language: &str) -> &'c str {
    let (_, rest) = chapter.split_once(&format!("```{language}\n")).unwrap_or_default();
    rest.split_once("```").map_or("", |(program, _)| program)
}

/// `server.js` makes the calls that a shop's server would make.
pub(in crate::http) static FILES: Folder = files! {
    scripts {
        "checkout.js"
        "elements.js"
        "gallery.js"
        "server.js"
    }
    styles {
        "checkout.css"
        "gallery.css"
    }
};

/// The published browser SDK for 3-D Secure. It is not part of this program: the developer names
/// its file. Without it the script is empty, and the page says so.
pub(in crate::http) static THREEDS_SDK: Asset =
    script(|| SDK.get().map_or("// Start strongroom dev with --threeds-sdk.\n", String::as_str));

static SDK: OnceLock<String> = OnceLock::new();

/// Serves this text as the SDK. The first call decides.
pub fn set_threeds_sdk(text: String) {
    drop(SDK.set(text));
}
