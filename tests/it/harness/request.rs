//! A request to be sent.

use std::fmt::Write as _;

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

pub(crate) fn get(path: &str) -> Request {
    Request::new("GET", path)
}

pub(crate) fn post(path: &str) -> Request {
    Request::new("POST", path)
}

pub(crate) fn put(path: &str) -> Request {
    Request::new("PUT", path)
}

pub(crate) fn patch(path: &str) -> Request {
    Request::new("PATCH", path).header("Content-Type", "application/merge-patch+json")
}

pub(crate) fn delete(path: &str) -> Request {
    Request::new("DELETE", path)
}

pub(crate) fn options(path: &str) -> Request {
    Request::new("OPTIONS", path)
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let (method, path) = (String::from(method), String::from(path));
        Self { method, path, headers: Vec::new(), body: None }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((String::from(name), String::from(value)));
        self
    }

    /// No header at all for an empty key.
    pub(crate) fn key(self, key: &str) -> Self {
        if key.is_empty() { self } else { self.header("BT-API-KEY", key) }
    }

    pub(crate) fn once(self, key: &str) -> Self {
        self.header("BT-IDEMPOTENCY-KEY", key)
    }

    #[expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]
    pub(crate) fn json(self, body: Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Without a content type.
    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// As it goes over the wire.
    pub(crate) fn bytes(&self, host: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: {host}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if let Some(body) = &self.body {
            write!(head, "Content-Length: {}\r\n", body.len()).unwrap();
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }
}
