//! Proxies and reactors over HTTP, as far as they are alike.

use crate::http::wire::named::{self, Detail, NamedShape};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

pub(in crate::http) async fn create<R: NamedShape>(exchange: &Exchange<'_>) -> WriteAnswer {
    let settings = || R::parse(exchange.body.expose(), None);
    // The mistakes of the body are reported before the limits of the tenant.
    settings()?;
    let answer = |new: &R| {
        let path = format!("{}{}", R::PATH, new.owner().1);
        named::answer(new, AnswerStatus::Created).at(path)
    };
    let (caller, write) = (exchange.caller, exchange.write(&answer));
    let made = exchange.app.create_named(caller, &settings, &write).await?;
    Ok(Reply::from(made.answer))
}

pub(in crate::http) async fn list<R: NamedShape>(exchange: &Exchange<'_>) -> Answer {
    let (query, page) = named::parse_query::<R>(&exchange.query)?;
    let found = exchange.app.list_named::<R>(exchange.caller, &query).await?;
    let detail = Detail::of(exchange.caller);
    let items: Vec<_> = found.records.iter().map(|it| named::render(it, detail)).collect();
    Ok(Reply::ok(page.render(found.total, &items)))
}

pub(in crate::http) async fn read<R: NamedShape>(exchange: &Exchange<'_>, id: &R::Id) -> Answer {
    let found = exchange.app.read_named::<R>(exchange.caller, *id).await?;
    Ok(Reply::ok(named::render(&found, Detail::of(exchange.caller))))
}

pub(in crate::http) async fn replace<R: NamedShape>(
    exchange: &Exchange<'_>,
    id: &R::Id,
) -> WriteAnswer {
    let revise = |known: &R| R::parse(exchange.body.expose(), Some(known));
    let answer = |changed: &R| named::answer(changed, AnswerStatus::Ok);
    let (caller, write) = (exchange.caller, exchange.write(&answer));
    let changed = exchange.app.update_named(caller, *id, &revise, &write).await?;
    Ok(Reply::from(changed.answer))
}

pub(in crate::http) async fn patch<R: NamedShape>(exchange: &Exchange<'_>, id: &R::Id) -> Answer {
    let revise = |known: &R| named::parse_patch(exchange.body.expose(), known);
    let answer = |_: &R| RememberedAnswer::empty(AnswerStatus::Ok);
    let write = exchange.write(&answer);
    exchange.app.update_named(exchange.caller, *id, &revise, &write).await?;
    Ok(Reply::nothing())
}

pub(in crate::http) async fn delete<R: NamedShape>(exchange: &Exchange<'_>, id: &R::Id) -> Answer {
    exchange.app.delete_named::<R>(exchange.caller, *id).await?;
    Ok(Reply::nothing())
}
