//! `strongroom dev`: a vault for trials and tests, with all its files in one directory.
//!
//! No other command stores the texts of API keys. This one stores them in a file of mode 0600, so
//! that a restart prints the same keys.

pub mod certificate;
pub mod clock;
pub mod preload;

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::{ApplicationDraft, FirstKey, TenantChange, TenantDraft, Vault, Write};
use crate::bounds::THREEDS_SDK_BYTES_MAX;
use crate::cli::command::command;
use crate::cli::dev::certificate::{CertificateFiles, NAMES};
use crate::cli::serve::run::{ListenAddresses, ServerMode, run};
use crate::cli::support::{
    DEV_URL, Exit, Failure, Result, VaultHome, block_on, cannot, complain, make_directory,
    on_one_line, open_vault, or_close, over_database, quotas, read_console, read_threeds,
    read_whole, refused, say, switch, write_new,
};
use crate::clock::Clock;
use crate::config::{
    self, CodeSettings, Config, MasterKeySource, OutboundSettings, SecurityText, Switch, UrlSource,
};
use crate::crypto::{MasterKey, Random};
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::ApplicationKind;
use crate::domain::container::Container;
use crate::domain::elements_host::ElementsHost;
use crate::domain::id::TenantId;
use crate::domain::page_group::PageGroups;
use crate::domain::permission::Permission;
use crate::domain::quota::Quotas;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::domain::web_origin::AllowedOrigins;
use crate::files::{Directory, NamedFile};
use crate::http::set_threeds_sdk;
use crate::limits::Network;
use crate::log::RequestLines;
use crate::operator::ClockControl;
use crate::outbound::Scope;
use crate::server::Hsts;
use crate::store::{CvcKeys, Store};

command! {
    #[expect(clippy::doc_markdown, reason = "these are help texts, shown as they are")]
    /// Start a vault for trying and testing. Creates what it needs: keys, certificate, tenant.
    "dev" DevCommand {
        /// directory of the vault; created on first use (default ./strongroom-dev)
        data: PathBuf = option(default = "PathBuf::from(\"strongroom-dev\")"),
        /// address and port to listen on; port 0 selects a free port (default 127.0.0.1:8443)
        listen: String = option(default = "String::from(\"127.0.0.1:8443\")"),
        /// type of the tenant that is created on first use: test or production (default test)
        tenant_type: Option<String> = option,
        /// the published rate limits: on or off (default on)
        rate_limits: String = option(default = "String::from(\"on\")"),
        /// a quota of the tenant as NAME=VALUE, such as tokenize_limit=100; may be repeated
        quota: Vec<String> = option,
        /// a file with the threeds section of the settings, which names directory servers for
        /// production tenants
        threeds: Option<PathBuf> = option,
        /// a file with the console section of the settings, which says how people sign on; without
        /// tenants it is about the development tenant
        console: Option<PathBuf> = option,
        /// the bundle of the published browser SDK for 3-D Secure, such as
        /// node_modules/@basis-theory/web-threeds/dist/bundle/index.js, for the page /examples/checkout
        threeds_sdk: Option<PathBuf> = option,
        /// a PEM file with the certificate authorities of destinations such as proxies call, in place
        /// of the system's
        outbound_ca: Option<PathBuf> = option,
        /// a network of reverse proxies, such as 10.0.0.0/8, whose X-Forwarded-For header gives the
        /// client's address; may be repeated
        trusted_proxy: Vec<Network> = option,
        /// a host such as api.shop.example:8443 that pages with Elements may send values to; may be
        /// repeated
        elements_host: Vec<ElementsHost> = option,
        /// a file with the URL of a PostgreSQL database for the vault's rows, instead of a data file; with
        /// mode 0600 or 0400
        engine_url_file: Option<PathBuf> = option,
        /// stop the clock at the time of the start; only `dev-clock advance` moves it
        stop_clock: bool = switch,
        /// print the start, the end, the time and the console lines of each call of a reactor or a code
        /// transform to standard error
        code_trace: bool = switch,
        /// print one line of JSON when ready, instead of text
        json: bool = switch,
    } => |it| dev(&it)
}

