//! The shape of the sources: the rooms that a room may use, the crates that it may name, and the
//! form of files.
//!
//! The table of rooms is read from the documentation of `src/lib.rs`. The check goes line by line,
//! which is why imports have one line a room.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::sources::{
    FUZZ, Source, WAITING, has_word, is_no_room, is_part_of_a_name, is_test, read_rust, room_of,
};

/// Crates that belong to some rooms alone. A crate that is not listed may be named anywhere.
const CRATES: &[(&str, &[&str])] = &[
    // The entries of indexes; the cryptography of programs.
    ("aes", &["code", "crypto"]),
    // Seals exports.
    ("age", &["crypto"]),
    ("argh", &["cli"]),
    ("ed25519_dalek", &["code"]),
    // Copies the template of workers without a line of unsafe code here.
    ("fork", &["code"]),
    ("ghash", &["code"]),
    // HTTP/2 by hand, for the server's tests.
    ("h2", &["server"]),
    // In `crypto`, the bare name means a module of ring.
    ("hmac", &["code", "crypto"]),
    ("http_body_util", &["http", "outbound", "server"]),
    ("hyper", &["http", "outbound", "secret", "server"]),
    ("hyper_util", &["outbound", "server"]),
    // Denies workers of programs every file.
    ("landlock", &["code"]),
    // Takes over sockets without a line of unsafe code here.
    ("listenfd", &["cli"]),
    ("md5", &["code"]),
    ("mimalloc", &["lib"]),
    // Closes inherited descriptors and reads the clocks of workers without a line of unsafe code here.
    ("nix", &["cli", "code"]),
    ("p256", &["code"]),
    ("p384", &["code"]),
    // The development certificate, and those of tests.
    ("rcgen", &["cli", "outbound", "server", "store"]),
    ("redb", &["store"]),
    ("ring", &["crypto"]),
    // Runs programs of tenants.
    ("rquickjs", &["code"]),
    // Makes the key of webhooks; encrypts and signs for programs.
    ("rsa", &["code", "crypto"]),
    // The free space of the disk; whether other processes may read our memory.
    ("rustix", &["cli", "code", "files", "store"]),
    ("rustls", &["directory", "outbound", "server", "store"]),
    // Puts workers in the background without a line of unsafe code here.
    ("scheduler", &["code"]),
    // Lists the system calls of workers.
    ("seccompiler", &["code"]),
    ("sha1", &["code"]),
    ("sha2", &["code"]),
    // The pure rooms are missing here: they neither wait nor start anything.
    (
        "tokio",
        &[
            "app",
            "cli",
            "code",
            "directory",
            "http",
            "names",
            "operator",
            "outbound",
            "server",
            "store",
        ],
    ),
    ("tokio_postgres", &["store"]),
    ("tokio_rustls", &["directory", "outbound", "server", "store"]),
    // Tasks are started in one place, so that a drain waits for all of them.
    ("tokio_util", &["server"]),
    ("toml", &["config", "formulas"]),
    ("x25519_dalek", &["crypto"]),
];

/// Words that belong to some places alone, given as the beginnings of paths.
const WORDS: &[(&str, &[&str])] = &[
    ("SystemTime", &["src/clock.rs"]),
    ("now_utc", &[]),
    ("now_local", &[]),
    // A duration is not a time of day: no clock has to be set for it.
    (
        "Instant::now",
        &[
            "src/app/audit/watch.rs",
            "src/cli/offline/standby.rs",
            "src/cli/support/master_key_command/",
            "src/cli/support/progress.rs",
            "src/code/",
            "src/directory/",
            "src/http/",
            "src/outbound/",
            "src/server/",
            "src/store/",
        ],
    ),
    ("Serialize", OUTSIDE),
    ("Deserialize", OUTSIDE),
];

/// Places of types whose form is fixed from outside: on the wire, in the data file, in settings.
const OUTSIDE: &[&str] = &[
    "src/cli/dev/mod.rs",
    "src/code/outcome.rs",
    "src/config",
    "src/formulas/",
    "src/http/wire/",
    "src/operator/",
    "src/store/backup/manifest.rs",
    "src/store/chain/receipt.rs",
    "src/store/record/",
];

