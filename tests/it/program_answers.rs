//! Answers of programs that are kept: for an idempotency key, and of calls without a waiting caller.
//! They may repeat the values that the program got, so they end with these values and with the
//! rights to them.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, post, wait_until};

const NUMBER: &str = "4242424242424242";
const HOUR_S: u64 = 3_600;

/// A call of each kind whose answer is kept.
struct Kept {
    vault: Vault,
    token: String,
    args: String,
    caller: String,
    application: String,
    reactor: String,
    result: String,
}

impl Kept {
    fn by((code, args): (&str, &str), data: Value) -> Self {
        let vault = Vault::start();
        let token = vault.token(data);
        let application =
            vault.application("private", &["token:use", "reactor:invoke"], &json!([]));
        let caller = application.member("key");
        let rule = json!([{"description": "all", "priority": 1, "container": "/",
            "transform": "reveal",
            "permissions": ["token:read", "token:create", "token:delete"]}]);
        let reads = vault.application("private", &[], &rule);
        let make = vault.key_with("management", &["reactor:create"], &json!([]));
        let body = json!({"name": "r", "code": code, "application": {"id": reads.id()}});
        let reactor = vault.post("/reactors", &make, body).with_status(201).id();
        let application = application.id();
        let (args, result) = (args.replace("ID", &token), String::new());
        let mut kept = Self { vault, token, args, caller, application, reactor, result };
        kept.react().with_status(200);
        let path = format!("/reactors/{}/react-async", kept.reactor);
        let accepted = kept.vault.post(&path, &kept.caller, kept.body()).with_status(202);
        let request = accepted.member("asyncReactorRequestId");
        kept.result = format!("/reactors/{}/results/{request}", kept.reactor);
        wait_until("the result", || kept.result().status != 404);
        kept
    }

    fn body(&self) -> Value {
        json!({"args": self.args})
    }

    fn react(&self) -> Answer {
        let request = post(&format!("/reactors/{}/react", self.reactor)).key(&self.caller);
        self.vault.send(&request.once("once").json(self.body()))
    }

    fn result(&self) -> Answer {
        self.vault.get(&self.result, &self.caller)
    }

    /// `None` for an answer that is gone.
    #[track_caller]
    fn check(&self, shown: Option<&[&str]>) {
        for answer in [self.react(), self.result()] {
            let text = answer.text();
            assert_eq!(answer.status, if shown.is_some() { 200 } else { 410 }, "{text}");
            for value in shown.unwrap_or_default() {
                assert!(text.contains(value), "{text}");
            }
        }
    }
}

/// The arguments have an expression for the value, or the id alone: then the program reads the token
/// itself, with the rights of its own application.
const WAYS: [(&str, &str); 2] = [
    ("module.exports = ({ args }) => ({ raw: args });", "{{ID}}"),
    ("module.exports = async ({ args, bt }) => ({ raw: await bt.tokens.retrieve(args) });", "ID"),
];

fn card() -> Value {
    json!({"type": "card", "data": {
        "number": NUMBER, "expiration_month": 12, "expiration_year": 2040, "cvc": "987"}})
}

#[test]
fn an_answer_of_a_program_is_kept_no_longer_than_a_code_that_it_got() {
    for way in WAYS {
        let kept = Kept::by(way, card());
        kept.vault.advance(HOUR_S - 60);
        kept.check(Some(&[NUMBER, "987"]));
        kept.vault.advance(60);
        kept.check(None);
    }
    let text = Kept::by(WAYS[0], json!({"type": "token", "data": "Jane Q"}));
    text.vault.advance(23 * HOUR_S);
    text.check(Some(&["Jane Q"]));
}

#[test]
fn an_answer_of_a_program_ends_with_a_token_whose_value_it_got() {
    for way in WAYS {
        let mut kept = Kept::by(way, json!({"type": "token", "data": NUMBER}));
        kept.check(Some(&[NUMBER]));
        kept.vault
            .delete(&format!("/tokens/{}", kept.token), &kept.vault.keys.private)
            .with_status(204);
        kept.check(None);
        kept.vault.stop_and_verify();
    }
}

