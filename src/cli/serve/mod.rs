//! `strongroom init` and `serve`: a vault for production.

pub mod archive;
pub mod bins;
pub mod code;
pub(in crate::cli) mod console;
pub mod directory;
mod directory_lock;
pub mod files;
mod next_key;
pub mod outbound;
pub mod process;
pub mod processes;
pub mod rotation;
pub mod run;
pub mod service_manager;
pub mod upkeep;
pub mod watch;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::app::VaultFailure;
use crate::cli::command::command;
use crate::cli::serve::run::{ServerMode, run};
use crate::cli::support::shares::{self, KeyAtHand};
use crate::cli::support::{
    Exit, Failure, Form, Result, VaultHome, as_member, block_on, explain, key_place,
    make_directory, make_master_key, open_vault, read_config, refused, require_credential,
    settings, tell,
};
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::operator::ClockControl;
use crate::outbound::Scope;
use crate::server::Hsts;
use crate::store::{CvcKeys, OpenFailure, Store};

command! {
    /// Create a new vault: its data directory, its master key unless one exists, its data file.
    "init" InitCommand on settings {
        /// file for the master key; required if the settings name a systemd credential
        master_key: Option<PathBuf> = option,
        /// make recovery shares of the master key, such as 3-of-5, and check them
        recovery_shares: Option<String> = option,
        /// keeper of a share as NAME=age1...: the share is written only sealed to this age key;
        /// given once for each share
        share_to: Vec<String> = option,
        /// directory for the shares, one file each; without it they are printed
        shares_directory: Option<PathBuf> = option,
        /// print JSON; shares then need a directory
        json: bool = switch,
    } => |it| init(&it)
}

command! {
    /// Run the vault. SIGTERM finishes requests in flight and stops; SIGHUP reads the certificate and
    /// the BIN file again.
    "serve" ServeCommand on settings {
    } => |it| serve(&it)
}

fn init(command: &InitCommand) -> Result<()> {
    let config = read_config(&settings::path(command.config.as_deref())?)?;
    let scheme = command.recovery_shares.as_deref().map(shares::parse_scheme).transpose()?;
    if scheme.is_none() && command.shares_directory.is_some() {
        return Err(Failure::new(Exit::Usage, "--shares-directory without shares")
            .try_this("add --recovery-shares 3-of-5"));
    }
    let out = command.shares_directory.as_deref();
    if let Some(directory) = out.filter(|it| it.exists() && !it.is_dir()) {
        return Err(Failure::new(Exit::Usage, "--shares-directory is not a directory")
            .file(directory)
            .try_this("name a directory; it is created if it does not exist"));
    }
    let keepers = shares::parse_keepers(&command.share_to, scheme, out)?;
    let source = key_source(command.master_key.as_deref(), &config.master_key)?;
    let form = Form::of(command.json);
    if scheme.is_some() {
        shares::check_form(form, out)?;
    }
    key_place::refuse_inside(&config.data_directory, &source)?;
    let home = VaultHome::of(&config);
    if home.is_local() {
        refuse_existing(&config.data_directory)?;
    }
    make_directory(&config.data_directory)?;
    let mut is_new_key = false;
    let key_shown = match &source {
        MasterKeySource::File(path) => {
            is_new_key = !path.exists();
            if is_new_key {
                make_master_key(path)?;
            }
            path.display().to_string()
        }
        MasterKeySource::Command(it) => format!("printed by {}", it.program.display()),
        MasterKeySource::Credential(name) => format!("credential {name}"),
    };
    let at_hand = KeyAtHand::read(source)?;
    let vault = open_vault::create_with(&home, at_hand.key(), Clock::new())?;
    let noted = as_member(&vault, || {
        let made = Entity::of_server(EntityKind::Vault);
        let noted = vault.audit().write_operator_entry(Act::Create, made);
        block_on(async { noted.await.map_err(|error| refused(&error)) })
    });
    vault.close();
    drop(vault);
    noted?;
    let split = |scheme| shares::make(&home, &at_hand, scheme, out, &keepers, form);
    let made = scheme.map(split).transpose()?;
    let facts = || {
        json!({
            "data_file": home.is_local().then(|| home.to_string()),
            "database": (!home.is_local()).then(|| home.to_string()),
            "master_key": key_shown,
            "master_key_created": is_new_key,
            "shares": made,
        })
    };
    let text = || {
        format!(
            "The vault is ready.\n  {}  {home} (created)\n  master key:  {key_shown} ({})\n\n\
             Keep a copy of the master key apart from every backup of the data. Without the key \
             the data is lost.\nNext: start strongroom serve, then strongroom tenant create and \
             strongroom application create.",
            if home.is_local() { "data file: " } else { "rows in:   " },
            if is_new_key { "created" } else { "existing" },
        )
    };
    tell(form, facts, text);
    Ok(())
}

/// Refuses a directory with a vault or a part of one, before a key is made that would belong to no
/// vault.
fn refuse_existing(directory: &Path) -> Result<()> {
    if directory.join(Store::FILE).exists() {
        return Err(explain(VaultFailure::File(OpenFailure::Exists), directory));
    }
    if directory.join(CvcKeys::FILE).exists() {
        return Err(explain(VaultFailure::File(OpenFailure::Missing), directory));
    }
    Ok(())
}

/// The source from which `init` reads the master key. `init` first makes a missing file.
fn key_source(asked: Option<&Path>, settings: &MasterKeySource) -> Result<MasterKeySource> {
    match (asked, settings) {
        (Some(asked), MasterKeySource::File(path)) if asked != path => {
            Err(Failure::new(Exit::Usage, "the master key has two files")
                .why("the settings name a different file, and serve reads that file")
                .try_this("omit --master-key"))
        }
        (Some(_), MasterKeySource::Command(_)) => {
            Err(Failure::new(Exit::Usage, "the master key has two sources")
                .why("the settings name a command that prints the key, and serve runs it")
                .try_this("omit --master-key"))
        }
        (Some(path), _) => Ok(MasterKeySource::File(path.to_path_buf())),
        (None, MasterKeySource::Credential(_)) => {
            Err(Failure::new(Exit::Usage, "no file is named for the master key")
                .why("the settings name a systemd credential, which systemd reads from a file")
                .try_this("strongroom init --config FILE --master-key /etc/strongroom/master.key"))
        }
        (None, MasterKeySource::Command(_) | MasterKeySource::File(_)) => Ok(settings.clone()),
    }
}

/// The advice for a server without its credential.
const OF_SERVER: &str = "systemctl start strongroom; or, by hand, master_key.file in the settings";

fn serve(command: &ServeCommand) -> Result<()> {
    let path = settings::path(command.config.as_deref())?;
    let mut config = read_config(&path)?;
    key_place::refuse_inside(&config.data_directory, &config.master_key)?;
    let inherited = service_manager::sockets()?;
    if !inherited.is_empty() {
        // The socket unit of systemd names the addresses and overrides the settings.
        config.listen.clear();
    }
    require_credential(&config.master_key, OF_SERVER)?;
    let vault = open_vault::open(&VaultHome::of(&config), &config.master_key, Clock::new())?;
    let mode = ServerMode {
        program_trace: None,
        clock_control: ClockControl::Fixed,
        hsts: Hsts::Sent,
        inherited,
        scope: Scope::Internet,
        settings: Some(path),
    };
    run(vault, config, mode, |_| Ok(()))
}
