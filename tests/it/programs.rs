//! Programs of tenants, from the request to the answer: reactors, code transforms, keys and failures.
//! The vault of these tests runs programs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, get, needs_one_process, post, run, wait_until};
use crate::proxy::Scene;
use crate::watch::on_socket;

const CARD: &str = "4242424242424242";
const MARKER: &str = "marker-7f3a91c2d4";

fn create(vault: &Vault, body: Value) -> String {
    let key = vault.key_with("management", &["reactor:create"], &json!([]));
    vault.post("/reactors", &key, body).with_status(201).id()
}

fn reactor(vault: &Vault, code: &str) -> String {
    create(vault, json!({"name": "r", "code": code}))
}

fn react(vault: &Vault, id: &str, args: &Value) -> Answer {
    vault.post(&format!("/reactors/{id}/react"), &vault.keys.private, json!({"args": args}))
}

fn card(vault: &Vault) -> String {
    vault.token(json!({"type": "card", "data": {
        "number": CARD, "expiration_month": 12, "expiration_year": 2040, "cvc": "123"}}))
}

#[test]
fn a_program_gets_values_in_its_arguments_and_its_result_is_the_answer() {
    let vault = Vault::start();
    let token = card(&vault);
    let id = create(
        &vault,
        json!({"name": "r", "configuration": {"secret": "s3cret"}, "code":
            "module.exports = async (req) => ({ raw: { last4: req.args.card.number.slice(-4),
             month: req.args.month, secret: req.configuration.secret.length, bt: req.bt } });"}),
    );
    let args = json!({"card": format!("{{{{ {token} }}}}"),
        "month": format!("{{{{ {token} | json: '$.expiration_month' }}}}")});
    let answer = react(&vault, &id, &args).with_status(200);
    let expected = json!({"raw": {"last4": "4242", "month": 12, "secret": 6, "bt": null}});
    assert_eq!(answer.json, expected);
    let whole = reactor(&vault, "module.exports = (req) => req;");
    assert_eq!(react(&vault, &whole, &json!(1)).with_status(200).json, json!({}));
}

#[test]
fn a_program_makes_tokens_with_the_rights_of_its_application_and_no_others() {
    let vault = Vault::start();
    let application = vault.application("private", &["token:create"], &json!([]));
    let code = "module.exports = async ({ bt, args }) => {
        const made = await bt.tokens.create({ type: 'token', data: args.value });
        let refused;
        try { await bt.tokens.retrieve(made.id); } catch (error) { refused = error.status; }
        return { raw: { id: made.id, refused }, tokenize: { again: args.value } };
    };";
    let id =
        create(&vault, json!({"name": "r", "code": code, "application": {"id": application.id()}}));
    let answer = react(&vault, &id, &json!({"value": "x"})).with_status(200);
    assert_eq!(answer.json["raw"]["refused"], 403);
    let made = String::from(answer.json["raw"]["id"].as_str().unwrap());
    let read = vault.read(&made).with_status(200);
    assert_eq!(read.json["created_by"], json!(application.id()));
    let again = String::from(answer.json["tokens"]["again"].as_str().unwrap());
    assert_eq!(vault.read(&again).with_status(200).json["created_by"], json!(application.id()));
}

#[test]
fn the_key_of_a_call_is_refused_on_the_network() {
    let vault = Vault::start();
    let application = vault.application("private", &["token:create"], &json!([]));
    let code = "module.exports = (req) => ({ raw: req.applicationOptions.apiKey });";
    let id =
        create(&vault, json!({"name": "r", "code": code, "application": {"id": application.id()}}));
    let key = react(&vault, &id, &json!(null)).with_status(200).json["raw"].clone();
    vault.post("/tokens", key.as_str().unwrap(), json!({"type": "token", "data": 1})).problem(401);
}

