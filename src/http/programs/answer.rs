//! The answer of a program to its caller: a result in the form of its contract, an error of the
//! published classes, a response of its own, or a failure of the runtime.

use hyper::StatusCode;
use hyper::header::HeaderValue;
use serde_json::{Map, Value};

use crate::app::programs::{Contract, Stop, Thrown};
use crate::app::{Error, FailedProgram, ProgramFailure, TokenizeOutcome, read_result};
use crate::bounds::{
    PROGRAM_ANSWER_BYTES_MAX, PROGRAM_ANSWER_HEADERS_MAX, PROGRAM_HEADER_BYTES_MAX,
};
use crate::domain::reactor::ProgramAnswer;
use crate::http::passed_headers::for_caller;
use crate::http::wire::{Object, tokenize};
use crate::http::{Problem, Reply};
use crate::idempotency::{AnswerStatus, OwnHead, PartLifetime, RememberedAnswer};
use crate::secret::{Secret, SecretBody, SecretBuffer};

/// The title of failures of programs in proxies, as published.
const VALIDATION: &str = "One or more validation errors occurred.";
const RUNTIME_ERROR: &str = "Reactor Runtime Error";
const NOT_AN_OBJECT: &str = "The program returned something other than an object.";
const NO_RES: &str = "The program returned no member res with a status and a body.";
const NOT_A_STATUS: &str = "The status is not one of an answer.";
const THREW: &str = "The program threw an error.";
const NOT_A_PROGRAM: &str = "The code is not a program.";
const LOST: &str = "The server was stopped while the program ran. It may have run in part, and it is not \
                    run a second time.";
const UNSTARTED: &str = "The program was not started: no worker was free in time.";
const NO_MEMORY: &str = "The server had no memory left for a message of the program, which has run in \
                         part.";
const NO_TOKENS: &str = "The program has run, but the server was too busy to make the tokens of its \
                         result.";
const NOT_KEPT: &str = "The program has run. Its answer was too large to be kept, or was made of too many \
                        tokens.";
const UNSENT: &str = "The program has run, but the server has no memory for its answer at the moment: other \
                      answers have not been read.";
const TOO_LARGE: &str = "The answer of the program is too large.";

/// The members of a result of the older contract, besides tokens.
const PASSED: [&str; 3] = ["raw", "body", "headers"];

/// A result of the older contract: an object, or nothing. It is refused before there are tokens if
/// its answer would be too large.
#[expect(clippy::result_large_err, reason = "one failure a call, which is not copied")]
pub(in crate::http) fn bt_result(
    result: &Secret<Vec<u8>>,
) -> Result<Secret<Value>, ProgramFailure> {
    let value = match read_result(result)? {
        value if value.expose().is_object() => value,
        value if value.expose().is_null() => Secret::new(Value::Object(Map::new())),
        _ => return Err(ProgramFailure::Unusable(NOT_AN_OBJECT)),
    };
    // Tokens stand in the places of the values that they are made of.
    let mut tokenize = SecretBuffer::with_capacity(0);
    if let Some(body) = value.expose().get("tokenize") {
        tokenize.json(body);
    }
    let bytes = bt_answer(value.expose(), None).bytes().saturating_add(tokenize.len());
    if bytes > PROGRAM_ANSWER_BYTES_MAX {
        return Err(ProgramFailure::Stopped(Stop::ResultTooLarge));
    }
    Ok(value)
}

/// The answer to a call of the older contract. Other members of the result are left out: a program
/// may return its whole request, with its configuration. Repetitions show tokens only while they
/// exist.
pub(in crate::http) fn bt_answer(
    result: &Value,
    tokenized: Option<&TokenizeOutcome>,
) -> RememberedAnswer {
    let mut answer = RememberedAnswer::empty(AnswerStatus::Ok);
    let mut before = "{";
    if let (Some(tokenized), Some(value)) = (tokenized, result.get("tokenize")) {
        answer.push(b"{\"tokens\":", PartLifetime::Always);
        answer = tokenize::answer_into(value, tokenized, answer);
        before = ",";
    }
    for name in PASSED {
        let Some(value) = result.get(name).filter(|value| !value.is_null()) else { continue };
        let mut text = SecretBuffer::with_capacity(256);
        text.extend_all([before.as_bytes(), b"\"", name.as_bytes(), b"\":"]);
        text.json(value);
        answer.push(text.bytes(), PartLifetime::Always);
        before = ",";
    }
    let end: &[u8] = if before == "{" { b"{}" } else { b"}" };
    answer.push(end, PartLifetime::Always);
    answer
}

