//! Import circles: files of a room that need each other, directly or by way of further files.
//!
//! An edge is an import or a path in the code: `crate::room::file::..` or `super::..`. A name that
//! `mod.rs` exports again leads to `mod.rs`. A path from `mod.rs` down to its own submodules is not
//! an edge: it puts the parts together. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::sources::{Parts, Source, is_part_of_a_name, program, room_of};
use crate::tidy::violations::check_none;

/// A circle of more files than this is a violation.
const CIRCLE_FILES_MAX: usize = 3;

/// The files of a room by their module paths.
type Files<'a> = BTreeMap<Vec<String>, &'a (Source, Parts)>;

/// For each file, the files that it needs.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_import_circle_has_more_than_three_files() {
    let mut graph = Graph::new();
    for files in rooms(program()).values() {
        graph.extend(edges(files));
    }
    let found: BTreeSet<String> = circles(&graph)
        .into_iter()
        .filter(|circle| circle.len() > CIRCLE_FILES_MAX)
        .map(|circle| circle.into_iter().collect::<Vec<_>>().join(" "))
        .collect();
    check_none(&found, |circle| {
        let files: BTreeSet<&str> = circle.split(' ').collect();
        let inside = |from: &str| {
            let needed = graph[from].iter().filter(|to| files.contains(to.as_str()));
            let needed: Vec<&str> = needed.map(String::as_str).collect();
            format!("    {from} needs {}", needed.join(", "))
        };
        files.iter().map(|from| inside(from)).collect::<Vec<_>>().join("\n")
    });
}

/// The files of each room, by their module paths.
fn rooms(program: &[(Source, Parts)]) -> BTreeMap<String, Files<'_>> {
    let mut rooms: BTreeMap<String, Files<'_>> = BTreeMap::new();
    for file in program {
        let (source, _) = file;
        if let Some(room) = room_of(&source.path).filter(|room| !["lib", "main"].contains(room)) {
            let files = rooms.entry(String::from(room)).or_default();
            files.insert(module_of(&source.path), file);
        }
    }
    rooms
}

/// `src/app/keys/mod.rs` is `app::keys`.
fn module_of(path: &str) -> Vec<String> {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(String::from).collect()
}

fn edges(files: &Files<'_>) -> Graph {
    let mut graph = Graph::new();
    for (module, (source, parts)) in files {
        let needed = graph.entry(source.path.clone()).or_default();
        for path in paths(&parts.code) {
            let Some(target) = resolve(module, &path, files) else { continue };
            if target.path != source.path {
                needed.insert(target.path.clone());
            }
        }
    }
    graph
}

/// The file that a path of this module leads to, within the room.
fn resolve<'a>(module: &[String], path: &[String], files: &Files<'a>) -> Option<&'a Source> {
    let (first, rest) = path.split_first()?;
    let base = match first.as_str() {
        "crate" => &[],
        "super" => &module[..module.len() - 1],
        _ => return None,
    };
    let whole = [base, rest].concat();
    if whole.first() != module.first() {
        return None;
    }
    (1..=whole.len()).rev().find_map(|length| files.get(&whole[..length])).map(|(source, _)| source)
}

/// All paths of two names or more, with imports written out one by one.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let (mut plain, mut rest) = (String::new(), code);
    while let Some((before, import)) = cut_import(rest) {
        let is_export = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        let (import, after) = import.split_once(';').unwrap_or((import, ""));
        if !is_export {
            expand(import, &mut Vec::new(), &mut paths);
        }
        plain.push_str(before);
        rest = after;
    }
    plain.push_str(rest);
    let mut rest = plain.as_str();
    while let Some(at) = rest.find("::") {
        let head = &rest[..at];
        let start = head.rfind(|c: char| !is_part_of_a_name(c)).map_or(0, |at| at + 1);
        let mut path = vec![String::from(&head[start..])];
        rest = &rest[at..];
        while let Some(after) = rest.strip_prefix("::") {
            let end = after.find(|c: char| !is_part_of_a_name(c)).unwrap_or(after.len());
            path.push(String::from(&after[..end]));
            rest = &after[end..];
        }
        paths.push(path);
    }
    paths
}

