//! Addresses that are accepted, and the messages about errors.

use std::path::PathBuf;

use crate::store::engine::postgres::url::Host;
use crate::store::engine::postgres::{Database, DatabaseUrl};

fn tcp(name: &str, port: u16) -> Host {
    Host::Tcp(String::from(name), port)
}

#[track_caller]
fn check(text: &str, hosts: &[Host], needs_tls: bool) {
    let url = DatabaseUrl::parse(text).unwrap();
    assert_eq!((url.user.as_str(), url.database.as_str()), ("vault", "cards"), "{text}");
    assert_eq!(url.hosts, hosts, "{text}");
    assert_eq!(url.needs_tls(), needs_tls, "{text}");
    let shown = format!("{url} {url:?}");
    assert!(shown.contains("cards") && !shown.contains("pa:ss"), "{shown}");
    let password = url.password.as_ref().map(|it| it.expose().as_str());
    assert_eq!(password, text.contains("%3Ass").then_some("pa:ss@/"), "{text}");
}

#[test]
fn addresses_of_all_kinds_are_read() {
    let socket = || Host::Socket(PathBuf::from("/run/postgresql"), 5432);
    check("postgres://vault@db.example.com/cards", &[tcp("db.example.com", 5432)], true);
    check(
        " postgresql://vault:pa%3Ass%40%2F@a:1,b,[::1]:3/cards?sslmode=verify-full\n",
        &[tcp("a", 1), tcp("b", 5432), tcp("::1", 3)],
        true,
    );
    check("postgres://vault@/cards?host=/run/postgresql", &[socket()], false);
    check("postgres://vault@%2Frun%2Fpostgresql/cards", &[socket()], false);
    check("postgres:///cards?host=/run/postgresql&user=vault", &[socket()], false);
    check("postgres://vault@localhost/cards", &[tcp("localhost", 5432)], false);
    check("postgres://vault@127.0.0.1/cards?sslmode=require", &[tcp("127.0.0.1", 5432)], true);
    check("postgres://vault@[::1]/cards?sslmode=disable", &[tcp("::1", 5432)], false);
    let text = "postgres://vault@a/cards?target_session_attrs=read-write&port=6432";
    check(text, &[tcp("a", 6432)], true);
}

#[track_caller]
fn check_refused(text: &str, expected: &str) {
    let refused = DatabaseUrl::parse(text).unwrap_err();
    assert!(refused.to_string().contains(expected), "{text}: {refused}");
    assert!(!refused.to_string().contains("hunter"), "{refused}");
}

#[test]
fn mistakes_are_named_without_the_address() {
    check_refused("", "begin with postgres://");
    check_refused("mysql://vault:hunter@a/cards", "begin with postgres://");
    check_refused("postgres://a/cards", "no user");
    check_refused("postgres://:hunter@a/cards", "no user");
    check_refused("postgres://vault:hunter@a", "no database");
    check_refused("postgres://vault:hunter@a/cards/more", "no database");
    check_refused("postgres://vault:hunter@/cards", "no host");
    check_refused("postgres://vault:hunter@a,,b/cards", "no host");
    check_refused("postgres://vault:hunter@a:0/cards", "a port");
    check_refused("postgres://vault:hunter@a:70000/cards", "a port");
    check_refused("postgres://vault:%ff@a/cards", "not valid text");
    check_refused("postgres://vault:hunter@a/cards?sslmode=disable", "only for a socket");
    check_refused("postgres://vault:hunter@a/cards?sslmode=prefer", "verify-full");
    check_refused("postgres://vault:hunter@a/cards?options=x", "a parameter other than");
    check_refused("postgres://vault:hunter@a/cards?target_session_attrs=any", "read-write");
    let many = ["a"; 9].join(",");
    check_refused(&format!("postgres://vault:hunter@{many}/cards"), "too many hosts");
}

#[test]
fn a_host_elsewhere_needs_an_authority() {
    let of = |authorities: Option<&[u8]>| {
        let url = DatabaseUrl::parse("postgres://vault:hunter@db/cards").unwrap();
        Database::new(url, authorities).unwrap_err().to_string()
    };
    assert!(of(None).contains("no certificate authority is known"));
    assert!(of(Some(b"no certificate")).contains("no usable certificate"));
}
