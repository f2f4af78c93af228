//! Floods from one machine: the vault's memory stays bounded and other callers are served.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, split};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::harness::{SetOnDrop, Vault, get, post, thorough, within};

/// The most that a flood may add to the resident memory.
const GROWTH_MAX_KIB: u64 = 100 * 1024;
/// Requests of another caller that are served while the flood goes on. A caller that waits for its
/// end, or for the deadline of a body each time, gets none or few of them before this test gives up.
const SERVED: usize = 20;
const BODY_BYTES: usize = 256 * 1024;
static BODY: [u8; BODY_BYTES] = [b'a'; BODY_BYTES];

/// Opens HTTP/2 connections from several addresses of this machine, so that no single one has
/// them all.
#[derive(Clone)]
struct Flooder {
    server: SocketAddr,
    config: Arc<ClientConfig>,
}

impl Flooder {
    fn of(vault: &Vault) -> Self {
        let mut config = vault.client().as_ref().clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Self { server: vault.address, config: Arc::new(config) }
    }

    async fn connect(&self, number: usize) -> std::io::Result<TlsStream<TcpStream>> {
        let host = u8::try_from(2 + number % 8).unwrap();
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0)))?;
        let stream = socket.connect(self.server).await?;
        let name = ServerName::from(IpAddr::from(Ipv4Addr::LOCALHOST));
        TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await
    }

    /// Asks for `/x` on 64 streams a second, counts them, and opens no window for any answer. Connects
    /// again when it is closed, until it is dropped.
    async fn ask_without_window(self, number: usize, asked: Arc<AtomicUsize>) {
        loop {
            if let Ok(stream) = self.connect(number).await {
                let (mut reader, mut writer) = split(stream);
                let ask = async {
                    // The preface; settings with an initial window of zero; an acknowledgement.
                    let mut frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
                    frames.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
                    frames.extend([0, 0, 0, 4, 1, 0, 0, 0, 0]);
                    writer.write_all(&frames).await.ok()?;
                    for id in (1_u32..).step_by(2) {
                        // GET https /x, and nothing more to come.
                        let mut frame = vec![0, 0, 6, 1, 5];
                        frame.extend(id.to_be_bytes());
                        frame.extend([0x82, 0x87, 0x04, 2, b'/', b'x']);
                        writer.write_all(&frame).await.ok()?;
                        asked.fetch_add(1, Ordering::Relaxed);
                        if id % 128 == 127 {
                            writer.flush().await.ok()?;
                            sleep(Duration::from_secs(1)).await;
                        }
                    }
                    Some(())
                };
                let read = async {
                    let mut buffer = [0; 4_096];
                    while reader.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
                };
                tokio::select! {
                    _ = ask => (),
                    () = read => (),
                }
            }
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Sends all but the end of a body on a stream for each path, counts the answers, and keeps the
    /// streams open until it is dropped.
    async fn send_bodies(self, number: usize, paths: Vec<String>, key: String, counts: Counts) {
        let Ok(stream) = self.connect(number).await else { return };
        let Ok((mut requests, connection)) = h2::client::handshake(stream).await else { return };
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        for path in paths {
            let Ok(ready) = requests.ready().await else { break };
            requests = ready;
            let mut request = hyper::Request::post(format!("https://localhost{path}"));
            if !key.is_empty() {
                request = request.header("BT-API-KEY", &key);
            }
            let request = request.body(()).unwrap();
            let Ok((answer, mut body)) = requests.send_request(request, false) else { break };
            body.send_data(Bytes::from_static(&BODY[1..]), false).ok();
            let counts = Arc::clone(&counts);
            tasks.spawn(async move {
                if let Ok(answer) = answer.await {
                    *counts.lock().unwrap().entry(answer.status().as_u16()).or_insert(0) += 1;
                }
                // The stream is open for as long as this task lives.
                let _body = body;
                std::future::pending::<()>().await;
            });
        }
        std::future::pending::<()>().await;
    }
}

type Counts = Arc<Mutex<BTreeMap<u16, usize>>>;

/// Floods a vault with bodies from this many connections. At least one of them was answered with the
/// status when it returns.
async fn flood_with_bodies(
    flooder: Flooder,
    connections: usize,
    paths: Vec<String>,
    key: String,
    status: u16,
) -> JoinSet<()> {
    let counts = Counts::default();
    let send = |number| {
        flooder.clone().send_bodies(number, paths.clone(), key.clone(), Arc::clone(&counts))
    };
    let tasks = (0..connections).map(send).collect();
    reached(&format!("an answer with the status {status}"), || {
        counts.lock().unwrap().contains_key(&status)
    })
    .await;
    tasks
}

async fn reached(what: &str, condition: impl Fn() -> bool) {
    within(what, async {
        while !condition() {
            sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

/// Begins the flood, which returns at its height and goes on until its tasks are dropped. A caller
/// with this key then sends its tokens, and the memory is measured all the time.
#[track_caller]
fn check_during(vault: &Vault, key: &str, token: &Value, flood: impl Future<Output = JoinSet<()>>) {
    for _ in 0..20 {
        vault.get("/permissions", &vault.keys.private).with_status(200);
    }
    let before = vault.resident_kib();
    let over = AtomicBool::new(false);
    let grown = thread::scope(|scope| {
        let stop = SetOnDrop(&over);
        let looking = scope.spawn(|| {
            let mut most = before;
            while !over.load(Ordering::Relaxed) {
                most = most.max(vault.resident_kib());
                thread::park_timeout(Duration::from_millis(50));
            }
            most
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let _flood = flood.await;
            let asking = scope.spawn(|| {
                for _ in 0..SERVED {
                    vault.post("/tokens", key, token.clone()).with_status(201);
                }
            });
            reached("another caller is served during the flood", || asking.is_finished()).await;
            asking.join().unwrap();
            // The memory is measured before the connections of the flood are gone.
            drop(stop);
            looking.join().unwrap() - before
        })
    });
    assert!(grown <= GROWTH_MAX_KIB, "the memory grew by {grown} KiB");
}

fn small_token() -> Value {
    json!({"type": "token", "data": 1})
}

#[test]
fn streams_that_open_no_window_take_little_memory() {
    const CONNECTIONS: usize = 300;
    let vault = Vault::start();
    let flooder = Flooder::of(&vault);
    let flood = async {
        let asked = Arc::new(AtomicUsize::new(0));
        let ask = |number| flooder.clone().ask_without_window(number, Arc::clone(&asked));
        let tasks = (0..CONNECTIONS).map(ask).collect();
        let streams = 64 * CONNECTIONS * thorough(1, 12);
        reached("many streams", || asked.load(Ordering::Relaxed) >= streams).await;
        tasks
    };
    check_during(&vault, &vault.keys.private, &small_token(), flood);
}

#[test]
fn bodies_for_the_pages_of_3ds_take_little_memory() {
    let vault = Vault::start();
    let paths = [
        "/3ds/sim/acs/method",
        "/3ds/sim/acs/challenge",
        "/3ds/sessions/0195fe5b-9d8b-7c3f-8d3e-0a5a3c6f2b11/method-notification",
        "/3ds/sessions/0195fe5b-9d8b-7c3f-8d3e-0a5a3c6f2b11/challenge-notification",
    ];
    let paths: Vec<_> = paths.iter().cycle().take(60).map(|path| String::from(*path)).collect();
    let flood = flood_with_bodies(Flooder::of(&vault), 40, paths, String::new(), 413);
    check_during(&vault, &vault.keys.private, &small_token(), flood);
}

/// 600 bodies of a quarter mebibyte for `/tokens`, which do not fit.
fn tokens_of(vault: &Vault, key: &str) -> impl Future<Output = JoinSet<()>> {
    let paths = vec![String::from("/tokens"); 60];
    flood_with_bodies(Flooder::of(vault), 10, paths, String::from(key), 503)
}

#[test]
fn large_bodies_of_a_key_share_one_budget_and_small_ones_do_not_wait_for_it() {
    let vault = Vault::start();
    let flood = tokens_of(&vault, &vault.keys.public);
    check_during(&vault, &vault.keys.private, &small_token(), flood);
    // All of it is free again.
    vault.post("/tokens", &vault.keys.public, large_token()).with_status(201);
}

fn large_token() -> Value {
    json!({"type": "token", "data": "x".repeat(100_000)})
}

#[test]
fn large_bodies_of_a_secret_key_are_taken_while_strangers_send_all_they_can() {
    let vault = Vault::start();
    let flood = tokens_of(&vault, &vault.keys.public);
    check_during(&vault, &vault.keys.private, &large_token(), flood);
}

#[test]
fn large_bodies_of_a_second_tenant_are_taken_while_the_first_sends_all_it_can() {
    let vault = Vault::start();
    let second = vault.tenant("test");
    let flood = tokens_of(&vault, &vault.keys.private);
    check_during(&vault, &second.keys.private, &large_token(), flood);
}

#[test]
fn a_connection_that_is_only_refused_is_closed_and_one_with_a_key_is_not() {
    let vault = Vault::start();
    let host = vault.address.to_string();
    let mut connection = vault.connect();
    let refused = (1..200).find(|_| {
        connection.send(&get("/x").bytes(&host)).unwrap();
        connection.receive().unwrap().problem(404);
        connection.closing
    });
    let refused = refused.expect("the connection was closed");
    assert!((20..100).contains(&refused), "{refused} requests");
    assert!(connection.rest().is_empty());
    // With a key, 404 is an answer like any other.
    let mut connection = vault.connect();
    for _ in 0..3 * refused {
        connection.send(&get("/tokens/none").key(&vault.keys.private).bytes(&host)).unwrap();
        connection.receive().unwrap().problem(404);
        assert!(!connection.closing);
    }
}

#[test]
fn forms_of_browsers_are_small() {
    let vault = Vault::start();
    let form = |length| post("/3ds/sim/acs/method").body("a".repeat(length));
    assert_eq!(vault.send(&form(16 * 1024 + 1)).status, 413);
    assert_eq!(vault.send(&form(16 * 1024)).status, 400);
}

#[test]
fn the_simulator_has_pages_only_where_there_is_a_test_tenant() {
    let vault = Vault::start_with(&["--tenant-type", "production"]);
    let pages = ["/3ds/sim/acs/method", "/3ds/sim/acs/challenge"];
    for path in pages {
        vault.send(&post(path).body("x=y")).problem(404);
        vault.send(&get(path)).problem(404);
    }
    vault.tenant("test");
    for path in pages {
        assert_eq!(vault.send(&post(path).body("x=y")).status, 400);
        assert_eq!(vault.send(&get(path)).status, 405);
    }
}

crate::harness::again_over_http2! {
    forms_of_browsers_are_small,
}