/// The answer to a call of the newer contract.
#[expect(clippy::result_large_err, reason = "one failure a call, which is not copied")]
pub(in crate::http) fn node_answer(
    result: &Secret<Vec<u8>>,
) -> Result<ProgramAnswer, ProgramFailure> {
    let value = read_result(result)?;
    response(value.expose().get("res"))
}

/// The member `res` of a result of the newer contract.
#[expect(clippy::result_large_err, reason = "one failure a call, which is not copied")]
fn response(res: Option<&Value>) -> Result<ProgramAnswer, ProgramFailure> {
    let no_res = || ProgramFailure::Unusable(NO_RES);
    let res = res.and_then(Value::as_object).ok_or_else(no_res)?;
    let status = match res.get("statusCode").or_else(|| res.get("status")) {
        Some(status) => status.as_u64().and_then(|it| u16::try_from(it).ok()).ok_or_else(no_res)?,
        None => 200,
    };
    let headers = match res.get("headers") {
        Some(Value::Object(headers)) => headers
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), Secret::new(scalar(value)?))))
            .collect(),
        Some(_) | None => Vec::new(),
    };
    own(status, headers, res.get("body").unwrap_or(&Value::Null))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A response of the program itself. A text is sent as it is, any other value as JSON.
#[expect(clippy::result_large_err, reason = "one failure a call, which is not copied")]
fn own(
    status: u16,
    headers: Vec<(String, Secret<String>)>,
    body: &Value,
) -> Result<ProgramAnswer, ProgramFailure> {
    // An interim status is not an answer.
    if !(200..=599).contains(&status) {
        return Err(ProgramFailure::Unusable(NOT_A_STATUS));
    }
    let mut headers: Vec<_> = headers
        .into_iter()
        .filter(|(_, value)| value.expose().len() <= PROGRAM_HEADER_BYTES_MAX)
        .take(PROGRAM_ANSWER_HEADERS_MAX)
        .collect();
    let mut text = SecretBuffer::with_capacity(256);
    match body {
        Value::Null => (),
        Value::String(body) => {
            if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
                let plain = Secret::new(String::from("text/plain; charset=utf-8"));
                headers.push((String::from("content-type"), plain));
            }
            text.extend(body.as_bytes());
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => text.json(body),
    }
    if text.len() > PROGRAM_ANSWER_BYTES_MAX {
        return Err(ProgramFailure::Stopped(Stop::ResultTooLarge));
    }
    Ok(ProgramAnswer { status, headers, body: text.finish_text() })
}

/// The answer to a call without a result.
pub(in crate::http) fn failure(contract: Contract, failure: &ProgramFailure) -> ProgramAnswer {
    match (failure, contract) {
        (ProgramFailure::NotAProgram(why), _) => {
            failed(422, "Unprocessable Content", NOT_A_PROGRAM, &[why.expose()])
        }
        (ProgramFailure::Stopped(stop), _) => {
            failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[stopped(*stop)])
        }
        (ProgramFailure::Unusable(why), Contract::Bt) => {
            failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[why])
        }
        (ProgramFailure::Unusable(why), Contract::Node) => failed(502, "Bad Gateway", why, &[why]),
        (ProgramFailure::Threw(thrown), Contract::Bt) => threw(thrown),
        (ProgramFailure::Threw(thrown), Contract::Node) => {
            failed(502, "Bad Gateway", THREW, &[message(thrown)])
        }
    }
}

