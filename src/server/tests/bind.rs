use std::error::Error as _;

use super::*;

fn settings(folder: &Folder, listen: Vec<SocketAddr>) -> Settings {
    folder.renew();
    Settings::new(listen, folder.certificate(), folder.private_key())
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

#[track_caller]
fn check_refused(settings: Settings, says: &str, advises: &str) {
    let error = Server::bind(settings, log().0).unwrap_err();
    assert!(error.to_string().contains(says), "{error}");
    assert!(error.advice().contains(advises), "{}", error.advice());
}

#[tokio::test]
async fn an_address_that_cannot_be_had_is_named_with_what_to_do() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind(any_port()).unwrap();
    let address = taken.local_addr().unwrap();
    check_refused(settings(&folder, vec![address]), &address.to_string(), "another port");
    let elsewhere = SocketAddr::from(([192, 0, 2, 1], 8443));
    check_refused(settings(&folder, vec![elsewhere]), "192.0.2.1:8443", "of this machine");
    check_refused(settings(&folder, Vec::new()), "no address", "at least one");
    let low = SocketAddr::from(([127, 0, 0, 1], 443));
    let source = io::Error::from(io::ErrorKind::PermissionDenied);
    let error = BindError::Address { address: low, source };
    assert!(error.advice().contains("1024"));
    assert!(error.source().is_some());
}

#[tokio::test]
async fn the_certificate_is_checked_before_a_port_is_taken() {
    let folder = Folder::new();
    let taken = std::net::TcpListener::bind(any_port()).unwrap();
    let both_wrong = settings(&folder, vec![taken.local_addr().unwrap()]);
    std::fs::remove_file(folder.private_key()).unwrap();
    check_refused(both_wrong, "key.pem", "check the path");
}

#[tokio::test]
async fn every_listener_is_served_those_handed_over_too() {
    let folder = Folder::new();
    let root = folder.renew();
    let listen = vec![any_port(), any_port()];
    let mut settings = Settings::new(listen, folder.certificate(), folder.private_key());
    settings.inherited.push(std::net::TcpListener::bind(any_port()).unwrap());
    let server = Server::bind(settings, log().0).unwrap();
    let addresses = server.addresses().to_vec();
    assert_eq!(addresses.len(), 3);
    let (stop, stopped) = oneshot::channel::<()>();
    let clients = async {
        for address in addresses {
            let config = Arc::new(client(&root, &[], &[&rustls::version::TLS13]));
            let socket = within!(TcpStream::connect(address)).await.unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            let connecting = TlsConnector::from(config).connect(name, socket);
            let mut stream = within!(connecting).await.unwrap();
            assert_eq!(ask(&mut stream, &get("/")).await.1, "GET /");
        }
        stop.send(()).unwrap();
    };
    let (drained, ()) = tokio::join!(server.run(echo, async { drop(stopped.await) }), clients);
    assert_eq!(drained, DrainOutcome::Whole);
}