#[test]
fn failures_have_their_published_status() {
    let vault = Vault::start();
    let classes = "const e = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');";
    for (throws, status) in [
        ("throw new e.BadRequestError('no')", 400),
        ("throw new e.AuthenticationError('no')", 401),
        ("throw new e.InvalidPaymentMethodError('no')", 402),
        ("throw new e.AuthorizationError('no')", 403),
        ("throw new e.RateLimitError('no')", 429),
        ("throw new e.ReactorRuntimeError('no')", 500),
        ("throw new Error('no')", 500),
        ("return 'text'", 500),
    ] {
        let id = reactor(&vault, &format!("{classes} module.exports = () => {{ {throws}; }};"));
        let answer = react(&vault, &id, &json!(1));
        assert_eq!(answer.status, status, "{throws}: {}", answer.text());
        assert!(answer.json["errors"].is_object(), "{throws}");
    }
    for code in ["module.exports = 1", "module.exports = () => {", "exports.a = () => 1"] {
        assert_eq!(react(&vault, &reactor(&vault, code), &json!(1)).status, 422, "{code}");
    }
    let own = format!(
        "{classes} module.exports = () => {{ throw new e.CustomHttpResponseError({{ status: 418,
         headers: {{ 'X-Own': '1', 'Set-Cookie': 'a=1' }}, body: {{ tea: true }} }}); }};"
    );
    let answer = react(&vault, &reactor(&vault, &own), &json!(1)).with_status(418);
    assert_eq!(answer.json, json!({"tea": true}));
    assert_eq!(answer.header("x-own"), Some("1"));
    assert_eq!(answer.header("set-cookie"), None);
    assert_eq!(answer.header("content-security-policy"), Some("sandbox"));
}

/// The engine quotes what it complains about.
#[test]
fn errors_of_the_engine_name_no_value_of_the_call() {
    let vault = Vault::start();
    for (code, expected) in [
        ("JSON.parse(args)", "unexpected token: '...'"),
        ("null[args]", "cannot read property '...' of null"),
        ("require(args)", "Cannot find module '...'"),
        ("Buffer.from('', args)", "Unknown encoding: '...'"),
        ("(0, eval)(args)", "... is not defined"),
        ("nowhere", "nowhere is not defined"),
        ("null[`x'${args}'y`]", "cannot read property '...' of null"),
        ("(0, eval)(`let ${args} = ${args}`)", "... is not initialized"),
        ("new TextDecoder(args)", "The encoding \"...\" is not supported"),
        ("new Headers({ [args + ' ']: '1' })", "Headers: \"...\" is an invalid header name."),
        ("new (require('events'))().emit('error', args)", "Unhandled error."),
        ("Buffer.alloc(Number(`-${args.length}`))", "The value of size is out of range."),
        (
            "try { null[args]; } catch (error) { throw new (require('@basis-theory/basis-theory-reactor-formulas-sdk-js').ReactorRuntimeError)(error); }",
            "cannot read property '...' of null",
        ),
        ("null['known']", "cannot read property 'known' of null"),
        ("(() => { throw new Error(`no '${args}'`) })()", "no 'JaneQPerson'"),
    ] {
        let id = reactor(&vault, &format!("module.exports = ({{ args }}) => {{ {code} }};"));
        let answer = react(&vault, &id, &json!("JaneQPerson")).with_status(500);
        assert_eq!(answer.json["errors"]["error"], json!([expected]), "{code}");
    }
}

#[test]
fn members_of_answers_have_the_names_of_the_published_clients() {
    let vault = Vault::start();
    let application = vault.application("private", &["token:create"], &json!([]));
    let code = "module.exports = async ({ bt, args }) => ({ raw: await bt.tokens.create(args) });";
    let id =
        create(&vault, json!({"name": "r", "code": code, "application": {"id": application.id()}}));
    let token = json!({"type": "token", "data": "x", "deduplicate_token": true});
    let made = react(&vault, &id, &token).with_status(200);
    assert_eq!(made.json["raw"]["extras"], json!({"deduplicated": false}), "{}", made.text());
}

