//! `strongroom init`, `check` and `serve`: a vault for production.

pub(in crate::cli) mod archive;
pub(in crate::cli) mod bins;
pub(in crate::cli) mod directory;
pub(in crate::cli) mod outbound;
pub(in crate::cli) mod rotation;
pub(in crate::cli) mod run;
pub(in crate::cli) mod schedule;
pub(in crate::cli) mod service_manager;
pub(in crate::cli) mod upkeep;
pub(in crate::cli) mod watch;
pub(in crate::cli) mod webhooks;

use std::path::Path;

use crate::cli::commands::InitCommand;
use crate::cli::offline::shares;
use crate::cli::serve::run::{ServerMode, run};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::refused;
use crate::cli::support::files::make_directory;
use crate::cli::support::master_key_file::make_master_key;
use crate::cli::support::open_vault;
use crate::cli::support::output::say;
use crate::cli::support::runtime::block_on;
use crate::cli::support::settings::read_config;
use crate::clock::Clock;
use crate::config::MasterKeySource;
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::operator::ClockControl;
use crate::outbound::Scope;
use crate::server::Hsts;
use crate::store::Store;

pub(in crate::cli) fn check(path: &Path) -> Result<(), Failure> {
    read_config(path)?;
    say("The settings are valid. The files that they name were not checked.");
    Ok(())
}

pub(in crate::cli) fn init(command: &InitCommand) -> Result<(), Failure> {
    let config = read_config(&command.config)?;
    let scheme = command.recovery_shares.as_deref().map(shares::parse_scheme).transpose()?;
    if scheme.is_none() && command.shares_directory.is_some() {
        return Err(Failure::new(Exit::Usage, "--shares-directory without shares")
            .try_this("add --recovery-shares 3-of-5"));
    }
    if let Some(directory) =
        command.shares_directory.as_ref().filter(|it| it.exists() && !it.is_dir())
    {
        return Err(Failure::new(Exit::Usage, "--shares-directory is not a directory")
            .file(directory)
            .try_this("name a directory; it is created if it does not exist"));
    }
    let master = match (&command.master_key, &config.master_key) {
        (Some(asked), MasterKeySource::File(path)) if asked != path => {
            return Err(Failure::new(Exit::Usage, "the master key has two files")
                .why("the settings name a different file, and serve reads that file")
                .try_this("omit --master-key"));
        }
        (Some(path), _) | (None, MasterKeySource::File(path)) => path.clone(),
        (None, MasterKeySource::Credential(_)) => {
            return Err(Failure::new(Exit::Usage, "no file is named for the master key")
                .why("the settings name a systemd credential, which systemd reads from a file")
                .try_this(
                    "strongroom init --config FILE --master-key /etc/strongroom/master.key",
                ));
        }
    };
    make_directory(&config.data_directory)?;
    let made_key = if master.exists() {
        "existing"
    } else {
        make_master_key(&master)?;
        "created"
    };
    let source = MasterKeySource::File(master.clone());
    let vault = open_vault::create(&config.data_directory, &source, Clock::new())?;
    let noted = block_on(async {
        let made = Entity::of_server(EntityKind::Vault);
        vault.audit().write_operator_entry(Act::Create, made).await.map_err(|error| refused(&error))
    });
    vault.close();
    drop(vault);
    noted?;
    if let Some(scheme) = scheme {
        let out = command.shares_directory.as_deref();
        shares::make(&config.data_directory, &source, scheme, out)?;
    }
    let file = config.data_directory.join(Store::FILE);
    say(&format!(
        "The vault is ready.\n  data file:   {} (created)\n  master key:  {} ({made_key})\n\n\
         Keep a copy of the master key apart from every backup of the data. Without the key the \
         data is lost.\nNext: start strongroom serve, then strongroom tenant create and strongroom \
         application create.",
        file.display(),
        master.display()
    ));
    Ok(())
}

pub(in crate::cli) fn serve(path: &Path) -> Result<(), Failure> {
    let mut config = read_config(path)?;
    let inherited = service_manager::sockets()?;
    if !inherited.is_empty() {
        // The socket unit of systemd names the addresses and overrides the settings.
        config.listen.clear();
    }
    let vault = open_vault::open(&config.data_directory, &config.master_key, Clock::new())?;
    let mode = ServerMode {
        clock_control: ClockControl::Fixed,
        hsts: Hsts::Sent,
        inherited,
        scope: Scope::Internet,
    };
    run(vault, config, mode, |_| Ok(()))
}