fn threw(thrown: &Thrown) -> ProgramAnswer {
    match thrown {
        Thrown::Class { status, title, detail, errors } => {
            let mut body = Object::new();
            body.text("title", title);
            body.number("status", *status);
            body.text("detail", detail);
            body.value("errors", errors.expose());
            let status = if (400..=599).contains(status) { *status } else { 500 };
            ProgramAnswer { status, headers: Vec::new(), body: text_of(body) }
        }
        Thrown::Response { status, headers, body } => {
            let own = own(*status, copied(headers), body.expose());
            own.unwrap_or_else(|why| failure(Contract::Bt, &why))
        }
        Thrown::Other { message } => failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[message.expose()]),
    }
}

fn copied(headers: &[(String, Secret<String>)]) -> Vec<(String, Secret<String>)> {
    let copy = |(name, value): &(String, Secret<String>)| {
        (name.clone(), Secret::new(value.expose().clone()))
    };
    headers.iter().map(copy).collect()
}

fn message(thrown: &Thrown) -> &str {
    match thrown {
        Thrown::Class { detail, .. } => detail,
        Thrown::Response { .. } => THREW,
        Thrown::Other { message } => message.expose(),
    }
}

/// Reasons name no path, key or argument.
pub(in crate::http) const fn stopped(stop: Stop) -> &'static str {
    match stop {
        Stop::TimedOut => "The program did not end in time.",
        Stop::NoMemory => NO_MEMORY,
        Stop::OutOfMemory => "The program needs more memory than it may have.",
        Stop::ResultTooLarge => "The result of the program is too large.",
        Stop::Died => "The program ended without a result.",
    }
}

/// The reason in an event: one word for each kind of failure, and nothing of the program's own.
pub(in crate::http) const fn reason(failure: &ProgramFailure) -> &'static str {
    match failure {
        ProgramFailure::NotAProgram(_) => "the code is not a program",
        ProgramFailure::Stopped(stop) => stopped(*stop),
        ProgramFailure::Threw(_) => "the program threw an error",
        ProgramFailure::Unusable(_) => "the result has another form",
    }
}

fn failed(status: u16, title: &str, detail: &str, errors: &[&str]) -> ProgramAnswer {
    let mut body = Object::new();
    body.text("title", title);
    body.number("status", status);
    body.text("detail", detail);
    body.object("errors", |object| object.texts("error", errors.iter().copied()));
    ProgramAnswer { status, headers: Vec::new(), body: text_of(body) }
}

fn text_of(object: Object) -> Secret<String> {
    let mut text = SecretBuffer::with_capacity(0);
    text.append(object.close());
    text.finish_text()
}

impl Reply {
    /// The answer of a program. It has an opaque origin, and no header that only the vault may set.
    pub(in crate::http) fn of_program(answer: ProgramAnswer) -> Self {
        let ProgramAnswer { status, headers, mut body } = answer;
        let body = std::mem::take(body.expose_mut()).into_bytes();
        Self::with_head(OwnHead { status, headers }, Secret::new(body))
    }

    /// The first time, and when it is repeated.
    pub(in crate::http) fn with_head(head: OwnHead, body: Secret<Vec<u8>>) -> Self {
        let OwnHead { status, headers } = head;
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let without = [StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::NOT_MODIFIED];
        let has_no_body = without.contains(&status);
        let body = if has_no_body { SecretBody::empty() } else { SecretBody::from(body) };
        let mut reply = Self::with_status(status, body);
        let headers: Vec<_> = headers
            .into_iter()
            .map(|(name, mut value)| {
                (name, Secret::new(std::mem::take(value.expose_mut()).into_bytes()))
            })
            .collect();
        let passed = for_caller(&headers);
        for (name, value) in &passed {
            reply = reply.with(name.clone(), HeaderValue::clone(value));
        }
        reply
    }
}

