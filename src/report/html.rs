//! The report as one HTML page without external resources.

use crate::domain::html::escape;
use crate::report::{Chapter, ComplianceReport, ReportTable, Requirement, Standing, moment};

const STYLE: &str = include_str!("page.css");

pub(super) fn render(document: &ComplianceReport) -> String {
    let title = escape(&document.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width\">\n<meta http-equiv=\
         \"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <dl>\n<dt>Made</dt>\n<dd>{}</dd>\n",
        moment(document.made_at)
    );
    for (name, value) in &document.about {
        element(&mut out, "dt", "", name);
        element(&mut out, "dd", "", value);
    }
    out.push_str("</dl>\n");
    summary(&mut out, document);
    for chapter in &document.chapters {
        render_chapter(&mut out, chapter);
    }
    out.push_str("</body>\n</html>\n");
    out
}

fn summary(out: &mut String, document: &ComplianceReport) {
    let urgent: Vec<_> = document.attention().collect();
    out.push_str("<div class=\"box\">\n");
    if urgent.is_empty() {
        element(out, "p", "", &document.calm());
    } else {
        element(out, "p", "", "Needs attention:");
        out.push_str("<ul>\n");
        for (chapter, sentence) in urgent {
            element(out, "li", "attention", &format!("{chapter}: {sentence}"));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</div>\n");
}

fn render_chapter(out: &mut String, chapter: &Chapter) {
    element(out, "h2", "", chapter.title);
    if !chapter.requirements.is_empty() {
        out.push_str("<ul class=\"requirements\">\n");
        for Requirement(number, title) in chapter.requirements {
            element(out, "li", "", &format!("{number} {title}"));
        }
        out.push_str("</ul>\n");
    }
    if !chapter.findings.is_empty() {
        out.push_str("<ul>\n");
        for finding in &chapter.findings {
            let class = match finding.standing {
                Standing::Attention => "attention",
                Standing::Good => "",
                Standing::Unknown => "unknown",
            };
            element(out, "li", class, &finding.sentence);
        }
        out.push_str("</ul>\n");
    }
    match &chapter.table {
        Some(table) if table.rows.is_empty() => element(out, "p", "", "(none)"),
        Some(table) => render_table(out, table),
        None => (),
    }
}

/// On a narrow screen each row is a block, in which a cell carries the heading of its column.
fn render_table(out: &mut String, table: &ReportTable) {
    out.push_str("<table>\n<thead>\n<tr>");
    for cell in &table.head {
        element(out, "th", "", cell);
    }
    out.push_str("</tr>\n</thead>\n<tbody>\n");
    for row in &table.rows {
        out.push_str("<tr>\n");
        for (cell, head) in row.iter().zip(&table.head) {
            let parts = ["<td data-head=\"", &escape(head), "\">", &escape(cell), "</td>\n"];
            out.extend(parts);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
}

/// Appends an element. Names of tenants and applications come from outside, so all text is escaped
/// here.
fn element(out: &mut String, tag: &str, class: &str, text: &str) {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let text = escape(text);
    for part in ["<", tag, &class, ">", &text, "</", tag, ">\n"] {
        out.push_str(part);
    }
}
