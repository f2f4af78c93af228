//! `strongroom import`: what becomes of the rows of a file, what is refused, and what a kill leaves.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::archive::text;
use crate::harness::{Ended, NUMBER, Request, Running, Vault, json_lines, thorough, wait_until};

const CARDS: [&str; 10] = [
    "--format",
    "csv",
    "--map",
    "pan=data.number",
    "--map",
    "exp=expiration",
    "--map",
    "customer=metadata.customer_id",
    "--type",
    "card",
];

/// A number of sixteen digits with a valid check digit.
fn card_number(number: usize) -> String {
    let digits = format!("4{number:014}");
    let doubled = digits.bytes().rev().enumerate().map(|(at, byte)| {
        let digit = u32::from(byte - b'0') * if at % 2 == 0 { 2 } else { 1 };
        digit / 10 + digit % 10
    });
    let check = (10 - doubled.sum::<u32>() % 10) % 10;
    format!("{digits}{check}")
}

fn cards(count: usize) -> String {
    (0..count).fold(String::from("pan,exp,customer\n"), |mut file, number| {
        writeln!(file, "{},12/31,customer {}", card_number(number), number / 2).unwrap();
        file
    })
}

impl Vault {
    fn import(&self, name: &str, file: &str, options: &[&str]) -> Ended {
        let path = self.directory().write(name, file, 0o600);
        let fixed = ["import", "--tenant", &self.tenant_id];
        self.operator(&[&fixed, options, &[text(&path)]].concat())
    }

    fn of_customer(&self, customer: &str) -> Vec<Value> {
        let query = format!("/v2/tokens?metadata.customer_id={customer}");
        let found = self.get(&query.replace(' ', "%20"), &self.keys.private).with_status(200);
        found.json["data"].as_array().unwrap().clone()
    }
}

/// The number of tokens, of a stopped vault that is whole.
fn count(vault: &Vault) -> String {
    let report = vault.verify().with_code(0).stdout;
    let line = report.lines().find_map(|line| line.strip_prefix("tokens:"));
    String::from(line.unwrap().trim())
}

