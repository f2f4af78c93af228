//! The views of the console, one script each.

use crate::http::front::folder::{Folder, files};

pub(in crate::http) static VIEWS: Folder = files! {
    scripts {
        "activity.js"
        "application.js"
        "application_form.js"
        "applications.js"
        "limits.js"
        "logs.js"
        "overview.js"
        "proxies.js"
        "proxy.js"
        "proxy_form.js"
        "reactor.js"
        "reactor_form.js"
        "reactor_run.js"
        "reactors.js"
        "threeds.js"
        "token_card.js"
        "token_form.js"
        "tokens.js"
        "webhook_form.js"
        "webhooks.js"
    }
    styles {}
};
