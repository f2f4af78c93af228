//! The request or the answer that transforms change.

use serde_json::Value;

use crate::app::proxies::transforms::TransformFailure;
use crate::bounds::{JSON_VALUES_MAX, PROXY_HEADER_BYTES_MAX, PROXY_TRANSFORMED_BYTES_MAX};
use crate::domain::json_count::count_values;
use crate::domain::outside_json;
use crate::domain::proxy::location::Location;
use crate::secret::{Secret, SecretBuffer};

const COMPRESSED: &str = "The body is compressed, so the transforms of the proxy cannot read it.";
const NOT_TEXT: &str = "The body is not text, so the transforms of the proxy cannot read it.";
const NOT_JSON: &str = "The body is not JSON, so a transform of the proxy cannot set a member.";
const NO_PLACE: &str = "The body has no place for the member that a transform of the proxy sets.";
const TOO_LARGE: &str = "The body is too large for the transforms of the proxy.";
const BAD_HEADER: &str = "The value of a header that a transform of the proxy sets is not valid.";

pub struct Message {
    pub headers: Vec<(String, Secret<Vec<u8>>)>,
    pub body: Secret<Vec<u8>>,
}

impl Message {
    /// A body that a transform cannot read is an error: a mask must not be skipped.
    pub(super) fn text(&self) -> Result<&str, TransformFailure> {
        let is_encoded = |(name, value): &(String, Secret<Vec<u8>>)| {
            name.eq_ignore_ascii_case("content-encoding")
                && !value.expose().trim_ascii().eq_ignore_ascii_case(b"identity")
        };
        if self.headers.iter().any(is_encoded) {
            return Err(TransformFailure::Failed(COMPRESSED));
        }
        if self.body.expose().len() > PROXY_TRANSFORMED_BYTES_MAX {
            return Err(TransformFailure::Failed(TOO_LARGE));
        }
        let text = std::str::from_utf8(self.body.expose());
        text.ok().ok_or(TransformFailure::Failed(NOT_TEXT))
    }

    /// `None` if the body is not JSON.
    pub(super) fn readable_json(&self) -> Result<Option<Secret<Value>>, TransformFailure> {
        let text = self.text()?;
        if count_values(text.as_bytes()) > JSON_VALUES_MAX {
            return Err(TransformFailure::Failed(TOO_LARGE));
        }
        Ok(outside_json::parse(text.as_bytes()))
    }

    pub(super) fn set_text(&mut self, mut text: Secret<String>) -> Result<(), TransformFailure> {
        let bytes = std::mem::take(text.expose_mut()).into_bytes();
        self.set_body(Secret::new(bytes))
    }

    pub(super) fn append_text(&mut self, text: &str) -> Result<(), TransformFailure> {
        let before = self.text()?.len();
        let mut body = SecretBuffer::with_capacity(before.saturating_add(text.len()));
        body.extend_all([self.body.expose(), text.as_bytes()]);
        self.set_body(body.finish())
    }

    /// An empty body becomes an object.
    pub(super) fn set_member(
        &mut self,
        location: &Location,
        mut value: Secret<Value>,
    ) -> Result<(), TransformFailure> {
        let mut body = if self.text()?.trim_ascii().is_empty() {
            Secret::new(Value::Null)
        } else {
            self.readable_json()?.ok_or(TransformFailure::Failed(NOT_JSON))?
        };
        let set = location.set(body.expose_mut(), std::mem::take(value.expose_mut()));
        set.ok().ok_or(TransformFailure::Failed(NO_PLACE))?;
        let mut text = SecretBuffer::with_capacity(self.body.expose().len());
        text.json(body.expose());
        self.set_body(text.finish())
    }

    /// Replaces all headers of this name.
    pub(super) fn set_header(
        &mut self,
        name: &str,
        mut value: Secret<String>,
    ) -> Result<(), TransformFailure> {
        let is_legal = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
        let text = value.expose();
        if text.len() > PROXY_HEADER_BYTES_MAX || !text.bytes().all(is_legal) {
            return Err(TransformFailure::Failed(BAD_HEADER));
        }
        let bytes = std::mem::take(value.expose_mut()).into_bytes();
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_ascii_lowercase(), Secret::new(bytes)));
        Ok(())
    }

    pub(super) fn set_body(&mut self, body: Secret<Vec<u8>>) -> Result<(), TransformFailure> {
        if body.expose().len() > PROXY_TRANSFORMED_BYTES_MAX {
            return Err(TransformFailure::Failed(TOO_LARGE));
        }
        self.body = body;
        Ok(())
    }
}

// Prints neither headers nor the body.
opaque_debug!(Message);