/// The master key, the texts of the API keys, and a marker that exists during the first start.
/// Files are removed only if the marker exists, because a directory without it may hold a real
/// vault.
const MASTER_KEY: &str = "master.key";
const KEYS: &str = "keys.json";
const MARKER: &str = "dev.unfinished";
/// The validity of the contact that `dev` shows, from its start.
const SECURITY_CONTACT_LASTS: Duration = Duration::from_hours(30 * 24);

/// The tenant of a development directory, as the file of keys stores it.
#[derive(Debug, Serialize, Deserialize)]
pub struct DevTenant {
    pub tenant_id: String,
    tenant_type: String,
    pub keys: DevKeys,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct DevKeys {
    pub private: String,
    public: String,
    management: String,
}

impl DevKeys {
    /// `texts` are the keys of the private, the public and the management application.
    fn of(texts: Vec<String>) -> Result<Self> {
        let [private, public, management] = texts.try_into().map_err(|texts: Vec<_>| {
            Failure::new(Exit::Software, "cannot make the keys of the development tenant")
                .why(format!("three applications have {} keys", texts.len()))
        })?;
        Ok(Self { private, public, management })
    }
}

fn dev(command: &DevCommand) -> Result<()> {
    let listen: SocketAddr = command.listen.parse().map_err(|error| {
        Failure::new(Exit::Usage, "--listen takes an address and a port")
            .why(error)
            .try_this("--listen 127.0.0.1:8443")
    })?;
    let limits = switch("--rate-limits", &command.rate_limits)?;
    let wanted = command.tenant_type.as_deref().map(tenant_kind).transpose()?;
    let quotas = quotas(&command.quota)?;
    let threeds = command.threeds.as_deref().map(read_threeds).transpose()?;
    if let Some(path) = &command.threeds_sdk {
        let too_large = Failure::new(Exit::Usage, "the 3-D Secure SDK is too large");
        let most = THREEDS_SDK_BYTES_MAX;
        set_threeds_sdk(read_whole("the 3-D Secure SDK", path, most, too_large)?);
    }
    let files = CertificateFiles::of(&command.data);
    let home = home(command)?;
    let clock = if command.stop_clock { Clock::stopped() } else { Clock::new() };
    let (vault, tenant) = open_or_make(&home, wanted, clock)?;
    let (vault, ()) = or_close(set_quotas(&vault, &tenant, quotas), vault)?;
    let (vault, id) = or_close(id_of(&tenant), vault)?;
    let named = command.console.as_deref().map(|path| read_console(path, id)).transpose();
    let (vault, named) = or_close(named, vault)?;
    let defaults = settings(&command.data, listen, &files, threeds)?;
    let config = Config {
        console: named.unwrap_or(defaults.console),
        rate_limits: if limits { Switch::On } else { Switch::Off },
        trusted_proxies: command.trusted_proxy.clone(),
        engine: home.engine,
        elements_hosts: command.elements_host.clone(),
        outbound: OutboundSettings { allow: Vec::new(), ca_file: command.outbound_ca.clone() },
        ..defaults
    };
    // A browser would apply HSTS to every port of this machine.
    let hsts = Hsts::LeftOut;
    let mode = ServerMode {
        clock_control: ClockControl::Settable,
        hsts,
        inherited: Vec::new(),
        scope: Scope::Development,
        settings: None,
        program_trace: command.code_trace.then_some(print_trace),
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
            say(&ready_text(ready.address, &ca, &tenant));
        }
        Ok(())
    })
}

/// A line of a program may hold anything: it stays one line.
fn print_trace(line: &str) {
    complain(&on_one_line(line));
}

/// The defaults of the settings file, but without request lines in the log.
fn settings(
    directory: &Path,
    listen: SocketAddr,
    files: &CertificateFiles,
    threeds: Option<config::ThreedsSettings>,
) -> Result<Config> {
    // The mistakes are about settings without a default, which are set below.
    let (defaults, _) = Config::parse_all("").map_err(|invalid| {
        Failure::new(Exit::Software, "the settings have no defaults").why(invalid)
    })?;
    Ok(Config {
        data_directory: directory.to_path_buf(),
        listen: vec![listen],
        certificate: files.certificate.clone(),
        private_key: files.private_key.clone(),
        master_key: MasterKeySource::File(master_key_path(directory)),
        request_lines: RequestLines::Off,
        // Also on a kernel that cannot confine them fully: there are no real cards here.
        code: CodeSettings { enabled: true, allow_without_sandbox: true, ..defaults.code },
        pages: PageGroups::all(),
        // For a look at its form: a development server has no operator to tell.
        security_text: Some(SecurityText {
            contacts: vec![String::from("mailto:root@localhost")],
            expires: Clock::new().now().plus(SECURITY_CONTACT_LASTS),
            policy: None,
        }),
        threeds: threeds.unwrap_or(defaults.threeds),
        ..defaults
    })
}

