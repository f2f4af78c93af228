//! Settings files, right and wrong.

use super::*;

const SHIPPED: &str = include_str!("../../packaging/strongroom.toml");

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

#[test]
fn every_setting_stands_in_the_shipped_file() {
    let names = [
        "data_directory",
        "listen",
        "certificate",
        "private_key",
        "file",
        "credential",
        "bin_file",
        "bin_file",
        "trusted_proxies",
        "rate_limits",
        "deprecated_operations",
        "requests",
        "reads",
        "retention_days",
        "max",
        "per_address_max",
        "reencrypt_per_second",
    ];
    for name in names {
        let stands = SHIPPED.lines().any(|line| {
            line.trim_start_matches(['#', ' '])
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(" = "))
        });
        assert!(stands, "{name}");
    }
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
        retention_days = 0
        [connections]
        max = 0
        minimum = 1
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
            "audit.retention_days",
            "connections.max",
            "colour",
            "connections.minimum",
        ]
    );
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    let InvalidConfig(mistakes) = Config::parse("a = \nb = 1").unwrap_err();
    assert!(mistakes.iter().any(|it| it.contains("line 1")), "{mistakes:?}");
}
