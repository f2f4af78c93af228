//! The answer to a request.

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bytes: Vec<u8>,
    /// `null` when the body is no JSON.
    pub(crate) json: Value,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: Vec<(String, String)>, bytes: Vec<u8>) -> Self {
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Self { status, headers, bytes, json }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    #[track_caller]
    pub(crate) fn with_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    #[track_caller]
    pub(crate) fn member(&self, name: &str) -> String {
        let text = self.json[name].as_str();
        String::from(text.unwrap_or_else(|| panic!("no {name} in {}", self.text())))
    }

    #[track_caller]
    pub(crate) fn id(&self) -> String {
        self.member("id")
    }

    /// This text member of each item of a page.
    #[track_caller]
    pub(crate) fn each(&self, name: &str) -> Vec<String> {
        let items = self.json["data"].as_array().unwrap_or_else(|| panic!("{}", self.text()));
        items.iter().map(|item| String::from(item[name].as_str().unwrap_or_default())).collect()
    }

    /// Checks that this is a whole problem of this status, as every failure must be.
    #[track_caller]
    pub(crate) fn problem(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(self.json["status"], status, "{}", self.text());
        for name in ["title", "detail", "type"] {
            assert!(!self.member(name).is_empty(), "{name} in {}", self.text());
        }
        self
    }

    /// Checks that this is a whole failure of the vault on the path of a proxy, and returns it with
    /// the members of the error.
    #[track_caller]
    pub(crate) fn proxy_error(mut self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json; charset=utf-8"));
        assert_eq!(self.header("bt-proxy-destination-status"), None);
        assert!(self.header("bt-trace-id").is_some());
        let whole = self.json.as_object().map(serde_json::Map::len);
        assert_eq!(whole, Some(1), "{}", self.text());
        self.json = self.json["proxy_error"].take();
        assert_eq!(self.json["status"], status, "{}", self.text());
        assert!(self.json["errors"].is_object(), "{}", self.text());
        for name in ["title", "detail"] {
            assert!(!self.member(name).is_empty(), "{name} in {}", self.text());
        }
        self
    }

    /// A problem of 400 whose mistakes stand at exactly these paths.
    #[track_caller]
    pub(crate) fn invalid(self, paths: &[&str]) -> Self {
        let problem = self.problem(400);
        let errors = problem.json["errors"].as_object();
        let errors = errors.unwrap_or_else(|| panic!("no errors in {}", problem.text()));
        let mut found: Vec<_> = errors.keys().map(String::as_str).collect();
        let mut wanted = paths.to_vec();
        found.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{}", problem.text());
        for messages in errors.values() {
            let messages = messages.as_array().expect("a list of messages");
            assert!(!messages.is_empty());
            assert!(
                messages.iter().all(|message| message.as_str().is_some_and(|it| !it.is_empty()))
            );
        }
        problem
    }

    /// The body without its trace id: what two problems have in common.
    pub(crate) fn without_trace(&self) -> Value {
        let mut body = self.json.clone();
        if let Some(members) = body.as_object_mut() {
            members.remove("trace_id");
        }
        body
    }
}
