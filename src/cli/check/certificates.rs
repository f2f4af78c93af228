//! Certificates, their keys, and authorities, read in the same way as by the server.

use std::io;
use std::path::Path;

use crate::bounds::CERTIFICATE_WARN_BEFORE;
use crate::cli::check::files::file;
use crate::cli::check::findings::{Findings, SettingPath};
use crate::cli::check::user::owner_and_mode;
use crate::config::Config;
use crate::domain::counted::counted;
use crate::domain::https_url::HttpsUrl;
use crate::domain::time::Timestamp;
use crate::report::moment;
use crate::server::{
    CertificateFacts, CertificateProblem, chain_holds, read_bundle, read_facts, read_pair,
    read_roots,
};

/// A certificate, its key, and the URL that clients use.
struct Pair<'a> {
    certificate: SettingPath<'a>,
    private_key: SettingPath<'a>,
    url: Option<&'a str>,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

pub(super) fn check(findings: &mut Findings, config: &Config, now: Timestamp) {
    let bundle = |path: &Path| read_bundle(path).map(|roots| roots.len());
    let directory = config.threeds.directory.as_ref();
    let own = Pair {
        certificate: SettingPath::of("tls.certificate", &config.certificate),
        private_key: SettingPath::of("tls.private_key", &config.private_key),
        url: directory.map(|it| it.public_url.as_str()),
        role: Role::Server,
    };
    pair(findings, &own, now);
    if let Some(path) = &config.outbound.ca_file {
        authorities(findings, SettingPath::of("outbound.ca_file", path), bundle);
    }
    if let Some(path) = config.engine.postgres().and_then(|it| it.ca_file.as_deref()) {
        authorities(findings, SettingPath::of("engine.ca_file", path), bundle);
    }
    let Some(directory) = directory else { return };
    let results = Pair {
        certificate: SettingPath::of("threeds.results_certificate", &directory.results_certificate),
        private_key: SettingPath::of("threeds.results_private_key", &directory.results_private_key),
        url: Some(&directory.results_url),
        role: Role::Server,
    };
    pair(findings, &results, now);
    for server in &directory.servers {
        let name = |key: &str| format!("threeds.{}.{key}", server.scheme.as_str());
        let (certificate, key, ca) = (name("certificate"), name("private_key"), name("ca"));
        let client = Pair {
            certificate: SettingPath::of(&certificate, &server.certificate),
            private_key: SettingPath::of(&key, &server.private_key),
            url: None,
            role: Role::Client,
        };
        pair(findings, &client, now);
        authorities(findings, SettingPath::of(&ca, &server.ca), |path| {
            read_roots(path).map(|roots| roots.len())
        });
    }
}

fn pair(findings: &mut Findings, pair: &Pair<'_>, now: Timestamp) {
    let (of_certificate, of_key) = (pair.certificate, pair.private_key);
    if !of_certificate.path.is_absolute() || !of_key.path.is_absolute() {
        return;
    }
    let has_certificate = file(findings, of_certificate).is_some();
    let key = file(findings, of_key);
    let facts = has_certificate.then(|| read_facts(of_certificate.path));
    let facts = match facts {
        None => None,
        Some(Ok(facts)) => Some(facts),
        Some(Err(problem)) => {
            problem_of(findings, of_certificate, &problem);
            None
        }
    };
    if let Some(facts) = &facts {
        certificate(findings, pair, facts, now);
    }
    let Some(key) = key else { return };
    // The certificate has its own result, which reports its expiry.
    match read_pair(of_certificate.path, of_key.path, Timestamp::from_seconds(0)) {
        Ok(_) => {
            findings
                .ok(of_key, format!("belongs to the certificate; owner {}", owner_and_mode(&key)));
        }
        Err(_) if facts.is_none() => {
            let found = "cannot be compared with the certificate";
            findings.unknown(of_key, found, "correct the certificate first");
        }
        Err(problem) => problem_of(findings, of_key, &problem),
    }
}

