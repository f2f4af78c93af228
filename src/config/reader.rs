//! Reads settings from a TOML table one by one and collects all mistakes.
#![expect(clippy::wildcard_enum_match_arm, reason = "a value of any other type is a mistake")]

use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::{Table, Value};

use super::{Config, InvalidConfig, Switch};
use crate::bounds::{
    ARCHIVE_EVERY, ARCHIVE_EVERY_MAX, BACKUP_PERIOD_MAX, DISK_FLOOR_BYTES_MAX,
    DISK_FLOOR_BYTES_MIN, ELEMENTS_HOSTS_MAX,
};
use crate::domain::archive::ArchivePlan;
use crate::domain::audit::AuditReads;
use crate::domain::backup::BackupPlan;
use crate::domain::duration;
use crate::domain::elements_host::ElementsHost;
use crate::domain::nearest::nearest;
use crate::domain::page_group::{PageGroup, PageGroups};
use crate::domain::size;
use crate::limits::Network;
use crate::threeds::scheme::Scheme;

const SECTIONS: &[&str] = &[
    "archive",
    "audit",
    "backup",
    "code",
    "connections",
    "console",
    "cvc",
    "disk",
    "engine",
    "keys",
    "log",
    "master_key",
    "operator",
    "outbound",
    "pages",
    "security_txt",
    "threeds",
    "tls",
];

const DIRECTORY: [&str; 6] = [
    "public_url",
    "results_certificate",
    "results_listen",
    "results_private_key",
    "results_url",
    "server_reference",
];

const DAY: Duration = Duration::from_hours(24);
const DAY_S: u64 = DAY.as_secs();

/// Removes each setting that it reads from the table; settings that are left at the end are
/// unknown.
pub(super) struct SettingsReader {
    pub(super) table: Table,
    pub(super) mistakes: Vec<String>,
    /// The names that were read, for suggestions.
    pub(super) known: BTreeSet<String>,
}

