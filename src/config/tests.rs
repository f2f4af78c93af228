//! Settings files, right and wrong.

use std::time::Duration;

use super::*;
use crate::bounds::{ARCHIVE_EVERY, ELEMENTS_HOSTS_MAX};
use crate::domain::page_group::PageGroup;

const SHIPPED: &str = include_str!("../../packaging/strongroom.toml");

/// The required settings, and these lines.
pub(super) fn with(lines: &str) -> Result<Config, InvalidConfig> {
    Config::parse(&format!(
        "data_directory = \"/d\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/p\"\n\
         [master_key]\nfile = \"/k\"\n{lines}"
    ))
}

#[test]
fn the_shipped_file_parses_and_says_what_is_the_default_anyway() {
    let shipped = Config::parse(SHIPPED).unwrap();
    let required = r#"
        data_directory = "/var/lib/strongroom"
        [tls]
        certificate = "/etc/strongroom/tls/certificate.pem"
        private_key = "/etc/strongroom/tls/private_key.pem"
        [master_key]
        credential = "master.key"
    "#;
    assert_eq!(shipped, Config::parse(required).unwrap());
}

/// The shipped file with its examples, which are comments there, switched on.
fn with_examples() -> String {
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_setting = |line: &str| line.split_once(" = ").is_some_and(|(name, _)| is_name(name));
    let lines = SHIPPED.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    let lines = lines.filter(|line| line.starts_with('[') || is_setting(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_setting_stands_in_the_shipped_file() {
    let text = with_examples();
    let mut reader = SettingsReader::new(&text).unwrap();
    Config::read(&mut reader);
    assert!(reader.known.len() > 50, "{:?}", reader.known);
    let mut shipped = SettingsReader::new(&text).unwrap();
    // This name is read only to be refused: it would hold a password.
    for name in reader.known.iter().filter(|name| *name != "engine.url") {
        assert!(shipped.take(name).is_some(), "{name}");
    }
}

#[test]
fn a_page_is_off_until_its_setting_is_on() {
    let pages = |lines: &str| with(&format!("[pages]\n{lines}")).map(|config| config.pages);
    assert_eq!(pages("").unwrap(), PageGroups::default());
    let fields = pages("fields = true\nconsole = false").unwrap();
    assert!(fields.has(PageGroup::Fields));
    for other in
        [PageGroup::Console, PageGroup::Elements, PageGroup::Examples, PageGroup::Reference]
    {
        assert!(!fields.has(other), "{other:?}");
    }
    assert_eq!(pages("examples = true").unwrap_err().0, ["pages.examples: is not a setting"]);
}

#[test]
fn values_of_elements_go_to_listed_hosts_alone() {
    let hosts = |lines: &str| {
        let config = with(&format!("[pages]\n{lines}")).map_err(|invalid| invalid.0)?;
        Ok(config.elements_hosts.iter().map(|it| String::from(it.origin())).collect::<Vec<_>>())
    };
    let none: Vec<String> = Vec::new();
    assert_eq!(hosts("elements = true"), Ok(none.clone()));
    assert_eq!(hosts("elements_hosts = []"), Ok(none));
    let two =
        "elements = true\nelements_hosts = [\"b.example:8443\", \"a.example\", \"a.example\"]";
    let origins = ["https://a.example", "https://b.example:8443"].map(String::from);
    assert_eq!(hosts(two), Ok(origins.to_vec()));
    let many: Vec<_> = (0..=ELEMENTS_HOSTS_MAX).map(|at| format!("\"h{at}.example\"")).collect();
    for (lines, name) in [
        ("elements_hosts = [\"a.example\"]", "pages.elements_hosts: has no effect"),
        ("elements = true\nelements_hosts = \"a.example\"", "pages.elements_hosts: must be"),
        ("elements = true\nelements_hosts = [\"*\"]", "pages.elements_hosts[0]: must be"),
        (
            &format!("elements = true\nelements_hosts = [{}]", many.join(", ")),
            "pages.elements_hosts: has more than 20 hosts",
        ),
    ] {
        let mistakes: Vec<String> = hosts(lines).unwrap_err();
        assert!(mistakes.len() == 1 && mistakes[0].starts_with(name), "{mistakes:?}");
    }
}

#[test]
fn an_archive_needs_a_directory_of_its_own() {
    let parse = |archive: &str| with(&format!("[archive]\n{archive}"));
    let plan = parse("directory = \"/a\"").unwrap().archive.unwrap();
    assert_eq!((plan.directory, plan.every), (PathBuf::from("/a"), ARCHIVE_EVERY));
    let plan = parse("directory = \"/a\"\nevery = \"1m\"").unwrap().archive.unwrap();
    assert_eq!(plan.every, Duration::from_mins(1));
    for (wrong, place) in [
        ("", "archive.directory: is required"),
        ("directory = \"a\"", "archive.directory: must be an absolute"),
        ("directory = \"/d\"", "archive.directory: must be outside"),
        ("directory = \"/d/archive\"", "archive.directory: must be outside"),
        ("directory = \"/a\"\nevery = \"2h\"", "archive.every: must be"),
        ("directory = \"/a\"\nkeep = 1", "archive.keep: is not a setting"),
    ] {
        let InvalidConfig(mistakes) = parse(wrong).unwrap_err();
        assert!(mistakes.iter().any(|it| it.starts_with(place)), "{wrong}: {mistakes:?}");
    }
}

#[test]
fn a_missing_data_directory_is_one_mistake() {
    let found = Config::parse(
        "[tls]\ncertificate = \"/c\"\nprivate_key = \"/p\"\n[master_key]\nfile = \"/k\"\n\
         [archive]\ndirectory = \"/a\"\n",
    );
    let InvalidConfig(mistakes) = found.unwrap_err();
    assert!(mistakes.len() == 1 && mistakes[0].starts_with("data_directory"), "{mistakes:?}");
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let found = Config::parse(
        r#"
        data_directory = "relative"
        listen = ["localhost:1", "127.0.0.1"]
        trusted_proxies = ["10.0.0.0/33"]
        rate_limits = "yes"
        deprecated_operations = 0
        colour = "blue"
        [tls]
        certificate = 7
        [master_key]
        file = "/k"
        credential = "c"
        [audit]
        reads = "never"
        retention = "0d"
        [connections]
        max = 0
        minimum = 1
        [disk]
        floor = 1
        [operator]
        listen = "192.0.2.1:9464"
        "#,
    );
    let InvalidConfig(mistakes) = found.unwrap_err();
    let places: Vec<_> =
        mistakes.iter().filter_map(|it| it.split_once(": ")).map(|it| it.0).collect();
    assert_eq!(
        places,
        [
            "data_directory",
            "listen[0]",
            "listen[1]",
            "tls.certificate",
            "tls.private_key",
            "master_key",
            "trusted_proxies[0]",
            "rate_limits",
            "deprecated_operations",
            "audit.reads",
            "audit.retention",
            "connections.max",
            "disk.floor",
            "operator.listen",
            "colour",
            "connections.minimum",
        ]
    );
}

#[test]
fn the_master_key_has_exactly_one_source() {
    let read = |lines: &str| {
        let required =
            "data_directory = \"/d\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/p\"\n";
        let read = Config::parse(&format!("{required}[master_key]\n{lines}"));
        read.map(|config| config.master_key).map_err(|InvalidConfig(mistakes)| mistakes)
    };
    let command = |words: &[&str], seconds| {
        let mut words = words.iter().map(|&word| String::from(word));
        let program = PathBuf::from(words.next().unwrap());
        let deadline = Duration::from_secs(seconds);
        MasterKeySource::Command(KeyCommand { program, arguments: words.collect(), deadline })
    };
    let both = "command = [\"/k\", \"a b\"]\ncommand_timeout = \"5m\"";
    for (lines, wanted) in [
        ("file = \"/k\"", MasterKeySource::File(PathBuf::from("/k"))),
        ("credential = \"k\"", MasterKeySource::Credential(String::from("k"))),
        ("command = [\"/k\"]", command(&["/k"], 60)),
        (both, command(&["/k", "a b"], 300)),
    ] {
        assert_eq!(read(lines).as_ref(), Ok(&wanted), "{lines}");
    }
    let many = format!("command = [\"/k\"{}]", ", \"a\"".repeat(64));
    for wrong in [
        "",
        "command_timeout = \"5s\"",
        "file = \"/k\"\ncommand = [\"/k\"]",
        "file = \"/k\"\ncommand_timeout = \"5s\"",
        "credential = \"k\"\ncommand = [\"/k\"]",
        "file = \"/k\"\ncredential = \"k\"\ncommand = [\"/k\"]",
        "credential = \"a/b\"",
        "command = []",
        "command = \"/k\"",
        "command = [\"get-key\"]",
        "command = [\"./get-key\"]",
        "command = [\"/k\", 7]",
        "command = [\"/k\", \"a\\u0000b\"]",
        "command = [\"/k\"]\ncommand_timeout = \"0s\"",
        "command = [\"/k\"]\ncommand_timeout = \"11m\"",
        "command = [\"/k\"]\ncommand_timeout = 60",
        many.as_str(),
    ] {
        let mistakes = read(wrong).unwrap_err();
        assert_eq!(mistakes.len(), 1, "{wrong}: {mistakes:?}");
        assert!(mistakes[0].starts_with("master_key"), "{wrong}: {mistakes:?}");
    }
}

#[test]
fn the_keeper_of_the_master_key_is_named_for_credentials_and_commands() {
    let read = |lines: &str| {
        let required =
            "data_directory = \"/d\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/p\"\n";
        let read = Config::parse(&format!("{required}[master_key]\n{lines}"));
        read.map(|config| config.key_keeper).map_err(|InvalidConfig(mistakes)| mistakes.len())
    };
    for (lines, wanted) in [
        ("credential = \"k\"", Ok(None)),
        ("credential = \"k\"\nkept_in = \"tpm\"", Ok(Some(KeyKeeper::Tpm))),
        ("command = [\"/k\"]\nkept_in = \"hsm\"", Ok(Some(KeyKeeper::Hsm))),
        ("command = [\"/k\"]\nkept_in = \"kms\"", Ok(Some(KeyKeeper::Kms))),
        ("credential = \"k\"\nkept_in = \"safe\"", Err(1)),
        ("credential = \"k\"\nkept_in = 7", Err(1)),
        ("file = \"/k\"\nkept_in = \"tpm\"", Err(1)),
    ] {
        assert_eq!(read(lines), wanted, "{lines}");
    }
}

#[test]
fn backups_need_a_directory_and_have_defaults_for_the_rest() {
    let hours = Duration::from_hours;
    let plan = |every, keep, prove_every| {
        Some(BackupPlan { directory: PathBuf::from("/b"), every, keep, prove_every })
    };
    let given = "[backup]\ndirectory = \"/b\"\n";
    let read = |lines: &str| with(&format!("{given}{lines}")).unwrap().backup;
    assert_eq!(with("").unwrap().backup, None);
    assert_eq!(read(""), plan(hours(24), 7, Some(hours(7 * 24))));
    let all = "every = \"90m\"\nkeep = 1\nprove_every = \"never\"\n";
    assert_eq!(read(all), plan(Duration::from_mins(90), 1, None));
    let wrong = "[backup]\nevery = \"0\"\nkeep = 0\nprove_every = \"sometimes\"\nat = 1\n";
    let InvalidConfig(mistakes) = with(wrong).unwrap_err();
    let places: Vec<_> =
        mistakes.iter().filter_map(|it| it.split_once(": ")).map(|it| it.0).collect();
    let names = ["directory", "every", "keep", "prove_every", "at"];
    assert_eq!(places, names.map(|name| format!("backup.{name}")));
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    let InvalidConfig(mistakes) = Config::parse("a = \nb = 1").unwrap_err();
    assert!(mistakes.iter().any(|it| it.contains("line 1")), "{mistakes:?}");
}

#[track_caller]
fn check_floor(text: &str, bytes: Option<u64>) {
    let replaced = SHIPPED.replace("floor = \"256MiB\"", &format!("floor = {text}"));
    assert_eq!(
        Config::parse(&replaced).ok().map(|config| config.disk_floor_bytes),
        bytes,
        "{text}"
    );
}

#[test]
fn a_floor_is_a_size_with_a_unit() {
    check_floor("\"1MiB\"", Some(1 << 20));
    check_floor("\"1024 KiB\"", Some(1 << 20));
    check_floor("\"3GiB\"", Some(3 << 30));
    check_floor("\"1TiB\"", Some(1 << 40));
    for wrong in [
        "256",
        "\"256\"",
        "\"\"",
        "\"MiB\"",
        "\"1023KiB\"",
        "\"-1MiB\"",
        "\"1.5GiB\"",
        "\"99999999999999TiB\"",
        "\"256MB\"",
        "true",
    ] {
        check_floor(wrong, None);
    }
}

#[test]
fn the_operators_listener_stays_on_this_machine_unless_that_is_asked_for() {
    let listen = |address: &str, beyond: bool| {
        let set = format!("listen = \"{address}\"\nbeyond_this_machine = {beyond}");
        let text = SHIPPED.replace("beyond_this_machine = false", &set);
        Config::parse(&text).ok().map(|config| config.operator_listen.unwrap().to_string())
    };
    assert_eq!(Config::parse(SHIPPED).unwrap().operator_listen, None);
    for address in ["127.0.0.1:9464", "[::1]:9464", "127.9.9.9:1", "[::ffff:127.0.0.1]:1"] {
        assert_eq!(listen(address, false).as_deref(), Some(address));
    }
    for address in ["0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464"] {
        assert_eq!(listen(address, false), None);
        assert_eq!(listen(address, true).as_deref(), Some(address));
    }
    assert_eq!(listen("localhost:9464", true), None);
}

const REQUIRED: &str = r#"
    data_directory = "/var/lib/strongroom"
    [tls]
    certificate = "/c"
    private_key = "/k"
    [master_key]
    credential = "master.key"
"#;

/// The shipped file's own example of a directory server.
fn with_shipped_example() -> String {
    let all = with_examples();
    let (_, threeds) = all.split_once("[threeds]").unwrap();
    format!("{REQUIRED}\n[threeds]{threeds}")
}

#[test]
fn the_shipped_example_of_a_directory_server_is_right() {
    let found = Config::parse(&with_shipped_example()).unwrap().threeds;
    assert_eq!(found.retention, crate::bounds::THREEDS_RETENTION);
    let directory = found.directory.unwrap();
    assert_eq!(directory.public_url, "https://vault.example.com");
    assert_eq!(directory.results_url, "https://results.example.com:8444");
    let [server] = directory.servers.as_slice() else { panic!("{directory:?}") };
    assert_eq!(server.scheme, crate::threeds::scheme::Scheme::Visa);
    assert_eq!(server.url.authority(), "ds.example.com");
    assert_eq!(server.timeout, crate::bounds::THREEDS_REPLY_DEFAULT);
    let alone = with_shipped_example().replace(REQUIRED, "");
    assert!(Config::parse_threeds(&alone).unwrap().directory.is_some());
}

#[test]
fn all_mistakes_of_directory_servers_are_reported_at_once() {
    let text = format!(
        r#"{REQUIRED}
        [threeds]
        retention = "0d"
        public_url = "https://vault.example.com/path"
        results_listen = ["x"]
        results_certificate = "relative"
        colour = "blue"
        [threeds.visa]
        url = "http://ds.example.com"
        timeout = "50ms"
        operator = "123456789012345678901234567890123"
        shape = "round"
        [threeds.maestro]
        url = "https://ds.example.com"
        "#
    );
    let InvalidConfig(mistakes) = Config::parse(&text).unwrap_err();
    let places: Vec<_> =
        mistakes.iter().filter_map(|it| it.split_once(": ")).map(|it| it.0).collect();
    assert_eq!(
        places,
        [
            "threeds.retention",
            "threeds.public_url",
            "threeds.results_url",
            "threeds.results_listen[0]",
            "threeds.results_certificate",
            "threeds.results_private_key",
            "threeds.server_reference",
            "threeds.visa.timeout",
            "threeds.visa.url",
            "threeds.visa.certificate",
            "threeds.visa.private_key",
            "threeds.visa.ca",
            "threeds.visa.operator",
            "threeds.colour",
            "threeds.maestro",
            "threeds.visa.shape",
        ]
    );
    let alone = format!("{REQUIRED}\n[threeds]\npublic_url = \"https://v.example\"");
    let InvalidConfig(mistakes) = Config::parse(&alone).unwrap_err();
    assert!(mistakes[0].contains("only with a directory server"), "{mistakes:?}");
}

#[test]
fn days_are_written_with_their_unit() {
    let config = with("[audit]\nretention = \"30d\"\n[threeds]\nretention = \"20d\"").unwrap();
    assert_eq!(config.audit_retention_days, 30);
    assert_eq!(config.threeds.retention, Duration::from_hours(20 * 24));
    for (lines, mistake) in [
        ("[audit]\nretention = 30", "audit.retention: must be a number of days"),
        ("[audit]\nretention = \"36h\"", "audit.retention: must be a number of days"),
        ("[audit]\nretention = \"0d\"", "audit.retention: must be a number of days"),
    ] {
        let InvalidConfig(mistakes) = with(lines).unwrap_err();
        assert!(mistakes.len() == 1 && mistakes[0].starts_with(mistake), "{lines}: {mistakes:?}");
    }
}

#[test]
fn codes_of_production_tenants_are_kept_for_an_hour_unless_more_is_allowed() {
    assert_eq!(with("").unwrap().cvc_retention_max, Duration::from_hours(1));
    let allowed = with("[cvc]\nretention_max = \"24h\"").unwrap();
    assert_eq!(allowed.cvc_retention_max, Duration::from_hours(24));
    for value in ["\"25h\"", "\"0s\"", "3600", "\"\""] {
        let InvalidConfig(mistakes) = with(&format!("[cvc]\nretention_max = {value}")).unwrap_err();
        assert!(mistakes[0].starts_with("cvc.retention_max: "), "{mistakes:?}");
    }
}

#[test]
fn a_mistyped_setting_is_answered_with_the_nearest_one() {
    for (lines, mistake) in [
        (
            "[audit]\nretension = \"30d\"",
            "audit.retension: is not a setting; audit.retention is one",
        ),
        ("[adit]\nretention = \"30d\"", "adit: is not a setting; audit is one"),
        ("[disk]\nflor = \"1GiB\"", "disk.flor: is not a setting; disk.floor is one"),
        ("[disk]\ncolour = 1", "disk.colour: is not a setting"),
    ] {
        assert_eq!(with(lines).unwrap_err().0, [mistake]);
    }
}
