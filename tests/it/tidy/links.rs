//! Links of the README, CONTRIBUTING.md, SECURITY.md and the chapters lead to files and headings that
//! exist, and the chapters keep to the Markdown that the reference of the API shows.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::tidy::sources::{Source, read_all, root};

const CHAPTERS: &str = "src/http/front/chapters";

fn documents() -> Vec<Source> {
    ["README.md", "CONTRIBUTING.md", "SECURITY.md", CHAPTERS]
        .iter()
        .flat_map(|place| read_all(place))
        .collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_exist() {
    let documents = documents();
    assert!(documents.len() > 10, "the chapters are missing");
    let headings: BTreeMap<&str, Vec<String>> =
        documents.iter().map(|it| (it.path.as_str(), anchors(&it.text))).collect();
    let mut dead = Vec::new();
    for document in &documents {
        for target in links(&document.text) {
            if !leads_somewhere(&document.path, &target, &headings) {
                dead.push(format!("{}: {target}", document.path));
            }
        }
    }
    assert!(dead.is_empty(), "dead links: {dead:#?}");
}

fn leads_somewhere(from: &str, target: &str, headings: &BTreeMap<&str, Vec<String>>) -> bool {
    if target.starts_with("https://") {
        return true;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { String::from(from) } else { resolved(from, file) };
    let has_anchor = || {
        let known = headings.get(path.as_str());
        known.is_some_and(|known| known.iter().any(|heading| heading == anchor))
    };
    root().join(&path).exists() && (anchor.is_empty() || has_anchor())
}

/// The path from the root of the package that a relative link means.
fn resolved(from: &str, link: &str) -> String {
    let mut path = PathBuf::from(from);
    path.pop();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => path.push(part),
        }
    }
    path.display().to_string()
}

/// The folder also has their pictures.
fn chapters() -> Vec<Source> {
    let is_chapter = |it: &Source| Path::new(&it.path).extension().is_some_and(|it| it == "md");
    read_all(CHAPTERS).into_iter().filter(is_chapter).collect()
}

#[test]
fn the_readme_links_every_chapter() {
    let readme = links(include_str!("../../../README.md"));
    for chapter in chapters() {
        assert!(readme.contains(&chapter.path), "the README does not link {}", chapter.path);
    }
}

/// A row names its promise, and after each link to a file the tests in it, in backquotes.
#[test]
fn every_promise_of_the_readme_names_tests_that_exist() {
    let readme = include_str!("../../../README.md");
    let (_, section) = readme.split_once("\n## What you can rely on\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let promises: Vec<_> = section.lines().filter(|it| it.starts_with("| ")).skip(1).collect();
    assert!(promises.len() > 9, "only {} promises", promises.len());
    for promise in promises {
        let mut named = 0;
        for file in promise.split("](").skip(1) {
            let (path, tests) = file.split_once(')').unwrap();
            let text = std::fs::read_to_string(root().join(path)).unwrap();
            let tests = tests.split('[').next().unwrap_or_default();
            for test in tests.split('`').skip(1).step_by(2) {
                assert!(text.contains(&format!("fn {test}(")), "{path} has no {test}");
                named += 1;
            }
        }
        assert!(named > 0, "no test: {promise}");
    }
}

/// The reference of the API shows the chapters alone, so a link to another file of the sources would
/// be dead there.
#[test]
fn chapters_link_only_to_chapters() {
    for chapter in chapters() {
        for target in links(&chapter.text) {
            let is_chapter = !target.split('#').next().unwrap_or_default().contains('/');
            let is_known = is_chapter || target.starts_with("https://");
            assert!(is_known, "{}: {target}", chapter.path);
        }
    }
}

#[test]
fn chapters_have_one_title_and_only_plain_markdown() {
    for chapter in chapters() {
        let is_picture = |line: &&str| line.starts_with("![") && line.ends_with(".svg)");
        let text: Vec<_> = chapter.text.lines().filter(|line| !is_picture(line)).collect();
        let text = prose(&text.join("\n"));
        let levels: Vec<usize> = headings(&chapter.text).map(|(level, _)| level).collect();
        assert!(chapter.text.starts_with("# "), "{}: no title", chapter.path);
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1, "{}", chapter.path);
        assert!(levels.iter().all(|level| *level <= 3), "{}: deep heading", chapter.path);
        for foreign in ["![", "<!--", "</", "\n> ", "\n***", " *", "\n*"] {
            let found = text.replace("**", "").contains(foreign);
            assert!(!found, "{}: {foreign:?} is not shown by the reference", chapter.path);
        }
    }
}

fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| String::from(target)).collect()
}

/// The text without its blocks and spans of code.
fn prose(text: &str) -> String {
    let outside: String = text.split("```").step_by(2).collect();
    outside.split('`').step_by(2).collect()
}

/// The headings and their levels. A comment in a block of commands is not one.
fn headings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        is_code ^= line.trim_start().starts_with("```");
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let title = line.get(level..)?.strip_prefix(' ')?;
        (level > 0 && !is_code).then_some((level, title))
    })
}

/// The anchors that hosts of repositories make of headings.
fn anchors(text: &str) -> Vec<String> {
    let slug = |title: &str| -> String {
        let kept = title.chars().filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
        kept.map(|it| if it == ' ' { '-' } else { it.to_ascii_lowercase() }).collect()
    };
    headings(text).map(|(_, title)| slug(title)).collect()
}

#[test]
fn links_and_anchors_are_found() {
    let text = "# A title\n[one](a.md#b) `[no](x.md)` [two](https://a.example)\n```sh\n# no\n```\n\
                ## 3-D Secure, in `dev`\n";
    assert_eq!(links(text), ["a.md#b", "https://a.example"]);
    assert_eq!(anchors(text), ["a-title", "3-d-secure-in-dev"]);
    let headings = BTreeMap::from([("README.md", anchors(text))]);
    let leads = |target: &str| leads_somewhere("README.md", target, &headings);
    assert!(leads("#a-title") && leads("src/lib.rs") && leads("./README.md#a-title"));
    assert!(!leads("#other") && !leads("src/attic.rs") && !leads("README.md#other"));
    assert_eq!(resolved("src/http/a.md", "../lib.rs"), "src/lib.rs");
}