/// Spellings that would lead the checks astray.
const FORMS: &[(&str, &str)] = &[
    ("use crate::{", "imports have one line a room"),
    ("use {", "imports have one line a crate"),
    ("use super::super", "name the room from the top"),
    ("super::super::", "name the room from the top"),
    ("extern crate", "crates are named by their paths"),
    ("#[path", "a module's file is where its name says"),
];

/// Split, so that this file does not find itself.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

#[test]
fn every_source_keeps_the_rules() {
    let mut sources = read_rust("src");
    let rooms = Rooms::parse(&lib(&sources)).unwrap();
    sources.extend(read_rust("tests"));
    assert!(sources.len() > 50, "the sources were not found");
    let findings: Vec<_> = sources.iter().flat_map(|source| check(source, &rooms)).collect();
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

#[test]
fn the_table_has_a_row_for_every_room_and_rooms_stand_on_those_above() {
    let lib = lib(&read_rust("src"));
    let rooms = Rooms::parse(&lib).unwrap();
    assert_eq!(rooms.complaints(&lib), Vec::<String>::new());
}

/// The rooms that each room may use, in the order of the table.
struct Rooms(Vec<(String, BTreeSet<String>)>);

fn lib(sources: &[Source]) -> String {
    let found = sources.iter().find(|source| source.path == "src/lib.rs");
    found.map(|source| source.text.clone()).unwrap_or_default()
}

impl Rooms {
    /// From rows such as ``//! | [`room`] | what for | these, those |``.
    fn parse(lib: &str) -> Result<Self, String> {
        let mut rooms: Vec<(String, BTreeSet<String>)> = Vec::new();
        for line in lib.lines() {
            let Some(row) = line.strip_prefix("//! | [`") else {
                continue;
            };
            let cells: Vec<&str> = row.split(" | ").collect();
            let [room, _, uses] = cells.as_slice() else {
                return Err(format!("a row of the table has not three cells: {line}"));
            };
            let room = room.trim_end_matches("`]");
            let uses = uses.trim_end_matches('|').trim();
            let uses = match uses {
                "-" => BTreeSet::new(),
                "all" => rooms.iter().map(|(known, _)| known.clone()).collect(),
                _ => uses.split(", ").map(String::from).collect(),
            };
            rooms.push((String::from(room), uses));
        }
        // The program itself only passes its arguments on.
        rooms.push((String::from("main"), BTreeSet::from([String::from("cli")])));
        Ok(Self(rooms))
    }

    fn uses(&self, room: &str) -> Option<&BTreeSet<String>> {
        self.0.iter().find(|(known, _)| known == room).map(|(_, uses)| uses)
    }

    fn complaints(&self, lib: &str) -> Vec<String> {
        let mut complaints = Vec::new();
        let declared: BTreeSet<&str> = lib
            .lines()
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
            .filter(|room| !is_no_room(room))
            .chain(["main"])
            .collect();
        let mut above = BTreeSet::new();
        for (room, uses) in &self.0 {
            for used in uses.iter().filter(|used| !above.contains(used.as_str())) {
                complaints.push(format!("{room} may not use {used}, which is not above it"));
            }
            if !declared.contains(room.as_str()) {
                complaints.push(format!("{room} is in the table, but is no room"));
            }
            if !above.insert(room.as_str()) {
                complaints.push(format!("{room} is in the table twice"));
            }
        }
        for room in declared.iter().filter(|room| !above.contains(**room)) {
            complaints.push(format!("{room} is a room, but is not in the table"));
        }
        complaints
    }
}

/// All complaints about one file, each with its place.
fn check(source: &Source, rooms: &Rooms) -> Vec<String> {
    let mut found: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let mut complain = |line: usize, what: String| {
        found.entry(line).or_default().insert(what);
    };
    check_file(source, &mut complain);
    let room = room_of(&source.path).filter(|room| !is_no_room(room));
    if let Some(room) = room.filter(|room| *room != "lib" && rooms.uses(room).is_none()) {
        complain(1, format!("{room} is not in the table of rooms in src/lib.rs"));
    }
    for (at, line) in source.text.lines().enumerate() {
        let number = at + 1;
        check_text(line, &mut |what| complain(number, what));
        let code = line.trim_start();
        if let Some(room) = room.filter(|_| !code.starts_with("//")) {
            check_code(source, room, rooms, code, &mut |what| complain(number, what));
        }
    }
    let place = |line: usize| format!("{}:{line}", source.path);
    found
        .iter()
        .flat_map(|(line, all)| all.iter().map(|what| format!("{}: {what}", place(*line))))
        .collect()
}

fn check_file(source: &Source, complain: &mut impl FnMut(usize, String)) {
    // The name of a test file, and the file beside it, say enough.
    if !is_test(&source.path) && !source.text.starts_with("//! ") {
        complain(1, String::from("a module begins with //! and what it is for"));
    }
}

fn check_text(line: &str, complain: &mut impl FnMut(String)) {
    if !line.is_ascii() {
        complain(String::from("sources are ASCII"));
    }
    for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
        complain(format!("{word}: finish it, or write down elsewhere what is left"));
    }
}

