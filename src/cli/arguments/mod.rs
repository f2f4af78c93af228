//! Prepares the arguments for argh, which supports neither `-h` nor `--option=value`, and suggests
//! nothing for a mistake. No message repeats a word that may be a value: values can be secrets.

#[cfg(test)]
mod tests;

use argh::{ArgsInfo as _, CommandInfoWithArgs, FlagInfo, FlagInfoKind, Optionality};

use crate::cli::commands::Strongroom;
use crate::cli::support::{Exit, Failure, Result};
use crate::domain::nearest::nearest;

/// The longest mistyped word that a message repeats.
const SHOWN_CHARS_MAX: usize = 32;

#[derive(Debug, PartialEq, Eq)]
pub enum Prepared {
    Command(Vec<String>),
    /// The words of a command that needs another word after it.
    Incomplete(Vec<String>),
}

/// True if the command was asked to print JSON. The arguments may have mistakes, so this does not
/// parse them.
pub fn asks_for_json(arguments: &[String]) -> bool {
    arguments.iter().take_while(|it| *it != "--").any(|it| it == "--json")
}

pub fn prepare(arguments: &[String]) -> Result<Prepared> {
    let mut words = arguments.iter().enumerate().map(|(at, word)| match word.as_str() {
        // argh has no option without a command.
        "--version" | "-V" if at == 0 => "version",
        word => word,
    });
    let mut line = CommandLine::new();
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" | "help" => return line.help(words),
            _ if line.path.is_empty() && is_option_of_commands(word) => {
                return Err(wrong_order(word, words));
            }
            "--" if line.is_group() => break,
            "--" => {
                line.out.push(String::from(word));
                words.try_for_each(|value| line.positional(value))?;
                break;
            }
            // argh takes a single hyphen for an option; for `import` it is standard input.
            "-" if line.path == ["import"] => line.positional("/dev/stdin")?,
            _ if word.starts_with('-') => line.option(word, &mut words)?,
            _ if line.is_group() || line.has_command(word) => line.descend(word)?,
            _ => line.positional(word)?,
        }
    }
    Ok(if line.is_group() { Prepared::Incomplete(line.path) } else { Prepared::Command(line.out) })
}

/// True for an option that most commands have, with or without its value.
fn is_option_of_commands(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    matches!(name, "--config" | "--data" | "--json" | "--master-key")
}

/// Proposes to write the option after the command. The value is not repeated.
fn wrong_order<'a>(option: &str, rest: impl Iterator<Item = &'a str>) -> Failure {
    let (name, value, values) = match (option.split_once('='), option) {
        (Some((name, _)), _) => (name, "=VALUE", 0),
        (None, "--json") => (option, "", 0),
        (None, _) => (option, " VALUE", 1),
    };
    let mut line = CommandLine::new();
    for word in rest.skip(values).filter(|word| !word.starts_with('-')) {
        if line.has_command(word) && line.descend(word).is_err() {
            break;
        }
    }
    let command =
        if line.path.is_empty() { format!("{} COMMAND", line.name()) } else { line.name() };
    Failure::new(Exit::Usage, format!("{name} stands before the command"))
        .why("options stand after the whole command")
        .try_this(format!("{command} {name}{value}"))
}

/// Explains the refusal of argh, without the value that it repeats.
pub fn refused(output: &str, arguments: &[String]) -> Failure {
    let why = output.trim();
    let value = why.split_once("' with value '").and_then(|(option, rest)| {
        let option = option.rsplit_once('\'')?.1;
        Some(format!("{option}: {}", rest.rsplit_once("': ")?.1))
    });
    Failure::new(Exit::Usage, "the command line is wrong")
        .why(value.as_deref().unwrap_or(why))
        .try_this(help_of(arguments))
}

/// The command that prints the help of the command of these arguments.
pub fn help_of(arguments: &[String]) -> String {
    let mut line = CommandLine::new();
    for word in arguments.iter().take_while(|it| !it.starts_with('-')) {
        if !line.has_command(word) || line.descend(word).is_err() {
            break;
        }
    }
    format!("{} --help", line.name())
}

/// The part of the command line that was read, and the command that it names so far.
struct CommandLine {
    command: CommandInfoWithArgs,
    /// The commands above it, each with the place in `out` where its options stand.
    above: Vec<(CommandInfoWithArgs, usize)>,
    path: Vec<String>,
    positionals: usize,
    out: Vec<String>,
}

impl CommandLine {
    fn new() -> Self {
        let command = Strongroom::get_args_info();
        let (above, path, out) = (Vec::new(), Vec::new(), Vec::new());
        Self { command, above, path, positionals: 0, out }
    }

    /// True if the name of a command must follow. Only `erase` also works without one, which argh
    /// does not report.
    fn is_group(&self) -> bool {
        !self.command.commands.is_empty() && self.path != ["erase"]
    }

