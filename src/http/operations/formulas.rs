//! The catalog of payment connections over HTTP. It changes only with the program, so clients may
//! cache it and revalidate by its `ETag`.

use hyper::header::{CACHE_CONTROL, ETAG, HeaderValue};

use crate::app::Error;
use crate::formulas::Document;
use crate::http::path::FormulaName;
use crate::http::{Answer, Exchange, Reply};
use crate::secret::SecretBody;

impl Exchange<'_> {
    pub(in crate::http) fn list_formulas(&self) -> Reply {
        self.document(self.catalog.list())
    }

    pub(in crate::http) fn read_formula(&self, id: &FormulaName) -> Answer {
        let found = self.catalog.find(id.as_str());
        Ok(self.document(found.ok_or(Error::NotFound("connection formula"))?))
    }

    fn document(&self, document: &Document) -> Reply {
        let known = self.if_none_match.as_deref().is_some_and(|tags| {
            tags.split(',').any(|tag| {
                let tag = tag.trim();
                tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == document.etag
            })
        });
        let reply = if known {
            Reply::not_modified()
        } else {
            Reply::ok(SecretBody::shared(document.json.clone()))
        };
        match HeaderValue::try_from(&document.etag) {
            // Clients may cache the answer and must revalidate each time; shared caches may not
            // store it.
            Ok(etag) => reply
                .with(ETAG, etag)
                .with(CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
            Err(_) => reply,
        }
    }
}
