//! Code transforms: a program of the tenant gets the message and returns the new one.

use serde_json::{Map, Value, json};

use crate::app::Proxies;
use crate::app::program_calls::identity::ProgramOwner;
use crate::app::program_calls::{ProgramFailure, ProgramHosts, ProgramJob, contract, read_result};
use crate::app::programs::Contract;
use crate::app::proxies::transforms::{Message, Surroundings, TransformFailure};
use crate::bounds::{PROGRAM_ANSWER_HEADERS_MAX, PROXY_HEADER_BYTES_MAX};
use crate::domain::connection_headers::is_of_connection;
use crate::domain::program::{Runtime, timeout};
use crate::domain::proxy::Proxy;
use crate::domain::proxy::transform::Side;
use crate::domain::tenant::TenantKind;
use crate::secret::{Secret, SecretBuffer};

const NO_HOST: &str = "The proxy has a code transform, which cannot run here.";
const NOT_A_MESSAGE: &str = "The program returned no object with a body or headers.";
const BAD_HEADER: &str = "The program returned a header that is not valid.";

/// The call that a code transform belongs to.
#[derive(Clone, Copy)]
pub(in crate::app) struct CodeSite<'a> {
    pub(in crate::app) hosts: &'a dyn ProgramHosts,
    pub(in crate::app) tenant_kind: TenantKind,
    pub(in crate::app) line: &'a RequestLine,
}

/// The parts of a request that a program sees and cannot change.
#[derive(Debug)]
pub(in crate::app) struct RequestLine {
    pub(in crate::app) method: String,
    /// After `/proxy`.
    pub(in crate::app) path: String,
    pub(in crate::app) query: Option<String>,
}

/// A program without a usable result.
#[derive(Debug)]
pub struct FailedProgram {
    pub contract: Contract,
    pub failure: ProgramFailure,
}

/// The program of one transform.
pub(super) struct Program<'a> {
    pub(super) code: &'a Secret<String>,
    pub(super) runtime: Option<&'a Runtime>,
    pub(super) side: Side,
    /// Of the destination's answer.
    pub(super) status: u16,
}

impl Proxies<'_> {
    /// Replaces the message by the result of the program.
    pub(super) async fn run_code(
        self,
        proxy: &Proxy,
        program: Program<'_>,
        message: &mut Message,
        around: &Surroundings<'_>,
    ) -> Result<(), TransformFailure> {
        let site = around.code.ok_or(TransformFailure::Failed(NO_HOST))?;
        let contract = contract(program.runtime);
        let (name, input) = input(&program, contract, message, site.line)?;
        let settings = &proxy.settings;
        let job = ProgramJob {
            tenant: proxy.tenant,
            tenant_kind: site.tenant_kind,
            party: around.party,
            owner: ProgramOwner::Proxy(proxy.id),
            code: program.code,
            runtime: program.runtime,
            application: settings.application,
            configuration: &settings.configuration,
            input: (name, &input),
            timeout: timeout(program.runtime),
        };
        let result = Box::pin(self.vault.run_program(job, site.hosts)).await?;
        let failed =
            |failure| TransformFailure::Program(Box::new(FailedProgram { contract, failure }));
        let result = result.map_err(failed)?;
        let mut parsed = read_result(&result).map_err(failed)?;
        let unusable = || failed(ProgramFailure::Unusable(NOT_A_MESSAGE));
        let returned = match (contract, program.side) {
            (Contract::Bt, _) => Some(parsed.expose()),
            (Contract::Node, Side::Response) => parsed.expose().get("res"),
            (Contract::Node, Side::Request) => {
                if let Some(res) = parsed.expose_mut().get_mut("res").filter(|it| it.is_object()) {
                    return Err(TransformFailure::Answered(Secret::new(std::mem::take(res))));
                }
                parsed.expose().get("req")
            }
        };
        let returned = returned.and_then(Value::as_object).ok_or_else(unusable)?;
        if !returned.contains_key("body") && !returned.contains_key("headers") {
            return Err(unusable());
        }
        let bad_header = || failed(ProgramFailure::Unusable(BAD_HEADER));
        if let Some(headers) = returned.get("headers").filter(|it| !it.is_null()) {
            let headers = headers.as_object().and_then(headers_of).ok_or_else(bad_header)?;
            message.headers = headers;
        }
        if let Some(body) = returned.get("body") {
            message.set_body(bytes_of(body))?;
        }
        Ok(())
    }
}

