//! Makes recovery shares of the master key and checks them. [`crate::cli::offline::recover`]
//! combines them.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::Path;

use serde_json::{Value, json};

use crate::app::Vault;
use crate::bounds::{KEEPER_CHARS_MAX, MASTER_KEY_FILE_BYTES_MAX};
use crate::cli::support::{
    Exit, Failure, Form, Result, VaultHome, accepted, cannot, make_directory, open_vault, order,
    read_master_text, say, write_secret,
};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::crypto::{
    AgeRecipients, InvalidRecipient, InvalidShare, MasterKey, Random, Scheme, Share,
};
use crate::domain::hex;
use crate::domain::share_set::is_keeper_name;
use crate::files::read_regular;
use crate::operator::Command;
use crate::secret::Secret;

pub fn parse_scheme(text: &str) -> Result<Scheme> {
    Scheme::parse(text).ok_or_else(|| {
        let numbers = text.split_once("-of-").and_then(|(needed, total)| {
            Some((needed.parse::<u64>().ok()?, total.parse::<u64>().ok()?))
        });
        let why = match numbers {
            None => "it is written as NEEDED-of-TOTAL, with hyphens",
            Some((needed, total)) if needed > total => "more shares are needed than there are",
            Some((needed, _)) if needed < 2 => {
                "at least 2 shares must be needed: a single one would be a copy of the key"
            }
            Some(_) => "there can be at most 255 shares",
        };
        Failure::new(Exit::Usage, "this is not a number of shares")
            .why(why)
            .try_this("3-of-5: any three of five shares recover the key")
    })
}

/// The keeper of a share, which is sealed to the keeper's age key and is nowhere in clear.
#[derive(Debug)]
pub struct Keeper {
    name: String,
    recipient: AgeRecipients,
}

/// Parses `NAME=age1...`, once for each share of the scheme. No texts: the shares are made in clear.
pub fn parse_keepers(
    texts: &[String],
    scheme: Option<Scheme>,
    directory: Option<&Path>,
) -> Result<Vec<Keeper>> {
    let wrong = |why: String| {
        Failure::new(Exit::Usage, "--share-to does not fit")
            .why(why)
            .try_this("--recovery-shares 2-of-3 --share-to ana=age1... --share-to bo=age1... ...")
    };
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    let total = scheme.map(|scheme| usize::from(scheme.total()));
    if total != Some(texts.len()) {
        let wanted = total.map_or_else(|| String::from("no shares"), |it| format!("{it} shares"));
        return Err(wrong(format!("there are {} keepers for {wanted}", texts.len())));
    }
    if directory.is_none() {
        return Err(wrong(String::from("sealed shares are files, and no directory is named")));
    }
    let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
    let mut keepers = Vec::with_capacity(texts.len());
    for (text, number) in texts.iter().zip(1_u32..) {
        let split = text.split_once('=').map(|(name, key)| (name, key.trim()));
        let (name, key) = split.ok_or_else(|| wrong(format!("number {number} has no name")))?;
        if !is_keeper_name(name) {
            return Err(wrong(format!(
                "name {number} has up to {KEEPER_CHARS_MAX} letters, digits and .-_@"
            )));
        }
        let recipient = AgeRecipients::parse([key])
            .map_err(|InvalidRecipient| wrong(format!("{name} has no public age key (age1...)")))?;
        // Two shares in one hand are one person's.
        if !names.insert(name.to_ascii_lowercase()) || !keys.insert(key.to_ascii_lowercase()) {
            return Err(wrong(format!("{name}: each keeper has one name and one key")));
        }
        keepers.push(Keeper { name: String::from(name), recipient });
    }
    Ok(keepers)
}

/// A master key and its source. A key from a command is not read a second time: its program runs
/// once.
#[derive(Debug)]
pub struct KeyAtHand {
    source: MasterKeySource,
    key: MasterKey,
    text: Secret<Vec<u8>>,
}

impl KeyAtHand {
    pub fn read(source: MasterKeySource) -> Result<Self> {
        let (key, text) = read_master_text(&source)?;
        Ok(Self { source, key, text })
    }

    pub fn key(&self) -> MasterKey {
        self.key.clone()
    }

    fn open(&self, home: &VaultHome) -> Result<Vault> {
        match &self.source {
            MasterKeySource::Command(_) => open_vault::open_with(home, self.key(), Clock::new()),
            MasterKeySource::Credential(_) | MasterKeySource::File(_) => {
                open_vault::open(home, &self.source, Clock::new())
            }
        }
    }
}

