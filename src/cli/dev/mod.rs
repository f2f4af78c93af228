//! `strongroom dev`: a vault for trials and tests, with all its files in one directory.
//!
//! No other command stores the texts of API keys. This one stores them in a file of mode 0600, so
//! that a restart prints the same keys.

pub(in crate::cli) mod certificate;
mod home;
pub(in crate::cli) mod preload;
mod ready;
mod renew;
mod threeds_sdk;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::app::{ApplicationDraft, FirstKey, TenantChange, TenantDraft, Vault, Write};
use crate::bounds::{
    AUDIT_RETENTION_DAYS, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX, DISK_FLOOR_BYTES,
    REENCRYPT_PER_SECOND, THREEDS_RETENTION,
};
use crate::cli::commands::DevCommand;
use crate::cli::dev::certificate::CertificateFiles;
use crate::cli::dev::home::{home, link_url};
use crate::cli::dev::ready::{json_line, text};
use crate::cli::dev::threeds_sdk::serve_sdk;
use crate::cli::serve::run::{ServerMode, run};
use crate::cli::support::arguments::{quotas, switch};
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, refused};
use crate::cli::support::files::{make_directory, restrict, write_secret};
use crate::cli::support::master_key_file::make_master_key;
use crate::cli::support::open_vault;
use crate::cli::support::output::{complain, say};
use crate::cli::support::runtime::block_on;
use crate::cli::support::settings::read_threeds;
use crate::cli::support::vault_home::{VaultHome, dev_url};
use crate::clock::Clock;
use crate::config::{
    self, AuditReads, Config, EngineSettings, MasterKeySource, OutboundSettings, Switch,
};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::ApplicationKind;
use crate::domain::container::Container;
use crate::domain::id::TenantId;
use crate::domain::page_group::PageGroups;
use crate::domain::permission::Permission;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::domain::web_origin::AllowedOrigins;
use crate::log::RequestLines;
use crate::operator::ClockControl;
use crate::outbound::Scope;
use crate::server::Hsts;
use crate::store::{CvcKeys, Store};

/// The tenant of a development directory, as the file of keys stores it.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct DevTenant {
    pub(in crate::cli) tenant_id: String,
    tenant_type: String,
    pub(in crate::cli) keys: DevKeys,
}

#[derive(Debug, Serialize, Deserialize)]
pub(in crate::cli) struct DevKeys {
    pub(in crate::cli) private: String,
    public: String,
    management: String,
}

impl DevKeys {
    /// `texts` are those of the private, the public and the management application.
    fn of(texts: Vec<String>) -> Result<Self, Failure> {
        let [private, public, management] = texts.try_into().map_err(|texts: Vec<_>| {
            Failure::new(Exit::Software, "cannot make the keys of the development tenant")
                .why(format!("three applications have {} keys", texts.len()))
        })?;
        Ok(Self { private, public, management })
    }
}

pub(in crate::cli) fn dev(command: &DevCommand) -> Result<(), Failure> {
    let listen: SocketAddr = command.listen.parse().map_err(|error| {
        Failure::new(Exit::Usage, "--listen takes an address and a port")
            .why(error)
            .try_this("--listen 127.0.0.1:8443")
    })?;
    let limits = switch("--rate-limits", &command.rate_limits)?;
    let wanted = command.tenant_type.as_deref().map(tenant_kind).transpose()?;
    let quotas = quotas(&command.quota)?;
    let threeds = command.threeds.as_deref().map(read_threeds).transpose()?;
    command.threeds_sdk.as_deref().map(serve_sdk).transpose()?;
    let files = CertificateFiles::of(&command.data);
    let home = home(command)?;
    let clock = if command.stop_clock { Clock::stopped() } else { Clock::new() };
    let (vault, tenant) = open_or_make(&home, &files, wanted, clock)?;
    if let Err(failure) = set_quotas(&vault, &tenant, quotas) {
        vault.close();
        return Err(failure);
    }
    let config = Config {
        rate_limits: if limits { Switch::On } else { Switch::Off },
        trusted_proxies: command.trusted_proxy.clone(),
        engine: home.engine,
        outbound: OutboundSettings { allow: Vec::new(), ca_file: command.outbound_ca.clone() },
        ..settings(&command.data, listen, &files, threeds)
    };
    // A browser would apply HSTS to every port of this machine.
    let hsts = Hsts::LeftOut;
    let mode = ServerMode {
        clock_control: ClockControl::Settable,
        hsts,
        inherited: Vec::new(),
        scope: Scope::Development,
        settings: None,
    };
    run(vault, config, mode, |ready| {
        let ca = std::fs::canonicalize(&files.ca)
            .map_err(|error| cannot("find the CA file", &files.ca, &error))?;
        complain(
            "WARNING: this is a development vault. Its master key and its API keys lie beside its \
             data. Never put real card data into it.",
        );
        if command.json {
            say(&json_line(&ready, &ca, &tenant));
        } else {
            say(&text(ready.address, &ca, &tenant));
        }
        Ok(())
    })
}