/// The input of the program: the name of the member, and its JSON.
fn input(
    program: &Program<'_>,
    contract: Contract,
    message: &Message,
    line: &RequestLine,
) -> Result<(&'static str, Secret<Vec<u8>>), TransformFailure> {
    let body = match message.readable_json()? {
        Some(json) if json.expose().is_object() || json.expose().is_array() => json,
        Some(_) | None => Secret::new(Value::from(message.text()?)),
    };
    let mut members = Map::new();
    for (name, value) in &message.headers {
        let text = String::from_utf8_lossy(value.expose()).into_owned();
        let name = shown_name(name);
        match members.get_mut(&name) {
            // Of several headers with one name, a program sees one value, as in other runtimes.
            Some(Value::String(known)) => {
                known.push_str(", ");
                known.push_str(&text);
            }
            Some(_) | None => drop(members.insert(name, Value::from(text))),
        }
    }
    let mut body = body;
    let mut input = Secret::new(json!({
        "body": std::mem::take(body.expose_mut()),
        "headers": members,
    }));
    if let Some(members) = input.expose_mut().as_object_mut() {
        let mut set = |name: &str, value: Value| drop(members.insert(String::from(name), value));
        match program.side {
            Side::Request => {
                set("method", Value::from(line.method.as_str()));
                set("path", Value::from(line.path.as_str()));
                let query = line.query.as_ref().map(|query| format!("?{query}"));
                set("query", Value::from(query.unwrap_or_default()));
            }
            Side::Response if contract == Contract::Node => {
                set("statusCode", Value::from(program.status));
            }
            Side::Response => (),
        }
    }
    let name = match (contract, program.side) {
        (Contract::Bt, _) => "args",
        (Contract::Node, Side::Request) => "req",
        (Contract::Node, Side::Response) => "res",
    };
    let mut text = SecretBuffer::with_capacity(message.body.expose().len());
    text.json(input.expose());
    Ok((name, text.finish()))
}

/// The spelling of names in the published documentation: `Content-Type`, and `BT-TRACE-ID`.
fn shown_name(name: &str) -> String {
    if name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("bt-")) {
        return name.to_ascii_uppercase();
    }
    let mut starts = true;
    let letter = |letter: char| {
        let shown = if starts { letter.to_ascii_uppercase() } else { letter };
        starts = !letter.is_ascii_alphanumeric();
        shown
    };
    name.chars().map(letter).collect()
}

/// Drops headers of the connection. `None` if a name or a value is not one of a header.
fn headers_of(members: &Map<String, Value>) -> Option<Vec<(String, Secret<Vec<u8>>)>> {
    let mut headers: Vec<(String, Secret<Vec<u8>>)> = Vec::new();
    for (name, value) in members {
        let name = name.to_ascii_lowercase();
        let text = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => return None,
        };
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let is_value = text.len() <= PROXY_HEADER_BYTES_MAX
            && text.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
        if !is_name || !is_value || headers.len() >= PROGRAM_ANSWER_HEADERS_MAX {
            return None;
        }
        if is_of_connection(&name) {
            continue;
        }
        // Two spellings of one name are one header: the later one counts.
        headers.retain(|(known, _)| *known != name);
        headers.push((name, Secret::new(text.into_bytes())));
    }
    Some(headers)
}

/// A text is sent as it is, since it may be signed; anything else as JSON.
fn bytes_of(body: &Value) -> Secret<Vec<u8>> {
    let mut out = SecretBuffer::with_capacity(256);
    match body {
        Value::Null => (),
        Value::String(text) => out.extend(text.as_bytes()),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => out.json(body),
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_headers_are_spelled_as_published() {
        for (name, shown) in [
            ("content-type", "Content-Type"),
            ("bt-trace-id", "BT-TRACE-ID"),
            ("x-own_name", "X-Own_Name"),
            ("authorization", "Authorization"),
        ] {
            assert_eq!(shown_name(name), shown);
        }
    }

    #[test]
    fn a_program_sets_headers_and_none_of_the_connection() {
        let read = |value: Value| {
            let headers = headers_of(value.as_object().unwrap())?;
            let text = |(name, value): &(String, Secret<Vec<u8>>)| {
                format!("{name}: {}", std::str::from_utf8(value.expose()).unwrap())
            };
            Some(headers.iter().map(text).collect::<Vec<_>>())
        };
        let all = json!({
            "Content-Type": "text/xml", "content-length": "9", "X-Number": 7, "host": "evil.example",
            "Transfer-Encoding": "chunked", "x-none": null, "X-A": "1", "x-a": "2",
        });
        let mut found = read(all).unwrap();
        found.sort();
        assert_eq!(found, ["content-type: text/xml", "x-a: 2", "x-number: 7"]);
        for wrong in [
            json!({"a b": "1"}),
            json!({"": "1"}),
            json!({"a": "1\r\nb: 2"}),
            json!({"a": "\u{e9}"}),
            json!({"a": ["1"]}),
            json!({"a": "1".repeat(PROXY_HEADER_BYTES_MAX + 1)}),
        ] {
            assert_eq!(read(wrong), None);
        }
    }
}
