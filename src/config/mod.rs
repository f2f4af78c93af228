//! Settings: one TOML file, read whole before anything is bound, every mistake reported at once.
//!
//! `packaging/strongroom.toml` is the reference: every key, its default and its reason. The file
//! holds no secrets, only paths of files that do.

mod code;
mod console;
mod engine;
mod master_key;
mod outbound;
mod reader;
mod security_text;
#[cfg(test)]
mod tests;
mod threeds;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::bounds::{
    AUDIT_RETENTION_DAYS, CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX,
    CVC_RETENTION_IN_PRODUCTION, CVC_RETENTION_MAX, DISK_FLOOR_BYTES, REENCRYPT_PER_SECOND,
};
use crate::domain::archive::ArchivePlan;
use crate::domain::audit::AuditReads;
use crate::domain::backup::BackupPlan;
use crate::domain::elements_host::ElementsHost;
use crate::domain::id::TenantId;
use crate::domain::page_group::PageGroups;
use crate::limits::Network;
use crate::log::RequestLines;

pub use code::CodeSettings;
pub use console::{CertificateSignOn, ConsoleSettings, ProxySignOn, SignOnSettings};
pub use engine::{EngineSettings, PostgresSettings, UrlSource};
pub use master_key::{KeyCommand, KeyKeeper, MasterKeySource};
pub use outbound::{AllowedDestination, OutboundSettings};
use reader::SettingsReader;
pub use security_text::SecurityText;
pub use threeds::{DirectoryServer, DirectorySettings, ThreedsSettings};

#[derive(Debug, PartialEq, Eq)]
pub struct Config {
    pub data_directory: PathBuf,
    pub listen: Vec<SocketAddr>,
    pub certificate: PathBuf,
    pub private_key: PathBuf,
    pub master_key: MasterKeySource,
    pub key_keeper: Option<KeyKeeper>,
    pub engine: EngineSettings,
    /// The operator's table of issuers by card number.
    pub bin_file: Option<PathBuf>,
    pub trusted_proxies: Vec<Network>,
    pub rate_limits: Switch,
    pub deprecated_operations: Switch,
    pub request_lines: RequestLines,
    pub audit_reads: AuditReads,
    pub audit_retention_days: usize,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
    /// Records that a key rotation re-encrypts in a second.
    pub reencrypt_per_second: usize,
    pub archive: Option<ArchivePlan>,
    pub backup: Option<BackupPlan>,
    /// Free disk space below which the vault refuses changes.
    pub disk_floor_bytes: u64,
    /// The longest retention of a production tenant's card verification codes.
    pub cvc_retention_max: Duration,
    /// The address on which metrics and probes are served without TLS.
    pub operator_listen: Option<SocketAddr>,
    pub code: CodeSettings,
    pub console: ConsoleSettings,
    pub outbound: OutboundSettings,
    pub pages: PageGroups,
    /// Besides the vault, frames of Elements may send values to these hosts.
    pub elements_hosts: Vec<ElementsHost>,
    /// Whom to tell about a weakness.
    pub security_text: Option<SecurityText>,
    pub threeds: ThreedsSettings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    Off,
    On,
}

/// The mistakes of a settings file, one line each.
#[derive(Debug, PartialEq, Eq)]
pub struct InvalidConfig(pub Vec<String>);

impl Config {
    pub fn parse(text: &str) -> Result<Self, InvalidConfig> {
        match Self::parse_all(text)? {
            (config, mistakes) if mistakes.is_empty() => Ok(config),
            (_, mistakes) => Err(InvalidConfig(mistakes)),
        }
    }

    /// The settings and their mistakes. A wrong setting has its default, and a wrong path is empty
    /// or not absolute. Fails only if the text is not TOML.
    pub fn parse_all(text: &str) -> Result<(Self, Vec<String>), InvalidConfig> {
        let mut reader = SettingsReader::new(text)?;
        let config = Self::read(&mut reader);
        Ok((config, reader.mistakes))
    }

    fn read(reader: &mut SettingsReader) -> Self {
        let config = Self {
            data_directory: reader.path("data_directory"),
            listen: reader.addresses("listen"),
            certificate: reader.path("tls.certificate"),
            private_key: reader.path("tls.private_key"),
            key_keeper: reader.key_keeper(),
            master_key: reader.master_key(),
            engine: reader.engine(),
            bin_file: reader.optional_path("bin_file"),
            trusted_proxies: reader.networks("trusted_proxies"),
            rate_limits: reader.switch("rate_limits"),
            deprecated_operations: reader.switch("deprecated_operations"),
            request_lines: if reader.flag("log.requests", true) {
                RequestLines::On
            } else {
                RequestLines::Off
            },
            audit_reads: reader.audit_reads("audit.reads"),
            audit_retention_days: reader.day_count("audit.retention", AUDIT_RETENTION_DAYS),
            connections_max: reader.count("connections.max", CONNECTIONS_MAX),
            connections_per_address_max: reader
                .count("connections.per_address_max", CONNECTIONS_PER_ADDRESS_MAX),
            reencrypt_per_second: reader.count("keys.reencrypt_per_second", REENCRYPT_PER_SECOND),
            archive: reader.archive(),
            backup: reader.backup(),
            disk_floor_bytes: reader.bytes("disk.floor", DISK_FLOOR_BYTES),
            cvc_retention_max: reader.duration(
                "cvc.retention_max",
                CVC_RETENTION_IN_PRODUCTION,
                CVC_RETENTION_MAX,
                "must be a duration up to \"24h\", such as \"1h\"",
            ),
            operator_listen: reader.operator_listen(),
            code: reader.code(),
            console: reader.console(),
            outbound: reader.outbound(),
            pages: reader.pages(),
            elements_hosts: reader.elements_hosts(),
            security_text: reader.security_text(),
            threeds: reader.threeds(),
        };
        reader.refuse_own_archive(&config);
        reader.refuse_idle_hosts(&config);
        reader.refuse_archive_of_database(&config);
        reader.refuse_the_rest();
        config
    }

    /// Parses a file that holds only `[console]`, for `strongroom dev`. Without `tenants` its people
    /// administer this one.
    pub fn parse_console(text: &str, tenant: TenantId) -> Result<ConsoleSettings, InvalidConfig> {
        let mut reader = SettingsReader::new(text)?;
        reader.set_default("console.tenants", tenant);
        let console = reader.console();
        reader.refuse_the_rest();
        if reader.mistakes.is_empty() { Ok(console) } else { Err(InvalidConfig(reader.mistakes)) }
    }

    /// Parses a file that holds only `[threeds]`, for `strongroom dev`.
    pub fn parse_threeds(text: &str) -> Result<ThreedsSettings, InvalidConfig> {
        let mut reader = SettingsReader::new(text)?;
        let threeds = reader.threeds();
        reader.refuse_the_rest();
        if reader.mistakes.is_empty() { Ok(threeds) } else { Err(InvalidConfig(reader.mistakes)) }
    }
}

impl fmt::Display for InvalidConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}