/// The vault compares the key with its own and records the hashes of the shares.
fn note(home: &VaultHome, at_hand: &KeyAtHand, shares: &[Share], keepers: &[Keeper]) -> Result<()> {
    let check = hex::encode(at_hand.key.check());
    let Some(first) = shares.first() else { return Err(unproven()) };
    let (set, needed) = (first.set(), first.scheme().needed());
    let hashes = shares.iter().map(|share| hex::encode(&share.hash())).collect();
    let keepers = keepers.iter().map(|keeper| keeper.name.clone()).collect();
    let command = Command::MasterShares { check, set, needed, hashes, keepers };
    let outcome = order(&home.directory, || at_hand.open(home), command, None)?;
    accepted(outcome).map(drop)
}

/// Makes a set of shares and checks it: reads the written shares again, combines different choices
/// of them and compares each result with the key.
///
/// The vault records the hash of each share before any share is written or printed. In text form it
/// prints the result; in JSON form it returns the result, which contains no share. With keepers,
/// each share is written only sealed to its keeper, so only the shares in memory are checked.
pub fn make(
    home: &VaultHome,
    at_hand: &KeyAtHand,
    scheme: Scheme,
    directory: Option<&Path>,
    keepers: &[Keeper],
    form: Form,
) -> Result<Value> {
    let made = MasterKey::split(&at_hand.text, scheme, &Random::new());
    let shares = made.map_err(|invalid| {
        let advice = "make a new master key: strongroom key rotate --master";
        Failure::new(Exit::Data, "this key cannot be shared").why(invalid).try_this(advice)
    })?;
    note(home, at_hand, &shares, keepers)?;
    let mut kept = Vec::with_capacity(shares.len());
    let mut files = Vec::new();
    for (at, share) in shares.iter().enumerate() {
        kept.push(match (directory, keepers.get(at)) {
            (Some(directory), Some(keeper)) => {
                make_directory(directory)?;
                let (set, number) = (share.set(), share.number());
                let name = format!("share-{set}-{number}-{}.age", keeper.name);
                let path = directory.join(name);
                write_secret(&path, &seal(share, keeper)?, 0o400)?;
                files.push(path.display().to_string());
                Share::parse(typed(share)?.expose()).map_err(unreadable)?
            }
            (Some(directory), None) => {
                make_directory(directory)?;
                let path = directory.join(format!("share-{}-{}.txt", share.set(), share.number()));
                write_secret(&path, page(share)?.expose().as_bytes(), 0o400)?;
                files.push(path.display().to_string());
                read_share(&path)?
            }
            (None, _) => Share::parse(typed(share)?.expose()).map_err(unreadable)?,
        });
    }
    prove(&kept, scheme, &at_hand.text)?;
    let (needed, total) = (scheme.needed(), scheme.total());
    let set = shares.first().ok_or_else(unproven)?.set();
    let names: Vec<_> = keepers.iter().map(|keeper| keeper.name.as_str()).collect();
    let facts = json!({
        "set": set, "needed": needed, "total": total, "files": files, "keepers": names,
    });
    if form == Form::Json {
        return Ok(facts);
    }
    let Some(directory) = directory else {
        for share in &shares {
            say(page(share)?.expose());
        }
        say(&format!(
            "Any {needed} of these {total} shares recover the master key (checked). They are \
             shown only once: give each to a different person."
        ));
        return Ok(facts);
    };
    if !keepers.is_empty() {
        say(&format!(
            "Recovery shares, set {set}: any {needed} of {total} recover the master key (checked).\n  \
             files: {}/share-{set}-*.age\n\nEach is sealed to the age key of its keeper ({}); no \
             share was written in clear. Send each file to its keeper, who opens it with age \
             --decrypt --identity KEY FILE.",
            directory.display(),
            names.join(", ")
        ));
        return Ok(facts);
    }
    say(&format!(
        "Recovery shares, set {set}: any {needed} of {total} recover the master key (checked).\n  \
         files: {}/share-{set}-*.txt\n\nGive each to a different person, and leave none here: \
         {needed} of them reveal the key.",
        directory.display()
    ));
    Ok(facts)
}

