//! The console: a page that administers a tenant with the API key of the person who opened it.
//!
//! The page has no rights of its own and no session on the server: every call carries the key that
//! the person pasted, which the page keeps in a variable of its script.

use crate::http::front::asset::{Asset, AssetKind, Loader, PagePolicy};

/// A script that only pages of this server load.
macro_rules! script {
    ($name:ident $file:literal) => {
        pub(in crate::http) static $name: Asset =
            Asset::new(AssetKind::Script(Loader::SameOrigin), || include_str!($file));
    };
}

pub(in crate::http) static PAGE: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Alone), || include_str!("index.html"));
pub(in crate::http) static STYLE: Asset = Asset::new(AssetKind::Style, || {
    concat!(
        include_str!("console.css"),
        include_str!("parts.css"),
        include_str!("forms.css"),
        include_str!("chart.css"),
    )
});

script!(API "api.js");
script!(CALLS "calls.js");
script!(CHART "chart.js");
script!(DIALOGS "dialogs.js");
script!(DIRECTORY "directory.js");
script!(DOM "dom.js");
script!(FORMAT "format.js");
script!(KEYS "keys.js");
script!(MAIN "main.js");
script!(METER "meter.js");
script!(PARTS "parts.js");
script!(PERMISSION_PICKER "permission_picker.js");
script!(PREVIEW "preview.js");
script!(RIGHTS "rights.js");
script!(ROUTER "router.js");
script!(RULES_EDITOR "rules_editor.js");
script!(SESSION "session.js");
script!(TAIL "tail.js");
script!(TOKEN_KEY "token_key.js");
script!(VIEWS_ACTIVITY "views/activity.js");
script!(VIEWS_APPLICATION "views/application.js");
script!(VIEWS_APPLICATION_FORM "views/application_form.js");
script!(VIEWS_APPLICATIONS "views/applications.js");
script!(VIEWS_LIMITS "views/limits.js");
script!(VIEWS_LOGS "views/logs.js");
script!(VIEWS_OVERVIEW "views/overview.js");
script!(VIEWS_PROXIES "views/proxies.js");
script!(VIEWS_THREEDS "views/threeds.js");
script!(VIEWS_TOKENS "views/tokens.js");
script!(VIEWS_WEBHOOKS "views/webhooks.js");
