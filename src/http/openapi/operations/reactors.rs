//! Reactors and the calls of their programs.

use crate::bounds::{
    CODE_CHARS_MAX, NAME_CHARS_MAX, PROGRAM_TIMEOUT_ASYNC_MAX, PROXY_CONFIGURATION_MAX,
    PROXY_CONFIGURATION_NAME_CHARS_MAX, RUNTIME_PERMISSIONS_MAX,
};
use crate::domain::id::ReactorId;
use crate::domain::program::{Image, LineLevel};
use crate::http::Schema;
use crate::http::openapi::operations::shared::{
    authors, by_cursor, by_number, cursor_page, cursor_page_of, offset_page, offset_page_of,
    permissions,
};
use crate::http::openapi::{Description, LOCATION, Tag};
use crate::http::path::PathParameter as _;
use crate::http::programs::line_page::ProgramLine;
use crate::http::wire::answer::Answer as _;

const CREATE: &str = r#"{"name":"Last digits","code":"module.exports = async function (req) {\n  const { number } = req.args.card;\n  return { raw: { last4: number.slice(-4) } };\n};\n","configuration":{"secret":"sk_test_1"}}"#;
const REACTOR: &str = r#"{"id":"01a1dd3d-8b71-4e21-9c4d-5e6f7a8b9c0d",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","name":"Last digits","state":"active",
    "code":"module.exports = async function (req) {\n  const { number } = req.args.card;\n  return { raw: { last4: number.slice(-4) } };\n};\n",
    "configuration":{"secret":"sk_test_1"},"created_by":"01a1dd38-4d59-4a3b-8c7d-1e2f3a4b5c6d",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}"#;
const REACT: &str = r#"{"args":{"card":{"number":"4242424242424242"}}}"#;
const RESULT: &str = r#"{"raw":{"last4":"4242"}}"#;

const LINE: &str = r#"{"id":"5b0e3c1d-7f42-4a86-9c1e-d2f4a6b80c13","source":"application","record_type":"log",
    "occurred_at":"2026-01-31T09:30:00.1234560+00:00","level":"info","message":"charged",
    "trace_id":"0af7651916cd43dd8448eb211c80319c"}"#;

const OWN_ANSWER: &str = "A program may answer with a status, headers and a body of its own, and its \
    errors have the status of their class: 400, 401, 402, 403, 429, 500 or 503.";
const GONE: &str =
    "The program has run, and its kept answer ended with a token or a code that it got.";
const NOT_HERE: &str = "No program can run here: the settings or the kernel do not allow it.";

pub(super) fn operations() -> Vec<Description> {
    let mut all = managed();
    all.extend(called());
    all.extend(logs());
    all.extend(formulas());
    all
}