    fn has_command(&self, word: &str) -> bool {
        self.command.commands.iter().any(|it| it.name == word)
    }

    fn name(&self) -> String {
        ["strongroom"]
            .into_iter()
            .chain(self.path.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn descend(&mut self, word: &str) -> Result<()> {
        let Some(found) = self.command.commands.iter().find(|it| it.name == word) else {
            return Err(self.unknown_command(word));
        };
        let found = found.command.clone();
        self.above.push((std::mem::replace(&mut self.command, found), self.out.len()));
        self.path.push(String::from(word));
        self.out.push(String::from(word));
        Ok(())
    }

    /// Shows the help of the command so far, or of the one that the next words name.
    fn help<'a>(mut self, rest: impl Iterator<Item = &'a str>) -> Result<Prepared> {
        for word in rest {
            if word.starts_with('-') || word == "help" || !self.is_group() {
                break;
            }
            self.descend(word)?;
        }
        self.path.push(String::from("--help"));
        Ok(Prepared::Command(self.path))
    }

    /// Splits `--option=value`, and copies an option with its value, even if the value looks like
    /// an option. An option of a command above this one goes before the name of this one, where
    /// argh takes it: people write options after the whole command.
    fn option<'a>(&mut self, word: &str, rest: &mut impl Iterator<Item = &'a str>) -> Result<()> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some((is_switch, at)) = self.place_of(name) else {
            return Err(self.unknown_option(name));
        };
        let mut words = vec![String::from(name)];
        match (is_switch, value.or_else(|| if is_switch { None } else { rest.next() })) {
            (true, None) => {}
            (true, Some(_)) => return Err(self.wrong(format!("{name} takes no value"))),
            (false, Some(value)) => words.push(String::from(value)),
            (false, None) => return Err(self.wrong(format!("{name} needs a value"))),
        }
        let after = self.out.split_off(at.min(self.out.len()));
        self.out.extend(words.into_iter().chain(after));
        Ok(())
    }

    /// The place in `out` of an option of this command or of one above it, and whether it is a
    /// switch.
    fn place_of(&self, name: &str) -> Option<(bool, usize)> {
        let find = |command: &CommandInfoWithArgs| {
            let flag = command.flags.iter().find(|it| it.long == name);
            flag.map(|it| it.kind == FlagInfoKind::Switch)
        };
        let own = find(&self.command).map(|is_switch| (is_switch, self.out.len()));
        let above = || self.above.iter().rev().find_map(|(it, at)| Some((find(it)?, *at)));
        own.or_else(above)
    }

    fn positional(&mut self, word: &str) -> Result<()> {
        let takes = self.command.positionals;
        let many = |it: &argh::PositionalInfo<'_>| {
            matches!(it.optionality, Optionality::Greedy | Optionality::Repeating)
        };
        if self.positionals >= takes.len() && !takes.last().is_some_and(many) {
            let (name, most) = (self.name(), takes.len());
            return Err(self.wrong(match most {
                0 => format!("{name} takes only options"),
                _ => format!("{name} takes no more than {most} argument besides its options"),
            }));
        }
        self.positionals = self.positionals.saturating_add(1);
        self.out.push(String::from(word));
        Ok(())
    }

    fn flags(&self) -> impl Iterator<Item = &FlagInfo<'static>> {
        self.command.flags.iter()
    }

    fn unknown_command(&self, word: &str) -> Failure {
        let what = match shown(word) {
            Some(word) => format!("there is no command {} {word}", self.name()),
            None => format!("this is no command of {}", self.name()),
        };
        let meant = nearest(word, self.command.commands.iter().map(|it| it.name));
        let advice = match meant {
            Some(meant) => format!("{} {meant}", self.name()),
            None => format!("{} --help", self.name()),
        };
        Failure::new(Exit::Usage, what).try_this(advice)
    }

    fn unknown_option(&self, name: &str) -> Failure {
        let what = match shown(name) {
            Some(option) => format!("{} has no option {option}", self.name()),
            None => format!("{} has no such option", self.name()),
        };
        let failure = Failure::new(Exit::Usage, what);
        let typed = name.trim_start_matches('-');
        let names = self.flags().map(|it| it.long.trim_start_matches('-'));
        match nearest(typed, names) {
            Some(meant) => failure.try_this(format!("--{meant}")),
            None if self.is_group() => failure
                .why("options stand after the whole command")
                .try_this(format!("{} --help", self.name())),
            None => failure.try_this(format!("{} --help", self.name())),
        }
    }

    fn wrong(&self, what: String) -> Failure {
        Failure::new(Exit::Usage, what).try_this(format!("{} --help", self.name()))
    }
}

/// A mistyped name, if it looks like one: anything else could be a secret at a wrong place.
fn shown(word: &str) -> Option<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-' || c == '_';
    (word.len() <= SHOWN_CHARS_MAX && word.chars().all(is_name)).then_some(word)
}
