//! Ends of the program, and the lines of its standard error.

use super::*;
use crate::waiting::{block_on, wait_until};

fn shell(script: &str, deadline: Duration) -> KeyCommand {
    let arguments = vec![String::from("-c"), String::from(script)];
    KeyCommand { program: PathBuf::from("/bin/sh"), arguments, deadline }
}

const AMPLE: Duration = Duration::from_mins(1);

#[test]
fn standard_error_is_told_in_printable_lines_without_long_words() {
    let key = "0123456789abcdef".repeat(4);
    for (said, wanted) in [
        (String::from("no slot\n\n  two \n"), vec!["no slot", "two"]),
        (format!("+ echo {key}\n"), vec!["+ echo [hidden]"]),
        (format!("KEY='{key}'"), vec!["KEY='[hidden]'"]),
        (String::from("\x1b[31mred\x07"), vec!["?[31mred?"]),
        (
            String::from("/usr/lib/softhsm/libsofthsm2.so: 1234abcd-12ab-34cd-56ef-1234567890ab"),
            vec!["/usr/lib/softhsm/libsofthsm2.so: 1234abcd-12ab-34cd-56ef-1234567890ab"],
        ),
    ] {
        assert_eq!(lines_of(said.as_bytes()), wanted);
    }
    let many = lines_of("line\n".repeat(500).as_bytes());
    assert_eq!(many.len(), MASTER_KEY_COMMAND_COMPLAINT_LINES_MAX + 1);
    assert_eq!(many.last().unwrap(), "... and more");
    let long = "a b ".repeat(500);
    assert_eq!(lines_of(long.as_bytes())[0].len(), MASTER_KEY_COMMAND_COMPLAINT_LINE_MAX);
}

#[test]
fn what_the_program_prints_before_its_end_is_returned_and_nothing_else() {
    let printed = run(&shell("echo one; echo two >&2; echo three", AMPLE)).unwrap();
    assert_eq!(printed.expose(), b"one\nthree\n");
}

#[test]
fn a_child_that_holds_the_pipe_open_is_not_waited_for_and_ends_with_the_program() {
    let begun = Instant::now();
    let printed = run(&shell("echo key; sleep 600 & echo $!", AMPLE)).unwrap();
    assert!(begun.elapsed() < AMPLE);
    let text = String::from_utf8(printed.expose().clone()).unwrap();
    let child = text.lines().nth(1).unwrap();
    // Killed, and perhaps not reaped yet by the process that it was given to.
    let is_gone = || match fs::read_to_string(format!("/proc/{child}/stat")) {
        Ok(stat) => stat.contains(") Z "),
        Err(_) => true,
    };
    block_on(wait_until("the end of the child", async || is_gone()));
}

#[test]
fn every_bad_end_of_the_program_is_told_apart() {
    let second = Duration::from_secs(1);
    for (script, deadline, wanted) in [
        ("echo secret; exit 3", AMPLE, "ended with the code 3"),
        ("kill -TERM $$", AMPLE, "signal 15 ended it"),
        ("sleep 600", second, "within 1 seconds"),
        ("while :; do echo x >&2; done", second, "within 1 seconds"),
        ("while :; do echo x; done", AMPLE, "more than 4096 bytes"),
    ] {
        let failure = run(&shell(script, deadline)).unwrap_err();
        assert_eq!(failure.exit, Exit::Permission, "{script}");
        let text = failure.to_string();
        assert!(text.contains(wanted), "{script}: {text}");
        assert!(text.contains("/bin/sh") && !text.contains("secret"), "{script}: {text}");
    }
}