fn managed() -> Vec<Description> {
    let reactor = || Schema::reference("Reactor");
    let tag = Tag::Programs;
    vec![
        Description::new("CreateReactor", tag, "Create a reactor")
            .about("The code is stored as it is, and compiled when it is called.")
            .takes(Schema::reference("ReactorRequest"))
            .sends("digits", "The last digits of a card number", CREATE)
            .answers(201, "The reactor.", reactor())
            .with_header(LOCATION)
            .shows("digits", "A reactor", REACTOR)
            .fails(409, "The tenant has as many reactors as it can."),
        by_number(Description::new("ListReactors", tag, "List reactors"))
            .query("id", Schema::list(ReactorId::schema()))
            .query("name", Schema::text().about("A part of the name; `*` stands for any text."))
            .answers(200, "A page of reactors.", offset_page(reactor()))
            .shows("digits", "A reactor", offset_page_of(REACTOR)),
        Description::new("ReadReactor", tag, "Read a reactor")
            .about("The answer has the code and the values of the configuration.")
            .answers(200, "The reactor.", reactor())
            .shows("digits", "A reactor", REACTOR),
        Description::new("ReplaceReactor", tag, "Replace a reactor")
            .about("Replaces all settings.")
            .takes(Schema::reference("ReactorRequest"))
            .sends(
                "plain",
                "A reactor without a configuration",
                r#"{"name":"Echo","code":"module.exports = (req) => ({ raw: req.args });"}"#,
            )
            .answers(200, "The reactor.", reactor())
            .shows("digits", "A reactor", REACTOR),
        Description::new("PatchReactor", tag, "Change a reactor")
            .about("A merge patch: members that are absent stay as they are, `null` removes one.")
            .takes(Schema::reference("PatchReactorRequest"))
            .sends("secret", "Another secret", r#"{"configuration":{"secret":"sk_test_2"}}"#)
            .answers_nothing(204, "The reactor is changed."),
        Description::new("DeleteReactor", tag, "Delete a reactor")
            .about("Calls that run lose their rights at once.")
            .answers_nothing(204, "The reactor is deleted."),
    ]
}

fn called() -> Vec<Description> {
    let tag = Tag::Programs;
    vec![
        Description::new("React", tag, "Call a reactor")
            .about(
                "Runs the program with `args`, in which values stand in place of expressions. Each \
                 token needs the right `token:use` of the caller. The tokens of a member `tokenize` \
                 are made with the rights of the reactor's application, else of the caller. With an \
                 idempotency key a result is remembered, a failure is not: a repetition then runs \
                 the program again. An answer above 1 MB is not kept: its repetition fails, and \
                 the program does not run.",
            )
            .takes(arguments().takes(
                "callback_url",
                Schema::text()
                    .about("Deprecated: answer at once, and send the result to this https URL.")
                    .deprecated(),
            ))
            .sends("digits", "The last digits of a card number", REACT)
            .answers(200, "The result of the program.", Schema::reference("ReactorResponse"))
            .shows("digits", "The result", RESULT)
            .answers(202, "The call has a callback and begins.", Schema::object())
            .answers_otherwise(OWN_ANSWER)
            .fails(410, GONE)
            .fails(422, "The code does not compile, or it is not a function.")
            .fails(500, "The program failed, or it took too long.")
            .fails(501, NOT_HERE)
            .fails(502, "A program of the images node22 and node24 failed."),
        Description::new("ReactAsync", tag, "Call a reactor without waiting")
            .about(
                "The arguments are checked and filled at once, and the program runs later, at most \
                 once. Results are kept for a day.",
            )
            .takes(arguments())
            .sends("digits", "The last digits of a card number", REACT)
            .answers(
                202,
                "The call is accepted.",
                Schema::object().has("asyncReactorRequestId", Schema::uuid()),
            )
            .shows(
                "accepted",
                "The id of the call",
                r#"{"asyncReactorRequestId":"01a1dd3d-8b72-4e21-9c4d-5e6f7a8b9c0d"}"#,
            )
            .fails(409, "The tenant has as many results as it can.")
            .fails(501, NOT_HERE),
        Description::new("ReadReactorResult", tag, "Read the result of a call")
            .about(
                "The answer that a waiting caller would have got, with its status. Only the \
                 application that made the call gets it, and only the session if one made it.",
            )
            .answers(200, "The result of the program.", Schema::reference("ReactorResponse"))
            .shows("digits", "The result", RESULT)
            .answers_otherwise(OWN_ANSWER)
            .fails(404, "There is no such call, or it has no result yet.")
            .fails(410, GONE)
            .fails(500, "The program failed, or the server was stopped while it ran."),
    ]
}

fn logs() -> Vec<Description> {
    let line = || Schema::reference("ProgramLine");
    let page = |name, summary| {
        by_cursor(Description::new(name, Tag::Programs, summary))
            .about(
                "The lines that programs wrote with `console` or `logger`, newest first, if \
                 `runtime.logs.enabled` keeps them. They are kept in memory, up to a number for each \
                 tenant, until the server stops. A line with a card number is left out.",
            )
            .query("level", Schema::word(LineLevel::ALL.iter().map(|it| it.as_str())))
            .query("trace_id", Schema::text())
            .query("message", Schema::text().about("A part of the line."))
            .query("source", Schema::text().about("Only `application` has lines here."))
            .query("record_type", Schema::text().about("Only `log` has lines here."))
            .answers(200, "A page of lines.", cursor_page(line()))
            .shows("line", "A line", cursor_page_of(LINE))
    };
    vec![
        page("ListReactorLogs", "List the lines of a reactor"),
        page("ListProxyLogs", "List the lines of a proxy's code transforms"),
    ]
}

fn formulas() -> Vec<Description> {
    const GONE: &str = "Formulas were removed from the published interface: a reactor has its \
                        program in the member `code`.";
    let tag = Tag::Programs;
    vec![
        Description::new("ReactorFormulas", tag, "Formulas of reactors (removed)"),
        Description::new("ReactorFormula", tag, "A formula of reactors (removed)"),
    ]
    .into_iter()
    .map(|it| it.fails(403, "A viewer of the console asks.").fails(410, GONE))
    .collect()
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("Reactor", reactor()),
        ("ReactorRequest", settings().has("name", name()).has("code", code())),
        ("PatchReactorRequest", settings().takes("name", name()).takes("code", code())),
        ("ReactorResponse", response()),
        ("ProgramLine", ProgramLine::schema()),
        ("ProgramRuntime", runtime()),
    ]
}

