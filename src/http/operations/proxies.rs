//! Pre-configured proxies over HTTP.

use crate::domain::id::ProxyId;
use crate::domain::proxy::Proxy;
use crate::http::wire::proxy::{self, ProxyDetail};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

pub(in crate::http) async fn create_proxy(exchange: &Exchange<'_>) -> WriteAnswer {
    let settings = || proxy::parse(exchange.body.expose(), None);
    // The mistakes of the body are reported before the limits of the tenant.
    settings()?;
    let answer =
        |new: &Proxy| proxy::answer(new, AnswerStatus::Created).at(format!("/proxies/{}", new.id));
    let (caller, write) = (exchange.caller, exchange.write(&answer));
    let made = exchange.app.proxies().create(caller, &settings, &write).await?;
    Ok(Reply::from(made.answer))
}

pub(in crate::http) async fn list_proxies(exchange: &Exchange<'_>) -> Answer {
    let (query, page) = proxy::parse_query(&exchange.query)?;
    let found = exchange.app.proxies().list(exchange.caller, &query).await?;
    let detail = ProxyDetail::of(exchange.caller);
    let items: Vec<_> = found.records.iter().map(|it| proxy::render(it, detail)).collect();
    Ok(Reply::ok(page.render(found.total, &items)))
}

pub(in crate::http) async fn read_proxy(exchange: &Exchange<'_>, id: &ProxyId) -> Answer {
    let found = exchange.app.proxies().read(exchange.caller, *id).await?;
    Ok(Reply::ok(proxy::render(&found, ProxyDetail::of(exchange.caller))))
}

pub(in crate::http) async fn replace_proxy(exchange: &Exchange<'_>, id: &ProxyId) -> WriteAnswer {
    let revise = |known: &Proxy| proxy::parse(exchange.body.expose(), Some(known));
    let answer = |changed: &Proxy| proxy::answer(changed, AnswerStatus::Ok);
    let (caller, write) = (exchange.caller, exchange.write(&answer));
    let changed = exchange.app.proxies().update(caller, *id, &revise, &write).await?;
    Ok(Reply::from(changed.answer))
}

pub(in crate::http) async fn patch_proxy(exchange: &Exchange<'_>, id: &ProxyId) -> Answer {
    let revise = |known: &Proxy| proxy::parse_patch(exchange.body.expose(), known);
    let answer = |_: &Proxy| RememberedAnswer::empty(AnswerStatus::Ok);
    let write = exchange.write(&answer);
    exchange.app.proxies().update(exchange.caller, *id, &revise, &write).await?;
    Ok(Reply::nothing())
}

pub(in crate::http) async fn delete_proxy(exchange: &Exchange<'_>, id: &ProxyId) -> Answer {
    exchange.app.proxies().delete(exchange.caller, *id).await?;
    Ok(Reply::nothing())
}
