//! Worked examples, which only `strongroom dev` serves.

use std::sync::OnceLock;

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
/// `server.js` makes the calls that a shop's server would make.
pub(in crate::http) static FILES: Folder = files! {
    scripts {
        "checkout.js"
        "elements.js"
        "server.js"
    }
    styles {
        "checkout.css"
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
