//! `strongroom erase`: deletes the data of one person and checks receipts of deletions.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::app::{SignedErasure, decode_erasure};
use crate::bounds::ERASURE_RECEIPT_BYTES_MAX;
use crate::cli::command::{OnVault as _, Run as _, actions, command};
use crate::cli::operate::audit::parse_public_key;
use crate::cli::support::{
    CommandRunner, Confirmation, Exit, Failure, Label, ProgressBar, Result, Unit, cannot, complain,
    create_private, not_understood, read_text, say, show_json,
};
use crate::domain::counted::counted;
use crate::domain::hex;
use crate::operator::Command;

command! {
    /// Delete all tokens of a tenant that belong to one person, with their token intents and 3DS
    /// sessions, and print a signed receipt. Works with or without a running server.
    "erase" EraseCommand on vault {
        /// the tenant's id
        tenant: Option<String> = option,
        /// an entry of the metadata as KEY=VALUE, spelled as it is stored; may be repeated, then a
        /// token must have all of them
        metadata: Vec<String> = option,
        /// the fingerprint of the tokens, instead of metadata
        fingerprint: Option<String> = option,
        /// list the records that match, and delete none
        dry_run: bool = switch,
        /// ask for no confirmation
        yes: bool = switch,
        /// new file for the receipt, instead of standard output
        out: Option<PathBuf> = option,
        action: Option<Action> = subcommand,
    } => erase
}

actions! { EraseVerify }

command! {
    /// Check the signature of a receipt. Needs no vault and none of its keys.
    "verify" EraseVerify {
        /// the receipt, as `strongroom erase` wrote it
        receipt: PathBuf = option,
        /// the public key that must have signed it, 64 hexadecimal digits, as `audit verify` prints it
        public_key: Option<String> = option,
    } => |it| verify(&it)
}

/// The vault reads every token of the tenant and reports no progress.
const ERASE: Label = Label { work: "erase", unit: Unit::None };

fn erase(it: EraseCommand) -> Result<()> {
    if let Some(action) = it.action {
        return action.run();
    }
    let Some(tenant) = it.tenant.clone() else {
        return Err(Failure::new(Exit::Usage, "no tenant is named").try_this("--tenant ID"));
    };
    let metadata = metadata(&it.metadata)?;
    if it.fingerprint.is_some() != metadata.is_empty() {
        return Err(Failure::new(Exit::Usage, "nothing says whose data to erase")
            .try_this("--metadata KEY=VALUE, which may be repeated, or --fingerprint, not both"));
    }
    let confirmation = if it.dry_run { None } else { Some(Confirmation::of(it.yes)?) };
    let mut runner = CommandRunner::of(it.vault()?);
    let fingerprint = it.fingerprint.clone();
    let bar = ProgressBar::of(ERASE, it.json(), &Arc::default());
    let found = runner.carry_out(Command::EraseFind {
        tenant: tenant.clone(),
        fingerprint: fingerprint.clone(),
        metadata: metadata.clone(),
    });
    drop(bar);
    let found = found?;
    let Some(confirmation) = confirmation else {
        drop(runner);
        show_json(&found);
        return Ok(());
    };
    let counts = [
        (length(&found, "tokens")?, "token", "tokens"),
        (length(&found, "token_intents")?, "token intent", "token intents"),
        (length(&found, "threeds_sessions")?, "3DS session", "3DS sessions"),
    ];
    let is_empty = counts.iter().all(|(count, ..)| *count == 0);
    let what = if is_empty {
        format!(
            "Nothing of tenant {tenant} matches: no record will be deleted. The receipt will say \
             so, and its entry, too."
        )
    } else {
        let counts = counts.map(|(count, one, many)| counted(count, one, many)).join(", ");
        format!("These records of tenant {tenant} will be deleted: {counts}.")
    };
    confirmation.ask(&what, &["erase"])?;
    // The file is opened first: data must not be deleted without a place for the receipt.
    let out = it.out.as_deref().map(|path| create_private("the receipt", path)).transpose()?;
    let command = Command::Erase { tenant, fingerprint, metadata };
    let bar = ProgressBar::of(ERASE, it.json(), &Arc::default());
    let erased = runner.carry_out(command);
    drop(bar);
    drop(runner);
    let receipt = erased?.to_string();
    match (out, &it.out) {
        (Some(mut file), Some(path)) => {
            let written = writeln!(file, "{receipt}").and_then(|()| file.sync_all());
            if let Err(error) = written {
                // The data is deleted: its receipt must not be lost.
                say(&receipt);
                return Err(cannot("write the receipt, which is printed instead", path, &error));
            }
        }
        _ => say(&receipt),
    }
    if is_empty {
        complain("No record matched, and none was deleted.");
        return Ok(());
    }
    complain(
        "Backups and archives from before still contain the data, sealed, until they are deleted. \
         So do free pages of the data file, until they are used again; see \"Deleting a tenant\" \
         in the guide.",
    );
    Ok(())
}