/// The code before and after the next `use`.
fn cut_import(code: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = code[from..].find("use ") {
        let at = from + at;
        if !code[..at].ends_with(is_part_of_a_name) {
            return Some((&code[..at], &code[at + "use ".len()..]));
        }
        from = at + 1;
    }
    None
}

/// Writes the paths of an import out: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(import: &str, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let import = import.trim();
    let Some((head, group)) = import.split_once('{') else {
        let name = import.split(" as ").next().unwrap_or_default();
        let own = name.split("::").map(|name| String::from(name.trim()));
        paths.push(prefix.iter().cloned().chain(own).collect());
        return;
    };
    let length = prefix.len();
    prefix
        .extend(head.split("::").map(str::trim).filter(|name| !name.is_empty()).map(String::from));
    let group = group.rsplit_once('}').map_or(group, |(group, _)| group);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[start..at].trim().is_empty() {
                    expand(&group[start..at], prefix, paths);
                }
                start = at + 1;
            }
            _ => (),
        }
    }
    prefix.truncate(length);
}

/// The strongly connected components of the graph: files that reach each other.
fn circles(graph: &Graph) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|file| (file.as_str(), reach(graph, file))).collect();
    let mut circles = Vec::new();
    let mut placed: BTreeSet<&str> = BTreeSet::new();
    for (file, there) in &reached {
        if placed.contains(file) {
            continue;
        }
        let back = there.iter().filter(|other| reached[**other].contains(file));
        let circle: BTreeSet<String> = back.chain([file]).map(|it| String::from(*it)).collect();
        placed.extend(reached.keys().filter(|it| circle.contains(**it)));
        circles.push(circle);
    }
    circles
}

/// All files that a file needs, directly or not.
fn reach<'a>(graph: &'a Graph, file: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&str> = graph[file].iter().map(String::as_str).collect();
    while let Some(next) = left.pop() {
        if reached.insert(next) {
            left.extend(graph[next].iter().map(String::as_str));
        }
    }
    reached
}

fn source(path: &str, text: &str) -> (Source, Parts) {
    (Source { path: String::from(path), text: String::from(text) }, Parts::of(text))
}

#[test]
fn imports_and_paths_are_edges() {
    let sources = [
        source(
            "src/app/mod.rs",
            "mod a;\npub use crate::app::a::A;\nuse crate::app::b::{B, inner::{C}};\n",
        ),
        source(
            "src/app/a.rs",
            "use crate::app::A;\nuse crate::store::X;\nfn f() { super::b::g(); }",
        ),
        source("src/app/b/mod.rs", "mod inner;\n// crate::app::a\nuse super::a::{self, Z};"),
        source("src/app/b/inner.rs", "fn f() -> crate::app::b::B { \"crate::app::a::f\" }"),
        source("src/store/mod.rs", "use crate::app::a;"),
    ];
    let mut graph = Graph::new();
    for files in rooms(&sources).values() {
        graph.extend(edges(files));
    }
    let needed = |file: &str| graph[file].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(needed("src/app/mod.rs"), ["src/app/b/inner.rs", "src/app/b/mod.rs"]);
    assert_eq!(needed("src/app/a.rs"), ["src/app/b/mod.rs", "src/app/mod.rs"]);
    assert_eq!(needed("src/app/b/mod.rs"), ["src/app/a.rs"]);
    assert_eq!(needed("src/app/b/inner.rs"), ["src/app/b/mod.rs"]);
    assert_eq!(needed("src/store/mod.rs"), Vec::<&str>::new());
    let largest = circles(&graph).into_iter().map(|circle| circle.len()).max();
    assert_eq!(largest, Some(4));
}
