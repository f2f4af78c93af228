//! Hosted card fields over HTTP.

use crate::app::Error;
use crate::domain::elements_host::ElementsHost;
use crate::domain::id::ClientKeyId;
use crate::domain::mistakes::Mistakes;
use crate::domain::page_group::PageGroup;
use crate::domain::web_origin::WebOrigin;
use crate::http::wire::{Object, client_key};
use crate::http::{Answer, Exchange, Problem, Reply};

/// The hidden frame of a group of fields sends the key of the page and the origin that the browser
/// reports for the page. The answer says if the fields may be shown, and has the public half of the
/// client encryption key that the page names: the frames encrypt to keys of the tenant alone, since a
/// page that named a key of its own could read the result. It also has the hosts that values of elements
/// may be sent to, which the policy of the frame names as well.
pub(in crate::http) fn read_fields_access(exchange: &Exchange<'_>) -> Answer {
    // Of the vault's own pages, only the examples show card fields.
    let own = exchange.http.base(exchange.parts);
    let own = own
        .filter(|_| exchange.http.pages.has(PageGroup::Examples))
        .and_then(|base| WebOrigin::parse(&base.to_ascii_lowercase()).ok());
    let page = exchange.query.first("origin").map(WebOrigin::parse);
    let page =
        page.ok_or_else(|| Mistakes::one("origin", "The origin of the page is required."))?;
    let is_allowed = match page {
        Ok(page) => exchange.caller.may_show_fields(&page, own.as_ref())?,
        Err(_) => false,
    };
    if !is_allowed {
        return Err(refused());
    }
    let mut object = Object::new();
    object.flag("allowed", true);
    object.display("tenant_id", exchange.caller.tenant.id);
    let hosts = exchange.http.elements_hosts.iter().map(ElementsHost::origin);
    if hosts.len() > 0 {
        object.texts("elements_hosts", hosts);
    }
    if let Some(id) = exchange.query.first("key_id").and_then(ClientKeyId::parse) {
        match exchange.app.client_keys().read(exchange.caller, id) {
            Ok(key) => object.text("public_key_pem", &client_key::pem(&key)),
            Err(Error::NotFound(_)) => (),
            Err(other) => return Err(other.into()),
        }
    }
    Ok(Reply::ok(object.close()))
}

const fn refused() -> Problem {
    Problem::new(
        403,
        "The origin of this page is not one of the allowed_origins of the key's application.",
    )
}