fn certificate(
    findings: &mut Findings,
    pair: &Pair<'_>,
    chain: &[CertificateFacts],
    now: Timestamp,
) {
    let place = pair.certificate;
    let Some(first) = chain.first() else { return };
    let renew = "renew the certificate, or check this machine's clock";
    if first.expires <= now {
        findings.wrong(place, format!("expired {}", moment(first.expires)), renew);
        return;
    }
    if first.begins > now {
        findings.wrong(place, format!("is valid only from {}", moment(first.begins)), renew);
        return;
    }
    let in_order = "put the server's certificate first, then each certificate's issuer";
    if let Some(at) = broken_link(chain) {
        let found = format!("certificate {} of the file did not issue the one before it", at + 1);
        findings.wrong(place, found, in_order);
        return;
    }
    if let Some(late) = chain.iter().skip(1).find(|it| it.expires <= now) {
        let found = format!("a certificate of the chain expired {}", moment(late.expires));
        findings.wrong(place, found, "fetch the chain again from the issuer");
        return;
    }
    let is_server = pair.role == Role::Server;
    if is_server && !chain_holds(place.path, now).unwrap_or(false) && !first.names.is_empty() {
        let found = "the certificates of the file do not lead to the last one by their signatures";
        findings.wrong(place, found, in_order);
        return;
    }
    let (until, names) = (moment(first.expires), first.names.join(", "));
    if is_server && first.names.is_empty() {
        findings.warning(
            place,
            "it names no host, so that no client accepts it",
            "request one with the names that clients use (subject alternative names)",
        );
    } else if let Some(host) = pair.url.and_then(host_of).filter(|it| !covers(&first.names, it)) {
        let found = format!("it is for {names}, and not for {host}, which the settings name");
        findings.warning(place, found, "request a certificate for this name, too");
    }
    if first.expires.since(now) < CERTIFICATE_WARN_BEFORE {
        findings.warning(place, format!("expires soon, {until}"), renew);
    }
    let count = match chain.len() {
        1 if first.issuer == first.subject => String::from("issued by itself"),
        1 => String::from("without its issuer's: clients must know that"),
        count => format!("{count} certificates, in order"),
    };
    let names = if names.is_empty() { names } else { format!(" for {names};") };
    findings.ok(place, format!("valid{names} until {until}; {count}"));
}

/// The place of the first certificate that did not issue the one before it.
fn broken_link(chain: &[CertificateFacts]) -> Option<usize> {
    let links = chain.iter().zip(chain.iter().skip(1));
    links.enumerate().find(|(_, (one, next))| one.issuer != next.subject).map(|(at, _)| at + 1)
}

fn host_of(url: &str) -> Option<String> {
    HttpsUrl::parse(url).map(|url| url.host)
}

/// A wildcard stands for one label.
fn covers(names: &[String], host: &str) -> bool {
    let rest = host.split_once('.').map(|(_, rest)| rest);
    names.iter().any(|name| {
        name.eq_ignore_ascii_case(host)
            || name
                .strip_prefix("*.")
                .is_some_and(|of| rest.is_some_and(|rest| rest.eq_ignore_ascii_case(of)))
    })
}

pub(super) fn authorities(
    findings: &mut Findings,
    place: SettingPath<'_>,
    read: impl Fn(&Path) -> Result<usize, CertificateProblem>,
) {
    if !place.path.is_absolute() || file(findings, place).is_none() {
        return;
    }
    match read(place.path) {
        Ok(count) => findings.ok(place, counted(count, "authority", "authorities")),
        Err(problem) => problem_of(findings, place, &problem),
    }
}

fn problem_of(findings: &mut Findings, place: SettingPath<'_>, problem: &CertificateProblem) {
    let found = problem.to_string();
    if matches!(problem, CertificateProblem::KeyExposed { .. }) {
        findings.not_permitted(place, found, problem.advice());
    } else if let CertificateProblem::Unreadable { source, .. } = problem
        && source.kind() == io::ErrorKind::PermissionDenied
    {
        findings.unknown(place, found, "run strongroom check as root");
    } else {
        findings.wrong(place, found, problem.advice());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_covers_one_label() {
        let names = ["vault.example.com", "*.pay.example.com"].map(String::from);
        for (host, expected) in [
            ("vault.example.com", true),
            ("VAULT.example.com", true),
            ("a.pay.example.com", true),
            ("a.b.pay.example.com", false),
            ("pay.example.com", false),
            ("example.com", false),
        ] {
            assert_eq!(covers(&names, host), expected, "{host}");
        }
    }
}