/// Beside the answer that ends with the code, one that does not hold it stays.
#[test]
fn an_answer_with_a_code_ends_when_the_code_is_used_deleted_or_replaced() {
    let silent = ("module.exports = ({ args }) => ({ raw: args.number });", "{{ID}}");
    let body = |data: Value| json!({"data": data});
    for (way, is_kept) in [(WAYS[0], false), (silent, true)] {
        for end in 0..3 {
            let kept = Kept::by(way, card());
            kept.check(Some(&[NUMBER]));
            let (vault, key) = (&kept.vault, &kept.vault.keys.private);
            let path = format!("/tokens/{}", kept.token);
            match end {
                0 => drop(vault.delete(&format!("{path}/cvc"), key).with_status(204)),
                1 => drop(vault.patch(&kept.token, body(json!({"cvc": "111"}))).with_status(200)),
                _ => {
                    let manage = vault.key_with("management", &["tenant:update"], &json!([]));
                    let settings =
                        json!({"name": "t", "settings": {"destroy_cvc_after_use": "true"}});
                    vault.put("/tenants/self", &manage, settings).with_status(200);
                    let request = post(&format!("/reactors/{}/react", kept.reactor));
                    let request = request.key(&kept.caller).once("other");
                    let called = || vault.send(&request.clone().json(kept.body()));
                    called().with_status(200);
                    // The call itself used the code before its answer was kept.
                    assert_eq!(called().status, if is_kept { 200 } else { 410 });
                }
            }
            kept.check(if is_kept { Some(&[NUMBER]) } else { None });
        }
    }
}

#[test]
fn an_answer_of_a_program_ends_with_a_token_that_the_program_made() {
    let code = "module.exports = async ({ args, bt }) =>
        ({ raw: await bt.tokens.create({ type: 'token', data: 'made of ' + args }) });";
    let kept = Kept::by((code, "{{ID}}"), json!({"type": "token", "data": "Jane"}));
    let made = [kept.react(), kept.result()].map(|answer| answer.json["raw"]["id"].clone());
    kept.check(Some(&["made of Jane"]));
    for id in made {
        let path = format!("/tokens/{}", id.as_str().unwrap());
        kept.vault.delete(&path, &kept.vault.keys.private).with_status(204);
    }
    kept.check(None);
}

/// Else its caller would never learn that it was done.
#[test]
fn an_answer_of_a_program_outlives_what_the_program_itself_deleted() {
    let code = "module.exports = async ({ args, bt }) => {
        const { id } = await bt.tokens.create({ type: 'token', data: args });
        await bt.tokens.delete(id);
        return { raw: { charged: true } };
    };";
    let kept = Kept::by((code, "{{ID}}"), json!({"type": "token", "data": "Jane"}));
    kept.check(Some(&["charged"]));
}

#[test]
fn an_answer_with_the_code_of_a_card_that_its_program_deleted_ends_with_the_code() {
    let code = "module.exports = async ({ args, bt }) => {
        const data = { number: '4242424242424242', expirationMonth: 12, expirationYear: 2040,
            cvc: args };
        const made = await bt.tokens.create({ type: 'card', data });
        await bt.tokens.delete(made.id);
        return { raw: made };
    };";
    let kept = Kept::by((code, "987"), json!({"type": "token", "data": "Jane"}));
    kept.check(Some(&["987"]));
    kept.vault.advance(HOUR_S);
    kept.check(None);
}

#[test]
fn an_answer_of_a_program_is_refused_to_a_caller_that_lost_the_right_to_its_values() {
    let kept = Kept::by(WAYS[0], json!({"type": "token", "data": NUMBER}));
    let manage = kept.vault.key_with("management", &["application:update"], &json!([]));
    let body = json!({"name": "a", "permissions": ["reactor:invoke"]});
    kept.vault.put(&format!("/applications/{}", kept.application), &manage, body).with_status(200);
    for answer in [kept.react(), kept.result()] {
        answer.problem(403);
    }
}

#[test]
fn a_repetition_of_a_programs_answer_is_audited_as_a_read_of_its_values() {
    let kept = Kept::by(WAYS[0], json!({"type": "token", "data": NUMBER}));
    let reads = || {
        let reader = kept.vault.key_with("management", &["log:read"], &json!([]));
        let logs = format!("/logs?entity_type=token&entity_id={}", kept.token);
        let logs = kept.vault.get(&logs, &reader).with_status(200);
        logs.each("operation").iter().filter(|operation| *operation == "read").count()
    };
    let before = reads();
    kept.check(Some(&[NUMBER]));
    assert_eq!(reads(), before + 2);
}