/// The answer of a code transform that failed: errors in the form of failures of proxies, a
/// response of the program as it is.
pub(in crate::http) fn in_proxy(failed: &FailedProgram) -> ProgramAnswer {
    let FailedProgram { contract, failure } = failed;
    if let (Contract::Bt, ProgramFailure::Threw(Thrown::Response { .. })) = (contract, failure) {
        return self::failure(*contract, failure);
    }
    let (status, detail) = match failure {
        ProgramFailure::NotAProgram(_) => (422, NOT_A_PROGRAM),
        ProgramFailure::Threw(Thrown::Class { status, detail, .. })
            if *contract == Contract::Bt && (400..=599).contains(status) =>
        {
            (*status, detail.as_str())
        }
        ProgramFailure::Stopped(_) => (500, RUNTIME_ERROR),
        ProgramFailure::Threw(_) | ProgramFailure::Unusable(_) => match contract {
            Contract::Bt => (500, RUNTIME_ERROR),
            Contract::Node => (502, THREW),
        },
    };
    let mut body = Object::new();
    body.object("proxy_error", |error| {
        match failure {
            ProgramFailure::Threw(Thrown::Class { errors, .. }) => {
                error.value("errors", errors.expose());
            }
            ProgramFailure::NotAProgram(why) => error_text(error, why.expose()),
            ProgramFailure::Stopped(stop) => error_text(error, stopped(*stop)),
            ProgramFailure::Threw(thrown) => error_text(error, message(thrown)),
            ProgramFailure::Unusable(why) => error_text(error, why),
        }
        error.text("title", VALIDATION);
        error.number("status", status);
        error.text("detail", detail);
    });
    ProgramAnswer { status, headers: Vec::new(), body: text_of(body) }
}

fn error_text(object: &mut Object, text: &str) {
    object.object("errors", |errors| errors.texts("error", std::iter::once(text)));
}

/// The answer of a code transform in place of the destination's.
pub(in crate::http) fn in_place(res: &Secret<Value>) -> ProgramAnswer {
    response(Some(res.expose())).unwrap_or_else(|why| failure(Contract::Node, &why))
}

/// The answer of a call that the server could not finish.
pub(in crate::http) fn lost() -> ProgramAnswer {
    failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[LOST])
}

/// The answer of a call that found no worker in time.
pub(in crate::http) fn unstarted() -> ProgramAnswer {
    failed(503, "Service Unavailable", "Service Unavailable", &[UNSTARTED])
}

/// The answer of a call whose tokens were not made, since the server was busy.
pub(in crate::http) fn no_tokens() -> ProgramAnswer {
    failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[NO_TOKENS])
}

/// The answer of a call whose own answer found no memory until the client would have read it.
pub(in crate::http) fn unsent() -> ProgramAnswer {
    failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[UNSENT])
}

/// An answer that is not kept for the caller, since it is too large.
pub(in crate::http) fn too_large() -> ProgramAnswer {
    failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[TOO_LARGE])
}

/// An answer of a program as repetitions of its request get it.
pub(in crate::http) fn remembered(answer: &ProgramAnswer) -> RememberedAnswer {
    let head = OwnHead { status: answer.status, headers: copied(&answer.headers) };
    RememberedAnswer::of_program(head, answer.body.expose().as_bytes())
}

/// The answer to the repetition of a request whose answer is too large to be kept.
pub(in crate::http) fn not_kept() -> ProgramAnswer {
    failed(500, RUNTIME_ERROR, RUNTIME_ERROR, &[NOT_KEPT])
}

/// The answer of a call that the vault refused after it was accepted.
pub(in crate::http) fn refusal(error: Error) -> ProgramAnswer {
    let problem = Problem::from(error);
    failed(problem.status, problem.title(), problem.detail, &[problem.detail])
}

