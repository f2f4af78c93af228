//! The report as plain text: underlined headings, tables in columns.

use crate::report::{ComplianceReport, ReportTable, Standing, moment};

/// Prose is wrapped at this many characters; tables are not wrapped.
const WIDTH: usize = 96;

pub(super) fn render(document: &ComplianceReport) -> String {
    let mut out = String::new();
    heading(&mut out, &document.title, '=');
    line(&mut out, &format!("Made {}.", moment(document.made_at)));
    let urgent: Vec<_> = document.attention().collect();
    if urgent.is_empty() {
        line(&mut out, "Nothing needs attention.");
    } else {
        line(&mut out, "Needs attention:");
        for (chapter, sentence) in urgent {
            wrap(&mut out, "  ! ", &format!("{chapter}: {sentence}"));
        }
    }
    for chapter in &document.chapters {
        out.push('\n');
        heading(&mut out, chapter.title, '-');
        wrap(&mut out, "", chapter.about);
        for finding in &chapter.findings {
            let mark = match finding.standing {
                Standing::Attention => "  ! ",
                Standing::Good => "  - ",
            };
            wrap(&mut out, mark, &finding.sentence);
        }
        if let Some(table) = &chapter.table {
            out.push('\n');
            columns(&mut out, table);
        }
    }
    out
}

fn heading(out: &mut String, title: &str, under: char) {
    line(out, title);
    let underline: String = std::iter::repeat_n(under, title.chars().count()).collect();
    line(out, &underline);
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// Wraps the text. The mark precedes the first line; further lines have the same indent.
fn wrap(out: &mut String, mark: &str, text: &str) {
    let indent = " ".repeat(mark.len());
    let mut current = String::from(mark);
    let mut is_fresh = true;
    for word in text.split_whitespace() {
        if !is_fresh && current.chars().count() + 1 + word.chars().count() > WIDTH {
            line(out, &current);
            current.clone_from(&indent);
            is_fresh = true;
        }
        if !is_fresh {
            current.push(' ');
        }
        current.push_str(word);
        is_fresh = false;
    }
    line(out, &current);
}

fn columns(out: &mut String, table: &ReportTable) {
    let head: Vec<String> = table.head.iter().copied().map(String::from).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&table.rows).collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|at| all.iter().filter_map(|row| row.get(at)).map(|it| it.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    for row in all {
        let mut text = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(cell);
            let missing = width.saturating_sub(cell.chars().count());
            text.extend(std::iter::repeat_n(' ', missing.saturating_add(2)));
        }
        line(out, text.trim_end());
    }
    if table.rows.is_empty() {
        line(out, "  (none)");
    }
}