fn check_code(
    source: &Source,
    room: &str,
    rooms: &Rooms,
    code: &str,
    complain: &mut impl FnMut(String),
) {
    // The program itself sees the library as a crate.
    let top = if room == "main" { "strongroom::" } else { "crate::" };
    for used in paths_under(code, top) {
        let is_fuzz = source.path.contains("/fuzz/") || source.path.ends_with("/fuzz.rs");
        let is_help = (used == WAITING && is_test(&source.path)) || (used == FUZZ && is_fuzz);
        let uses = rooms.uses(room);
        let allowed = used == room || is_help || uses.is_some_and(|uses| uses.contains(used));
        if !allowed && room != "lib" {
            complain(format!("{room} may not use {used}"));
        }
    }
    for (name, allowed) in CRATES {
        if names_crate(source, code, name) && !allowed.contains(&room) {
            complain(format!("{room} may not name the crate {name}"));
        }
    }
    for (word, places) in WORDS {
        let is_allowed = places.iter().any(|place| source.path.starts_with(place));
        if !is_allowed && has_word(code, word) {
            complain(format!("{word} does not belong here"));
        }
    }
    for (form, why) in FORMS.iter().filter(|(form, _)| has_start(code, form)) {
        complain(format!("{form}: {why}"));
    }
}

/// The names that follow `root` in a line, wherever a path starts with it.
fn paths_under<'a>(code: &'a str, root: &'a str) -> impl Iterator<Item = &'a str> {
    starts(code, root).filter_map(move |at| {
        let rest = code.get(at + root.len()..)?;
        let end = rest.find(|c: char| !is_part_of_a_name(c)).unwrap_or(rest.len());
        rest.get(..end).filter(|name| !name.is_empty())
    })
}

/// True when a path in this line starts with the crate's name.
fn names_crate(source: &Source, code: &str, name: &str) -> bool {
    // With this import the bare name means rustls's own module, and cannot mean the crate.
    if name == "ring" && source.text.contains("use rustls::crypto::ring;") {
        return code.contains("::ring::") && !code.contains("crypto::ring::");
    }
    let path = format!("{name}::");
    let imports = ["use ", "pub use "].iter().any(|verb| {
        let rest = code.strip_prefix(verb).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(';') || rest.starts_with(" as "))
    });
    imports || starts(code, &path).next().is_some()
}

/// The positions of `path` in a line as the beginning of a path, not in the middle of one.
fn starts<'a>(code: &'a str, path: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(path).map(|(at, _)| at).filter(|at| {
        let before = code.get(..*at).unwrap_or_default();
        let before = before.strip_suffix("::").unwrap_or(before);
        !before.ends_with(|c: char| is_part_of_a_name(c) || c == '>')
    })
}

/// True when the form stands there and is not the end of a longer word.
fn has_start(code: &str, form: &str) -> bool {
    let mut places = code.match_indices(form).map(|(at, _)| code.get(..at).unwrap_or_default());
    places.any(|before| !before.ends_with(is_part_of_a_name))
}