fn verify(it: &EraseVerify) -> Result<()> {
    let text = read_text("the receipt", &it.receipt, ERASURE_RECEIPT_BYTES_MAX)?;
    let public_key = it.public_key.as_deref().map(parse_public_key).transpose()?;
    let signed = decode_erasure(&text).map_err(|_bad| {
        Failure::new(Exit::Data, "this is not a receipt of an erasure")
            .file(&it.receipt)
            .try_this("use an unchanged file that strongroom erase wrote")
    })?;
    if !signed.is_signed_by(&public_key.unwrap_or(signed.public_key)) {
        return Err(Failure::new(Exit::Data, "the receipt is forged or was signed by another key")
            .file(&it.receipt)
            .try_this("check the public key; strongroom audit verify prints the vault's"));
    }
    say(&shown(&signed, public_key.is_some()));
    Ok(())
}

fn shown(signed: &SignedErasure, is_known_key: bool) -> String {
    let it = &signed.receipt;
    let (checked, verdict) = if is_known_key {
        ("the given public key", "The receipt is genuine.")
    } else {
        (
            "only the key in the receipt itself, which anyone can replace; compare the signing key \
             with the one that you keep, or give --public-key",
            "The receipt is whole: its signature fits the signing key above. Whether that is the \
             vault's key, and so whether the receipt is genuine, was not checked.",
        )
    };
    format!(
        "vault:        {}\ntenant:       {}\nerasure:      {}\ncriterion:    {} {}\ntokens:       \
         {}\nintents:      {}\n3DS sessions: {}\ntime:         {}\nentry:        {} of the audit \
         chain\nsigning key:  {} (number {})\nchecked with: {checked}\n{verdict}",
        hex::encode(&it.file),
        it.tenant,
        it.erasure,
        it.criterion,
        it.hash,
        it.tokens.len(),
        it.token_intents.len(),
        it.threeds_sessions.len(),
        it.at.shown(),
        it.entry,
        hex::encode(&signed.public_key),
        it.signer,
    )
}

fn length(found: &Value, name: &str) -> Result<usize> {
    found.get(name).and_then(Value::as_array).map(Vec::len).ok_or_else(not_understood)
}

fn metadata(texts: &[String]) -> Result<BTreeMap<String, String>> {
    let mut entries = BTreeMap::new();
    for text in texts {
        let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) = pair.ok_or_else(|| {
            Failure::new(Exit::Usage, "a --metadata is KEY=VALUE").try_this("--metadata person=7")
        })?;
        if entries.insert(String::from(key), String::from(value)).is_some() {
            return Err(Failure::new(Exit::Usage, "a key of --metadata is there twice")
                .try_this("name each key once; a token has one value for it"));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_split_at_the_first_equals_sign() {
        let read = |texts: &[&str]| {
            let texts: Vec<_> = texts.iter().map(|text| String::from(*text)).collect();
            metadata(&texts).map(|it| it.into_iter().collect::<Vec<_>>())
        };
        let pair = |key: &str, value: &str| (String::from(key), String::from(value));
        assert_eq!(read(&["a=b=c", "d="]).unwrap(), [pair("a", "b=c"), pair("d", "")]);
        for wrong in [&["a"][..], &["=b"], &["a=1", "a=2"]] {
            assert_eq!(read(wrong).unwrap_err().exit, Exit::Usage, "{wrong:?}");
        }
    }
}
