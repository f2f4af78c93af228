//! The files of the pages for people: their headers, what they contain, and which servers have them.

use std::collections::BTreeSet;

use serde_json::json;

use crate::access_examples::files;
use crate::harness::{Answer, Vault, get};

/// The most that a browser loads for the start page and the reference, without the document.
const REFERENCE_BYTES_MAX: usize = 136 * 1024;

fn is_of_the_reference(path: &str) -> bool {
    path == "/" || path.starts_with("/reference/")
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

#[track_caller]
fn check_headers(path: &str, answer: &Answer) {
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(policy.starts_with("default-src 'none'"), "{path}: {policy}");
    // The example of `dev` allows the one style attribute of the published SDK, by its hash.
    let policy = match path {
        "/examples/checkout" | "/examples/elements" | "/examples/gallery" => {
            policy.replace("'unsafe-hashes'", "")
        }
        _ => String::from(policy),
    };
    for loose in ["unsafe-", "*", "http:", "https:", "blob:"] {
        assert!(!policy.contains(loose), "{path}: {policy}");
    }
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
    assert_eq!(answer.header("cache-control"), Some("no-cache"), "{path}");
    assert_eq!(answer.header("set-cookie"), None, "{path}");
}

#[test]
fn every_file_of_a_page_has_the_headers_that_limit_the_browser() {
    let vault = Vault::start();
    for path in &files() {
        let answer = vault.send(&get(path)).with_status(200);
        check_headers(path, &answer);
        assert_eq!(answer.header("content-type"), Some(media_type(path)), "{path}");
        assert!(!answer.bytes.is_empty(), "{path}");
    }
    let page = vault.send(&get("/")).with_status(200);
    let policy = page.header("content-security-policy").unwrap();
    let scripts = format!("script-src {}/reference/", vault.address);
    for part in [&scripts, "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
}

#[test]
fn a_browser_that_has_a_file_gets_no_second_copy() {
    let vault = Vault::start();
    for path in &files() {
        let first = vault.send(&get(path)).with_status(200);
        let tag = first.header("etag").unwrap_or_else(|| panic!("no ETag for {path}"));
        for known in [String::from(tag), format!("W/{tag}"), format!("\"other\", {tag}")] {
            let second = vault.send(&get(path).header("If-None-Match", &known)).with_status(304);
            check_headers(path, &second);
            assert!(second.bytes.is_empty(), "{path}");
            assert_eq!(second.header("etag"), Some(tag), "{path}");
        }
        vault.send(&get(path).header("If-None-Match", "\"other\"")).with_status(200);
        let head = head_of(&vault, path);
        check_headers(path, &head);
        assert_eq!(head.status, 200, "{path}");
        for name in ["content-type", "content-length", "etag"] {
            assert_eq!(head.header(name), first.header(name), "{name} of {path}");
        }
    }
}

/// The answer to a HEAD request, which has a length and no body.
fn head_of(vault: &Vault, path: &str) -> Answer {
    let mut connection = vault.connect();
    let request = format!("HEAD {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    connection.send(request.as_bytes()).unwrap();
    let text = String::from_utf8(connection.rest()).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "", "{path}");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), String::from(value)));
    Answer::new(status, headers.collect(), Vec::new())
}

#[test]
fn a_server_has_only_the_pages_that_its_settings_switch_on_and_never_examples() {
    let mut vault = Vault::start();
    let key = vault.keys.management.clone();
    let own: [(&str, &[&str]); 19] = [
        ("/openapi.json", &["reference"]),
        ("/postman.json", &["reference"]),
        ("/guide", &["reference"]),
        ("/pages/base.css", &["reference", "console"]),
        ("/web-elements/2.17.0/client/index.js", &["elements"]),
        ("/fields/v1.js", &["fields"]),
        ("/fields/v1/access", &["fields", "elements"]),
        ("/fields/v1/controller", &["fields", "elements"]),
        ("/fields/v1/field", &["fields", "elements"]),
        ("/console/data/activity", &["console"]),
        ("/console/data/keys", &["console"]),
        ("/console/data/limits", &["console"]),
        ("/console/data/proxies", &["console"]),
        ("/console/data/reactors", &["console"]),
        ("/console/data/3ds-sessions", &["console"]),
        ("/console/data/webhooks", &["console"]),
        ("/examples/checkout", &[]),
        ("/examples/elements", &[]),
        ("/examples/3ds-sdk.js", &[]),
    ];
    let (files, reference): (_, &[&str]) = (files(), &["reference"]);
    let of_reference = files.iter().filter(|path| is_of_the_reference(path));
    let own: Vec<_> =
        own.into_iter().chain(of_reference.map(|it| (it.as_str(), reference))).collect();
    vault.serve("");
    for path in own.iter().map(|(path, _)| *path).chain(files.iter().map(String::as_str)) {
        let absent = vault.get(path, &key).problem(404);
        assert_eq!(absent.json["detail"], "There is no such path.", "{path}");
        assert_eq!(absent.header("set-cookie"), None, "{path}");
    }
    vault.post("/console/data/rules-preview", &key, json!({})).problem(404);
    for group in ["reference", "elements", "fields", "console"] {
        vault.serve(&format!("pages.{group} = true"));
        for (path, groups) in &own {
            let is_there = vault.get(path, &key).status != 404;
            assert_eq!(is_there, groups.contains(&group), "{path} with {group}");
        }
    }
}