impl SettingsReader {
    pub(super) fn new(text: &str) -> Result<Self, InvalidConfig> {
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            InvalidConfig(vec![String::from(error.to_string().trim_end())])
        })?;
        Ok(Self { table, mistakes: Vec::new(), known: BTreeSet::new() })
    }

    /// Removes the value of a key such as `listen`, `tls.certificate` or `threeds.visa.url`.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.known.insert(String::from(name));
        let mut names = name.split('.');
        let key = names.next_back()?;
        let section = names.try_fold(&mut self.table, |table, name| match table.get_mut(name) {
            Some(Value::Table(section)) => Some(section),
            Some(_) | None => None,
        });
        section?.remove(key)
    }

    pub(super) fn has_section(&self, name: &str) -> bool {
        let found = name.split('.').try_fold(&self.table, |table, name| match table.get(name) {
            Some(Value::Table(section)) => Some(section),
            Some(_) | None => None,
        });
        found.is_some()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        let Some((section, key)) = name.split_once('.') else {
            return self.table.contains_key(name);
        };
        matches!(self.table.get(section), Some(Value::Table(section)) if section.contains_key(key))
    }

    /// Adds a list with one value, unless the setting is there.
    pub(super) fn set_default(&mut self, name: &str, value: impl Display) {
        let list = Value::Array(vec![Value::String(value.to_string())]);
        if let Some((section, key)) = name.split_once('.')
            && let Some(Value::Table(section)) = self.table.get_mut(section)
        {
            section.entry(key).or_insert(list);
        }
    }

    pub(super) fn wrong(&mut self, name: &str, wanted: &str) {
        self.mistakes.push(format!("{name}: {wanted}"));
    }

    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        match self.take(name)? {
            Value::String(text) if !text.is_empty() => Some(text),
            _ => {
                self.wrong(name, "must be a non-empty string");
                None
            }
        }
    }

    /// Empty if it is missing or wrong, which is a mistake.
    pub(super) fn required_text(&mut self, name: &str) -> String {
        let before = self.mistakes.len();
        self.text(name).unwrap_or_else(|| {
            if self.mistakes.len() == before {
                self.wrong(name, "is required");
            }
            String::new()
        })
    }

    /// An absolute path: the working directory of a service is not defined.
    pub(super) fn path(&mut self, name: &str) -> PathBuf {
        let text = self.required_text(name);
        if !text.is_empty() && !Path::new(&text).is_absolute() {
            self.wrong(name, "must be an absolute path, which begins with a slash");
        }
        PathBuf::from(text)
    }

    pub(super) fn optional_path(&mut self, name: &str) -> Option<PathBuf> {
        self.has(name).then(|| self.path(name))
    }

    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let texts: Option<Vec<_>> = match self.take(name)? {
            Value::Array(items) => items.iter().map(|it| it.as_str().map(String::from)).collect(),
            _ => None,
        };
        if texts.is_none() {
            self.wrong(name, "must be a list of strings");
        }
        texts
    }

    pub(super) fn addresses(&mut self, name: &str) -> Vec<SocketAddr> {
        let texts = self.texts(name).unwrap_or_else(|| vec![String::from("[::]:8443")]);
        self.parse_addresses(name, &texts)
    }

    pub(super) fn required_addresses(&mut self, name: &str) -> Vec<SocketAddr> {
        let before = self.mistakes.len();
        if let Some(texts) = self.texts(name) {
            return self.parse_addresses(name, &texts);
        }
        if self.mistakes.len() == before {
            self.wrong(name, "is required");
        }
        Vec::new()
    }

    fn parse_addresses(&mut self, name: &str, texts: &[String]) -> Vec<SocketAddr> {
        const ADDRESS: &str =
            "must be an address and a port, such as \"127.0.0.1:8443\" or \"[::]:8443\"";
        if texts.is_empty() {
            self.wrong(name, "must name at least one address, such as \"127.0.0.1:8443\"");
        }
        self.items(name, texts, |text| text.parse().ok().ok_or(ADDRESS))
    }

    pub(super) fn networks(&mut self, name: &str) -> Vec<Network> {
        let texts = self.texts(name).unwrap_or_default();
        self.items(name, &texts, str::parse)
    }

    /// Leaves out the texts that `parse` refuses, and reports them as mistakes.
    pub(super) fn items<T, E: Display>(
        &mut self,
        name: &str,
        texts: &[String],
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let mut items = Vec::new();
        for (at, text) in texts.iter().enumerate() {
            match parse(text) {
                Ok(item) => items.push(item),
                Err(wanted) => self.wrong(&format!("{name}[{at}]"), &wanted.to_string()),
            }
        }
        items
    }

    /// `None` without a `[backup]` section. In it only the directory is required.
    pub(super) fn backup(&mut self) -> Option<BackupPlan> {
        const NEVER: &str = "never";
        const PERIOD: &str = "must be a duration up to a year, such as \"12h\" or \"7d\"";
        if !self.table.contains_key("backup") {
            return None;
        }
        let directory = self.path("backup.directory");
        let every = self.duration("backup.every", DAY, BACKUP_PERIOD_MAX, PERIOD);
        let keep = self.count("backup.keep", 7);
        let named = self.table.get("backup").and_then(|section| section.get("prove_every"));
        let is_never = named.and_then(Value::as_str) == Some(NEVER);
        let prove_every = if is_never {
            self.take("backup.prove_every");
            None
        } else {
            Some(self.duration("backup.prove_every", 7 * DAY, BACKUP_PERIOD_MAX, PERIOD))
        };
        Some(BackupPlan { directory, every, keep, prove_every })
    }

    /// `None` without an `[archive]` section. In it only the directory is required.
    pub(super) fn archive(&mut self) -> Option<ArchivePlan> {
        if !self.table.contains_key("archive") {
            return None;
        }
        let directory = self.path("archive.directory");
        let wanted = "must be a duration up to an hour, such as \"10s\"";
        let every = self.duration("archive.every", ARCHIVE_EVERY, ARCHIVE_EVERY_MAX, wanted);
        Some(ArchivePlan { directory, every })
    }

    /// The loss of the data directory must not take the archive with it.
    pub(super) fn refuse_own_archive(&mut self, config: &Config) {
        let archive = config.archive.as_ref().map(|plan| &plan.directory);
        // A data directory that is missing or wrong is a mistake of its own; every path begins with an
        // empty one.
        let own = &config.data_directory;
        if own.is_absolute() && archive.is_some_and(|archive| archive.starts_with(own)) {
            self.wrong("archive.directory", "must be outside of the data directory");
        }
    }

    /// The parsed value, or the default if it is missing or wrong.
    pub(super) fn parsed<T>(
        &mut self,
        name: &str,
        default: T,
        wanted: &str,
        parse: impl FnOnce(&Value) -> Option<T>,
    ) -> T {
        let Some(value) = self.take(name) else { return default };
        parse(&value).unwrap_or_else(|| {
            self.wrong(name, wanted);
            default
        })
    }

    pub(super) fn flag(&mut self, name: &str, default: bool) -> bool {
        self.parsed(name, default, "must be true or false", Value::as_bool)
    }

    /// A switch that is on by default.
    pub(super) fn switch(&mut self, name: &str) -> Switch {
        if self.flag(name, true) { Switch::On } else { Switch::Off }
    }

    pub(super) fn audit_reads(&mut self, name: &str) -> AuditReads {
        let wanted = "must be \"batched\" or \"strict\"";
        self.parsed(name, AuditReads::Batched, wanted, |value| match value.as_str() {
            Some("batched") => Some(AuditReads::Batched),
            Some("strict") => Some(AuditReads::Strict),
            Some(_) | None => None,
        })
    }

    /// A duration up to `max`; `wanted` is the message.
    pub(super) fn duration(
        &mut self,
        name: &str,
        default: Duration,
        max: Duration,
        wanted: &str,
    ) -> Duration {
        let Some(text) = self.text(name) else { return default };
        duration::parse(&text, max).unwrap_or_else(|| {
            self.wrong(name, wanted);
            default
        })
    }

    /// Whole days, such as `"400d"`.
    pub(super) fn days(&mut self, name: &str, default: u64, most: u64) -> u64 {
        let max = Duration::from_secs(most.saturating_mul(DAY_S));
        let wanted = format!("must be a number of days up to {most}, such as \"{default}d\"");
        self.parsed(name, default, &wanted, |value| {
            let seconds = duration::parse(value.as_str()?, max)?.as_secs();
            (seconds.rem_euclid(DAY_S) == 0).then(|| seconds.div_euclid(DAY_S))
        })
    }

    /// As [`SettingsReader::days`], for a setting whose value is a `usize`.
    pub(super) fn day_count(&mut self, name: &str, default: usize) -> usize {
        const MOST: u64 = 1_000_000;
        let default_days = u64::try_from(default).unwrap_or(MOST);
        usize::try_from(self.days(name, default_days, MOST)).unwrap_or(default)
    }

    pub(super) fn time_limit(
        &mut self,
        name: &str,
        default: Duration,
        min: Duration,
        max: Duration,
    ) -> Duration {
        let (least, most) = (min.as_millis(), max.as_secs());
        let wanted = format!("must be a duration from \"{least}ms\" to \"{most}s\"");
        self.parsed(name, default, &wanted, |value| duration::parse_from(value.as_str()?, min, max))
    }

    pub(super) fn bytes(&mut self, name: &str, default: u64) -> u64 {
        let legal = DISK_FLOOR_BYTES_MIN..=DISK_FLOOR_BYTES_MAX;
        let wanted = "must be a size such as \"256MiB\" or \"2GiB\", at least \"1MiB\"";
        self.parsed(name, default, wanted, |value| {
            size::parse(value.as_str()?).filter(|bytes| legal.contains(bytes))
        })
    }

    pub(super) fn credential(&mut self, name: &str) -> String {
        let credential = self.required_text(name);
        if credential.contains('/') {
            self.wrong(name, "must be the name of a credential, without slashes");
        }
        credential
    }

    /// The pages that are switched on. Worked examples are only for `strongroom dev`.
    pub(super) fn pages(&mut self) -> PageGroups {
        let groups = [
            ("pages.console", PageGroup::Console),
            ("pages.elements", PageGroup::Elements),
            ("pages.fields", PageGroup::Fields),
            ("pages.reference", PageGroup::Reference),
        ];
        groups.into_iter().filter(|(name, _)| self.flag(name, false)).map(|it| it.1).collect()
    }

    pub(super) fn elements_hosts(&mut self) -> Vec<ElementsHost> {
        const NAME: &str = "pages.elements_hosts";
        let texts = self.texts(NAME).unwrap_or_default();
        if texts.len() > ELEMENTS_HOSTS_MAX {
            self.wrong(NAME, &format!("has more than {ELEMENTS_HOSTS_MAX} hosts"));
        }
        let mut hosts = self.items(NAME, &texts, str::parse);
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }

    /// An operator who lists hosts expects that pages can use them.
    pub(super) fn refuse_idle_hosts(&mut self, config: &Config) {
        if !config.elements_hosts.is_empty() && !config.pages.has(PageGroup::Elements) {
            self.wrong("pages.elements_hosts", "has no effect without elements = true");
        }
    }

    pub(super) fn count_within(
        &mut self,
        name: &str,
        default: usize,
        legal: RangeInclusive<u64>,
    ) -> usize {
        let number = u64::try_from(default).map(|default| self.integer(name, default, legal));
        number.ok().and_then(|number| usize::try_from(number).ok()).unwrap_or(default)
    }

    /// A number from 1 to a million.
    pub(super) fn count(&mut self, name: &str, default: usize) -> usize {
        const MOST: u64 = 1_000_000;
        let number = u64::try_from(default).map(|default| self.integer(name, default, 1..=MOST));
        number.ok().and_then(|number| usize::try_from(number).ok()).unwrap_or_else(|| {
            self.wrong(name, "is too large for this machine");
            default
        })
    }

    pub(super) fn integer(&mut self, name: &str, default: u64, legal: RangeInclusive<u64>) -> u64 {
        let wanted = format!("must be a whole number from {} to {}", legal.start(), legal.end());
        self.parsed(name, default, &wanted, |value| {
            u64::try_from(value.as_integer()?).ok().filter(|number| legal.contains(number))
        })
    }

    /// This listener has no TLS and requires no key, so it is limited to this machine unless a
    /// second setting lifts that.
    pub(super) fn operator_listen(&mut self) -> Option<SocketAddr> {
        const LISTEN: &str = "operator.listen";
        let beyond = self.flag("operator.beyond_this_machine", false);
        let text = self.text(LISTEN)?;
        let why = match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().to_canonical().is_loopback() || beyond => {
                return Some(address);
            }
            Ok(_) => {
                "must be a loopback address, such as \"127.0.0.1:9464\", because it has no TLS; \
                 operator.beyond_this_machine = true allows other addresses"
            }
            Err(_) => "must be an address and a port, such as \"127.0.0.1:9464\"",
        };
        self.wrong(LISTEN, why);
        None
    }

    pub(super) fn refuse_the_rest(&mut self) {
        for (name, value) in std::mem::take(&mut self.table) {
            match value {
                Value::Table(section) if SECTIONS.contains(&name.as_str()) => {
                    for (key, value) in section {
                        self.refuse_in(&name, &key, &value);
                    }
                }
                _ => self.unknown(&name),
            }
        }
    }

    /// Suggests the nearest setting of the same section, or the nearest section.
    fn unknown(&mut self, name: &str) {
        // The section is right, so only the rest of the name is compared.
        let (section, typed) = name.rsplit_once('.').unwrap_or(("", name));
        let split = self.known.iter().map(|it| it.rsplit_once('.').unwrap_or(("", it)));
        let known = split.filter(|(of, _)| *of == section).map(|(_, setting)| setting);
        let sections = SECTIONS.iter().copied().filter(|_| section.is_empty());
        let wanted = match nearest(typed, known.chain(sections)) {
            Some(meant) if section.is_empty() => format!("is not a setting; {meant} is one"),
            Some(meant) => format!("is not a setting; {section}.{meant} is one"),
            None => String::from("is not a setting"),
        };
        self.wrong(name, &wanted);
    }

    fn refuse_in(&mut self, section: &str, key: &str, value: &Value) {
        let name = format!("{section}.{key}");
        match value {
            Value::Table(server) if section == "threeds" && Scheme::parse(key).is_some() => {
                for key in server.keys() {
                    self.unknown(&format!("{name}.{key}"));
                }
            }
            _ if section == "threeds" && DIRECTORY.contains(&key) => {
                self.wrong(&name, "is used only with a directory server, such as [threeds.visa]");
            }
            _ => self.unknown(&name),
        }
    }
}
