//! API keys on the wire.

use crate::domain::application::ApiKey;
use crate::domain::key_text::KeyText;
use crate::http::wire::json::Object;
use crate::secret::Secret;

/// The text is there only in the answer that made the key.
pub(crate) fn render(key: &ApiKey, text: Option<&KeyText>) -> Secret<Vec<u8>> {
    let mut object = Object::new();
    object.display("id", key.id);
    object.display("tenant_id", key.tenant);
    object.optional_text("key", text.map(KeyText::expose));
    object.text("version", "v1");
    object.optional_display("created_by", key.created_by);
    object.time("created_at", key.created_at);
    object.close()
}