#[test]
fn the_reference_has_nothing_inline_and_nothing_of_another_server() {
    let vault = Vault::start();
    let page = vault.send(&get("/")).with_status(200).text();
    for forbidden in ["<style", " style=", "javascript:", "<iframe", "<base", "srcdoc"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    for script in page.split("<script").skip(1) {
        let (head, rest) = script.split_once('>').unwrap();
        assert!(head.contains(" src=\"/reference/"), "{head}");
        assert!(rest.starts_with("</script>"), "a script with a text");
    }
    let attributes = page.split_ascii_whitespace().filter_map(|word| word.split_once('='));
    let handlers: Vec<_> =
        attributes.map(|(name, _)| name).filter(|it| it.starts_with("on")).collect();
    assert!(handlers.is_empty(), "{handlers:?}");
    // The scripts put the address of the server in place of this one.
    let foreign = page.replace("https://127.0.0.1:8443", "");
    assert!(!foreign.contains("http:") && !foreign.contains("https:"), "a URL of another server");
    for attribute in ["href=\"", "src=\""] {
        for target in page.split(attribute).skip(1) {
            let is_ours = target.starts_with('/') && !target.starts_with("//");
            let is_data = target.starts_with("data:image/png;base64,");
            assert!(is_ours || is_data || target.starts_with('#'), "{attribute}{target:.40}");
        }
    }
}

#[test]
fn the_scripts_of_the_reference_make_no_markup_of_texts_and_keep_nothing() {
    let vault = Vault::start();
    let mut bytes = vault.send(&get("/pages/base.css")).bytes.len();
    let mut imported = BTreeSet::new();
    for path in files().iter().filter(|path| is_of_the_reference(path)) {
        let text = vault.send(&get(path)).with_status(200).text();
        let kind = media_type(path);
        if kind.starts_with("image/") {
            assert!(!text.contains("<script") && !text.contains("href"), "{path}");
            continue;
        }
        bytes += text.len();
        if kind.starts_with("text/css") {
            assert!(!text.contains("url(") && !text.contains("@import"), "{path}");
        }
        if !kind.starts_with("text/javascript") {
            continue;
        }
        for forbidden in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "localStorage",
            "sessionStorage",
            "indexedDB",
            ".cookie",
            "http://",
            "https://",
        ] {
            assert!(!text.contains(forbidden), "{forbidden} in {path}");
        }
        let from = text.split(" from './").skip(1).filter_map(|rest| rest.split_once('\''));
        imported.extend(from.map(|(file, _)| format!("/reference/{file}")));
    }
    assert!(imported.len() > 5, "{imported:?}");
    for path in imported {
        assert!(files().contains(&path), "{path} is imported and not served");
    }
    assert!(bytes <= REFERENCE_BYTES_MAX, "{bytes} bytes");
}

#[test]
fn the_operators_guide_is_a_page_without_scripts_beside_the_reference() {
    let vault = Vault::start();
    let page = vault.send(&get("/guide")).with_status(200);
    let text = page.text();
    for part in
        ["<h2 id=\"install\">INSTALL</h2>", "<a href=\"#sizing\">SIZING</a>", "href=\"/#start\""]
    {
        assert!(text.contains(part), "{part}");
    }
    for forbidden in ["<script", "<style", " style=", "javascript:", "<iframe", "\\fB", "\\-"] {
        assert!(!text.contains(forbidden), "{forbidden}");
    }
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.ends_with("script-src 'none'"), "{policy}");
    let navigation = vault.send(&get("/reference/navigation.js")).with_status(200).text();
    assert!(navigation.contains("href: '/guide'"));
}