pub fn master_key_path(directory: &Path) -> PathBuf {
    directory.join(MASTER_KEY)
}

pub fn tenant_path(directory: &Path) -> PathBuf {
    directory.join(KEYS)
}

pub fn read_tenant(directory: &Path) -> Result<DevTenant> {
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
    wanted: Option<TenantKind>,
    clock: Clock,
) -> Result<(Vault, DevTenant)> {
    let directory = home.directory.as_path();
    let master = MasterKeySource::File(master_key_path(directory));
    let entered = || {
        let opened = Directory::open(directory);
        opened.map_err(|error| cannot("enter the directory", directory, &error))
    };
    if tenant_path(directory).exists() {
        let entered = entered()?;
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
        return or_close(current(&vault, &entered, tenant), vault);
    }
    make_directory(directory)?;
    let entered = entered()?;
    let marker = clear_unfinished(&entered)?;
    link_url(home, &entered)?;
    let write = |name: &str, bytes: &[u8], mode| {
        let written = write_new(&entered, name, bytes, mode);
        written.map_err(|error| cannot("write a secret to its file", &directory.join(name), &error))
    };
    write(MASTER_KEY, MasterKey::generate(&Random::new()).expose().as_bytes(), 0o400)?;
    certificate::make(&entered, clock.now())?;
    let vault = open_vault::create(home, &master, clock)?;
    let made = block_on(make_tenant(&vault, wanted.unwrap_or(TenantKind::Test)));
    let made = made.and_then(|tenant| {
        write(KEYS, &encode(&tenant)?, 0o600)?;
        marker.remove().map_err(|error| cannot("finish the first start", directory, &error))?;
        Ok(tenant)
    });
    or_close(made, vault)
}

fn encode(tenant: &DevTenant) -> Result<Vec<u8>> {
    serde_json::to_vec_pretty(tenant)
        .map_err(|error| Failure::new(Exit::Software, "cannot encode the keys").why(error))
}

/// Removes the files of an interrupted first start, and refuses a directory with any other file.
/// Returns the marker.
fn clear_unfinished(directory: &Directory) -> Result<NamedFile> {
    let path = directory.path();
    let failed = |error: io::Error| cannot("read the directory", path, &error);
    let unfinished = Store::unfinished(path);
    let ours = [Store::FILE, CvcKeys::FILE, DEV_URL, MASTER_KEY].into_iter().chain(NAMES);
    let ours: Vec<_> = ours.map(OsStr::new).chain(unfinished.file_name()).collect();
    let marker = directory.hold(MARKER).map_err(failed)?;
    let mut left = Vec::new();
    for name in directory.names().map_err(failed)?.iter().filter(|name| *name != MARKER) {
        if marker.is_none() || !ours.contains(&name.as_os_str()) {
            return Err(Failure::new(Exit::Data, "this directory was not made by strongroom dev")
                .file(&path.join(name))
                .try_this("give --data a directory that does not exist yet"));
        }
        left.extend(directory.pin(name).map_err(failed)?);
    }
    for file in left {
        file.remove().map_err(|error| cannot("remove an unfinished file", &file.path(), &error))?;
    }
    let marker = marker.map_or_else(|| write_new(directory, MARKER, b"", 0o600), Ok);
    let marker = marker.map_err(|error| cannot("write to the directory", path, &error))?;
    directory.set_mode(0o700).map_err(|error| cannot("set the mode of a file", path, &error))?;
    Ok(marker)
}

