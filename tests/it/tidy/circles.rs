//! Import circles: files of a room, and its sub-rooms, that need each other, directly or by way of
//! others. A sub-room is a folder or a file beside the `mod.rs` of the room.
//!
//! An edge is an import or a path in the code: `crate::room::file::..` or `super::..`. A name that
//! `mod.rs` exports again leads to `mod.rs`, between sub-rooms to the sub-room that it comes from. A
//! path from `mod.rs` down to its own submodules is not an edge: it puts the parts together. Tests are
//! left out.

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::sources::{Parts, Source, is_part_of_a_name, program, room_of};
use crate::tidy::violations::check_none;

/// A circle of more files or of more sub-rooms than this is a violation.
const CIRCLE_MAX: usize = 3;

/// The files of a room by their module paths.
type Files<'a> = BTreeMap<Vec<String>, &'a (Source, Parts)>;

/// For each file or sub-room, those that it needs.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_import_circle_has_more_than_three_files() {
    let mut graph = Graph::new();
    for files in rooms(program()).values() {
        graph.extend(edges(files));
    }
    check_circles(&graph, CIRCLE_MAX);
}

#[test]
fn no_import_circle_has_more_than_three_sub_rooms() {
    for files in rooms(program()).values() {
        check_circles(&sub_rooms(files), CIRCLE_MAX);
    }
}

#[track_caller]
fn check_circles(graph: &Graph, most: usize) {
    let found: BTreeSet<String> = circles(graph)
        .into_iter()
        .filter(|circle| circle.len() > most)
        .map(|circle| circle.into_iter().collect::<Vec<_>>().join(" "))
        .collect();
    check_none(&found, |circle| {
        let members: BTreeSet<&str> = circle.split(' ').collect();
        let inside = |from: &str| {
            let needed = graph[from].iter().filter(|to| members.contains(to.as_str()));
            let needed: Vec<&str> = needed.map(String::as_str).collect();
            format!("    {from} needs {}", needed.join(", "))
        };
        members.iter().map(|from| inside(from)).collect::<Vec<_>>().join("\n")
    });
}

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
        for path in paths(&parts.code).own {
            let Some(target) = resolve(module, &path, files) else { continue };
            if target.path != source.path {
                needed.insert(target.path.clone());
            }
        }
    }
    graph
}

fn sub_rooms(files: &Files<'_>) -> Graph {
    let mut graph: Graph =
        files.keys().filter_map(|it| Some((it.get(1)?.clone(), BTreeSet::new()))).collect();
    let mut exports: BTreeMap<String, String> = BTreeMap::new();
    for (module, (_, parts)) in files.iter().filter(|(module, _)| module.len() == 1) {
        for path in paths(&parts.code).exported {
            let path = whole(module, &path).map_or(path, |path| path[1..].to_vec());
            if let [from, .., name] = path.as_slice() {
                exports.insert(name.clone(), from.clone());
            }
        }
    }
    for (module, (_, parts)) in files {
        let Some(from) = module.get(1) else { continue };
        let found = paths(&parts.code);
        for path in found.own.iter().chain(&found.exported) {
            let Some(name) = whole(module, path).and_then(|path| path.get(1).cloned()) else {
                continue;
            };
            let to = if graph.contains_key(&name) { Some(&name) } else { exports.get(&name) };
            if let Some(to) = to.filter(|to| *to != from && graph.contains_key(*to)).cloned() {
                graph.entry(from.clone()).or_default().insert(to);
            }
        }
    }
    graph
}

/// A path of this module from the room on; `None` if it leads out of the room.
fn whole(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let base = match first.as_str() {
        "crate" => &[],
        "super" => &module[..module.len() - 1],
        _ => return None,
    };
    Some([base, rest].concat()).filter(|whole| whole.first() == module.first())
}

/// The file that a path of this module leads to, within the room.
fn resolve<'a>(module: &[String], path: &[String], files: &Files<'a>) -> Option<&'a Source> {
    let whole = whole(module, path)?;
    (1..=whole.len()).rev().find_map(|length| files.get(&whole[..length])).map(|(source, _)| source)
}

#[derive(Default)]
struct Paths {
    own: Vec<Vec<String>>,
    /// Of names that the file exports again.
    exported: Vec<Vec<String>>,
}

/// All paths of two names or more, with imports written out one by one.
fn paths(code: &str) -> Paths {
    let mut paths = Paths::default();
    let (mut plain, mut rest) = (String::new(), code);
    while let Some((before, import)) = cut_import(rest) {
        let is_export = before.trim_end().ends_with("pub") || before.trim_end().ends_with(')');
        let (import, after) = import.split_once(';').unwrap_or((import, ""));
        let found = if is_export { &mut paths.exported } else { &mut paths.own };
        expand(import, &mut Vec::new(), found);
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
        paths.own.push(path);
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
    // `a` needs itself by way of the name that `mod.rs` exports, and that is no edge.
    let folders = sub_rooms(&rooms(&sources)["app"]);
    let folder = |name: &str| String::from(name);
    let needs = |to: &str| BTreeSet::from([folder(to)]);
    assert_eq!(folders, Graph::from([(folder("a"), needs("b")), (folder("b"), needs("a"))]));
}