/// The events of calls name errors of the vault by one text.
pub(in crate::http) const fn refused(_: &Error) -> &'static str {
    "the call was refused"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bounds::JSON_VALUES_MAX;
    use crate::http::reply::RequestContext;

    fn json_text(value: &Value) -> Secret<Vec<u8>> {
        Secret::new(value.to_string().into_bytes())
    }

    fn text(text: &str) -> Secret<String> {
        Secret::new(String::from(text))
    }

    fn context() -> RequestContext {
        RequestContext {
            trace: crate::log::AnswerTrace::of_client("t-1").unwrap(),
            cross_origin: false,
            problem_type: "application/json",
            base: None,
        }
    }

    fn class(status: u16) -> Thrown {
        Thrown::Class {
            status,
            title: String::from("t"),
            detail: String::from("Bad Request"),
            errors: Secret::new(json!({"error": ["no card"]})),
        }
    }

    /// The status and the JSON of an answer.
    fn told(answer: &ProgramAnswer) -> (u16, Value) {
        (answer.status, serde_json::from_str(answer.body.expose()).unwrap_or(Value::Null))
    }

    #[test]
    fn a_result_has_only_the_published_members_and_never_the_configuration() {
        let whole = json!({
            "raw": {"a": 1}, "body": "b", "headers": {"x": "y"}, "args": {"number": "4242"},
            "configuration": {"secret": "s3cret"}, "tokenize": null,
        });
        let result = bt_result(&json_text(&whole)).unwrap();
        let answer: Value =
            serde_json::from_slice(bt_answer(result.expose(), None).into_body().expose()).unwrap();
        assert_eq!(answer, json!({"raw": {"a": 1}, "body": "b", "headers": {"x": "y"}}));
        let nothing = bt_result(&json_text(&Value::Null)).unwrap();
        assert_eq!(bt_answer(nothing.expose(), None).into_body().expose(), b"{}");
        for other in ["1", "[]", "\"text\"", "not json"] {
            assert!(bt_result(&Secret::new(other.as_bytes().to_vec())).is_err());
        }
    }

    #[test]
    fn a_result_that_is_no_tree_says_why() {
        let deep = format!("{{\"raw\":{}{}}}", "[".repeat(200), "]".repeat(200));
        for text in [deep.as_str(), r#"{"raw":"\ud800"}"#, r#"{"res":{"body":"\udfff"}}"#] {
            let result = Secret::new(text.as_bytes().to_vec());
            for refused in [bt_result(&result).err(), node_answer(&result).err()] {
                let Some(ProgramFailure::Unusable(why)) = refused else { panic!("{refused:?}") };
                assert!(why.contains("nested too deeply") && why.contains("Unicode"), "{why}");
            }
        }
    }

    #[test]
    fn a_status_without_a_body_is_sent_without_one() {
        for (status, bytes) in [(200, 3), (204, 0), (205, 0), (304, 0), (404, 3)] {
            let answer = ProgramAnswer { status, headers: Vec::new(), body: text("tea") };
            let response = context().success(Reply::of_program(answer));
            assert_eq!((response.status().as_u16(), response.body().len()), (status, bytes));
        }
    }

    #[test]
    fn an_answer_of_either_contract_is_bounded() {
        let text = |bytes: usize| "x".repeat(bytes);
        for (bytes, fits) in
            [(PROGRAM_ANSWER_BYTES_MAX - 100, true), (PROGRAM_ANSWER_BYTES_MAX + 1, false)]
        {
            for name in PASSED.iter().chain(&["tokenize"]) {
                let mut result = json!({});
                result[name] = Value::from(text(bytes));
                let read = bt_result(&json_text(&result));
                assert_eq!(read.is_ok(), fits, "{name} of {bytes} bytes");
            }
            let own = node_answer(&json_text(&json!({"res": {"body": text(bytes)}})));
            assert_eq!(own.is_ok(), fits);
        }
        // A member that is no part of the answer does not count.
        let dropped = json!({"raw": 1, "args": text(PROGRAM_ANSWER_BYTES_MAX + 1)});
        assert!(bt_result(&json_text(&dropped)).is_ok());
    }

    /// A text of 10 MB would become a tree of hundreds of megabytes.
    #[test]
    fn a_result_of_too_many_values_becomes_no_tree() {
        let values = |count: usize| vec![0; count];
        let fits = json!({"raw": values(JSON_VALUES_MAX - 10), "res": {}});
        assert!(bt_result(&json_text(&fits)).is_ok() && node_answer(&json_text(&fits)).is_ok());
        let many = json!({"raw": values(JSON_VALUES_MAX), "res": {}});
        for refused in [bt_result(&json_text(&many)).err(), node_answer(&json_text(&many)).err()] {
            assert!(matches!(refused, Some(ProgramFailure::Stopped(Stop::ResultTooLarge))));
        }
    }

    #[test]
    fn the_newer_contract_answers_with_its_res() {
        let res = json!({"res": {"statusCode": 201, "headers": {"x-a": 1}, "body": {"ok": true}}});
        let answer = node_answer(&json_text(&res)).unwrap();
        assert_eq!(told(&answer), (201, json!({"ok": true})));
        assert_eq!(answer.headers[0].1.expose(), "1");
        for other in [json!({}), json!({"res": 1}), json!({"res": {"statusCode": "x"}})] {
            let why = node_answer(&json_text(&other)).unwrap_err();
            let failed = failure(Contract::Node, &why);
            assert_eq!(failed.status, 502);
        }
        let interim = node_answer(&json_text(&json!({"res": {"statusCode": 101}}))).unwrap_err();
        assert_eq!(failure(Contract::Node, &interim).status, 502);
    }

    #[test]
    fn every_failure_has_its_status() {
        let other = || ProgramFailure::Threw(Thrown::Other { message: text("why") });
        let cases = [
            (Contract::Bt, ProgramFailure::Threw(class(402)), 402),
            (Contract::Bt, ProgramFailure::Threw(class(200)), 500),
            (Contract::Node, ProgramFailure::Threw(class(402)), 502),
            (Contract::Bt, other(), 500),
            (Contract::Node, other(), 502),
            (Contract::Bt, ProgramFailure::NotAProgram(text("why")), 422),
            (Contract::Node, ProgramFailure::NotAProgram(text("why")), 422),
            (Contract::Bt, ProgramFailure::Stopped(Stop::TimedOut), 500),
            (Contract::Node, ProgramFailure::Stopped(Stop::OutOfMemory), 500),
        ];
        for (contract, failed, status) in cases {
            let (found, body) = told(&failure(contract, &failed));
            assert_eq!(found, status, "{failed:?}");
            assert!(body["title"].is_string() && body["errors"]["error"].is_array());
            let in_proxy = in_proxy(&FailedProgram { contract, failure: failed });
            let (found, body) = told(&in_proxy);
            assert_eq!((found, &body["proxy_error"]["status"]), (status, &json!(status)));
            assert_eq!(body["proxy_error"]["title"], VALIDATION);
        }
        let (status, body) = told(&failure(Contract::Bt, &ProgramFailure::Threw(class(400))));
        let expected = json!({"title": "t", "status": 400, "detail": "Bad Request",
            "errors": {"error": ["no card"]}});
        assert_eq!((status, body), (400, expected));
    }

    #[test]
    fn a_response_of_a_program_sets_no_header_of_the_vault() {
        let names = [
            ("Content-Type", "text/html"),
            ("Set-Cookie", "a=1"),
            ("Content-Length", "1"),
            ("Transfer-Encoding", "chunked"),
            ("Content-Security-Policy", "default-src *"),
            ("Access-Control-Allow-Origin", "https://evil.example"),
            ("X-Accel-Redirect", "/tokens/1"),
            ("BT-TRACE-ID", "other"),
            ("BT-PROXY-DESTINATION-STATUS", "200"),
            ("X-Own", "1"),
            ("X-Bad", "a\r\nSet-Cookie: b=2"),
        ];
        let headers = names.map(|(name, value)| (String::from(name), text(value)));
        let thrown = Thrown::Response {
            status: 418,
            headers: headers.into_iter().collect(),
            body: Secret::new(json!("<p>page</p>")),
        };
        let failed = failure(Contract::Bt, &ProgramFailure::Threw(thrown));
        let response = context().success(Reply::of_program(failed));
        assert_eq!(response.status(), 418);
        let mut found: Vec<_> = response
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        found.sort();
        assert_eq!(
            found,
            [
                "bt-trace-id: t-1",
                "cache-control: no-store",
                "content-security-policy: sandbox",
                "content-type: text/html",
                "x-own: 1",
            ]
        );
    }
}
