//! `strongroom key recover`: combines recovery shares into the master key. It checks the key with
//! the vault or a backup before it writes the file, and names a share whose text was changed.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::app::ChainWord;
use crate::cli::command::command;
use crate::cli::support::shares::{read_share, read_typed, unreadable};
use crate::cli::support::{
    Exit, Failure, Form, Result, VaultHome, VaultPlace, accepted, ask_server, catch_damage,
    complain, explain_backup, open_vault, refuse_without_space, storage, tell, write_secret,
};
use crate::clock::Clock;
use crate::crypto::{InvalidShare, MasterKey, Share};
use crate::domain::hex;
use crate::domain::share_set::ShareSet;
use crate::domain::time::Timestamp;
use crate::operator::{Command, CommandExchange, ask};
use crate::secret::Secret;
use crate::store::backup::{InvalidBackup, Reader};
use crate::store::{Table, meta};

command! {
    /// Recover the file of the master key from recovery shares.
    "recover" KeyRecover {
        /// a file with a share; may be repeated. Without this option, shares are read from standard
        /// input, one per line
        share: Vec<PathBuf> = option,
        /// file for the key; no file is overwritten
        out: PathBuf = option,
        /// settings file of the vault, to check that the key belongs to it (default:
        /// $STRONGROOM_CONFIG, else /etc/strongroom/strongroom.toml)
        config: Option<PathBuf> = option,
        /// data directory of the vault, instead of the one in the settings
        data: Option<PathBuf> = option,
        /// a backup of the vault, to check that the key belongs to it
        backup: Option<PathBuf> = option,
        /// write the key without checking that it is the right one
        unchecked: bool = switch,
        /// print JSON
        json: bool = switch,
    } => |it| recover(&it)
}

const CHAIN_DIFFERS: &str = "strongroom: warning: the hashes of these shares in the data file \
                             differ from those in its audit chain; run strongroom audit verify";

const CHAIN_UNREADABLE: &str = "strongroom: warning: the hashes of these shares could not be \
                                compared with the audit chain; run strongroom audit verify";

const HASHES_DIFFER: &str = "strongroom: warning: these shares give the right key, but they do \
                             not match the recorded hashes; someone changed the text of a share \
                             or the hashes";

fn recover(command: &KeyRecover) -> Result<()> {
    let check = KeyCheck::of(command)?;
    let shares = if command.share.is_empty() {
        read_typed()?
    } else {
        command.share.iter().map(|path| read_share(path)).collect::<Result<_, _>>()?
    };
    refuse_other_set(&command.share, &shares)?;
    let known = shares.first().map(|first| check.share_set(first)).transpose()?.flatten();
    let changed = known.as_ref().and_then(|known| changed(&shares, known));
    let (text, checked) = match (combine(&shares, &check), changed) {
        (Ok(recovered), None) => recovered,
        // The check of the key decides: the hashes are stored in clear, so anyone who can write the
        // file can change them.
        (Ok(recovered), Some(_)) => {
            complain(HASHES_DIFFER);
            recovered
        }
        (Err(_), Some(changed)) => return Err(changed),
        (Err(failure), None) => return Err(failure),
    };
    write_secret(&command.out, text.expose().as_bytes(), 0o400)?;
    let file = command.out.display();
    tell(
        Form::of(command.json),
        || json!({"file": file.to_string(), "checked_with": check.name()}),
        || format!("The master key is recovered; {checked}.\n  file:  {file}"),
    );
    Ok(())
}

/// Names the file of a share that belongs to another set than most of them, and the set of each.
fn refuse_other_set(files: &[PathBuf], shares: &[Share]) -> Result<()> {
    let count = |set: [u8; 4]| shares.iter().filter(|it| it.set_bytes() == set).count();
    let common = shares.iter().map(Share::set_bytes).rev().max_by_key(|set| count(*set));
    let other = files.iter().zip(shares).find(|(_, it)| Some(it.set_bytes()) != common);
    let Some((file, share)) = other else { return Ok(()) };
    let common = hex::encode(&common.unwrap_or_default());
    let of = |set: &str| {
        let own = shares.iter().filter(|it| it.set() == set);
        own.map(|it| it.number().to_string()).collect::<Vec<_>>().join(", ")
    };
    let mut sets: Vec<_> = shares.iter().map(Share::set).collect();
    sets.sort();
    sets.dedup();
    let given = sets.iter().map(|set| format!("shares {} of set {set}", of(set)));
    Err(Failure::new(Exit::Data, "these shares do not give a key")
        .why(InvalidShare::OtherSet)
        .file(file)
        .line("set", share.set())
        .line("given", given.collect::<Vec<_>>().join("; "))
        .try_this(format!("use shares of one set alone; most of these are of set {common}")))
}