async fn make_tenant(vault: &Vault, kind: TenantKind) -> Result<DevTenant> {
    let draft = TenantDraft {
        name: String::from("Development"),
        kind,
        threeds: Threeds::Enabled,
        quotas: Quotas::default(),
    };
    let tenant = vault.access().create_tenant(draft).await?;
    let mut texts = Vec::new();
    for kind in [ApplicationKind::Private, ApplicationKind::Public, ApplicationKind::Management] {
        let draft = ApplicationDraft {
            name: format!("Development {}", kind.as_str()),
            kind,
            access: access(kind),
            allowed_origins: AllowedOrigins::default(),
            key: FirstKey::Made,
        };
        let made =
            vault.access().create_application(tenant.id, &draft, None, &Write::plain()).await?;
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

fn damaged_keys() -> Failure {
    Failure::new(Exit::Data, "the keys of this directory are damaged")
        .try_this("delete the directory of this development vault, and start it again")
}

fn id_of(tenant: &DevTenant) -> Result<TenantId> {
    TenantId::parse(&tenant.tenant_id).ok_or_else(damaged_keys)
}

fn set_quotas(vault: &Vault, tenant: &DevTenant, quotas: Vec<(String, String)>) -> Result<()> {
    if quotas.is_empty() {
        return Ok(());
    }
    let tenant = id_of(tenant)?;
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

fn tenant_kind(text: &str) -> Result<TenantKind> {
    TenantKind::parse(text)
        .ok_or_else(|| Failure::new(Exit::Usage, "--tenant-type takes test or production"))
}

/// The directory, and the database that the flag or an earlier start named.
fn home(command: &DevCommand) -> Result<VaultHome> {
    let found = VaultHome::without_settings(&command.data);
    let Some(file) = &command.engine_url_file else { return Ok(found) };
    let file = std::path::absolute(file)
        .map_err(|error| cannot("find the URL of the database", file, &error))?;
    if found.is_local() && tenant_path(&command.data).exists() {
        return Err(Failure::new(Exit::Data, "the vault of this directory has a data file")
            .file(&command.data)
            .try_this("omit --engine-url-file, or use another --data directory"));
    }
    Ok(VaultHome { engine: over_database(file), ..found })
}

/// Leaves a link to the URL file for commands on this directory, which has no settings.
fn link_url(home: &VaultHome, directory: &Directory) -> Result<()> {
    let Some(UrlSource::File(file)) = home.engine.postgres().map(|it| &it.url) else {
        return Ok(());
    };
    directory.symlink(file, DEV_URL).map_err(|error| {
        cannot("name the database in the directory", &directory.path().join(DEV_URL), &error)
    })
}

/// The tenant of the file of keys, or a new one of the same type if it was deleted. The file is
/// replaced atomically, since `dev` reads it at every start.
fn current(vault: &Vault, directory: &Directory, tenant: DevTenant) -> Result<DevTenant> {
    let all = vault.access().list_tenants()?;
    if all.iter().any(|it| it.id.to_string() == tenant.tenant_id) {
        return Ok(tenant);
    }
    let kind = TenantKind::parse(&tenant.tenant_type).unwrap_or(TenantKind::Test);
    let made = block_on(make_tenant(vault, kind))?;
    replace_keys(directory, &encode(&made)?).map_err(|error| {
        cannot("replace the file of keys", &directory.path().join(KEYS), &error)
    })?;
    Ok(made)
}

fn replace_keys(directory: &Directory, bytes: &[u8]) -> io::Result<()> {
    const NEW: &str = "keys.json.new";
    let old = directory.hold(KEYS)?.ok_or(io::ErrorKind::NotFound)?;
    // A killed start may have left this file.
    directory.hold(NEW)?.map_or(Ok(()), |left| left.remove())?;
    write_new(directory, NEW, bytes, 0o600)?.replace(&old)
}

fn json_line(ready: &ListenAddresses, ca: &Path, tenant: &DevTenant) -> String {
    // Formatted by hand to keep the order of the members for human readers.
    let quoted = |text: &str| json!(text).to_string();
    let results = ready.results.map(|address| quoted(&format!("https://{address}")));
    let results = results.map(|url| format!(r#","results":{url}"#)).unwrap_or_default();
    let console = ready.console.map(|address| quoted(&format!("https://{address}")));
    let console = console.map(|url| format!(r#","console":{url}"#)).unwrap_or_default();
    format!(
        r#"{{"ready":true,"url":{}{results}{console},"ca":{},"tenant_id":{},"keys":{{"private":{},"public":{},"management":{}}}}}"#,
        quoted(&format!("https://{}", ready.address)),
        quoted(&ca.display().to_string()),
        quoted(&tenant.tenant_id),
        quoted(&tenant.keys.private),
        quoted(&tenant.keys.public),
        quoted(&tenant.keys.management),
    )
}

/// The path of the CA file for the start page, which shows it in the commands that it prints.
fn ca_part(path: &str) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_');
    format!(",{}", utf8_percent_encode(path, &PLAIN))
}

fn ready_text(address: SocketAddr, ca: &Path, tenant: &DevTenant) -> String {
    let (ca, DevKeys { private, public, management }) = (ca.display(), &tenant.keys);
    let url = format!("https://{address}");
    let ca_part = ca_part(&ca.to_string());
    format!(
        "Strongroom is ready.\n\n  url          {url}\n  CA file      {ca}\n  tenant       {} \
         ({})\n  private key  {private}\n  public key   {public}\n  management   {management}\n\nStore a value:\n\n  curl \
         --cacert '{ca}' '{url}/tokens' -H 'BT-API-KEY: {private}' -H 'Content-Type: application/json' \
         -d '{{\"type\":\"token\",\"data\":\"a secret\"}}'\n\nRead it back (put the id of the answer \
         in place of ID):\n\n  curl --cacert '{ca}' '{url}/tokens/ID' -H 'BT-API-KEY: \
         {private}'\n\nIn a browser:\n\n  reference    {url}/#keys={private},{public},{management}{ca_part}\n  \
         console      {url}/console\n  checkout     {url}/examples/checkout#key={public}\n  \
         elements     {url}/examples/elements#key={public}\n  \
         gallery      {url}/examples/gallery#key={public}\n\nStop with Ctrl-C; start again with the same command.",
        tenant.tenant_id, tenant.tenant_type,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_vault_that_took_the_place_of_an_unfinished_directory_stays() {
        let name = format!("strongroom-dev-clear-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let (here, away) = (place.join("here"), place.join("away"));
        let names = [MARKER, MASTER_KEY, Store::FILE];
        let fill = |directory: &Path| {
            fs::create_dir_all(directory).unwrap();
            for name in names {
                fs::write(directory.join(name), name).unwrap();
            }
        };
        fill(&here);
        let directory = Directory::open(&here).unwrap();
        fs::rename(&here, &away).unwrap();
        fill(&here);
        let marker = clear_unfinished(&directory).unwrap();
        assert_eq!(directory.names().unwrap(), [MARKER]);
        assert_eq!(fs::read_dir(&away).unwrap().count(), 1);
        for name in names {
            assert_eq!(fs::read_to_string(here.join(name)).unwrap(), name);
        }
        // A file that is not of an interrupted start is refused, and nothing is removed.
        fs::write(away.join("precious"), "").unwrap();
        fs::write(away.join(MASTER_KEY), "").unwrap();
        assert_eq!(clear_unfinished(&directory).unwrap_err().exit, Exit::Data);
        marker.remove().unwrap();
        fs::remove_file(away.join("precious")).unwrap();
        assert_eq!(clear_unfinished(&directory).unwrap_err().exit, Exit::Data);
        assert!(away.join(MASTER_KEY).exists());
        fs::remove_dir_all(&place).unwrap();
    }

    #[test]
    fn an_application_without_a_key_is_a_failure_and_not_an_empty_key() {
        let keys = |count| DevKeys::of(vec![String::from("key"); count]);
        assert!(keys(3).is_ok());
        for count in [0, 2, 4] {
            assert_eq!(keys(count).unwrap_err().exit, Exit::Software);
        }
    }

    #[test]
    fn the_keys_of_a_directory_that_took_the_place_of_the_vaults_stay() {
        let name = format!("strongroom-dev-keys-{}", std::process::id());
        let place = std::env::temp_dir().join(name);
        let (here, away) = (place.join("here"), place.join("away"));
        fs::create_dir_all(&here).unwrap();
        fs::write(here.join(KEYS), "deleted tenant").unwrap();
        let directory = Directory::open(&here).unwrap();
        fs::rename(&here, &away).unwrap();
        fs::create_dir(&here).unwrap();
        for name in [KEYS, "keys.json.new"] {
            fs::write(here.join(name), "other vault").unwrap();
        }
        replace_keys(&directory, b"new tenant").unwrap();
        assert_eq!(fs::read(away.join(KEYS)).unwrap(), b"new tenant");
        for name in [KEYS, "keys.json.new"] {
            assert_eq!(fs::read(here.join(name)).unwrap(), b"other vault");
        }
        fs::remove_dir_all(&place).unwrap();
    }
}