const TABLE: &str = "//! | [`domain`] | rules | - |\n//! | [`crypto`] | keys | domain |\n\
                     //! | [`store`] | file | crypto, domain |\n//! | [`cli`] | commands | all |\n";

/// Exactly these complaints about a file with this path and these lines, of which the first is a
/// header that is in order.
#[track_caller]
fn check_lines(path: &str, lines: &[&str], expected: &[&str]) {
    let text = format!("//! What it is for.\n{}\n", lines.join("\n"));
    let source = Source { path: String::from(path), text };
    let found = Rooms::parse(TABLE).map(|rooms| check(&source, &rooms));
    let expected = expected.iter().map(|what| format!("{path}:{what}")).collect();
    assert_eq!(found, Ok(expected));
}

#[test]
fn a_room_uses_only_what_the_table_allows() {
    check_lines("src/store/mod.rs", &["use crate::crypto::Random;"], &[]);
    check_lines("src/store/mod.rs", &["use crate::store::Table;"], &[]);
    check_lines(
        "src/domain/id.rs",
        &["", "use crate::store::Table;"],
        &["3: domain may not use store"],
    );
    check_lines(
        "src/domain.rs",
        &["    let x = f(crate::cli::main(&[]));"],
        &["2: domain may not use cli"],
    );
    check_lines(
        "src/domain/a.rs",
        &["pub(crate) use crate::store::A; use crate::cli::B;"],
        &["2: domain may not use cli", "2: domain may not use store"],
    );
    check_lines("src/cli/mod.rs", &["use crate::domain::id;", "use crate::store::Table;"], &[]);
    check_lines("src/main.rs", &["strongroom::main()"], &[]);
    check_lines("src/main.rs", &["strongroom::store::x()"], &["2: main may not use store"]);
    check_lines("src/attic.rs", &[], &["1: attic is not in the table of rooms in src/lib.rs"]);
    check_lines("src/domain/id.rs", &["/// As [`crate::store::Table`] has it."], &[]);
}

#[test]
fn crates_are_named_only_where_they_belong() {
    check_lines("src/crypto/seal.rs", &["use ring::aead;"], &[]);
    check_lines("src/store/mod.rs", &["use redb::Database;", "pub use redb;"], &[]);
    check_lines(
        "src/domain/a.rs",
        &["use ring::aead;", "let x = ::redb::Builder::new();"],
        &["2: domain may not name the crate ring", "3: domain may not name the crate redb"],
    );
    check_lines(
        "src/store/a.rs",
        &["use ring as circle;", "fn f(x: Option<hyper::Uri>) {}"],
        &["2: store may not name the crate ring", "3: store may not name the crate hyper"],
    );
    check_lines("src/domain/a.rs", &["string::from(x); a::ring::b();", "// ring::aead"], &[]);
    check_lines(
        "src/cli/a.rs",
        &["use rustls::crypto::ring;", "ring::default_provider();"],
        &["2: cli may not name the crate rustls"],
    );
    for (name, _) in CRATES {
        let line = format!("use {name}::thing;");
        let expected = format!("2: domain may not name the crate {name}");
        check_lines("src/domain/a.rs", &[&line], &[&expected]);
    }
}

#[test]
fn words_stand_only_in_their_places() {
    check_lines(
        "src/domain/a.rs",
        &["#[derive(Debug, Serialize)]", "SystemTime::now()"],
        &["2: Serialize does not belong here", "3: SystemTime does not belong here"],
    );
    check_lines("src/store/record/a.rs", &["#[derive(Serialize, Deserialize)]"], &[]);
    check_lines("src/store/a.rs", &["use serde::de::DeserializeOwned;"], &[]);
    for (word, _) in WORDS {
        let expected = format!("2: {word} does not belong here");
        check_lines("src/domain/a.rs", &[&format!("x({word})")], &[&expected]);
    }
}

#[test]
fn forms_that_hide_an_import_are_refused() {
    for (form, why) in FORMS.iter().filter(|(form, _)| !form.contains("super")) {
        check_lines("src/domain/a.rs", &[form], &[&format!("2: {form}: {why}")]);
    }
    check_lines(
        "src/domain/a.rs",
        &["super::super::x()"],
        &["2: super::super::: name the room from the top"],
    );
    check_lines(
        "src/domain/a.rs",
        &["use super::super;"],
        &["2: use super::super: name the room from the top"],
    );
}