fn name() -> Schema {
    Schema::text().chars(1, NAME_CHARS_MAX)
}

fn code() -> Schema {
    Schema::text().about("A CommonJS module whose export is a function.").chars(1, CODE_CHARS_MAX)
}

fn arguments() -> Schema {
    Schema::object()
        .about("Programs of the images node22 and node24 get the whole body.")
        .takes("args", Schema::any().about("Any JSON. Texts may hold expressions."))
}

fn settings() -> Schema {
    let application = Schema::object()
        .about("A public or private application, whose rights the program has.")
        .has("id", Schema::uuid());
    Schema::object()
        .takes("application", application)
        .takes(
            "configuration",
            Schema::map(Schema::text().or_null())
                .about("Texts for the program, such as keys of other services.")
                .up_to_members(PROXY_CONFIGURATION_MAX)
                .names_up_to(PROXY_CONFIGURATION_NAME_CHARS_MAX),
        )
        .takes("runtime", Schema::reference("ProgramRuntime"))
}

fn reactor() -> Schema {
    let members = Schema::object()
        .has("id", Schema::uuid())
        .has("tenant_id", Schema::uuid())
        .has("name", Schema::text())
        .has("state", Schema::word(["active"]))
        .may_have("code", Schema::text().about("As it was sent."))
        .may_have("configuration", Schema::map(Schema::text()))
        .may_have("application", Schema::object().has("id", Schema::uuid()))
        .may_have("runtime", Schema::reference("ProgramRuntime"));
    authors(members)
        .about("A repeated answer lacks the settings of a reactor that is deleted.")
        .closed()
}

fn response() -> Schema {
    Schema::object()
        .may_have("tokens", Schema::any().about("The member `tokenize`, with tokens in it."))
        .may_have("raw", Schema::any())
        .may_have("body", Schema::any())
        .may_have("headers", Schema::any())
}

fn runtime() -> Schema {
    let most = usize::try_from(PROGRAM_TIMEOUT_ASYNC_MAX.as_secs()).unwrap_or(usize::MAX);
    let words = |words: Vec<&'static str>| Schema::word(words);
    let logs = Schema::object()
        .takes("enabled", Schema::flag().or_else(false))
        .takes("level", words(LineLevel::ALL.iter().map(|it| it.as_str()).collect()));
    Schema::object()
        .takes("image", words(Image::ALL.iter().map(|it| it.as_str()).collect()))
        .takes("timeout", Schema::integer().about("Seconds.").between(0, most))
        .takes("async", Schema::flag())
        .takes("permissions", permissions().up_to_items(RUNTIME_PERMISSIONS_MAX))
        .takes("dependencies", Schema::map(Schema::text()))
        .takes("resolutions", Schema::map(Schema::text()))
        .takes(
            "resources",
            Schema::text().about("`standard`, `large` or `xlarge`; kept, without effect."),
        )
        .takes("warm_concurrency", Schema::integer().about("Kept, without effect.").at_least(0))
        .takes("logs", logs)
}
