//! Tables of command lines, and a property of every option of every command.

use argh::{CommandInfoWithArgs, FlagInfoKind, FromArgs as _};

use super::*;

fn words(line: &str) -> Vec<String> {
    line.split(' ').filter(|word| !word.is_empty()).map(String::from).collect()
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let prepared = prepare(&words(line)).unwrap_or_else(|failure| panic!("{line}: {failure}"));
    assert_eq!(prepared, Prepared::Command(words(expected)), "{line}");
}

#[track_caller]
fn check_incomplete(line: &str, path: &str) {
    assert_eq!(prepare(&words(line)).unwrap(), Prepared::Incomplete(words(path)), "{line}");
}

/// Checks that the line is refused with this advice and that no secret is repeated.
#[track_caller]
fn check_refused(line: &str, advice: &str) {
    let failure = prepare(&words(line)).expect_err(line);
    assert_eq!(failure.exit, Exit::Usage);
    let text = failure.to_string();
    assert!(text.ends_with(&format!("\n  try:   {advice}")), "{line}: {text}");
    assert!(!text.contains("s3cret"), "{line}: {text}");
}

#[test]
fn help_is_shown_for_the_command_that_is_named() {
    for (line, expected) in [
        ("-h", "--help"),
        ("--help", "--help"),
        ("help", "--help"),
        ("help help", "--help"),
        ("tenant help help", "tenant --help"),
        ("help tenant", "tenant --help"),
        ("help tenant create", "tenant create --help"),
        ("tenant help create", "tenant create --help"),
        ("tenant -h", "tenant --help"),
        ("-h tenant create", "tenant create --help"),
        ("tenant create -h", "tenant create --help"),
        ("tenant create --name x -h --type test", "tenant create --help"),
        ("backup x -h", "backup --help"),
        ("help backup x", "backup --help"),
        ("dev-clock --data x -h", "dev-clock --help"),
    ] {
        check(line, expected);
    }
}

#[test]
fn a_value_is_a_value_whatever_it_looks_like() {
    for (line, expected) in [
        ("tenant create --name -h --type test", "tenant create --name -h --type test"),
        ("tenant create --name help", "tenant create --name help"),
        ("tenant create --name=help", "tenant create --name help"),
        ("tenant create --name=-h", "tenant create --name -h"),
        ("tenant create --name --type --type=test", "tenant create --name --type --type test"),
        ("tenant create --quota=a=b=c", "tenant create --quota a=b=c"),
        ("backup a=b", "backup a=b"),
        ("backup -- --data=x", "backup -- --data=x"),
        ("backup -- -h", "backup -- -h"),
        ("--version", "version"),
        ("-V", "version"),
        ("-V --json", "version --json"),
        ("dev-clock --data=x advance 1h", "dev-clock --data x advance 1h"),
        ("dev-clock advance 1h --data x", "dev-clock --data x advance 1h"),
        ("dev-clock advance --data=advance 1h", "dev-clock --data advance advance 1h"),
    ] {
        check(line, expected);
    }
    let empty = prepare(&words("tenant create --name=")).unwrap();
    let expected = ["tenant", "create", "--name", ""].map(String::from).to_vec();
    assert_eq!(empty, Prepared::Command(expected));
}

#[test]
fn a_command_without_its_action_is_incomplete() {
    check_incomplete("", "");
    check_incomplete("tenant", "tenant");
    check_incomplete("dev-clock --data x", "dev-clock");
    check_incomplete("-- tenant", "");
}

#[test]
fn a_mistake_is_answered_with_the_nearest_name_and_never_with_what_follows() {
    for (line, advice) in [
        ("tenatn create --name s3cret", "strongroom tenant"),
        ("tenant craete --name s3cret", "strongroom tenant create"),
        ("help tenant craete", "strongroom tenant create"),
        ("application key-imprt s3cret", "strongroom application key-import"),
        ("s3cret", "strongroom --help"),
        ("tenant s3cret", "strongroom tenant --help"),
        ("tenant create --nmae s3cret", "--name"),
        ("tenant create --nmae=s3cret", "--name"),
        ("tenant create -name s3cret", "--name"),
        ("tenant create --s3cret", "strongroom tenant create --help"),
        ("status --jsno s3cret", "--json"),
        ("status --json=s3cret", "strongroom status --help"),
        ("status s3cret", "strongroom status --help"),
        ("backup x s3cret", "strongroom backup --help"),
        ("backup -- x s3cret", "strongroom backup --help"),
        ("backup --config", "strongroom backup --help"),
        ("--config s3cret status", "strongroom status --config VALUE"),
        ("--config=s3cret tenant list", "strongroom tenant list --config=VALUE"),
        ("--json tenant create --name s3cret", "strongroom tenant create --json"),
        ("--data s3cret", "strongroom COMMAND --data VALUE"),
        ("tenant create -V", "strongroom tenant create --help"),
    ] {
        check_refused(line, advice);
    }
}

#[test]
fn the_refusals_of_the_parser_do_not_repeat_values() {
    let line = words("key destroy --server --number s3cret");
    let refusal = Strongroom::from_args(
        &["strongroom"],
        &line.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let text = refused(&refusal.unwrap_err().output, &line).to_string();
    assert_eq!(
        text,
        "strongroom: the command line is wrong\n  why:   --number: invalid digit found in string\n  \
         try:   strongroom key destroy --help"
    );
}

#[test]
fn json_is_asked_for_before_the_end_of_options_only() {
    assert!(asks_for_json(&words("tenant craete --json")));
    assert!(!asks_for_json(&words("backup -- --json")));
    assert!(!asks_for_json(&words("tenant list")));
}

/// Every command without subcommands, with its words.
fn commands(
    command: &CommandInfoWithArgs,
    path: &[String],
    found: &mut Vec<(Vec<String>, CommandInfoWithArgs)>,
) {
    if command.commands.is_empty() {
        found.push((path.to_vec(), command.clone()));
    }
    for next in &command.commands {
        commands(&next.command, &[path, &[String::from(next.name)]].concat(), found);
    }
}

#[test]
fn every_option_of_every_command_takes_its_value_in_both_forms() {
    let mut all = Vec::new();
    commands(&Strongroom::get_args_info(), &[], &mut all);
    assert!(all.len() > 30, "{}", all.len());
    for (path, command) in all {
        for flag in command.flags.iter().filter(|it| it.kind != FlagInfoKind::Switch) {
            for value in ["v", "", "a=b", "--json", "-h", "help", "--"] {
                let apart = [path.as_slice(), &[String::from(flag.long), String::from(value)]];
                let joined = [path.as_slice(), &[format!("{}={value}", flag.long)]];
                let (apart, joined) = (apart.concat(), joined.concat());
                let expected = Prepared::Command(apart.clone());
                assert_eq!(prepare(&joined).unwrap(), expected, "{joined:?}");
                assert_eq!(prepare(&apart).unwrap(), expected, "{apart:?}");
            }
        }
        for flag in command.flags.iter().filter(|it| it.kind == FlagInfoKind::Switch) {
            let with_value = [path.as_slice(), &[format!("{}=on", flag.long)]].concat();
            assert!(prepare(&with_value).is_err(), "{with_value:?}");
        }
    }
}