/// Returns the text of the key and the result of its check.
fn combine(shares: &[Share], check: &KeyCheck) -> Result<(Secret<String>, &'static str)> {
    let text = MasterKey::combine(shares).map_err(unreadable)?;
    let bytes = Secret::new(text.expose().as_bytes().to_vec());
    let key = MasterKey::parse(&bytes).map_err(|invalid| {
        Failure::new(Exit::Data, "these shares do not give a key")
            .why(invalid)
            .try_this("compare each share with its paper or file, or use other shares of the set")
    })?;
    let set = shares.first().ok_or_else(|| unreadable(InvalidShare::TooFew(1)))?.set_bytes();
    let checked = check.verify(key, set)?;
    Ok((text, checked))
}

enum KeyCheck {
    Backup(PathBuf),
    Nothing,
    Vault(VaultHome),
}

impl KeyCheck {
    fn of(command: &KeyRecover) -> Result<Self> {
        let vault = command.config.as_deref().or(command.data.as_deref());
        match (vault, &command.backup, command.unchecked) {
            (None, Some(backup), false) => Ok(Self::Backup(backup.clone())),
            (None, None, true) => {
                complain(
                    "strongroom: warning: the key is not checked; a changed share or a share of \
                     another vault gives a wrong key",
                );
                Ok(Self::Nothing)
            }
            (_, None, false) => {
                let (config, data) = (command.config.as_deref(), command.data.as_deref());
                let place = VaultPlace::find(config, data, None);
                let place = place.map_err(|failure| {
                    if failure.exit == Exit::Usage { nothing_to_check_with() } else { failure }
                })?;
                Ok(Self::Vault(place.home))
            }
            _ => Err(nothing_to_check_with()),
        }
    }

    const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Backup(_) => Some("backup"),
            Self::Nothing => None,
            Self::Vault(_) => Some("vault"),
        }
    }

    /// The hashes that were recorded when this share was made, or `None` if there is no record. The
    /// key is checked in any case.
    fn share_set(&self, share: &Share) -> Result<Option<ShareSet>> {
        match self {
            Self::Backup(path) => known_to_backup(path, share.set_bytes()),
            Self::Nothing => Ok(None),
            Self::Vault(home) => known_to_vault(home, share),
        }
    }

    /// Checks the key and returns the result in words for the operator.
    fn verify(&self, key: MasterKey, set: [u8; 4]) -> Result<&'static str> {
        match self {
            Self::Backup(path) => {
                let backup = Reader::open(path).map_err(|it| explain_backup(&it, path))?;
                match backup.check_origin(&key) {
                    Ok(()) => Ok("it is the key of the backup"),
                    Err(InvalidBackup::WrongMasterKey) => Err(other_key(path, "backup")),
                    Err(invalid) => Err(explain_backup(&invalid, path)),
                }
            }
            Self::Nothing => Ok("it was not checked and may be wrong"),
            Self::Vault(home) => compare(home, key, set).map(|()| "it opens the vault"),
        }
    }
}

/// Names every share whose hash differs from the recorded one. Returns `None` if none does.
fn changed(shares: &[Share], known: &ShareSet) -> Option<Failure> {
    let of_set = shares.iter().filter(|share| share.set_bytes() == known.set);
    let changed = of_set.filter(|share| !known.has(share.number(), &share.hash()));
    let numbers: Vec<_> = changed.map(|share| share.number().to_string()).collect();
    if numbers.is_empty() {
        return None;
    }
    let (numbers, set) = (numbers.join(", "), hex::encode(&known.set));
    let failure =
        Failure::new(Exit::Data, format!("share {numbers} of set {set} was changed or invented"))
            .why("its hash differs from the one that was recorded when the shares were made")
            .try_this("ask its keeper, and use another share of this set instead");
    Some(failure)
}