/// Refuses JSON without a directory for the shares: they are secrets for people.
pub fn check_form(form: Form, directory: Option<&Path>) -> Result<()> {
    if form == Form::Json && directory.is_none() {
        return Err(Failure::new(Exit::Usage, "--json without a directory for the shares")
            .why("shares are secrets for people, and JSON goes to programs and their logs")
            .try_this("name a directory for the shares, or omit --json"));
    }
    Ok(())
}

/// Combines as many choices as there are shares. Each share is part of at least one choice.
fn prove(shares: &[Share], scheme: Scheme, key: &Secret<Vec<u8>>) -> Result<()> {
    let needed = usize::from(scheme.needed());
    for from in 0..shares.len() {
        let choice = shares.iter().cycle().skip(from).take(needed).map(typed);
        let choice = choice.collect::<Result<Vec<_>, _>>()?;
        let choice: Result<Vec<_>, _> = choice.iter().map(|it| Share::parse(it.expose())).collect();
        let given = choice.and_then(|choice| MasterKey::combine(&choice));
        let given = given.map_err(|invalid| unproven().why(invalid))?;
        if given.expose().as_bytes().trim_ascii() != key.expose().trim_ascii().to_ascii_lowercase()
        {
            return Err(unproven());
        }
    }
    Ok(())
}

fn unproven() -> Failure {
    Failure::new(Exit::Software, "the shares do not recover the key")
        .try_this("destroy them and report this")
}

/// The text for the keeper of a share: a line of explanation, then the share.
fn page(share: &Share) -> Result<Secret<String>> {
    let scheme = share.scheme();
    Ok(Secret::new(format!(
        "# Share {} of {} of a strongroom master key, set {}; {} of them are needed.\n{}\n",
        share.number(),
        scheme.total(),
        share.set(),
        scheme.needed(),
        typed(share)?.expose()
    )))
}

/// The page of a share as an age file that only its keeper opens.
fn seal(share: &Share, keeper: &Keeper) -> Result<Vec<u8>> {
    let page = page(share)?;
    let sealed = || -> std::io::Result<Vec<u8>> {
        let mut writer = keeper.recipient.seal(Vec::new(), &Random::new())?;
        writer.write_all(page.expose().as_bytes())?;
        writer.finish()
    };
    sealed().map_err(|error| Failure::new(Exit::Software, "cannot seal a share").why(error))
}

fn typed(share: &Share) -> Result<Secret<String>> {
    share.text().ok_or_else(unproven)
}

pub fn read_share(path: &Path) -> Result<Share> {
    let failed = |error: &std::io::Error| cannot("read a share", path, error);
    let bytes = read_regular(path, MASTER_KEY_FILE_BYTES_MAX).map_err(|error| {
        if error.kind() == std::io::ErrorKind::FileTooLarge {
            return unreadable(InvalidShare::Damaged).file(path);
        }
        failed(&error)
    });
    let text = Secret::new(String::from_utf8(bytes?).unwrap_or_default());
    let typed = text.expose().lines().filter(|line| !line.starts_with('#'));
    let typed = Secret::new(typed.collect::<String>());
    Share::parse(typed.expose()).map_err(|invalid| unreadable(invalid).file(path))
}

pub fn read_typed() -> Result<Vec<Share>> {
    let mut text = Secret::new(String::new());
    let most = MASTER_KEY_FILE_BYTES_MAX.saturating_mul(255);
    std::io::stdin().lock().take(most).read_to_string(text.expose_mut()).map_err(|error| {
        Failure::new(Exit::Usage, "cannot read shares from standard input").why(error)
    })?;
    let typed = text.expose().lines().zip(1_u32..);
    typed
        .filter(|(line, _)| !line.trim().is_empty() && !line.starts_with('#'))
        .map(|(line, number)| {
            Share::parse(line).map_err(|invalid| unreadable(invalid).line("line", number))
        })
        .collect()
}

pub fn unreadable(invalid: InvalidShare) -> Failure {
    Failure::new(Exit::Data, "these shares do not give a key")
        .why(invalid)
        .try_this("compare each share with its paper or file, or use other shares of the set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_scheme_is_refused_with_its_own_reason() {
        for (text, why) in [
            ("5-of-3", "more shares are needed than there are"),
            ("3of5", "NEEDED-of-TOTAL"),
            ("1-of-3", "copy of the key"),
            ("3-of-300", "at most 255"),
        ] {
            let failure = parse_scheme(text).unwrap_err().to_string();
            assert!(failure.contains(why), "{text}: {failure}");
        }
        assert!(parse_scheme("3-of-5").is_ok());
    }
}