#[test]
fn the_newer_contract_gets_the_body_and_answers_with_a_response() {
    let vault = Vault::start();
    let node = |code: &str| {
        create(&vault, json!({"name": "r", "code": code, "runtime": {"image": "node22"}}))
    };
    let echo =
        node("module.exports = async (event) => ({ res: { statusCode: 201, body: event.req } });");
    let answer = react(&vault, &echo, &json!({"a": 1})).with_status(201);
    assert_eq!(answer.json, json!({"args": {"a": 1}}));
    let throws = node("module.exports = () => { throw new Error('no'); };");
    assert_eq!(react(&vault, &throws, &json!(1)).status, 502);
}

#[test]
fn a_call_without_a_waiting_caller_has_a_result_for_its_application_alone() {
    let vault = Vault::start();
    let id = reactor(&vault, "module.exports = async (req) => ({ raw: req.args });");
    let path = format!("/reactors/{id}/react-async");
    let accepted = vault.post(&path, &vault.keys.private, json!({"args": 7})).with_status(202);
    let request = accepted.member("asyncReactorRequestId");
    let results = format!("/reactors/{id}/results/{request}");
    let mut answer = None;
    wait_until("the result", || {
        let found = vault.get(&results, &vault.keys.private);
        let is_there = found.status != 404;
        answer = Some(found);
        is_there
    });
    assert_eq!(answer.unwrap().with_status(200).json, json!({"raw": 7}));
    let other = vault.key_with("private", &["reactor:invoke"], &json!([]));
    vault.get(&results, &other).problem(404);
}

#[test]
fn an_idempotency_key_runs_a_program_once() {
    let vault = Vault::start();
    let id = reactor(&vault, "module.exports = () => ({ raw: Math.random() });");
    let send = || {
        let request = post(&format!("/reactors/{id}/react")).key(&vault.keys.private);
        let request = request.once("once");
        vault.send(&request.json(json!({"args": 1}))).with_status(200).json
    };
    assert_eq!(send(), send());
}

#[test]
fn a_repetition_gets_the_response_of_the_newer_contract() {
    let vault = Vault::start();
    let send = |id: &str, key: &str| {
        let request = post(&format!("/reactors/{id}/react")).key(&vault.keys.private);
        vault.send(&request.once(key).json(json!({"args": 1})))
    };
    let node = |code: &str| {
        create(&vault, json!({"name": "r", "code": code, "runtime": {"image": "node22"}}))
    };
    let own = node(
        "module.exports = () => ({ res: { statusCode: 402, headers: { 'X-Own': '1',
         'Set-Cookie': 'a=1' }, body: 'no ' + Math.random() } });",
    );
    let (first, again) = (send(&own, "once").with_status(402), send(&own, "once").with_status(402));
    assert_eq!(first.text(), again.text());
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    assert_eq!(first.header("bt-idempotent-replayed"), None);
    for name in ["x-own", "content-type", "content-security-policy"] {
        assert_eq!(first.header(name), again.header(name), "{name}");
        assert!(first.header(name).is_some(), "{name}");
    }
    assert_eq!(again.header("set-cookie"), None);
    // A failure of the program is not remembered.
    let random = node("module.exports = () => ({ res: { statusCode: 100 + Math.random() } });");
    for _ in 0..2 {
        let failed = send(&random, "failed").with_status(502);
        assert_eq!(failed.header("bt-idempotent-replayed"), None);
    }
    // The program runs once, although its answer is too large to be kept.
    let large = reactor(&vault, "module.exports = () => ({ raw: 'x'.repeat(1_500_000) });");
    assert!(send(&large, "large").with_status(200).text().len() > 1_500_000);
    let again = send(&large, "large").with_status(500);
    assert_eq!(again.header("bt-idempotent-replayed"), Some("true"));
    assert!(again.text().contains("too large to be kept"), "{}", again.text());
}