/// The defaults of the settings file, but without lines for requests in the log.
fn settings(
    directory: &Path,
    listen: SocketAddr,
    files: &CertificateFiles,
    threeds: Option<config::ThreedsSettings>,
) -> Config {
    Config {
        data_directory: directory.to_path_buf(),
        listen: vec![listen],
        certificate: files.certificate.clone(),
        private_key: files.private_key.clone(),
        master_key: MasterKeySource::File(master_key_path(directory)),
        engine: EngineSettings::Local,
        bin_file: None,
        trusted_proxies: Vec::new(),
        rate_limits: Switch::On,
        deprecated_operations: Switch::On,
        request_lines: RequestLines::Off,
        audit_reads: AuditReads::Batched,
        audit_retention_days: AUDIT_RETENTION_DAYS,
        deprecated: Vec::new(),
        connections_max: CONNECTIONS_MAX,
        connections_per_address_max: CONNECTIONS_PER_ADDRESS_MAX,
        reencrypt_per_second: REENCRYPT_PER_SECOND,
        archive: None,
        backup: None,
        disk_floor_bytes: DISK_FLOOR_BYTES,
        operator_listen: None,
        outbound: OutboundSettings::default(),
        pages: PageGroups::all(),
        threeds: threeds
            .unwrap_or(config::ThreedsSettings { retention: THREEDS_RETENTION, directory: None }),
    }
}

pub(in crate::cli) fn master_key_path(directory: &Path) -> PathBuf {
    directory.join("master.key")
}

pub(in crate::cli) fn tenant_path(directory: &Path) -> PathBuf {
    directory.join("keys.json")
}

pub(in crate::cli) fn read_tenant(directory: &Path) -> Result<DevTenant, Failure> {
    let path = tenant_path(directory);
    let bytes = std::fs::read(&path).map_err(|error| {
        cannot("read the keys of this directory", &path, &error)
            .try_this("strongroom dev with a directory that does not exist yet")
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        Failure::new(Exit::Data, "the keys of this directory are damaged")
            .file(&path)
            .why(format!("line {}, column {}", error.line(), error.column()))
            .try_this("delete the directory and start again")
    })
}

/// The file of keys is written last. A directory without it was left by an interrupted first start
/// and is made again: its keys were never printed.
fn open_or_make(
    home: &VaultHome,
    files: &CertificateFiles,
    wanted: Option<TenantKind>,
    clock: Clock,
) -> Result<(Vault, DevTenant), Failure> {
    let directory = home.directory.as_path();
    let master = MasterKeySource::File(master_key_path(directory));
    if tenant_path(directory).exists() {
        let tenant = read_tenant(directory)?;
        if wanted.is_some_and(|kind| kind.as_str() != tenant.tenant_type) {
            return Err(Failure::new(
                Exit::Data,
                "the tenant of this directory has the other type",
            )
            .file(directory)
            .why(format!("it was created as a {} tenant", tenant.tenant_type))
            .try_this("omit --tenant-type, or use another --data directory"));
        }
        let vault = open_vault::open(home, &master, clock)?;
        return renew::unless_there(vault, directory, tenant);
    }
    make_directory(directory)?;
    clear_unfinished(directory, files)?;
    link_url(home)?;
    make_master_key(&master_key_path(directory))?;
    certificate::make(files, clock.now())?;
    let vault = open_vault::create(home, &master, clock)?;
    let made = block_on(make_tenant(&vault, wanted.unwrap_or(TenantKind::Test)));
    match made.and_then(|tenant| {
        let bytes = serde_json::to_vec_pretty(&tenant)
            .map_err(|error| Failure::new(Exit::Software, "cannot encode the keys").why(error))?;
        write_secret(&tenant_path(directory), &bytes, 0o600)?;
        std::fs::remove_file(marker(directory))
            .map_err(|error| cannot("finish the first start", directory, &error))?;
        Ok(tenant)
    }) {
        Ok(tenant) => Ok((vault, tenant)),
        Err(failure) => {
            vault.close();
            Err(failure)
        }
    }
}

/// A file that exists during the first start. Files are removed only if it exists, because a
/// directory without it may hold a real vault.
fn marker(directory: &Path) -> PathBuf {
    directory.join("dev.unfinished")
}

