//! A service manager binds the vault's sockets, and the vault reports its state to it.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::harness::{Connection, PATIENCE, Running, SetOnDrop, Vault, get, trusting, wait_until};

/// Passes standard input on as the first inherited socket, as systemd does.
const HAND_OVER: &str = r#"exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@""#;

fn stopped_vault() -> Vault {
    let mut vault = Vault::start();
    assert_eq!(vault.stop(), Some(0));
    vault.move_key_out();
    vault
}

fn serve(vault: &Vault, script: &str, socket: impl Into<OwnedFd>) -> (Running, Option<SocketAddr>) {
    let log = vault.directory().join("service.log");
    Running::serve_under(script, socket.into(), &[], &vault.config(), &log)
}

/// A settings file like the vault's own that listens elsewhere.
fn listen_on(vault: &Vault, address: SocketAddr) {
    let text = std::fs::read_to_string(vault.config()).unwrap();
    let text = text.replace("127.0.0.1:0", &address.to_string());
    vault.directory().write("strongroom.toml", text, 0o600);
}

#[test]
fn a_socket_that_is_handed_over_takes_the_place_of_the_settings_addresses() {
    let vault = stopped_vault();
    let handed = TcpListener::bind("127.0.0.1:0").unwrap();
    // Taken: a server that tried to bind it would not start.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    listen_on(&vault, taken.local_addr().unwrap());
    let (mut server, address) = serve(&vault, HAND_OVER, handed.try_clone().unwrap());
    assert_eq!(address, Some(handed.local_addr().unwrap()), "{}", server.log());
    assert!(server.log().contains("\"event\":\"sockets_inherited\""), "{}", server.log());
    assert_eq!(server.terminate(), Some(0));
}

#[test]
fn a_socket_that_was_meant_for_another_process_is_not_taken() {
    let vault = stopped_vault();
    let handed = TcpListener::bind("127.0.0.1:0").unwrap();
    for variables in ["LISTEN_FDS=1 LISTEN_PID=1", "LISTEN_FDS=1", "LISTEN_FDS=1 LISTEN_PID=x"] {
        let script = format!(r#"exec 3<&0 </dev/null; export {variables}; exec "$@""#);
        let (mut server, address) = serve(&vault, &script, handed.try_clone().unwrap());
        let address = address.unwrap_or_else(|| panic!("{variables}: {}", server.log()));
        assert_ne!(address, handed.local_addr().unwrap(), "{variables}");
        assert_eq!(server.terminate(), Some(0));
    }
}

#[test]
fn what_is_handed_over_and_is_no_socket_ends_the_start_with_78() {
    let vault = stopped_vault();
    let (mut server, address) = serve(&vault, HAND_OVER, File::open("/dev/null").unwrap());
    assert_eq!((server.wait(), address), (Some(78), None));
    assert!(server.log().contains("strongroom.socket"), "{}", server.log());
}

#[test]
fn nobody_is_refused_while_the_vault_restarts_behind_its_socket() {
    let vault = stopped_vault();
    // Limits would refuse the clients of a round that a slow machine makes long.
    vault.set("rate_limits = false");
    let handed = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = handed.local_addr().unwrap();
    let client = trusting(&vault.data().join("ca.pem"));
    let request = get("/permissions").key(&vault.keys.private).bytes(&address.to_string());
    let answered = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let ask = || -> io::Result<u16> {
        let mut connection = Connection::open(address, &client)?;
        connection.send(&request)?;
        Ok(connection.receive()?.status)
    };
    let ask_until_over = || {
        while !over.load(Ordering::Relaxed) {
            match ask() {
                Ok(200) => answered.fetch_add(1, Ordering::Relaxed),
                Ok(status) => panic!("a client got the status {status}"),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    panic!("a client was refused")
                }
                // A killed server takes the connections along that it had accepted.
                Err(_) => 0,
            };
        }
    };
    // Outlives the clients: it answers those that still wait in the backlog at the end.
    let mut last = None;
    thread::scope(|scope| {
        let _over = SetOnDrop(&over);
        let clients = [(); 4].map(|()| scope.spawn(ask_until_over));
        for round in 0..4 {
            let before = answered.load(Ordering::Relaxed);
            let (mut server, bound) = serve(&vault, HAND_OVER, handed.try_clone().unwrap());
            assert_eq!(bound, Some(address), "{}", server.log());
            let what = format!("ten answers in round {round}");
            wait_until(&what, || {
                let ended = clients.iter().filter(|client| client.is_finished()).count();
                assert_eq!(ended, 0, "clients failed in round {round}");
                answered.load(Ordering::Relaxed) >= before + 10
            });
            if round % 2 == 0 {
                server.kill();
            } else {
                assert_eq!(server.terminate(), Some(0));
            }
        }
        last = Some(serve(&vault, HAND_OVER, handed.try_clone().unwrap()).0);
    });
    assert_eq!(last.unwrap().terminate(), Some(0));
    vault.verify().with_code(0);
}

#[test]
fn the_manager_is_told_when_the_vault_is_ready_alive_and_stopping() {
    let vault = stopped_vault();
    let ear = vault.directory().join("notify");
    let heard = UnixDatagram::bind(&ear).unwrap();
    heard.set_read_timeout(Some(PATIENCE)).unwrap();
    let variables = [("NOTIFY_SOCKET", ear.to_str().unwrap()), ("WATCHDOG_USEC", "60000")];
    let next = || {
        let mut word = [0; 256];
        let length = heard.recv(&mut word).unwrap();
        String::from_utf8_lossy(&word[..length]).into_owned()
    };
    let (mut server, _) = Running::serve_under(
        r#"exec "$@""#,
        File::open("/dev/null").unwrap().into(),
        &variables,
        &vault.config(),
        &vault.directory().join("service.log"),
    );
    // The socket holds few messages, so one that came before would be in the way of this one.
    assert!(next().starts_with("READY=1\n"));
    for _ in 0..3 {
        wait_until("WATCHDOG=1", || next() == "WATCHDOG=1");
    }
    server.signal("TERM");
    wait_until("STOPPING=1", || next().starts_with("STOPPING=1\n"));
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_manager_that_is_not_there_ends_the_start_with_69() {
    let vault = stopped_vault();
    let (mut server, address) = Running::serve_under(
        r#"exec "$@""#,
        File::open("/dev/null").unwrap().into(),
        &[("NOTIFY_SOCKET", "/nowhere/at/all")],
        &vault.config(),
        &vault.directory().join("service.log"),
    );
    assert_eq!((server.wait(), address), (Some(69), None));
    assert!(server.log().contains("/nowhere/at/all"), "{}", server.log());
}
