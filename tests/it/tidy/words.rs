//! Prose: words and phrases that do not belong into comments, documents and messages, since a
//! reader has to guess at their meaning. Names of tests are left alone.

use std::collections::BTreeMap;
use std::path::Path;

use crate::tidy::sources::{Piece, Source, program, read_all, words_at};
use crate::tidy::violations::check_none;

/// In lower case; found in any.
const PHRASES: &[&str] = &[
    "told",
    "tells",
    "anew",
    "as much",
    "so many",
    "is none",
    "its say",
    "gives way",
    "the hand",
    "the ear",
    "the door",
    "nobody",
    "whoever",
];

/// A sentence of a comment names a thing or an action first.
const OPENINGS: &[&str] = &["What", "Who", "Whoever", "Where", "Whether", "How"];

/// Shipped files beside the sources.
const SHIPPED: &[&str] = &[
    "packaging",
    "systemd",
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "src/http/front/chapters",
];

struct Finding {
    /// The room or the top-level file or directory, and the word.
    key: String,
    place: String,
}

#[test]
fn comments_documents_and_messages_are_plain() {
    let mut findings = Vec::new();
    for (source, parts) in program() {
        for paragraph in paragraphs(&parts.comments) {
            look(source, &paragraph, Openings::Checked, &mut findings);
        }
        for literal in &parts.literals {
            look(source, std::slice::from_ref(literal), Openings::Free, &mut findings);
        }
    }
    for source in SHIPPED.iter().flat_map(|place| read_all(place)) {
        let (comments, text) = shipped(&source);
        for paragraph in paragraphs(&comments) {
            look(&source, &paragraph, Openings::Checked, &mut findings);
        }
        for paragraph in paragraphs(&text) {
            look(&source, &paragraph, Openings::Free, &mut findings);
        }
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in &findings {
        *counts.entry(&finding.key).or_default() += 1;
    }
    let found = counts.iter().map(|(key, count)| format!("{key}: {count}")).collect();
    check_none(&found, |line| {
        let key = line.rsplit_once(": ").map_or(line, |(key, _)| key);
        let places = findings.iter().filter(|finding| finding.key == key);
        places.map(|finding| finding.place.as_str()).collect::<Vec<_>>().join("\n")
    });
}

/// Only comments are held to the words that open a sentence: a heading may be a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Openings {
    Checked,
    Free,
}

/// The comments of a script, unit or settings file, and its other lines. All of a page is text.
fn shipped(source: &Source) -> (Vec<Piece>, Vec<Piece>) {
    let extension = Path::new(&source.path).extension().and_then(|it| it.to_str());
    let is_page = matches!(extension, Some("md" | "1" | "7"));
    let mut parts = (Vec::new(), Vec::new());
    for (at, line) in source.text.lines().enumerate() {
        let piece = |text: &str| Piece { line: at + 1, text: String::from(text.trim()) };
        match line.trim_start().strip_prefix('#') {
            Some(comment) if !is_page => parts.0.push(piece(comment)),
            // A request of a manual page stands before its text.
            _ if line.starts_with('.') => {
                parts.1.push(piece(line.split_once(' ').map_or("", |(_, text)| text)));
            }
            _ => parts.1.push(piece(line)),
        }
    }
    parts
}

/// Lines that follow each other, up to an empty line or the next point of a list.
fn paragraphs(lines: &[Piece]) -> Vec<Vec<Piece>> {
    let mut paragraphs: Vec<Vec<Piece>> = Vec::new();
    let mut before = 0;
    for Piece { line, text } in lines {
        let text = text.replace("\\-", "-");
        let is_point = ["- ", "* ", "|", "#", "1. "].iter().any(|start| text.starts_with(start));
        let is_new = is_point || *line != before + 1;
        before = if text.is_empty() { 0 } else { *line };
        let piece = Piece { line: *line, text };
        match paragraphs.last_mut() {
            Some(paragraph) if !is_new => paragraph.push(piece),
            _ => paragraphs.push(vec![piece]),
        }
    }
    paragraphs
}

fn look(source: &Source, paragraph: &[Piece], openings: Openings, findings: &mut Vec<Finding>) {
    let joined: Vec<&str> = paragraph.iter().map(|piece| piece.text.as_str()).collect();
    let text = without_code(&joined.join(" "));
    let lower = text.to_ascii_lowercase();
    let line_of = |at: usize| {
        let mut end = 0;
        let found = paragraph.iter().find(|piece| {
            end += piece.text.len() + 1;
            at < end
        });
        found.map_or(0, |piece| piece.line)
    };
    let mut find = |word: &str, at: usize| {
        let shown: String = text[at..].chars().take(60).collect();
        findings.push(Finding {
            key: format!("{} {word}", area_of(&source.path)),
            place: format!("    {}:{}: {shown}", source.path, line_of(at)),
        });
    };
    for phrase in PHRASES {
        words_at(&lower, phrase).for_each(|at| find(phrase, at));
    }
    if openings == Openings::Checked {
        for word in OPENINGS {
            let opens = |at: &usize| {
                let before = text[..*at].trim_end_matches([' ', '-', '*', '(']);
                before.is_empty() || before.ends_with(['.', '!', '?'])
            };
            words_at(&text, word).filter(opens).for_each(|at| find(word, at));
        }
    }
}

/// Names in backquotes are code; their places stay, so that positions do.
fn without_code(text: &str) -> String {
    let mut is_code = false;
    let blank = |c: char| {
        is_code ^= c == '`';
        // A byte for a byte.
        if is_code && c.is_ascii() { '_' } else { c }
    };
    text.chars().map(blank).collect()
}

/// `src/app`, `packaging`, `README.md`.
fn area_of(path: &str) -> &str {
    let names = if path.starts_with("src/") { 2 } else { 1 };
    let end = path.match_indices('/').nth(names - 1).map_or(path.len(), |(at, _)| at);
    path[..end].trim_end_matches(".rs")
}

#[track_caller]
fn check(comment: &str, expected: &[&str]) {
    let source = Source { path: String::from("src/app/a.rs"), text: String::from(comment) };
    let mut findings = Vec::new();
    for paragraph in paragraphs(&crate::tidy::sources::Parts::of(comment).comments) {
        look(&source, &paragraph, Openings::Checked, &mut findings);
    }
    let found: Vec<String> = findings
        .iter()
        .map(|it| format!("{}{}", it.key, it.place.trim_start().trim_start_matches("src/app/a.rs")))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn phrases_are_found_across_lines_and_outside_of_code() {
    check("// Sends `told` and the handshake.", &[]);
    check(
        "// It was not\n// told, as\n// much.",
        &["src/app told:2: told, as much.", "src/app as much:2: as much."],
    );
    check(
        "/// The key. Who reads it.\n\n// Whether it is: How.",
        &["src/app Who:1: Who reads it.", "src/app Whether:3: Whether it is: How."],
    );
    check("// Somebody knows Where.", &[]);
}
