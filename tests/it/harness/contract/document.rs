//! The API document: which operation a request is for, and which answers that operation has.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::harness::answer::Answer;
use crate::harness::contract::Asked;
use crate::harness::contract::schema::{Mismatch, Schemas};

/// The schema of failures, which answers to unknown paths have too.
const PROBLEM: &str = "/components/schemas/Problem";
/// Every path below this one is a call through a proxy.
const PROXY: &str = "/proxy";
/// The schema of the vault's own failures there.
const PROXY_FAILURE: &str = "/components/schemas/ProxyFailure";
/// Every answer has it, described or not.
const TRACE: &str = "bt-trace-id";
/// The answer is that of a proxy's destination, if it has this header.
const DESTINATION: &str = "bt-proxy-destination-status";
/// The answer is an earlier one, if it has this header: it says nothing about this request.
const REPLAYED: &str = "bt-idempotent-replayed";

/// Members of requests that the server takes in more forms than the document offers to new clients.
const LENIENT: &[(&str, &str)] = &[
    // Deprecated: taken in any case of letters, and ignored beside containers.
    ("/tokens", "/privacy"),
    // Mistakes of the body are part of the answer.
    ("/console/data/rules-preview", ""),
];

#[derive(Debug)]
pub(crate) struct Document {
    whole: Value,
    paths: Vec<Template>,
}

#[derive(Debug)]
struct Template {
    path: String,
    segments: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Operation<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) value: &'a Value,
}

