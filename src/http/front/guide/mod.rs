//! The page at `/guide`: the operator's guide, from the same source as the manual page. It has no
//! script.

mod roff;

use std::sync::LazyLock;

use crate::domain::html::escape;
use crate::http::front::asset::{Asset, AssetKind, PagePolicy};
use crate::http::front::guide::roff::Heading;

const SOURCE: &str = include_str!("../../../../packaging/strongroom-guide.7");

pub(in crate::http) static PAGE: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Alone, &[]), || HTML.as_str());

static HTML: LazyLock<String> = LazyLock::new(|| page(SOURCE));

fn page(source: &str) -> String {
    let guide = roff::render(source);
    let entry = |heading: &Heading| {
        let class = if heading.level == 2 { "" } else { " class=\"small\"" };
        let (anchor, title) = (&heading.anchor, escape(&heading.title));
        format!("<li{class}><a href=\"#{anchor}\">{title}</a></li>\n")
    };
    let contents: String = guide.headings.iter().map(entry).collect();
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Operator's guide - Strongroom</title>
<link rel="icon" href="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAMAAABEpIrGAAAACVBMVEUAAAAcX7j///+VTDNdAAAAAXRSTlMAQObYZgAAAFZJREFUeNrN08EKACAIA1C3///ooAgiy1F2aNfewcSZtcDFhmAT9d4FEAtAiDSAyAzIELBmD0gvjgC5EEcgP4P+ZhOZRf0A9B4uTurJVcvi6Orp8ob1L4deBCFcQcxbAAAAAElFTkSuQmCC">
<link rel="stylesheet" href="/pages/base.css">
<link rel="stylesheet" href="/reference/page.css">
<link rel="stylesheet" href="/reference/print.css" media="print">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<a class="brand" href="/#start"><span class="keyhole" aria-hidden="true"></span>Strongroom</a>
</header>
<div class="frame">
<div class="side">
<nav id="navigation" aria-label="Operator's guide">
<ul>
<li><a href="/#start">Reference</a></li>
<li class="group">Operator's guide</li>
{contents}</ul>
</nav>
</div>
<main id="main" tabindex="-1">
<h1>Operator's guide</h1>
{body}</main>
</div>
</body>
</html>
"##,
        body = guide.body
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contents_at_the_head_name_every_section_and_its_parts_in_order() {
        let (_, contents) = SOURCE.split_once(".SH CONTENTS\n").unwrap();
        let (contents, _) = contents.split_once(".SH DESCRIPTION\n").unwrap();
        let entries = contents.lines().filter(|line| !line.starts_with(".IP"));
        let entry = |line: &str| {
            let line = line.replace("\\fB", "").replace("\\fR", "");
            String::from(line.trim_end_matches([':', ';']))
        };
        let entries: Vec<_> = entries.map(entry).collect();
        let headings = roff::render(SOURCE).headings;
        let titles: Vec<_> = headings.into_iter().skip(2).map(|heading| heading.title).collect();
        assert_eq!(entries, titles);
    }

    #[test]
    fn every_line_of_the_shipped_guide_is_understood_and_every_link_leads_to_a_heading() {
        let guide = roff::render(SOURCE);
        assert_eq!(guide.unknown, Vec::<String>::new());
        let html = page(SOURCE);
        for heading in &guide.headings {
            let anchor = &heading.anchor;
            assert_eq!(html.matches(&format!(" id=\"{anchor}\"")).count(), 1, "{anchor}");
            assert_eq!(html.matches(&format!("href=\"#{anchor}\"")).count(), 1, "{anchor}");
        }
        assert!(guide.headings.len() > 60, "{}", guide.headings.len());
        assert!(html.contains("dpkg -i strongroom_VERSION_ARCHITECTURE.deb"));
        // No script, no inline style, and nothing of the source's own markup.
        for markup in ["<script", " style=", " on", "\\f", "\n.SH", "guide: run"] {
            let outside = html.split("<pre>").map(|part| part.split("</pre>").last().unwrap_or(""));
            let is_there = outside.into_iter().any(|part| match markup {
                " on" => part.contains("<a on") || part.contains("\" on"),
                markup => part.contains(markup),
            });
            assert!(!is_there, "{markup}");
        }
    }
}
