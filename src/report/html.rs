//! The report as one HTML page without external resources.

use crate::domain::html::escape;
use crate::report::{Chapter, ComplianceReport, ReportTable, Standing, moment};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;\
padding:0 1em;color:#1b1f24}h1{margin-bottom:0}h2{margin-top:2em;border-bottom:1px solid #ccd}\
.about{color:#556}table{border-collapse:collapse;margin-top:1em;font-size:14px}th,td{text-align:\
left;vertical-align:top;padding:.3em .9em .3em 0;border-bottom:1px solid #e3e6ea;overflow-wrap:\
anywhere}li.attention{color:#8a1c00;font-weight:600}.box{border:1px solid #ccd;padding:.2em 1em;\
margin-top:1em}@media print{body{margin:0}h2{break-after:avoid}}";

pub(super) fn render(document: &ComplianceReport) -> String {
    let title = escape(&document.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
         name=\"viewport\" content=\"width=device-width\">\n<meta http-equiv=\
         \"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p class=\"about\">Made {}.</p>\n",
        moment(document.made_at)
    );
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
        element(out, "p", "", "Nothing needs attention.");
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
    element(out, "p", "about", chapter.about);
    if !chapter.findings.is_empty() {
        out.push_str("<ul>\n");
        for finding in &chapter.findings {
            let class = match finding.standing {
                Standing::Attention => "attention",
                Standing::Good => "",
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

fn render_table(out: &mut String, table: &ReportTable) {
    out.push_str("<table>\n<tr>");
    for cell in &table.head {
        element(out, "th", "", cell);
    }
    for row in &table.rows {
        out.push_str("</tr>\n<tr>");
        for cell in row {
            element(out, "td", "", cell);
        }
    }
    out.push_str("</tr>\n</table>\n");
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