fn known_to_backup(path: &Path, set: [u8; 4]) -> Result<Option<ShareSet>> {
    let failed = |invalid: InvalidBackup| explain_backup(&invalid, path);
    let mut backup = Reader::open(path).map_err(failed)?;
    while let Some(chunk) = backup.next_chunk().map_err(failed)? {
        // Tables are in the order of their numbers, and `Meta` is the first.
        if chunk.table != Table::Meta {
            break;
        }
        for row in &chunk.rows {
            let known = meta::share_set_of_row(row).map_err(|it| storage(&it))?;
            if let Some(known) = known.filter(|known| known.set == set) {
                return Ok(Some(known));
            }
        }
    }
    Ok(None)
}

/// Asks the running server, or reads the hashes from the data file, which stores them in clear.
fn known_to_vault(home: &VaultHome, share: &Share) -> Result<Option<ShareSet>> {
    let directory = &home.directory;
    match ask_server(directory, &Command::MasterShareSet { set: share.set() }) {
        Ok(Some(result)) => Ok(parse(&result, share.set_bytes())),
        Err(_) => Ok(None),
        Ok(None) => catch_damage(directory, || {
            // The later check of the key reports a file that does not open.
            let Ok(store) = home.place()?.open(&Clock::new()) else { return Ok(None) };
            let known = store.snapshot().and_then(|it| meta::share_set(&it, share.set_bytes()));
            store.close();
            known.map_err(|failure| storage(&failure))
        })?,
    }
}

fn parse(result: &Value, set: [u8; 4]) -> Option<ShareSet> {
    let needed = result.get("needed")?.as_u64().and_then(|it| u8::try_from(it).ok())?;
    let hashes = result.get("hashes")?.as_array()?;
    let hashes =
        hashes.iter().map(|it| it.as_str().and_then(hex::decode)).collect::<Option<_>>()?;
    if result.get("chain_differs").and_then(Value::as_bool) == Some(true) {
        complain(CHAIN_DIFFERS);
    }
    let made_at = Timestamp::from_micros(0);
    Some(ShareSet { set, needed, made_at, master: [0; 8], hashes, keepers: Vec::new() })
}

/// Asks the running server for the id of its key, or opens the data file with this key.
fn compare(home: &VaultHome, key: MasterKey, set: [u8; 4]) -> Result<()> {
    let directory = &home.directory;
    if let CommandExchange::Answered(answer) = ask(directory, &Command::MasterHandover) {
        let result = refuse_without_space(directory, answer).and_then(accepted)?;
        let own = result.get("master").and_then(Value::as_str);
        let is_own = own == Some(hex::encode(key.check()).as_str());
        return if is_own { Ok(()) } else { Err(other_key(directory, "vault")) };
    }
    let opened = open_vault::open_with(home, key, Clock::new());
    let vault = opened.map_err(|failure| {
        if failure.exit == Exit::Permission { other_key(directory, "vault") } else { failure }
    })?;
    match vault.keys().share_set(set) {
        Ok(Some((_, ChainWord::Differs))) => complain(CHAIN_DIFFERS),
        Ok(_) => (),
        // A damaged chain must not keep the operator from recovering the key.
        Err(_) => complain(CHAIN_UNREADABLE),
    }
    vault.close();
    Ok(())
}

fn nothing_to_check_with() -> Failure {
    Failure::new(Exit::Usage, "nothing to check the key with, or several things")
        .why("a vault or a backup shows that the key is right")
        .try_this("one of --config FILE, --data DIR, --backup FILE and --unchecked")
}

fn other_key(place: &Path, what: &str) -> Failure {
    Failure::new(
        Exit::Permission,
        format!("these shares give a key that is not the key of this {what}"),
    )
    .file(place)
    .why(
        "they belong to another vault, are older than a rotation of its master key, or one \
             of them was changed",
    )
    .try_this("use shares of another set; no file was written")
}