#[test]
fn programs_call_each_other_only_so_deep_and_start_nothing_that_outlives_them() {
    let vault = Vault::start();
    let application = vault.application("private", &["reactor:invoke"], &json!([]));
    let code = "module.exports = async ({ bt, args }) => {
        try { return await bt.reactors.react(args.id, { args }); }
        catch (error) { return { raw: error.status }; } };";
    let id =
        create(&vault, json!({"name": "r", "code": code, "application": {"id": application.id()}}));
    let answer = react(&vault, &id, &json!({"id": id})).with_status(200);
    assert_eq!(answer.json["raw"], 403);
}

/// A program that calls its vault through the public address cannot call itself for ever.
#[test]
fn requests_of_programs_have_marks_that_count_as_depth_when_they_come_back() {
    const HOPS: &str = "CDN-Loop";
    let scene = Scene::start();
    let (vault, key) = (&scene.vault, &scene.vault.keys.private);
    let code = "module.exports = async ({ args, applicationOptions }) => {
        const direct = { 'CDN-Loop': 'cdn.example' };
        const through = { 'BT-API-KEY': args.key, 'BT-PROXY-URL': args.url };
        const url = args.through ? applicationOptions.baseUrl + '/proxy' : args.url;
        await fetch(url, { method: 'POST', headers: args.through ? through : direct });
        return {}; };";
    let id = reactor(vault, code);
    let url = scene.psp.url("/echo");
    let call = |marks: &str, through: bool| {
        let request = post(&format!("/reactors/{id}/react")).key(key).header(HOPS, marks);
        scene.send(&request.json(json!({"args": {"url": url, "key": key, "through": through}})))
    };
    let sent = || {
        let received = scene.psp.received_once();
        let names = received.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(HOPS));
        let values: Vec<_> = names.map(|(_, value)| value.clone()).collect();
        let marks = values.iter().flat_map(|it| it.split(',')).map(|it| String::from(it.trim()));
        marks.filter(|it| it != "cdn.example").collect::<Vec<_>>()
    };
    call("other.example", false).with_status(200);
    let first = sent();
    assert_eq!(first.len(), 1, "{first:?}");
    let name = first[0].as_str();
    for through in [false, true] {
        for depth in 0..3 {
            call(&vec![name; depth].join(","), through).with_status(200);
            assert_eq!(sent(), vec![name; depth + 1], "{through}");
        }
        let refused = call(&[name; 3].join(", "), through).problem(403);
        assert!(refused.text().contains("Too many programs"), "{}", refused.text());
        assert!(scene.psp.received().is_empty());
    }
    // Marks are for programs alone: a plain proxy neither adds nor refuses them.
    scene.send(&scene.call("/echo")).with_status(200);
    assert_eq!(sent(), [""; 0]);
    let many = [name; 20].join(",");
    scene.send(&scene.call("/echo").header(HOPS, &many)).with_status(200);
    assert_eq!(sent().len(), 20);
    let read = get(&format!("/tokens/{}", scene.card)).key(key).header(HOPS, &many);
    scene.send(&read).with_status(200);
    // A transform cannot take them away.
    let code = "module.exports = async () => ({ headers: {}, body: 'x' });";
    let proxy = scene.proxy(json!({"request_transforms": [{"type": "code", "code": code}]}));
    let through = post("/proxy").key(key).header("BT-PROXY-KEY", &proxy.member("key"));
    scene.send(&through.header(HOPS, name).body("y")).with_status(200);
    assert_eq!(sent(), [name]);
}

