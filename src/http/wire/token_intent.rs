//! Token intents on the wire.

use crate::app::ShownIntent;
use crate::domain::token_type::TokenType;
use crate::http::wire::json::Object;
use crate::secret::Secret;

pub(crate) fn render(shown: &ShownIntent) -> Secret<Vec<u8>> {
    let intent = &shown.intent;
    let mut object = Object::new();
    object.display("id", intent.id);
    object.text("type", intent.kind.as_str());
    object.display("tenant_id", intent.tenant);
    object.text("fingerprint", &intent.fingerprint);
    let network_token = intent.kind == TokenType::NetworkToken;
    match &shown.card {
        Some(card) if !network_token => object.value("card", &card.to_value()),
        Some(card) => {
            object.json("card", "null");
            object.value("network_token", &card.to_value());
        }
        None => object.json("card", "null"),
    }
    if let Some(bank) = &shown.bank {
        object.value("bank", &bank.to_value());
    }
    object.json("authentication", "null");
    object.display("created_by", intent.created_by);
    object.time("created_at", intent.created_at);
    object.time("expires_at", intent.expires_at);
    object.close()
}