/// The part of the document that an answer belongs to.
enum Found<'a> {
    Operation(Operation<'a>),
    /// The path is there with these methods, and the method is not.
    OtherMethod(&'a Value),
    Nothing,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        let whole: Value = serde_json::from_str(text)?;
        let paths = whole["paths"].as_object().into_iter().flat_map(Map::keys);
        let mut paths: Vec<_> = paths.map(|path| Template::new(path)).collect();
        // A literal segment stands before a parameter, so the first match is the one to take.
        paths.sort_by_cached_key(Template::order);
        Ok(Self { whole, paths })
    }

    pub(crate) const fn schemas(&self) -> Schemas<'_> {
        Schemas::of(&self.whole)
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let paths = self.whole["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            let methods = methods.filter(|(method, _)| METHODS.contains(&method.as_str()));
            methods.map(move |(method, value)| Operation { method, path, value })
        })
    }

    pub(crate) fn check(&self, asked: &Asked, answer: &Answer) -> Result<(), Mismatch> {
        match self.find(&asked.method, &asked.target) {
            // A preflight belongs to no path: every path answers it the same way.
            _ if asked.method == "OPTIONS" => Ok(()),
            Found::Operation(operation) => {
                self.check_answer(operation, &asked.method, answer)?;
                self.check_request(operation, asked, answer)
            }
            Found::OtherMethod(item) => self.check_refusal(405, item, answer),
            Found::Nothing => self.check_refusal(404, &Value::Null, answer),
        }
    }

    fn find(&self, method: &str, target: &str) -> Found<'_> {
        let path = target.split(['?', '#']).next().unwrap_or_default();
        // The server takes a path with a slash at its end for the one without.
        let path = path.strip_suffix('/').unwrap_or(path);
        let path = if path.is_empty() { "/" } else { path };
        let segments: Vec<_> = path.split('/').collect();
        let template = self.paths.iter().find(|template| template.matches(&segments));
        let is_proxied = path.strip_prefix(PROXY).is_some_and(|rest| rest.starts_with('/'));
        let key = match template {
            Some(template) => template.path.as_str(),
            None if is_proxied => PROXY,
            None => return Found::Nothing,
        };
        let item = &self.whole["paths"][key];
        // HEAD is GET without a body.
        let methods: &[_] = match method {
            "HEAD" => &["head", "get"],
            _ => &[&method.to_ascii_lowercase()],
        };
        let mut known = METHODS.iter().filter(|known| methods.contains(known));
        let found = known.find_map(|method| Some((*method, item.get(method)?)));
        found.map_or(Found::OtherMethod(item), |(method, value)| {
            Found::Operation(Operation { method, path: self.key(key), value })
        })
    }

    /// The path with the lifetime of the document.
    fn key(&self, key: &str) -> &str {
        let paths = self.whole["paths"].as_object();
        paths.and_then(|paths| paths.get_key_value(key)).map_or("", |(path, _)| path)
    }

    fn check_answer(
        &self,
        operation: Operation<'_>,
        method: &str,
        answer: &Answer,
    ) -> Result<(), Mismatch> {
        let response = match answer.header(DESTINATION) {
            Some(_) => &operation.value["responses"]["default"],
            None => self.response(operation, answer.status)?,
        };
        self.check_headers(response, answer)?;
        if method == "HEAD" {
            return Ok(());
        }
        let Some(content) = response.get("content") else {
            let is_empty = answer.bytes.is_empty();
            return if is_empty { Ok(()) } else { Err(rule("the document describes no body")) };
        };
        self.check_body(content, answer)
    }

    /// A request that succeeded is one that the document describes: its schema is not stricter than
    /// the server.
    fn check_request(
        &self,
        operation: Operation<'_>,
        asked: &Asked,
        answer: &Answer,
    ) -> Result<(), Mismatch> {
        let contents = operation.value["requestBody"]["content"].as_object();
        let described = contents.into_iter().flatten().find(|(kind, _)| is_json(&media_type(kind)));
        let (Some((_, described)), 200..300, None) =
            (described, answer.status, answer.header(REPLAYED))
        else {
            return Ok(());
        };
        // A body that came later, or in pieces, is not here.
        let Ok(body) = serde_json::from_slice(&asked.body) else { return Ok(()) };
        let Err(mismatch) = self.schemas().check(&described["schema"], &body) else {
            return Ok(());
        };
        let is_lenient = |(path, pointer): &(&str, &str)| {
            operation.path == *path && mismatch.pointer.starts_with(pointer)
        };
        if LENIENT.iter().any(is_lenient) {
            return Ok(());
        }
        Err(rule(format!("the server took a body that the document does not describe: {mismatch}")))
    }

    /// The description of a status: its own, that of its hundred, or that of all others.
    pub(crate) fn response<'a>(
        &'a self,
        operation: Operation<'a>,
        status: u16,
    ) -> Result<&'a Value, Mismatch> {
        let responses = &operation.value["responses"];
        let keys = [status.to_string(), format!("{}XX", status / 100), String::from("default")];
        let found = keys.iter().find_map(|key| responses.get(key));
        let response = found.ok_or_else(|| {
            rule(format!("{} {} does not describe {status}", operation.method, operation.path))
        })?;
        self.schemas().resolve(response)
    }

    fn check_headers(&self, response: &Value, answer: &Answer) -> Result<(), Mismatch> {
        if answer.header(TRACE).is_none() {
            return Err(rule(format!("the header {TRACE} is missing")));
        }
        for (name, header) in response["headers"].as_object().into_iter().flatten() {
            let header = self.schemas().resolve(header)?;
            let Some(text) = answer.header(name) else {
                if header["required"] == true {
                    return Err(rule(format!("the header {name} is missing")));
                }
                continue;
            };
            let schema = &header["schema"];
            self.schemas()
                .check(schema, &header_value(self.schemas().resolve(schema)?, text))
                .map_err(|mismatch| rule(format!("the header {name}: {text}: {mismatch}")))?;
        }
        Ok(())
    }

    fn check_body(&self, content: &Value, answer: &Answer) -> Result<(), Mismatch> {
        let sent = answer.header("content-type").unwrap_or_default();
        let kind = media_type(sent);
        let range = format!("{}/*", kind.split('/').next().unwrap_or_default());
        let kinds = content.as_object().into_iter().flatten();
        let kinds: BTreeMap<_, _> = kinds.map(|(name, value)| (media_type(name), value)).collect();
        let described = [kind.as_str(), &range, "*/*"].iter().find_map(|kind| kinds.get(*kind));
        let Some(described) = described else {
            let all: Vec<_> = kinds.keys().map(String::as_str).collect();
            return Err(rule(format!("the content type is {sent:?}, not one of {all:?}")));
        };
        let Some(schema) = described.get("schema") else { return Ok(()) };
        if is_json(&kind) {
            let body: Value = serde_json::from_slice(&answer.bytes)
                .map_err(|error| rule(format!("the body is no JSON: {error}")))?;
            return self.schemas().check(schema, &body);
        }
        self.schemas().check(schema, &Value::from(answer.text()))
    }

    /// An answer to a request that no operation is for.
    fn check_refusal(&self, status: u16, item: &Value, answer: &Answer) -> Result<(), Mismatch> {
        // The server refuses these before it looks at the path.
        let is_earlier = matches!(answer.status, 400 | 408 | 413 | 414 | 429 | 431 | 500 | 503);
        // Some servers lack the path: those without its pages or without a test tenant.
        let operations = item.as_object().into_iter().flatten();
        let may_lack = operations.map(|it| it.1).any(|it| !it["responses"]["404"].is_null());
        let is_absent = answer.status == 404 && may_lack;
        // Paths of the published interface, of features that no server has.
        let is_published = answer.status == 501 && answer.json["feature"].is_string();
        if answer.status != status && !is_earlier && !is_absent && !is_published {
            return Err(rule(format!("no operation of the document, so {status} is due")));
        }
        for name in [TRACE, "content-type"] {
            if answer.header(name).is_none() {
                return Err(rule(format!("the header {name} is missing")));
            }
        }
        if answer.header("content-type").map(media_type).as_deref() == Some("text/html") {
            return if is_page(item) { Ok(()) } else { Err(rule("a page where none is")) };
        }
        let proxies = [PROXY, "/proxy/{path}"].map(|path| &self.whole["paths"][path]);
        let is_proxy = !item.is_null() && proxies.contains(&item);
        let schema = if is_proxy { PROXY_FAILURE } else { PROBLEM };
        let schema = self.whole.pointer(schema).ok_or_else(|| rule(format!("no {schema}")))?;
        self.schemas().check(schema, &answer.json)
    }
}