/// Removes the files of an interrupted first start, and refuses a directory with any other file.
fn clear_unfinished(directory: &Path, files: &CertificateFiles) -> Result<(), Failure> {
    let ours = [
        &directory.join(Store::FILE),
        &Store::unfinished(directory),
        &directory.join(CvcKeys::FILE),
        &dev_url(directory),
        &master_key_path(directory),
        &files.ca,
        &files.certificate,
        &files.private_key,
    ];
    let marker = marker(directory);
    let unreadable = |error: io::Error| cannot("read the directory", directory, &error);
    let entries = std::fs::read_dir(directory).map_err(unreadable)?;
    let left = entries.map(|entry| entry.map(|it| it.path())).collect::<io::Result<Vec<_>>>();
    let mut left = left.map_err(unreadable)?;
    left.retain(|path| *path != marker);
    if let Some(path) = left.iter().find(|path| !marker.exists() || !ours.contains(path)) {
        return Err(Failure::new(Exit::Data, "this directory was not made by strongroom dev")
            .file(path)
            .try_this("give --data a directory that does not exist yet"));
    }
    for path in &left {
        std::fs::remove_file(path)
            .map_err(|error| cannot("remove an unfinished file", path, &error))?;
    }
    if !marker.exists() {
        write_secret(&marker, b"", 0o600)?;
    }
    restrict(directory, 0o700)
}

async fn make_tenant(vault: &Vault, kind: TenantKind) -> Result<DevTenant, Failure> {
    let draft = TenantDraft {
        name: String::from("Development"),
        kind,
        threeds: Threeds::Enabled,
        quotas: Quotas::default(),
    };
    let tenant = vault.access().create_tenant(draft).await.map_err(|error| refused(&error))?;
    let mut texts = Vec::new();
    for kind in [ApplicationKind::Private, ApplicationKind::Public, ApplicationKind::Management] {
        let draft = ApplicationDraft {
            name: format!("Development {}", kind.as_str()),
            kind,
            access: access(kind),
            allowed_origins: AllowedOrigins::default(),
            key: FirstKey::Made,
        };
        let made = vault
            .access()
            .create_application(tenant.id, &draft, None, &Write::plain())
            .await
            .map_err(|error| refused(&error))?;
        let (_, key) = made.outcome;
        texts.extend(key.map(|new| String::from(new.text.expose())));
    }
    let tenant_type = String::from(kind.as_str());
    Ok(DevTenant { tenant_id: tenant.id.to_string(), tenant_type, keys: DevKeys::of(texts)? })
}

fn access(kind: ApplicationKind) -> Access {
    let held = Permission::ALL.iter().copied().filter(|it| it.may_be_held_by(kind));
    match kind {
        ApplicationKind::Private => {
            let on_tokens = Permission::ALL.iter().copied().filter(|it| it.concerns_tokens());
            let rule = AccessRule {
                description: Some(String::from("Everything in every container")),
                priority: 1,
                container: Container::root(),
                conditions: Vec::new(),
                transform: Transform::Reveal,
                permissions: on_tokens.collect(),
            };
            let plain = vec![
                Permission::TokenIntentCreate,
                Permission::TokenIntentRead,
                Permission::TokenIntentDelete,
                Permission::ThreedsSessionCreate,
                Permission::ThreedsSessionRead,
                Permission::ThreedsSessionAuthenticate,
                Permission::ConnectionFormulas,
            ];
            Access::new(plain, vec![rule])
        }
        ApplicationKind::Public => Access::new(
            vec![
                Permission::TokenCreate,
                Permission::TokenIntentCreate,
                Permission::ThreedsSessionCreate,
            ],
            vec![],
        ),
        ApplicationKind::Management => Access::new(held.collect(), vec![]),
    }
}

fn set_quotas(
    vault: &Vault,
    tenant: &DevTenant,
    quotas: Vec<(String, String)>,
) -> Result<(), Failure> {
    if quotas.is_empty() {
        return Ok(());
    }
    let tenant = TenantId::parse(&tenant.tenant_id)
        .ok_or_else(|| Failure::new(Exit::Data, "the keys of this directory are damaged"))?;
    let change = TenantChange { quotas, ..TenantChange::default() };
    block_on(async {
        vault
            .access()
            .change_tenant(tenant, &change, None, &Write::plain())
            .await
            .map_err(|error| refused(&error))
    })?;
    Ok(())
}

fn tenant_kind(text: &str) -> Result<TenantKind, Failure> {
    TenantKind::parse(text)
        .ok_or_else(|| Failure::new(Exit::Usage, "--tenant-type takes test or production"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_without_a_key_is_a_failure_and_not_an_empty_key() {
        let keys = |count| DevKeys::of(vec![String::from("key"); count]);
        assert!(keys(3).is_ok());
        for count in [0, 2, 4] {
            assert_eq!(keys(count).unwrap_err().exit, Exit::Software);
        }
    }
}
