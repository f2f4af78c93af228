//! The report as plain text: underlined headings, tables in columns.

use crate::report::{ComplianceReport, ReportTable, Requirement, Standing, moment};

/// The width at which prose and the last column of a table are wrapped.
const WIDTH: usize = 96;
/// The last column is never narrower than this.
const LAST_COLUMN_MIN: usize = 32;

pub(super) fn render(document: &ComplianceReport) -> String {
    let mut out = String::new();
    heading(&mut out, &document.title, '=');
    line(&mut out, &format!("Made {}.", moment(document.made_at)));
    for (name, value) in &document.about {
        wrap(&mut out, &format!("{name}: "), value);
    }
    out.push('\n');
    let urgent: Vec<_> = document.attention().collect();
    if urgent.is_empty() {
        line(&mut out, &document.calm());
    } else {
        line(&mut out, "Needs attention:");
        for (chapter, sentence) in urgent {
            wrap(&mut out, "  ! ", &format!("{chapter}: {sentence}"));
        }
    }
    for chapter in &document.chapters {
        out.push('\n');
        heading(&mut out, chapter.title, '-');
        for Requirement(number, title) in chapter.requirements {
            wrap(&mut out, &format!("{number}  "), title);
        }
        for finding in &chapter.findings {
            let mark = match finding.standing {
                Standing::Attention => "  ! ",
                Standing::Good => "  - ",
                Standing::Unknown => "  ? ",
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
    let indent = mark.chars().count();
    for (at, part) in broken(text, WIDTH.saturating_sub(indent)).iter().enumerate() {
        let before = if at == 0 { String::from(mark) } else { " ".repeat(indent) };
        line(out, format!("{before}{part}").trim_end());
    }
}

/// Breaks a text between words. A word that is longer than a line gets its own line.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(last) = lines.last_mut() else { break };
        let is_fresh = last.is_empty();
        let length = last.chars().count().saturating_add(word.chars().count());
        if !is_fresh && length >= width {
            lines.push(String::from(word));
        } else {
            if !is_fresh {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

fn columns(out: &mut String, table: &ReportTable) {
    let head: Vec<String> = table.head.iter().copied().map(String::from).collect();
    let all: Vec<&Vec<String>> = std::iter::once(&head).chain(&table.rows).collect();
    let mut widths: Vec<usize> = (0..head.len())
        .map(|at| all.iter().filter_map(|row| row.get(at)).map(|it| it.chars().count()).max())
        .map(Option::unwrap_or_default)
        .collect();
    let last_width = widths.pop().unwrap_or_default();
    let before = widths.iter().fold(2_usize, |sum, it| sum.saturating_add(*it).saturating_add(2));
    let last_width = last_width.min(WIDTH.saturating_sub(before).max(LAST_COLUMN_MIN));
    for row in all {
        let mut text = String::from("  ");
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(cell);
            let missing = width.saturating_sub(cell.chars().count());
            text.extend(std::iter::repeat_n(' ', missing.saturating_add(2)));
        }
        let last = row.get(widths.len()).map(String::as_str).unwrap_or_default();
        for part in broken(last, last_width) {
            line(out, format!("{text}{part}").trim_end());
            text = " ".repeat(before);
        }
    }
    if table.rows.is_empty() {
        line(out, "  (none)");
    }
}
