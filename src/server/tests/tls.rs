use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};

use super::*;

/// A signal reaches every server of the process, so tests that count reloads take turns.
static RELOADS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

fn watchful() -> Bounds {
    Bounds { certificate_check_every: Duration::from_millis(20), ..Bounds::default() }
}

fn blind() -> Bounds {
    Bounds { certificate_check_every: Duration::from_hours(1), ..Bounds::default() }
}

#[tokio::test]
async fn tls_12_and_13_work_with_every_kind_of_key() {
    let rsa = KeyPair::from_pem(include_str!("rsa.pem")).unwrap();
    let keys = [
        KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap(),
        KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap(),
        KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap(),
        rsa,
    ];
    for key in keys {
        let server = start_with(blind(), echo, Folder::new(), &key, Arc::new(|_| true));
        for version in [&TLS12, &TLS13] {
            let config = client(&server.root, &[], &[version]);
            let mut stream = server.connect_with(Arc::new(config)).await.unwrap();
            assert_eq!(stream.get_ref().1.protocol_version(), Some(version.version));
            assert_eq!(ask(&mut stream, &get("/")).await.1, "GET /");
        }
    }
}

#[tokio::test]
async fn a_session_is_resumed() {
    let server = start(blind(), echo);
    for version in [&TLS12, &TLS13] {
        let config = Arc::new(client(&server.root, &[b"http/1.1"], &[version]));
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed, HandshakeKind::Resumed] {
            let mut stream = server.connect_with(Arc::clone(&config)).await.unwrap();
            // The ticket arrives with the answer.
            ask(&mut stream, &get("/")).await;
            assert_eq!(stream.get_ref().1.handshake_kind(), Some(kind));
        }
    }
}

#[tokio::test]
async fn a_client_with_unknown_protocols_is_refused() {
    let server = start(blind(), echo);
    let config = server.client(&[b"spdy/3"]);
    assert!(server.connect_with(Arc::new(config)).await.is_err());
}

async fn check_serves(server: &Running, certificate: &CertificateDer<'static>) {
    let config = client(certificate, &[b"http/1.1"], &[&TLS13]);
    let mut stream = server.connect_with(Arc::new(config)).await.unwrap();
    assert_eq!(stream.get_ref().1.peer_certificates().unwrap()[0], *certificate);
    assert_eq!(ask(&mut stream, &get("/")).await.1, "GET /");
}

#[tokio::test]
async fn a_new_certificate_is_served_to_new_connections_and_old_ones_go_on() {
    let _turn = RELOADS.lock().await;
    let mut server = start(watchful(), echo);
    server.event("certificate_loaded").await;
    let mut old = server.connect().await;
    ask(&mut old, &get("/before")).await;
    let renewed = server.folder.renew();
    let event = server.event("certificate_loaded").await;
    assert_eq!(event["expires"], "4096-01-01T00:00:00.0000000+00:00");
    check_serves(&server, &renewed).await;
    assert_eq!(ask(&mut old, &get("/after")).await.1, "GET /after");
}

#[tokio::test]
async fn a_replaced_certificate_ends_the_sessions_of_the_old_one() {
    let _turn = RELOADS.lock().await;
    let mut server = start(watchful(), echo);
    server.event("certificate_loaded").await;
    let mut config = server.client(&[]);
    let renewed = {
        let config = Arc::new(config.clone());
        ask(&mut server.connect_with(config).await.unwrap(), &get("/")).await;
        server.folder.renew()
    };
    server.event("certificate_loaded").await;
    // The same sessions, but a client that would accept the new certificate.
    let sessions = config.resumption.clone();
    config = client(&renewed, &[], &[&TLS13, &TLS12]);
    config.resumption = sessions;
    let mut stream = server.connect_with(Arc::new(config)).await.unwrap();
    ask(&mut stream, &get("/")).await;
    assert_eq!(stream.get_ref().1.handshake_kind(), Some(HandshakeKind::Full));
}

#[tokio::test]
async fn a_hangup_signal_reloads_at_once() {
    let _turn = RELOADS.lock().await;
    let mut server = start(blind(), echo);
    server.event("listening").await;
    // Without a handler the signal would end the tests, so one is installed before any is sent.
    let _guard = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).unwrap();
    check_serves(&server, &server.root).await;
    let renewed = server.folder.renew();
    let pid = std::process::id().to_string();
    // The shell's own `kill`: a small machine may have no program of that name.
    let hangup = format!("kill -HUP {pid}");
    let sent = std::process::Command::new("sh").args(["-c", &hangup]).status().unwrap();
    assert!(sent.success());
    server.event("certificate_loaded").await;
    check_serves(&server, &renewed).await;
}

#[tokio::test]
async fn a_certificate_that_cannot_be_served_changes_nothing_and_says_why() {
    let _turn = RELOADS.lock().await;
    let mut server = start(watchful(), echo);
    server.event("certificate_loaded").await;
    let good = std::fs::read(server.folder.private_key()).unwrap();
    let other_key = KeyPair::generate().unwrap().serialize_pem();
    for (key, why) in [(other_key.as_str(), "key_mismatch"), ("nothing", "no_private_key")] {
        std::fs::write(server.folder.private_key(), key).unwrap();
        assert_eq!(server.event("certificate_kept").await["why"], why);
        check_serves(&server, &server.root).await;
    }
    std::fs::remove_file(server.folder.certificate()).unwrap();
    assert_eq!(server.event("certificate_kept").await["why"], "unreadable");
    check_serves(&server, &server.root).await;
    // A valid certificate is accepted after these failures.
    std::fs::write(server.folder.private_key(), good).unwrap();
    let renewed = server.folder.renew();
    server.event("certificate_loaded").await;
    check_serves(&server, &renewed).await;
}