/// An id that counts would count the lines of other tenants, too.
#[test]
fn ids_of_lines_are_random_and_pages_of_lines_follow_each_other() {
    needs_one_process!("lines are kept by the process that ran their program");
    let vault = Vault::start();
    let code = "module.exports = () => { for (let at = 0; at < 5; at++) console.log('line ' + at);
        return {}; };";
    let kept = json!({"image": "node-bt", "logs": {"enabled": true}});
    let id = create(&vault, json!({"name": "r", "code": code, "runtime": kept}));
    react(&vault, &id, &json!(1)).with_status(200);
    let reader = vault.key_with("management", &["log:read"], &json!([]));
    let page = |query: &str| vault.get(&format!("/reactors/{id}/logs?{query}"), &reader);
    let (mut messages, mut ids, mut query) = (Vec::new(), Vec::new(), String::from("size=2"));
    for turn in 0.. {
        assert!(turn < 10, "the pages have no end");
        let found = page(&query).with_status(200);
        messages.extend(found.each("message"));
        ids.extend(found.each("id"));
        let Some(next) = found.json["pagination"]["next"].as_str() else { break };
        query = format!("size=2&start={next}");
    }
    let ended = "The call ended.";
    assert_eq!(messages, [ended, "line 4", "line 3", "line 2", "line 1", "line 0"]);
    // A random UUID has its version at this place.
    assert!(ids.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'4'), "{ids:?}");
    let firsts: BTreeSet<_> = ids.iter().map(|id| id.split('-').next()).collect();
    assert_eq!(firsts.len(), 6, "{ids:?}");
    let failing =
        json!({"name": "r", "code": "module.exports = () => { throw new Error('own'); }"});
    let patch = format!("/reactors/{id}");
    let manage = vault.key_with("management", &["reactor:update"], &json!([]));
    vault.send(&crate::harness::patch(&patch).key(&manage).json(failing)).with_status(204);
    react(&vault, &id, &json!(1)).with_status(500);
    let failed = "The call failed: the program threw an error";
    for (query, expected) in [
        ("record_type=lifecycle", &[failed, ended][..]),
        ("source=platform&outcome=success", &[ended]),
        ("event=failed", &[failed]),
        ("event=other", &[]),
        ("record_type=log&message=line%203", &["line 3"]),
        ("source=application&outcome=success", &[]),
    ] {
        assert_eq!(page(query).with_status(200).each("message"), expected, "{query}");
    }
    let failed = &page("event=failed").json["data"][0];
    assert!(failed["duration_ms"].is_u64() && failed["level"] == "error", "{failed}");
    assert_eq!(failed["error"], "the program threw an error");
    assert_eq!(failed["attributes"], json!({"event": "failed", "outcome": "failure"}));
    page("start=AAAAAAAAAAc").invalid(&["start"]);
}

#[test]
fn code_transforms_change_requests_and_answers_in_the_order_of_the_list() {
    let scene = Scene::start();
    let vault = &scene.vault;
    let management = vault.key_with("management", &["proxy:create"], &json!([]));
    let request =
        "module.exports = async (req) => ({ headers: { ...req.args.headers, 'X-Signed': '1' },
        body: JSON.stringify({ ...req.args.body, path: req.args.path }) });";
    let response = "module.exports = (req) => ({ headers: req.args.headers,
        body: { seen: req.args.body } });";
    let made = vault
        .post(
            "/proxies",
            &management,
            json!({"name": "p", "destination_url": scene.psp.url("/echo"),
                "request_transforms": [{"type": "code", "code": request},
                    {"type": "append_json", "options": {"location": "$.last", "value": true}}],
                "response_transforms": [{"code": response}]}),
        )
        .with_status(201);
    let call = post("/proxy/a?b=c").key(&vault.keys.private);
    let call = call.header("BT-PROXY-KEY", &made.member("key"));
    let answer = scene.send(&call.json(json!({"amount": 1}))).with_status(200);
    assert!(answer.json["seen"].to_string().contains("\\\"last\\\":true"), "{}", answer.text());
    let fails = "module.exports = () => { throw new Error('no'); };";
    let made = vault
        .post(
            "/proxies",
            &management,
            json!({"name": "p", "destination_url": scene.psp.url("/echo"),
                "request_transform": {"code": fails}}),
        )
        .with_status(201);
    let call = post("/proxy").key(&vault.keys.private);
    let call = call.header("BT-PROXY-KEY", &made.member("key"));
    let refused = scene.send(&call.json(json!({"amount": 1})));
    assert_eq!(refused.json["proxy_error"]["status"], 500);
    assert_eq!(refused.header("bt-proxy-destination-status"), None);
}

