//! `strongroom export`: a tenant in a file that is sealed to public keys.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::bounds::SETTINGS_BYTES_MAX;
use crate::cli::command::{OnVault as _, command};
use crate::cli::operate::backup::where_to_write;
use crate::cli::support::{
    Exit, Failure, Form, Label, Result, ShownWork, Unit, cannot, carry_out_shown, complain,
    read_text, tell,
};
use crate::operator::Command;

command! {
    /// Write a tenant to a new file, in plain JSON lines that are sealed to public keys of age. Works
    /// with or without a running server, which goes on serving.
    "export" ExportCommand on vault {
        /// the tenant
        tenant: String = option,
        /// a public key (age1...) whose owner can open the file; may be repeated
        recipient: Vec<String> = option,
        /// a file with public keys, one a line
        recipients_file: Option<PathBuf> = option,
        /// the file to write; it must not exist yet
        out: PathBuf = option,
    } => |it| export(&it)
}

fn export(command: &ExportCommand) -> Result<()> {
    let vault = command.vault()?;
    let mut recipients = command.recipient.clone();
    if let Some(path) = &command.recipients_file {
        recipients.extend(read_recipients(path)?);
    }
    if recipients.is_empty() {
        return Err(Failure::new(Exit::Usage, "no recipient is named")
            .why("the file is sealed to public keys, so that only their owners can open it")
            .try_this(
                "age-keygen -o KEYFILE, then --recipient with the public key that it prints",
            ));
    }
    if recipients.iter().any(|it| is_private_key(it)) {
        return Err(Failure::new(Exit::Usage, "a recipient is a private key")
            .why(
                "who has it can open the export, and other users and the history of the shell may \
                 have seen it by now: keep it secret, or better make a new pair",
            )
            .try_this("age-keygen -y KEYFILE prints its public key, which begins with age1"));
    }
    let file = std::path::absolute(&command.out)
        .map_err(|error| cannot("write the export", &command.out, &error))?;
    if file.to_str().is_none() {
        return Err(Failure::new(Exit::Usage, "the name of the file is not UTF-8").file(&file));
    }
    let label = Label { work: "export", unit: Unit::Records };
    let job = format!("export {}", file.display());
    let shown = ShownWork { label, json: command.json(), job };
    let tenant = command.tenant.clone();
    let order = Command::Export { tenant, recipients, file: file.clone() };
    let done = carry_out_shown(&vault, order, &shown)?.map_err(|why| {
        let failure =
            Failure::new(Exit::Data, "no export was written").file(&file).why(why.join("\n"));
        match why.first().map(String::as_str) {
            Some("There is no such tenant.") => failure.try_this("strongroom tenant list"),
            Some(why) if why.starts_with("recipient") => failure
                .try_this("age-keygen -y KEYFILE prints the public key; --recipient takes one key"),
            Some(_) | None => failure.try_this(where_to_write(&file)),
        }
    })?;
    show(command, &file, &done);
    Ok(())
}

/// True for the prefix of age's private keys, in upper or lower case.
fn is_private_key(text: &str) -> bool {
    const BEGIN: &str = "AGE-SECRET-KEY-";
    text.trim().get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN))
}

fn show(command: &ExportCommand, file: &Path, done: &Value) {
    let text = || {
        let number = |name: &str| done.get(name).and_then(Value::as_u64).unwrap_or(0);
        format!(
            "The export is written.\n  file:          {}\n  tokens:        {}\n  applications:  {}\n  \
             proxies:       {}\n  reactors:      {}\n  webhooks:      {}",
            file.display(),
            number("tokens"),
            number("applications"),
            number("proxies"),
            number("reactors"),
            number("webhooks")
        )
    };
    tell(Form::of(command.json()), || done.clone(), text);
    match done.get("damaged").and_then(Value::as_u64) {
        Some(0) => {}
        _ => complain(
            "strongroom: warning: some records did not open and are missing from the export; run \
             strongroom verify on a copy",
        ),
    }
}

/// Public keys, one a line. Empty lines and comments are skipped, as age does.
fn read_recipients(path: &Path) -> Result<Vec<String>> {
    let text = read_text("the recipients", path, SETTINGS_BYTES_MAX)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.filter(|line| !line.starts_with('#')).map(String::from).collect())
}