/// True for the path of a page, whose failures are pages too.
fn is_page(item: &Value) -> bool {
    let operations = item.as_object().into_iter().flat_map(Map::values);
    let responses = operations.filter_map(|it| it["responses"].as_object()).flat_map(Map::values);
    let mut contents = responses.filter_map(|response| response.get("content"));
    contents.any(|content| content.get("text/html").is_some())
}

/// The methods of an item of a path; its other members are parameters and texts.
pub(crate) const METHODS: &[&str] = &["head", "get", "post", "put", "patch", "delete", "options"];

impl Template {
    fn new(path: &str) -> Self {
        let segments = path.split('/').map(String::from).collect();
        Self { path: String::from(path), segments }
    }

    fn order(&self) -> Vec<bool> {
        self.segments.iter().map(|segment| is_parameter(segment)).collect()
    }

    fn matches(&self, segments: &[&str]) -> bool {
        let fits = |(own, sent): (&String, &&str)| {
            if is_parameter(own) { !sent.is_empty() } else { own == sent }
        };
        self.segments.len() == segments.len() && self.segments.iter().zip(segments).all(fits)
    }
}

fn is_parameter(segment: &str) -> bool {
    segment.starts_with('{') && segment.ends_with('}')
}

/// Without its parameters, in lower case.
fn media_type(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_json(kind: &str) -> bool {
    kind == "application/json" || kind.ends_with("+json")
}

/// The value of a header in the type that its schema wants.
fn header_value(schema: &Value, text: &str) -> Value {
    match schema["type"].as_str() {
        Some("integer" | "number" | "boolean") => serde_json::from_str(text).ok(),
        _ => None,
    }
    .unwrap_or_else(|| Value::from(text))
}

fn rule(rule: impl Into<String>) -> Mismatch {
    Mismatch { pointer: String::new(), rule: rule.into() }
}
