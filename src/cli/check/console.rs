//! The access to the console: people who sign on or keys that people share, and the files of the
//! sign-on.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::cli::check::certificates::authorities;
use crate::cli::check::files::file;
use crate::cli::check::findings::{Findings, SettingPath, State};
use crate::cli::serve::console::read_secret;
use crate::config::{Config, ProxySignOn, SignOnSettings, Switch};
use crate::domain::page_group::PageGroup;
use crate::server::read_roots;

const KEYS: &str = "console.management_keys";
const SHARED: &str = "the console takes management keys, which people may share: audit entries name \
                      the application of a key, not a person";

pub(super) fn check(findings: &mut Findings, config: &Config) {
    let (console, is_on) = (&config.console, config.pages.has(PageGroup::Console));
    if is_on && console.management_keys == Switch::On {
        let advice = "let people sign on (proxies or listen), and set it to false";
        findings.plain(KEYS, State::Warning, SHARED, Some(advice));
    }
    let Some(sign_on) = &console.sign_on else { return };
    if is_on && console.management_keys == Switch::Off {
        let ways = format!("the console takes no keys; people sign on {}", ways(sign_on));
        findings.plain(KEYS, State::Ok, &ways, None);
    }
    if let Some(proxy) = &sign_on.by_proxy {
        check_proxy(findings, proxy);
    }
    if let Some(certificate) = &sign_on.by_certificate {
        let place = SettingPath::of("console.client_ca", &certificate.client_ca);
        authorities(findings, place, |path| read_roots(path).map(|roots| roots.len()));
    }
}

fn ways(sign_on: &SignOnSettings) -> &'static str {
    match (&sign_on.by_proxy, &sign_on.by_certificate) {
        (Some(_), Some(_)) => "by the headers of a proxy and by client certificates",
        (Some(_), None) => "by the headers of a proxy",
        (None, _) => "by client certificates",
    }
}

fn check_proxy(findings: &mut Findings, proxy: &ProxySignOn) {
    let Some(path) = &proxy.secret_file else {
        let own = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        let is_own = own.iter().any(|own| proxy.peers.iter().any(|it| it.contains(*own)));
        if is_own {
            let found = "the proxy is on this machine and has no secret: every program here can \
                         speak for every person";
            findings.plain(
                "console.proxies",
                State::Warning,
                found,
                Some("set console.secret_file"),
            );
        }
        return;
    };
    let place = SettingPath::of("console.secret_file", path);
    if !path.is_absolute() || file(findings, place).is_none() {
        return;
    }
    match read_secret(path) {
        Ok(_) => findings.ok(place, "a secret that only its owner can read"),
        Err(failure) => {
            findings.not_permitted(place, failure.reason(), "chmod 0400, 32 to 512 characters");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn told(lines: &str) -> Vec<(String, &'static str)> {
        let text = format!(
            "data_directory = \"/d\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/p\"\n\
             [master_key]\nfile = \"/k\"\n{lines}"
        );
        let config = Config::parse(&text).unwrap();
        let mut findings = Findings::default();
        check(&mut findings, &config);
        findings.all.into_iter().map(|it| (it.setting, it.state.name())).collect()
    }

    #[test]
    fn shared_keys_and_a_proxy_of_this_machine_without_a_secret_are_warned_of() {
        let sign_on = |proxy: &str| {
            format!(
                "proxies = [\"{proxy}\"]\nadministrators = [\"a\"]\n\
                 tenants = [\"1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed\"]\n"
            )
        };
        let keys = String::from(KEYS);
        let proxies = String::from("console.proxies");
        let on = "[pages]\nconsole = true\n[console]\n";
        for (lines, expected) in [
            (String::new(), vec![]),
            (String::from("[pages]\nconsole = true"), vec![(keys.clone(), "warning")]),
            (format!("{on}{}", sign_on("192.0.2.1")), vec![(keys.clone(), "warning")]),
            (
                format!("{on}management_keys = false\n{}", sign_on("192.0.2.1")),
                vec![(keys.clone(), "ok")],
            ),
            (
                format!("{on}management_keys = false\n{}", sign_on("127.0.0.0/8")),
                vec![(keys.clone(), "ok"), (proxies, "warning")],
            ),
        ] {
            assert_eq!(told(&lines), expected, "{lines}");
        }
    }
}
