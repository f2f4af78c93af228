//! Details of cards and bank accounts over HTTP.

use crate::domain::card::value::details_of_bin;
use crate::domain::mistakes::Mistakes;
use crate::http::wire::{Fields, Object};
use crate::http::{Answer, Exchange, Reply, WriteAnswer};

/// The first digits of a card number identify its brand and issuer, not the card.
pub(in crate::http) fn read_card_details(exchange: &Exchange<'_>) -> Answer {
    let bin = exchange.query.first("bin").unwrap_or_default();
    let details = details_of_bin(bin, &exchange.app.bins());
    let details = details.ok_or_else(|| {
        Mistakes::one("bin", "The bin is the first 6 to 11 digits of a card number.")
    })?;
    Ok(Reply::ok(details.to_string()))
}

pub(in crate::http) async fn verify_bank_account(exchange: &Exchange<'_>) -> WriteAnswer {
    let mut fields = Fields::of_body(exchange.body.expose());
    let id = fields.required_text("token_id").map(String::from);
    let routing_number = fields.text("routing_number").map(String::from);
    // Accounts of other countries are inconclusive, like every account without a test answer.
    fields.text("country_code");
    fields.mistakes.into_result()?;
    let tokens = exchange.app.tokens(exchange.caller);
    let id = id.unwrap_or_default();
    let status = tokens.verify_bank_account(&id, routing_number.as_deref()).await?;
    let mut object = Object::new();
    object.text("status", status.as_str());
    Ok(Reply::ok(object.close()))
}
