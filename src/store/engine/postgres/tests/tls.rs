//! TLS: the certificate and the name of the server are checked.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::store::engine::postgres::tests::server::{self, Security, Server};
use crate::store::engine::postgres::{Database, DatabaseUrl};
use crate::store::failure::OpenFailure;
use crate::store::tests::put;

const PASSWORD: &str = "correct-horse";
const UNTRUSTED: &str =
    "the storage cannot be reached: the certificate of the database is not trusted";

/// A CA, and a certificate for `localhost` that it signed, with its key.
fn certificates() -> (String, String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![String::from("localhost")]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap().pem();
    (authority, certificate, key.serialize_pem())
}

#[test]
fn a_database_with_another_authority_or_name_is_refused() {
    if server::server_for("TLS").is_none() {
        return;
    }
    let (authority, certificate, key) = certificates();
    let server = Server::of_its_own(&Security::Tls { certificate, key, password: PASSWORD });
    let port = server.tcp_port();
    let name = server.new_database_name();
    let of = |host: &str, mode: &str, authority: &str| {
        let url = format!("postgres://postgres:{PASSWORD}@{host}:{port}/{name}?sslmode={mode}");
        Database::new(DatabaseUrl::parse(&url).unwrap(), Some(authority.as_bytes())).unwrap()
    };
    let why = |database: &Database| match database.create_store(put(1)) {
        Err(OpenFailure::Storage(failure)) => failure.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&of("localhost", "verify-full", &certificates().0)), UNTRUSTED);
    assert_eq!(why(&of("127.0.0.1", "verify-full", &authority)), UNTRUSTED, "another name");
    let store =
        Database::create_store(&of("localhost", "verify-full", &authority), put(1)).unwrap();
    assert!(crate::store::tests::has(&store, 1));
    let encrypted = "SELECT count(*) > 0 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                     WHERE ssl AND application_name = 'strongroom'";
    assert_eq!(server.sql("postgres", encrypted), "t");
    store.close();
}

#[test]
fn a_database_without_tls_is_refused_where_tls_is_wanted() {
    if server::server_for("no TLS").is_none() {
        return;
    }
    let server = Server::of_its_own(&Security::Tcp(PASSWORD));
    let (port, name) = (server.tcp_port(), server.new_database_name());
    let of = |mode: &str| {
        let url = format!("postgres://postgres:{PASSWORD}@127.0.0.1:{port}/{name}?sslmode={mode}");
        let authority = certificates().0;
        Database::new(DatabaseUrl::parse(&url).unwrap(), Some(authority.as_bytes())).unwrap()
    };
    match Database::create_store(&of("require"), put(1)) {
        Err(OpenFailure::Storage(failure)) => assert_eq!(
            failure.to_string(),
            "the storage cannot be reached: the database does not offer TLS"
        ),
        other => panic!("{other:?}"),
    }
    Database::create_store(&of("disable"), put(1)).unwrap().close();
}