#[test]
fn files_are_ascii_finished_and_begin_with_what_they_are_for() {
    check_lines("tests/it/a.rs", &["// caf\u{e9}"], &["2: sources are ASCII"]);
    for word in UNFINISHED {
        let expected = format!("2: {word}: finish it, or write down elsewhere what is left");
        check_lines("src/domain/a.rs", &[&format!("// {word}: later")], &[&expected]);
    }
    let bare = |path: &str| Source { path: String::from(path), text: String::from("use a::b;\n") };
    let rooms = Rooms::parse(TABLE).unwrap();
    assert_eq!(
        check(&bare("src/domain/a.rs"), &rooms),
        ["src/domain/a.rs:1: a module begins with //! and what it is for"]
    );
    assert!(check(&bare("src/domain/tests/a.rs"), &rooms).is_empty());
}

#[test]
fn the_table_itself_is_checked() {
    let complaints = |table: &str, modules: &str| {
        let lib = format!("{table}{modules}");
        Rooms::parse(&lib).unwrap().complaints(&lib)
    };
    let modules = "mod cli;\nmod crypto;\nmod domain;\nmod store;\n";
    assert!(complaints(TABLE, modules).is_empty());
    assert_eq!(
        complaints(TABLE, &format!("{modules}mod attic;\n")),
        ["attic is a room, but is not in the table"]
    );
    let more = format!("{TABLE}//! | [`store`] | again | attic |\n//! | [`roof`] | none | - |\n");
    assert_eq!(
        complaints(&more, modules),
        [
            "store may not use attic, which is not above it",
            "store is in the table twice",
            "roof is in the table, but is no room",
        ]
    );
    assert_eq!(complaints("//! | [`cli`] | all | - |\n", "mod cli;"), Vec::<String>::new());
    assert!(Rooms::parse("//! | [`domain`] | rules |\n").is_err());
}

#[test]
fn keys_of_tables_are_made_in_one_place() {
    let sources = read_rust("src");
    let meta = sources.iter().find(|it| it.path == "src/store/tables/meta.rs").unwrap();
    let names: BTreeSet<&str> = meta.text.split('"').skip(1).step_by(2).collect();
    assert!(names.contains("master") && names.contains("rotation/"));
    let mut found = Vec::new();
    for source in &sources {
        let is_schema = source.path.starts_with("src/store/tables/");
        if !is_schema && !is_test(&source.path) {
            found.extend(keys_by_hand(source, &names));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn keys_by_hand(source: &Source, names: &BTreeSet<&str>) -> Vec<String> {
    let code = source.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    let mut found = Vec::new();
    for (at, line) in lines {
        let place = format!("{}:{}", source.path, at + 1);
        for name in names.iter().filter(|name| line.contains(&format!("b\"{name}\""))) {
            found.push(format!("{place}: the key {name} of Meta is made in store::tables::meta"));
        }
        let joins = line.contains(".concat()") && line.contains(".bytes()");
        let splits = ["first_chunk", "last_chunk"].iter().any(|it| line.contains(it));
        let takes_key = line.contains("key.") || line.contains("row.0.");
        if source.path.starts_with("src/app/") && (joins || (splits && takes_key)) {
            found.push(format!("{place}: keys of tables are made and read in store::tables"));
        }
    }
    found
}

#[test]
fn a_key_that_is_made_by_hand_is_found() {
    let names = BTreeSet::from(["master"]);
    for line in [
        "const MASTER: &[u8] = b\"master\";",
        "let prefix = [tenant.bytes(), filter.as_slice()].concat();",
        "let tenant = key.first_chunk::<16>();",
    ] {
        let source = Source { path: "src/app/x.rs".into(), text: line.into() };
        assert_eq!(keys_by_hand(&source, &names).len(), 1, "{line}");
    }
    let source = Source { path: "src/app/x.rs".into(), text: "tables::tokens(a, b)".into() };
    assert!(keys_by_hand(&source, &names).is_empty());
}
