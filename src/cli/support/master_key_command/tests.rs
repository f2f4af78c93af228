//! The ways in which the program ends, and the lines of its standard error.

use super::*;

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
    let arguments = ["-c", "echo one; echo two >&2; echo three"].map(String::from).to_vec();
    let (program, deadline) = (PathBuf::from("/bin/sh"), Duration::from_mins(1));
    let printed = run(&KeyCommand { program, arguments, deadline }).unwrap();
    assert_eq!(printed.expose(), b"one\nthree\n");
}