#[test]
fn rows_become_tokens_where_the_map_says() {
    let vault = Vault::start();
    let file = "\u{feff}id,pan;exp".replace("id,pan;", "id;pan;")
        + ";customer;note\r\n\
        a-name;4242424242424242;12/31;c 1;x\r\n\
        018bcfe5-6800-4abc-8abc-0123456789ab;5555555555554444;2030-01;\"c; \"\"2\"\"\";y\r\n\
        ;378282246310005;;c 1;z\r\n";
    let options =
        [&CARDS[..], &["--delimiter", ";", "--ignore", "note", "--set", "containers=/pci/high/x/"]];
    let done = vault.import("cards.csv", &file, &options.concat()).with_code(0);
    assert!(done.stdout.contains("created:       3\n"), "{}", done.stdout);
    assert!(!format!("{}{}", done.stdout, done.stderr).contains("42424242"));
    let named = vault.get("/tokens/a-name", &vault.keys.private).with_status(200).json;
    assert_eq!(named["data"]["number"], "4242424242424242");
    assert_eq!(named["data"]["expiration_month"], 12);
    assert_eq!(named["data"]["expiration_year"], 2031);
    assert_eq!(named["containers"], json!(["/pci/high/x/"]));
    assert_eq!(named["metadata"], json!({"customer_id": "c 1"}));
    let id = "018bcfe5-6800-4abc-8abc-0123456789ab";
    let kept = vault.read(id).with_status(200).json;
    assert_eq!((&kept["id"], &kept["metadata"]["customer_id"]), (&json!(id), &json!("c; \"2\"")));
    assert_eq!(vault.of_customer("c 1").len(), 2);
    let entries = vault.chain();
    let imported = |kind: &str| {
        let is = |it: &&Value| it["operation"] == "import" && it["entity_type"] == kind;
        entries.iter().filter(is).map(|it| it["actor_type"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(imported("tenant"), ["operator"]);
    assert_eq!(imported("token"), ["operator"; 3]);
}

#[test]
fn a_dry_run_reports_all_bad_rows_and_writes_nothing() {
    let vault = Vault::start();
    let mut file = String::from("id,pan,exp,customer\n");
    file += "one,4242424242424243,12/31,c\n"; // check digit
    file += "two,4242424242424242,13/31,c\n"; // month
    file += "three,4242424242424242,soon,c\n";
    file += "four,\"4242424242424242,12/31,c\n\"x,,,\n"; // text behind a quotation mark
    file += "five,4242424242424242,12/31\n"; // a field is missing
    file += "{{ data.number }},4242424242424242,12/31,c\n";
    file += "one,4242424242424242,12/31,c\n";
    file += "one,4242424242424242,12/31,c\n"; // its id again
    file += "good,4242424242424242,12/31,c\n";
    file += "x4242-4242-4242-4242,4242424242424242,12/31,c\n"; // its number
    file += "5555555555554444,4242424242424242,12/31,c\n"; // may be an alias
    let options = [&CARDS[..], &["--dry-run"]].concat();
    let done = vault.import("cards.csv", &file, &options).with_code(65);
    let lines = [
        "line 2: data.number: ",
        "line 3: data.expiration_month: ",
        "line 4: expiration: ",
        "line 5: $: ",
        "line 7: $: ",
        "line 8: id: ",
        "line 10: id: ",
        "line 12: id: ",
    ];
    for line in lines {
        assert!(done.stdout.contains(line), "{line}: {}", done.stdout);
    }
    assert!(done.stdout.contains("bad rows:      8\n"), "{}", done.stdout);
    for value in ["4242", "soon", "13/31"] {
        assert!(!done.stdout.contains(value) && !done.stderr.contains(value), "{value}");
    }
    let options = [&options[..], &["--json"]].concat();
    let done = vault.import("again.csv", &file, &options).with_code(65);
    let found = json_lines(&done.stdout);
    assert_eq!(found[0]["line"], 2);
    assert_eq!(found[0]["path"], "data.number");
    assert_eq!(found.last().unwrap()["bad"], 8);
    vault.get("/tokens/good", &vault.keys.private).problem(404);
    let done = vault.import("cards.csv", &file, &CARDS).with_code(65);
    assert!(done.stderr.contains("line 2: data.number: "), "{}", done.stderr);
    vault.get("/tokens/good", &vault.keys.private).problem(404);
}

#[test]
fn names_in_a_file_reach_the_terminal_without_commands_and_numbers() {
    let vault = Vault::start();
    let row = json!({
        "type": "token", "data": "x",
        "metadata": {"a\u{1b}[31m\u{9b}2J": 1, "4242424242424242": 2, "b": 3},
    });
    for (form, options) in [("text", &["--dry-run"][..]), ("json", &["--dry-run", "--json"])] {
        let options = [&["--format", "jsonl"], options].concat();
        let done = vault.import("t\u{1b}]0;x\u{7}.jsonl", &format!("{row}\n"), &options);
        let done = done.with_code(65);
        let all = format!("{}{}", done.stdout, done.stderr);
        assert!(all.contains("metadata.a\\u001b[31m") || form == "json", "{all}");
        assert!(all.contains("metadata.b"), "{all}");
        assert!(!all.contains(|it: char| it.is_control() && it != '\n'), "{all:?}");
        assert!(!all.contains("42424242"), "{all}");
    }
}

#[test]
fn bad_rows_are_passed_over_and_listed_if_the_operator_says_so() {
    let vault = Vault::start();
    let file = "id,data\nfirst,a\nthird,\nsecond,b\n";
    let list = vault.directory().join("bad.jsonl");
    let options = ["--format", "csv", "--type", "token", "--skip-bad", text(&list)];
    let done = vault.import("t.csv", file, &options).with_code(0);
    assert!(done.stdout.contains("created:       2\n"), "{}", done.stdout);
    let listed = std::fs::read_to_string(&list).unwrap();
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!((&listed["line"], &listed["path"]), (&json!(3), &json!("data")));
    assert_eq!(std::fs::metadata(&list).unwrap().permissions().mode() & 0o777, 0o600);
    vault.get("/tokens/second", &vault.keys.private).with_status(200);
    // The list is never overwritten.
    let done = vault.import("u.csv", "id,data\nthird,c\n", &options).with_code(65);
    assert!(done.stderr.contains("list of bad rows"), "{}", done.stderr);
}

#[test]
fn a_file_is_imported_once_and_again_only_on_demand() {
    let mut vault = Vault::start();
    let file = cards(3);
    vault.import("cards.csv", &file, &CARDS).with_code(0);
    let done = vault.import("cards.csv", &file, &CARDS).with_code(0);
    assert!(done.stdout.contains("imported already"), "{}", done.stdout);
    let again = [&CARDS[..], &["--again"]].concat();
    vault.import("cards.csv", &file, &again).with_code(0);
    // Other options make another import.
    let once = [&CARDS[..], &["--deduplicate"]].concat();
    let done =
        vault.import("cards.csv", &(cards(4) + cards(4).get(17..).unwrap()), &once).with_code(0);
    assert!(done.stdout.contains("created:       1\n"), "{}", done.stdout);
    assert!(done.stdout.contains("duplicates:    7\n"), "{}", done.stdout);
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(count(&vault), "7");
}

#[test]
fn an_import_goes_on_after_a_kill_of_the_command_and_of_the_server() {
    let rows = thorough(3_000, 12_000);
    let mut vault = Vault::start();
    let path = vault.directory().write("cards.csv", cards(rows), 0o600);
    let config = vault.config();
    let fixed = ["import", "--tenant", &vault.tenant_id.clone(), "--config", text(&config)];
    let fixed: Vec<String> = fixed.iter().chain(&CARDS).map(|it| String::from(*it)).collect();
    let arguments: Vec<&str> = fixed.iter().map(String::as_str).chain([text(&path)]).collect();
    let log = vault.directory().join("import.log");
    let is_begun = |vault: &Vault, customer: usize| {
        !vault.of_customer(&format!("customer {customer}")).is_empty()
    };
    let mut command = Running::start(&arguments, &log);
    wait_until("the first rows of the import", || is_begun(&vault, 10));
    command.kill();
    // The server goes next, while the import goes on.
    let mut command = Running::start(&arguments, &log);
    wait_until("further rows of the import", || is_begun(&vault, rows / 5));
    vault.kill();
    command.wait();
    vault.restart();
    let done = crate::harness::run(&arguments).with_code(0);
    assert!(done.stdout.contains("complete") || done.stdout.contains("already"), "{}", done.stdout);
    assert_eq!(vault.of_customer(&format!("customer {}", rows / 2 - 1)).len(), 2);
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(count(&vault), rows.to_string(), "no row is lost, and none is there twice");
}

#[test]
fn an_import_goes_on_only_with_the_same_file() {
    let vault = Vault::start();
    let lines = |last: &str| {
        let rows: Vec<_> = (0..1_500).map(|at| format!("{{\"data\":\"row {at}\"}}\n")).collect();
        let rows = rows.concat();
        format!("{rows}{{\"data\":\"{last}\"}}\n")
    };
    // A stream that breaks off in a bad row has its first page written.
    let options =
        ["import", "--tenant", &vault.tenant_id, "--format", "jsonl", "--type", "token", "-"];
    let broken = lines("x").replace("{\"data\":\"row 1200\"}", "{");
    let done = vault.operator_with_input(&options, &broken).with_code(65);
    assert!(done.stderr.contains("line 1201: $: "), "{}", done.stderr);
    let done = vault.operator_with_input(&options, &lines("x")).with_code(0);
    assert!(done.stdout.contains("went on after: 1000 rows"), "{}", done.stdout);
    assert!(done.stdout.contains("created:       1501\n"), "{}", done.stdout);
}

#[test]
fn a_file_that_has_changed_since_it_was_imported_is_not_taken_for_it() {
    let mut vault = Vault::start();
    vault.import("cards.csv", &cards(1_001), &CARDS).with_code(0);
    let shorter = cards(1_001).lines().take(1_001).collect::<Vec<_>>().join("\n");
    let other = cards(1_001).replace("customer 500\n", "customer x\n");
    for changed in [cards(1_500), shorter, other] {
        let done = vault.import("cards.csv", &changed, &CARDS).with_code(65);
        assert!(done.stderr.contains("has changed since"), "{}", done.stderr);
        assert!(done.stderr.contains("--again"), "{}", done.stderr);
        let path = vault.directory().join("cards.csv");
        let stream = [&["import", "--tenant", &vault.tenant_id], &CARDS[..], &["-"]].concat();
        let stream = vault.operator_with_input(&stream, &std::fs::read_to_string(path).unwrap());
        assert!(stream.with_code(65).stderr.contains("has changed since"));
    }
    vault.import("cards.csv", &cards(1_001), &CARDS).with_code(0);
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(count(&vault), "1001");
}

#[test]
fn cells_are_values_and_never_expressions() {
    let vault = Vault::start();
    let victim = vault.token(json!({"type": "token", "data": "mARKvictim"}));
    let file =
        format!("id,data,metadata.a\nplain,{{{{ {victim} }}}},{{{{ {victim} | json: '$' }}}}\n");
    vault.import("t.csv", &file, &["--format", "csv", "--type", "token"]).with_code(0);
    let shown = vault.get("/tokens/plain", &vault.keys.private).with_status(200);
    assert_eq!(shown.json["data"], format!("{{{{ {victim} }}}}"));
    assert!(!shown.text().contains("mARKvictim"));
    for column in ["mask", "search_indexes", "fingerprint_expression"] {
        let file = format!("data,{column}\nx,y\n");
        vault.import("t.csv", &file, &["--format", "csv", "--type", "token"]).with_code(65);
    }
    // Intents and encrypted values are not imported.
    for member in ["\"token_intent_id\":\"x\"", "\"encrypted\":\"x\""] {
        let line = format!("{{{member},\"type\":\"token\"}}\n");
        vault.import("t.jsonl", &line, &["--format", "jsonl"]).with_code(65);
    }
}

#[test]
fn a_card_is_imported_without_its_verification_code() {
    let vault = Vault::start();
    let card =
        json!({"number": NUMBER, "expiration_month": 12, "expiration_year": 2040, "cvc": "737"});
    let line = format!("{}\n", json!({"id": "with-code", "type": "card", "data": card}));
    vault.import("t.jsonl", &line, &["--format", "jsonl"]).with_code(0);
    let shown = vault.get("/tokens/with-code", &vault.keys.private).with_status(200);
    assert_eq!(shown.json["data"]["number"], NUMBER);
    assert!(!shown.text().contains("737"), "{}", shown.text());
}

#[test]
fn a_row_keeps_its_id_though_the_tenant_stores_no_content_twice() {
    let vault = Vault::start();
    let settings = json!({"name": "t", "settings": {"deduplicate_tokens": "true"}});
    vault
        .send(&Request::new("PUT", "/tenants/self").key(&vault.keys.management).json(settings))
        .with_status(200);
    let here = vault.token(json!({"type": "token", "data": "twice"}));
    let row = "{\"id\":\"old-id\",\"type\":\"token\",\"data\":\"twice\"}\n";
    vault.import("t.jsonl", row, &["--format", "jsonl"]).with_code(0);
    vault.get("/tokens/old-id", &vault.keys.private).with_status(200);
    assert_ne!(here, "old-id");
    // The operator's option leaves it out.
    let row = row.replace("old-id", "older-id");
    vault.import("u.jsonl", &row, &["--format", "jsonl", "--deduplicate"]).with_code(0);
    vault.get("/tokens/older-id", &vault.keys.private).problem(404);
}

#[test]
fn the_quota_of_the_tenant_holds_before_the_first_row_is_written() {
    let mut vault = Vault::start_with(&["--quota", "token_limit=5"]);
    vault.token(json!({"type": "token", "data": 1}));
    let done = vault.import("cards.csv", &cards(5), &CARDS).with_code(65);
    assert!(done.stderr.contains("token_limit"), "{}", done.stderr);
    vault.import("cards.csv", &cards(4), &CARDS).with_code(0);
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(count(&vault), "5");
}

#[test]
fn applications_keep_their_ids_and_keys_if_the_operator_wants_them() {
    let vault = Vault::start();
    let (id, key) = ("018bcfe5-6800-4abc-8abc-000000000001", "key_other_service_1234567890abcdef");
    let line = json!({
        "kind": "application", "id": id, "name": "Moved", "type": "private", "keys": [key],
        "rules": [{"priority": 1, "container": "/", "transform": "reveal",
                   "permissions": ["token:create", "token:read"]}],
    });
    let file = format!("{line}\n{{\"id\":\"moved\",\"type\":\"token\",\"data\":\"v\"}}\n");
    vault.import("a.jsonl", &file, &["--format", "jsonl"]).with_code(0);
    vault.get("/tokens/moved", key).problem(401);
    let options = ["--format", "jsonl", "--applications"];
    let other = file.replace("\"moved\"", "\"moved-2\"");
    let done = vault.import("a.jsonl", &other, &options).with_code(0);
    assert!(done.stdout.contains("applications:  1\n"), "{}", done.stdout);
    assert!(done.stdout.contains("keys:          1\n"), "{}", done.stdout);
    assert!(!format!("{}{}", done.stdout, done.stderr).contains(key));
    assert_eq!(vault.get("/tokens/moved-2", key).with_status(200).json["data"], "v");
    assert_eq!(vault.get("/applications/key", key).with_status(200).id(), id);
    // The key of one application is never given to another.
    let stolen = file.replace(id, "018bcfe5-6800-4abc-8abc-000000000002");
    let stolen = stolen.replace("\"moved\"", "\"moved-3\"");
    vault.import("a.jsonl", &stolen, &options).with_code(65);
    vault.get("/tokens/moved-3", &vault.keys.private).problem(404);
}

#[test]
fn an_import_gives_no_application_that_exists_another_key() {
    let vault = Vault::start();
    let options = ["--format", "jsonl", "--applications"];
    let key = "key_other_service_1234567890abcdef";
    let owner = vault.get("/applications/key", &vault.keys.management).with_status(200).json;
    let row = json!({
        "kind": "application", "id": owner["id"], "name": "innocent", "type": "public",
        "permissions": ["token:create"], "keys": [key],
    });
    let done = vault.import("a.jsonl", &format!("{row}\n"), &options).with_code(65);
    assert!(done.stderr.contains("line 1: id: "), "{}", done.stderr);
    // The same application, with a key that it does not have.
    let mut row = owner.clone();
    (row["kind"], row["keys"]) = (json!("application"), json!([key]));
    let done = vault.import("b.jsonl", &format!("{row}\n"), &options).with_code(65);
    assert!(done.stderr.contains("line 1: keys[0]: "), "{}", done.stderr);
    vault.get("/applications/key", key).problem(401);
    row["keys"] = json!([vault.keys.management]);
    let done = vault.import("c.jsonl", &format!("{row}\n"), &options).with_code(0);
    assert!(done.stdout.contains("applications:  0\n  keys:          0\n"), "{}", done.stdout);
}

#[test]
fn a_page_that_is_refused_leaves_no_application_and_no_key() {
    let vault = Vault::start();
    let key = "key_other_service_1234567890abcdef";
    let id = "018bcfe5-6800-4abc-8abc-000000000001";
    let application = |id: &str, keys: &[&str]| {
        let row = json!({
            "kind": "application", "id": id, "name": "Moved", "type": "public",
            "permissions": ["token:create"], "keys": keys,
        });
        format!("{row}\n")
    };
    // Only the check of the whole page finds these mistakes of a stream.
    let options = ["import", "--tenant", &vault.tenant_id, "--format", "jsonl", "--applications"];
    let options = [&options[..], &["-"]].concat();
    let other = "018bcfe5-6800-4abc-8abc-000000000002";
    for bad in [
        String::from("{\"type\":\"token\"}\n"),
        application(id, &[]),
        application(other, &[key]),
        application(other, &[&"a".repeat(36)]),
        application(other, &["key_short_1234567"]),
    ] {
        let file = application(id, &[key]) + &bad;
        let done = vault.operator_with_input(&options, &file).with_code(65);
        assert!(done.stderr.contains("line 2: "), "{}", done.stderr);
        vault.get("/applications/key", key).problem(401);
    }
    // A stream of several pages breaks off, and goes on with a row of before changed.
    let row =
        |at: usize| format!("{{\"type\":\"token\",\"data\":\"{at}{}\"}}\n", "x".repeat(100_000));
    let rows: String = (0..30).map(row).collect();
    vault.operator_with_input(&options, &format!("{rows}{{\n")).with_code(65);
    let changed = rows.replace("\"data\":\"15x", "\"data\":\"51x") + &application(id, &[key]);
    let done = vault.operator_with_input(&options, &changed).with_code(65);
    assert!(done.stderr.contains("has changed since"), "{}", done.stderr);
    vault.get("/applications/key", key).problem(401);
    let file = application(id, &[key]);
    let done = vault.operator_with_input(&options, &file).with_code(0);
    assert!(done.stdout.contains("applications:  1\n"), "{}", done.stdout);
    assert_eq!(vault.get("/applications/key", key).with_status(200).id(), id);
}

#[test]
fn an_import_into_a_stopped_vault_and_into_no_tenant() {
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    vault.import("cards.csv", &cards(10), &CARDS).with_code(0);
    assert_eq!(count(&vault), "10");
    let path = vault.directory().join("cards.csv");
    let nobody = "018bcfe5-6800-4abc-8abc-0123456789ab";
    let arguments = [&["import", "--tenant", nobody], &CARDS[..], &[text(&path)]].concat();
    let done = vault.operator(&arguments).with_code(65);
    assert!(done.stderr.contains("There is no such tenant."), "{}", done.stderr);
    let readable = vault.directory().write("open.csv", cards(1), 0o644);
    let arguments = [&["import", "--tenant", nobody], &CARDS[..], &[text(&readable)]].concat();
    let done = vault.operator(&arguments).with_code(65);
    assert!(done.stderr.contains("other users can read"), "{}", done.stderr);
}

#[test]
fn many_cards_are_imported_while_the_server_runs() {
    let rows = thorough(2_000, 20_000);
    let mut vault = Vault::start();
    let done = vault.import("cards.csv", &cards(rows), &CARDS).with_code(0);
    assert!(done.stdout.contains(&format!("created:       {rows}\n")), "{}", done.stdout);
    vault.token(json!({"type": "token", "data": "beside"}));
    assert_eq!(vault.of_customer(&format!("customer {}", rows / 2 - 1)).len(), 2);
    assert_eq!(vault.stop(), Some(0));
    assert_eq!(count(&vault), (rows + 1).to_string());
}
