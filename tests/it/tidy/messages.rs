//! Messages of commands: a failure names a next step, and a number goes with its noun.

use crate::tidy::sources::{Parts, program};

/// The exit codes whose next step does not depend on the failure: `with_next_step` of `src/cli`
/// adds it.
const ADDED: [&str; 2] = ["Exit::Usage", "Exit::Software"];
/// The nouns that `counted` must bring into their form.
const NOUNS: [&str; 17] = [
    "applications",
    "authorities",
    "certificates",
    "checkpoints",
    "entries",
    "events",
    "files",
    "findings",
    "keys",
    "lines",
    "pieces",
    "records",
    "rows",
    "sessions",
    "tenants",
    "tokens",
    "webhooks",
];
/// Texts whose number is never 1, each with its reason.
const MANY: [&str; 5] = [
    // Work is announced only if it takes long.
    "{amount} entries",
    "{amount} tokens",
    // One of them has a text of its own.
    "{count} certificates, in order",
    "{count} findings need attention",
    // Three applications have been made.
    "three applications have {} keys",
];

/// The code of the failures that name no next step: `Failure::new` with the calls behind it. A
/// failure that is kept in a variable gets it later.
fn without_next_step(parts: &Parts) -> Vec<String> {
    let code = &parts.code;
    let mut found = Vec::new();
    for (at, name) in code.match_indices("Failure::new(") {
        let mut end = at + name.len() - 1;
        // A parenthesis in a text literal would end the call too early, so literals are blanked first.
        while let Some(rest) = code.get(end..) {
            let call = rest.trim_start();
            let is_next = call.starts_with('(') || call.starts_with('.');
            let Some(open) = rest.find('(').filter(|_| is_next) else { break };
            end += open + length_of_call(&rest[open..]);
        }
        let calls = &code[at..end];
        let is_kept = code[end..].trim_start().starts_with(';');
        if !is_kept && !calls.contains(".try_this(") && !ADDED.iter().any(|it| calls.contains(it)) {
            found.push(calls.split_whitespace().collect::<String>());
        }
    }
    found
}

fn length_of_call(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 1 => return at + 1,
            ')' => depth -= 1,
            _ => (),
        }
    }
    text.len()
}

#[test]
fn a_failure_of_a_command_names_a_next_step() {
    // Their failures, of files and of refused commands, get the next step of their cause.
    let decide =
        ["support/failure_texts.rs", "support/files.rs", "support/master_key_command/mod.rs"];
    let sources = program().iter().filter(|(source, _)| source.path.starts_with("src/cli/"));
    let mut found = Vec::new();
    for (source, parts) in sources {
        if !decide.iter().any(|it| source.path.ends_with(it)) {
            found
                .extend(without_next_step(parts).iter().map(|it| format!("{}: {it}", source.path)));
        }
    }
    assert_eq!(found, Vec::<String>::new(), "call try_this");
}

#[test]
fn failures_without_a_next_step_are_found() {
    for (code, expected) in [
        ("Failure::new(Exit::Data, \"a (b\").file(path)", 1),
        ("Failure::new(Exit::Data, \"a\")\n    .why(why(1))\n    .try_this(\"b\")", 0),
        ("f(Failure::new(Exit::Data, \"a\"), x.try_this(\"b\"))", 1),
        ("let failure = Failure::new(Exit::Data, \"a\");", 0),
        ("Failure::new(Exit::Usage, \"a\")", 0),
    ] {
        assert_eq!(without_next_step(&Parts::of(code)).len(), expected, "{code}");
    }
}

fn uncounted(literal: &str) -> bool {
    let after = literal.match_indices('}').map(|(at, _)| &literal[at + 1..]);
    let mut nouns = after.filter_map(|rest| {
        // A noun with a colon is the name of the next number.
        let word = rest.strip_prefix(' ')?.split(|c: char| !c.is_ascii_alphabetic() && c != ':');
        word.into_iter().next()
    });
    nouns.any(|word| NOUNS.contains(&word)) && !MANY.iter().any(|it| literal.contains(it))
}

#[test]
fn a_number_goes_with_its_noun() {
    let shown = ["src/cli/", "src/operator/", "src/report/"];
    let mut found = Vec::new();
    for (source, parts) in program() {
        if shown.iter().any(|it| source.path.starts_with(it)) {
            let wrong = parts.literals.iter().filter(|it| uncounted(&it.text));
            found.extend(wrong.map(|it| format!("{}:{}: {}", source.path, it.line, it.text)));
        }
    }
    assert_eq!(found, Vec::<String>::new(), "use counted() of src/domain/counted.rs");
    assert!(uncounted("{} rows") && uncounted("all {n} tokens.") && !uncounted("{} rows: {}"));
}
