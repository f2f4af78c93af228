//! The parameters of paths. Each has its own type, and a function of the routing table takes the
//! parameters of its path: a parameter that the path lacks does not compile.

use crate::app::Error;
use crate::bounds::TOKEN_NAME_CHARS_MAX;
use crate::domain::id::{
    ApplicationId, ClientKeyId, KeyId, ProxyId, ReactorId, ReactorRequestId, WebhookId,
};
use crate::http::Schema;
use crate::http::wire::query::{PlusSign, decode};

/// A segment of a path that names a resource.
pub(in crate::http) trait PathParameter: Sized {
    /// `None` for a segment that no path has: the route does not exist. `Err` for one that names no
    /// resource: the route exists, and its key, limits and body are checked before this is
    /// answered.
    fn from_segment(segment: &str) -> Option<Result<Self, Error>>;

    /// Its description in the API document.
    fn schema() -> Schema;
}

macro_rules! text_parameters {
    ($($(#[$doc:meta])* $name:ident $schema:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(in crate::http) struct $name(String);

        impl $name {
            pub(in crate::http) fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl PathParameter for $name {
            fn from_segment(segment: &str) -> Option<Result<Self, Error>> {
                decoded(segment).map(|text| Ok(Self(text)))
            }

            fn schema() -> Schema {
                $schema
            }
        }
    )+};
}

text_parameters! {
    FormulaName Schema::text().about("The id of a formula.");
    /// A session's id. `app` parses it, since a wrong body is answered before a wrong id.
    SessionName Schema::uuid().about("The id of a 3DS session.");
    TemplateName Schema::text().about("The id of a template.");
    TokenIntentName Schema::uuid().about("The id of a token intent.");
    /// An assigned id, or one that the caller chose.
    TokenName Schema::text().about("The id of a token.").chars(1, TOKEN_NAME_CHARS_MAX);
}

/// Ids, with the name of the resource for the answer to a malformed one.
macro_rules! id_parameters {
    ($($name:ident $resource:literal $about:literal;)+) => {$(
        impl PathParameter for $name {
            fn from_segment(segment: &str) -> Option<Result<Self, Error>> {
                let text = decoded(segment)?;
                Some(Self::parse(&text).ok_or(Error::NotFound($resource)))
            }

            fn schema() -> Schema {
                Schema::uuid().about($about)
            }
        }
    )+};
}

id_parameters! {
    ApplicationId "application" "The id of an application.";
    ClientKeyId "key" "The id of a client encryption key.";
    KeyId "key" "The id of a key.";
    ProxyId "proxy" "The id of a proxy.";
    ReactorId "reactor" "The id of a reactor.";
    ReactorRequestId "result" "The id of a call whose caller does not wait.";
    WebhookId "webhook" "The id of a webhook.";
}

/// Any text in the place of an application's id, for a route that does not look the application up.
#[derive(Debug)]
pub(in crate::http) struct AnyApplication;

impl PathParameter for AnyApplication {
    fn from_segment(segment: &str) -> Option<Result<Self, Error>> {
        decoded(segment).map(|_| Ok(Self))
    }

    fn schema() -> Schema {
        Schema::text().about("Any text.")
    }
}

/// Any text in the place of a formula's id.
#[derive(Debug)]
pub(in crate::http) struct AnyFormula;

impl PathParameter for AnyFormula {
    fn from_segment(segment: &str) -> Option<Result<Self, Error>> {
        decoded(segment).map(|_| Ok(Self))
    }

    fn schema() -> Schema {
        Schema::text().about("Any text.")
    }
}

/// A session's id in the path of a page, without percent-decoding: browsers send back the URLs that
/// this server made, which have no escapes.
#[derive(Debug)]
pub(in crate::http) struct VisitedSession(String);

impl VisitedSession {
    pub(in crate::http) fn as_str(&self) -> &str {
        &self.0
    }
}

impl PathParameter for VisitedSession {
    fn from_segment(segment: &str) -> Option<Result<Self, Error>> {
        Some(Ok(Self(String::from(segment))))
    }

    fn schema() -> Schema {
        SessionName::schema()
    }
}

fn decoded(segment: &str) -> Option<String> {
    decode(segment, PlusSign::Itself).filter(|text| !text.is_empty())
}

/// Splits a path from left to right. A trailing slash is ignored.
#[derive(Debug)]
pub(in crate::http) struct PathReader<'p>(&'p str);

impl<'p> PathReader<'p> {
    pub(in crate::http) fn new(path: &'p str) -> Self {
        Self(path.strip_suffix('/').unwrap_or(path))
    }

    pub(in crate::http) fn literal(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    pub(in crate::http) fn parameter<T: PathParameter>(&mut self) -> Option<Result<T, Error>> {
        let end = self.0.find('/').unwrap_or(self.0.len());
        let (segment, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        T::from_segment(segment)
    }

    pub(in crate::http) fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}
