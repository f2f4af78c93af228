//! The console: a page that administers a tenant for a person of the operator's sign-on, or with an
//! API key.
//!
//! The page has no rights of its own and no session on the server: the sign-on answers for every
//! call of a person, and a pasted key is kept in a variable of the script.

mod views;

use crate::http::front::asset::{Asset, AssetKind, PagePolicy};
use crate::http::front::folder::{Folder, files};

pub(in crate::http) use views::VIEWS;

pub(in crate::http) static PAGE: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Alone, &["/console/"]), || include_str!("index.html"));
pub(in crate::http) static STYLE: Asset = Asset::new(AssetKind::Style, || {
    concat!(
        include_str!("console.css"),
        include_str!("parts.css"),
        include_str!("forms.css"),
        include_str!("chart.css"),
    )
});

pub(in crate::http) static FILES: Folder = files! {
    scripts {
        "api.js"
        "calls.js"
        "chart.js"
        "code_editor.js"
        "configuration_editor.js"
        "dialogs.js"
        "directory.js"
        "dom.js"
        "form_input.js"
        "format.js"
        "keys.js"
        "main.js"
        "meter.js"
        "parts.js"
        "permission_picker.js"
        "preview.js"
        "program_lines.js"
        "rights.js"
        "router.js"
        "rules_editor.js"
        "server_time.js"
        "session.js"
        "tail.js"
        "token_key.js"
    }
    styles {}
};
