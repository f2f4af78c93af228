//! Tests of the rendered report.

use std::time::Duration;

use super::*;

fn sample() -> ComplianceReport {
    const KEYS: &[Requirement] =
        &[Requirement("3.7.4", "Keys are replaced at the end of a period.")];
    let keys = Chapter::new("Keys", KEYS)
        .good("The master key is 10 days old.")
        .attention("The keys of <Shop & Co> are older than a year.")
        .unknown("The credential is known to systemd alone.")
        .table(
            &["tenant", "age"],
            vec![vec![String::from("<Shop & Co>"), String::from("400 days")]],
        );
    let tls = Chapter::new("TLS", &[]).table(&["listener"], Vec::new());
    report(vec![keys, tls])
}

fn report(chapters: Vec<Chapter>) -> ComplianceReport {
    ComplianceReport {
        title: String::from("Strongroom"),
        made_at: Timestamp::from_seconds(1_794_648_600),
        about: vec![("Standard", String::from("PCI DSS 4.0.1"))],
        chapters,
    }
}

#[test]
fn the_text_has_columns_and_says_first_what_needs_attention() {
    assert_eq!(
        sample().text(),
        "Strongroom\n==========\nMade 2026-11-14T09:30:00Z.\nStandard: PCI DSS 4.0.1\n\nNeeds \
         attention:\n  ! Keys: The keys of <Shop & Co> are older than a year.\n\nKeys\n----\n3.7.4  \
         Keys are replaced at the end of a period.\n  - The master key is 10 days old.\n  ! The \
         keys of <Shop & Co> are older than a year.\n  ? The credential is known to systemd \
         alone.\n\n  tenant       age\n  <Shop & Co>  400 days\n\nTLS\n---\n\n  listener\n  (none)\n"
    );
}

#[test]
fn the_last_column_is_wrapped_under_its_head() {
    let rows = vec![vec![String::from("Backend"), "token:read, ".repeat(20)]];
    let text = report(vec![Chapter::new("A", &[]).table(&["application", "may"], rows)]).text();
    assert!(text.lines().all(|line| line.len() <= 96), "{text}");
    let wrapped = text.lines().filter(|line| line.starts_with("               token:read,"));
    assert!(wrapped.count() >= 2, "{text}");
}

#[test]
fn names_from_outside_are_text_on_the_page() {
    let page = sample().html();
    assert!(page.contains("<td data-head=\"tenant\">&lt;Shop &amp; Co&gt;</td>"), "{page}");
    assert!(!page.contains("<Shop"));
    assert!(page.contains("<li class=\"attention\">Keys: The keys of"), "{page}");
}

#[test]
fn long_sentences_are_broken_under_their_mark() {
    let long = "word ".repeat(40);
    let text = report(vec![Chapter::new("A", &[]).good(long)]).text();
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
        Chapter::new("A", &[]).good(name).table(&["name"], vec![vec![String::from(name)]]);
    let text = report(vec![chapter]).text();
    assert!(!text.lines().any(|line| line.starts_with("Audit chain")), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
}