#[test]
fn a_value_of_a_program_is_in_no_log_metric_or_entry_of_the_server() {
    let mut vault = Vault::start();
    let code = "module.exports = (req) => { console.log(req.args); throw new Error(req.args); };";
    let id = reactor(&vault, code);
    let answer = react(&vault, &id, &json!(MARKER));
    assert!(answer.text().contains(MARKER), "the caller sees the program's own message");
    let path = format!("/reactors/{id}/react-async");
    vault.post(&path, &vault.keys.private, json!({"args": MARKER})).with_status(202);
    wait_until("the end of the second call", || {
        vault.acts("entity_type=reactor_result").iter().any(|act| act == "update")
    });
    let entries = json!(vault.logged("size=100")).to_string();
    assert!(entries.contains(&id), "{entries}");
    let metrics = on_socket(&vault, "/metrics").1;
    assert!(metrics.contains("strongroom_program"), "{metrics}");
    for shown in [entries, metrics] {
        assert!(!shown.contains(MARKER), "{shown}");
    }
    vault.assert_nowhere(&[MARKER]);
    assert_eq!(vault.stop(), Some(0));
    let log = vault.log();
    assert!(!log.contains(MARKER) && !log.contains("program 1"), "{log}");
}

#[test]
fn a_traced_development_server_prints_calls_and_their_lines_but_no_values_of_its_own() {
    const SECRET: &str = "sk_of_the_configuration";
    needs_one_process!("a process prints its own calls");
    let mut vault = Vault::start_with(&["--code-trace"]);
    let application = vault.application("private", &["token:create"], &json!([]));
    let code = "module.exports = async ({ args, bt }) => {
        console.log('begins', Object.keys(args).length);
        console.warn('one\\nprogram 9 of x starts \\u001b[31m');
        console.error('card 4242424242424242');
        if (args.fail) throw new Error(args.fail);
        while (args.loops) {}
        return { raw: args };
    };";
    let body = json!({"name": "r", "code": code, "configuration": {"secret": SECRET},
        "application": {"id": application.id()}, "runtime": {"timeout": 1}});
    let id = create(&vault, body);
    react(&vault, &id, &json!({"value": MARKER})).with_status(200);
    react(&vault, &id, &json!({"fail": MARKER})).with_status(500);
    react(&vault, &id, &json!({"loops": true})).with_status(500);
    let none = reactor(&vault, "module.exports = 1;");
    react(&vault, &none, &json!({})).with_status(422);
    assert_eq!(vault.stop(), Some(0));
    let log = vault.log();
    let traced: Vec<_> = log.lines().filter(|line| line.starts_with("program ")).collect();
    let of = |number: usize| {
        let start = format!("program {number} ");
        let own = traced.iter().filter_map(move |line| line.strip_prefix(&start));
        own.map(|line| String::from(line.split(" ms: ").last().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(
        of(1),
        [
            format!("of {id} starts").as_str(),
            "info: begins 1",
            "warn: one\\u000aprogram 9 of x starts \\u001b[31m",
            "error: (a line with digits of a card number)",
            "returned",
        ]
    );
    assert_eq!(
        [of(2), of(3), of(4)].map(|it| it.last().unwrap().clone()),
        ["threw", "timed_out", "not_a_program"]
    );
    assert!(traced.iter().any(|line| line.starts_with("program 3 ends after 1")), "{log}");
    for value in [MARKER, SECRET, CARD, "key_test", "9 of x starts\n"] {
        assert!(!traced.iter().any(|line| line.contains(value)), "{value}: {log}");
    }
    assert_eq!(of(9), [""; 0], "a line of a program stays one line");
    run(&["serve", "--code-trace"]).with_code(64);
}
