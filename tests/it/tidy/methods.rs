//! Methods of a type, over all of its `impl` blocks: a type that does everything hides where
//! anything is done. Methods of traits are not counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::sources::{is_part_of_a_name, program, room_of, words_at};
use crate::tidy::violations::check_none;

const METHODS_MAX: usize = 40;

#[test]
fn no_type_has_more_than_forty_methods() {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (source, parts) in program() {
        let room = room_of(&source.path).unwrap_or_default();
        for (name, methods) in methods(&parts.code) {
            *counts.entry(format!("{room}::{name}")).or_default() += methods;
        }
    }
    assert!(counts.len() > 100, "the types were not found: {counts:?}");
    let many = counts.iter().filter(|(_, count)| **count > METHODS_MAX);
    let found: BTreeSet<String> = many.map(|(name, count)| format!("{name} {count}")).collect();
    check_none(&found, |_| format!("    {METHODS_MAX} methods are the most"));
}

/// The type of each `impl` block without a trait, and its number of functions.
fn methods(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for at in words_at(code, "impl") {
        // In the middle of a line it is a type: `-> impl Trait`.
        let is_block = code[..at].rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
        let Some((head, body)) = code[at + "impl".len()..].split_once('{') else { continue };
        if !is_block || words_at(head, "for").any(|at| !head[at..].starts_with("for<")) {
            continue;
        }
        let name = without_generics(head);
        let name = name.split(" where").next().unwrap_or_default().trim();
        let name = name.rsplit("::").next().unwrap_or_default();
        let end = name.find(|c: char| !is_part_of_a_name(c)).unwrap_or(name.len());
        found.push((String::from(&name[..end]), functions(body)));
    }
    found
}

/// `<A: Answer> Served<A>` is ` Served`.
fn without_generics(head: &str) -> String {
    let (mut depth, mut text, mut before) = (0, String::new(), ' ');
    for c in head.chars() {
        match c {
            '<' => depth += 1,
            // An arrow of a bound such as `Fn() -> bool` closes nothing.
            '>' if before != '-' => depth -= 1,
            _ if depth == 0 => text.push(c),
            _ => (),
        }
        before = c;
    }
    text
}

/// Functions directly inside a block that is open already.
fn functions(body: &str) -> usize {
    let (mut depth, mut count, mut word) = (1, 0, String::new());
    for c in body.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            break;
        }
        if is_part_of_a_name(c) {
            word.push(c);
        } else {
            // A function pointer `fn(..)` has no name.
            count += usize::from(word == "fn" && c == ' ' && depth == 1);
            word.clear();
        }
    }
    count
}

#[test]
fn methods_are_counted_over_blocks() {
    let code = "struct A;\nimpl A {\n    fn a(&self) { fn inner() {} }\n    pub(crate) async fn b() -> \
                impl Fn(fn(u8)) { x }\n}\nimpl<T: Fn() -> bool> crate::x::B<T> where T: Copy {\n    \
                const fn c() {}\n}\nimpl Clone for A {\n    fn clone(&self) {}\n}\n\
                impl<'a> Default for B<'a> {\n    fn default() {}\n}\n";
    assert_eq!(methods(code), [(String::from("A"), 2), (String::from("B"), 1)]);
}
