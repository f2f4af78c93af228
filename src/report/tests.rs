//! Tests of the rendered report.

use std::time::Duration;

use super::*;

fn sample() -> ComplianceReport {
    let keys =
        Chapter::new("Keys", "Requirement 3.7 asks for their change at the end of a period.")
            .good("The master key is 10 days old.")
            .attention("The keys of <Shop & Co> are older than a year.")
            .table(
                &["tenant", "age"],
                vec![vec![String::from("<Shop & Co>"), String::from("400 days")]],
            );
    let tls = Chapter::new("TLS", "Requirement 4.2.1.").table(&["listener"], Vec::new());
    ComplianceReport {
        title: String::from("Strongroom"),
        made_at: Timestamp::from_seconds(1_794_648_600),
        chapters: vec![keys, tls],
    }
}

#[test]
fn the_text_has_columns_and_says_first_what_needs_attention() {
    assert_eq!(
        sample().text(),
        "Strongroom\n==========\nMade 2026-11-14 09:30:00 UTC.\nNeeds attention:\n  ! Keys: The \
         keys of <Shop & Co> are older than a year.\n\nKeys\n----\nRequirement 3.7 asks for their \
         change at the end of a period.\n  - The master key is 10 days old.\n  ! The keys of <Shop \
         & Co> are older than a year.\n\n  tenant       age\n  <Shop & Co>  400 days\n\nTLS\n---\n\
         Requirement 4.2.1.\n\n  listener\n  (none)\n"
    );
}

#[test]
fn names_from_outside_are_text_on_the_page() {
    let page = sample().html();
    assert!(page.contains("<td>&lt;Shop &amp; Co&gt;</td>"), "{page}");
    assert!(!page.contains("<Shop"));
    assert!(page.contains("<li class=\"attention\">Keys: The keys of"), "{page}");
}

#[test]
fn long_sentences_are_broken_under_their_mark() {
    let long = "word ".repeat(40);
    let chapter = Chapter::new("A", "B").good(long);
    let made_at = Timestamp::from_seconds(0);
    let text =
        ComplianceReport { title: String::from("T"), made_at, chapters: vec![chapter] }.text();
    assert!(text.lines().all(|line| line.len() <= 96));
    assert_eq!(text.lines().filter(|line| line.starts_with("    word")).count(), 2);
}

#[test]
fn a_length_of_time_reads_in_its_largest_unit() {
    let cases = [(0, "0 seconds"), (119, "119 seconds"), (120, "2 minutes"), (7_200, "2 hours")];
    for (seconds, text) in cases {
        assert_eq!(span(Duration::from_secs(seconds)), text);
    }
    assert_eq!(span(Duration::from_hours(24 * 400)), "400 days");
}

#[test]
fn a_name_can_neither_make_up_a_line_nor_steer_a_terminal() {
    let name = "x\n\nAudit chain\n-----------\n  - whole\u{1b}[2J\u{202e}";
    let chapter =
        Chapter::new("A", "B").good(name).table(&["name"], vec![vec![String::from(name)]]);
    let made_at = Timestamp::from_seconds(0);
    let text =
        ComplianceReport { title: String::from("T"), made_at, chapters: vec![chapter] }.text();
    assert!(!text.lines().any(|line| line.starts_with("Audit chain")), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
}
