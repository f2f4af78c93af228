//! Client encryption keys over HTTP.

use crate::app::ClientKeyView;
use crate::domain::id::ClientKeyId;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::client_key::{self, ClientKeyAnswer};
use crate::http::wire::json::list;
use crate::http::{Answer, Exchange, Reply, WriteAnswer};
use crate::idempotency::RememberedAnswer;

pub(in crate::http) async fn create_client_key(exchange: &Exchange<'_>) -> WriteAnswer {
    let expires_at = client_key::parse_expires_at(exchange.body.expose())?;
    let answer: fn(&ClientKeyView) -> RememberedAnswer = client_key::answer;
    let (keys, write) = (exchange.app.client_keys(), exchange.write(&answer));
    let new = keys.create(exchange.caller, expires_at.as_deref(), &write).await?;
    Ok(Reply::from(new.answer))
}

pub(in crate::http) fn list_client_keys(exchange: &Exchange<'_>) -> Answer {
    let keys = exchange.app.client_keys().list(exchange.caller)?;
    Ok(Reply::ok(list(
        &keys.iter().map(|key| ClientKeyAnswer::render((key, None))).collect::<Vec<_>>(),
    )))
}

pub(in crate::http) fn read_client_key(exchange: &Exchange<'_>, id: &ClientKeyId) -> Answer {
    let key = exchange.app.client_keys().read(exchange.caller, *id)?;
    Ok(Reply::ok(ClientKeyAnswer::render((&key, None))))
}

pub(in crate::http) async fn delete_client_key(
    exchange: &Exchange<'_>,
    id: &ClientKeyId,
) -> Answer {
    exchange.app.client_keys().delete(exchange.caller, *id).await?;
    Ok(Reply::nothing())
}
