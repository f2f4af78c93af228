//! The shipped settings of nginx and haproxy, tried with the real programs before a real vault. Only
//! paths, ports and names are replaced.
//!
//! Without the programs these tests say so and pass. With `STRONGROOM_CLIENTS_REQUIRED` in the
//! environment, which `.ci/run` sets, they fail.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustls::ClientConfig;
use serde_json::json;

use crate::harness::{
    Answer, Connection, Directory, NUMBER, Psp, Request, Vault, get, needs_data_file, post,
    trusting, wait_until,
};
use strongroom::testing::bounds::{BODY_BYTES_MAX, HEADER_BYTES_MAX, PROXY_BODY_BYTES_MAX};

const NGINX: &str = include_str!("../../packaging/proxy/nginx.conf");
const CONSOLE: &str = include_str!("../../packaging/proxy/console-nginx.conf");
const HAPROXY: &str = include_str!("../../packaging/proxy/haproxy.cfg");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Haproxy,
    Nginx,
}

/// A program before the vault, ended when dropped.
struct Front {
    process: Child,
    address: SocketAddr,
    client: Arc<ClientConfig>,
    directory: Directory,
}

impl Drop for Front {
    fn drop(&mut self) {
        // nginx ends its workers on this signal only.
        Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status().ok();
        wait_until("the end of the proxy", || self.process.try_wait().is_ok_and(|it| it.is_some()));
    }
}

/// The path of a program of a Debian package; `None` if it is not installed.
pub(crate) fn find(name: &str, package: &str) -> Option<PathBuf> {
    let places = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"];
    let found = places.map(|place| Path::new(place).join(name)).into_iter().find(|it| it.exists());
    if found.is_none() {
        assert!(
            std::env::var_os("STRONGROOM_CLIENTS_REQUIRED").is_none(),
            "{name} is not installed: apt-get install {package}"
        );
        // Not captured, so that the run shows it.
        writeln!(std::io::stderr(), "skipped: {name} is not installed").ok();
    }
    found
}

#[track_caller]
pub(crate) fn replace(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "the shipped file has no {from}");
    text.replace(from, to)
}

/// A port that nothing listens on.
fn free_address() -> SocketAddr {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap()
}

impl Front {
    /// `None` if the program is not installed. `authority` issued the certificate that the vault must
    /// have.
    fn start(kind: Kind, vault: SocketAddr, authority: &Path) -> Option<Self> {
        Self::start_with(kind, |directory, address| match kind {
            Kind::Haproxy => haproxy_settings(directory, address, vault, authority),
            Kind::Nginx => nginx_settings(directory, address, vault, authority),
        })
    }

    /// With these settings for a directory and an address.
    fn start_with(
        kind: Kind,
        settings: impl FnOnce(&Directory, SocketAddr) -> String,
    ) -> Option<Self> {
        let name = match kind {
            Kind::Haproxy => "haproxy",
            Kind::Nginx => "nginx",
        };
        let program = find(name, name)?;
        let directory = Directory::new();
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec![String::from("127.0.0.1")];
        let certificate =
            rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap().pem();
        let ca = directory.write("own.pem", &certificate, 0o600);
        directory.write("own.key", key.serialize_pem(), 0o600);
        directory.write("own.both", format!("{certificate}{}", key.serialize_pem()), 0o600);
        let client = trusting(&ca);
        let address = free_address();
        let settings = settings(&directory, address);
        let settings = directory.write("settings", settings, 0o600);
        let mut command = Command::new(program);
        match kind {
            Kind::Haproxy => command.arg("-db").arg("-f").arg(settings),
            Kind::Nginx => command.arg("-p").arg(directory.path()).arg("-c").arg(settings),
        };
        let output = File::create(directory.join("output")).unwrap();
        let errors = output.try_clone().unwrap();
        let process = command.stdin(Stdio::null()).stdout(output).stderr(errors).spawn().unwrap();
        let mut front = Self { process, address, client, directory };
        wait_until("the proxy listens", || {
            let ended = front.process.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {}", front.output());
            Connection::open(address, &front.client).is_ok()
        });
        Some(front)
    }

    fn output(&self) -> String {
        fs::read_to_string(self.directory.join("output")).unwrap_or_default()
    }

    fn send(&self, request: &Request) -> Answer {
        let mut connection = Connection::open(self.address, &self.client).unwrap();
        connection.send(&request.bytes("vault.example.com")).unwrap();
        connection.receive().unwrap()
    }

    /// The status of a request, 0 if the connection was cut.
    fn status(&self, request: &Request) -> u16 {
        let connection = Connection::open(self.address, &self.client);
        let answer = connection.and_then(|mut connection| {
            connection.send(&request.bytes("vault.example.com"))?;
            connection.receive()
        });
        answer.map_or(0, |answer| answer.status)
    }

    /// Waits until haproxy has probed the vault.
    fn settle(&self, request: &Request, status: u16) {
        wait_until(&format!("{request:?} is answered {status}"), || self.status(request) == status);
    }
}

fn nginx_settings(
    directory: &Directory,
    address: SocketAddr,
    vault: SocketAddr,
    authority: &Path,
) -> String {
    let place = directory.path().display();
    let site = replace(NGINX, "listen 443 ssl", &format!("listen {address} ssl"));
    let site = replace(&site, "server 127.0.0.1:8443", &format!("server {vault}"));
    let site = replace(&site, "/etc/nginx/tls/vault.example.com.pem", &format!("{place}/own.pem"));
    let site = replace(&site, "/etc/nginx/tls/vault.example.com.key", &format!("{place}/own.key"));
    let site = replace(&site, "/etc/nginx/tls/vault-ca.pem", authority.to_str().unwrap());
    let site = replace(&site, "/var/log/nginx", &place.to_string());
    let site = replace(&site, "proxy_ssl_name vault.internal", "proxy_ssl_name localhost");
    whole_nginx(directory, &site)
}

/// The settings of an nginx with this one site.
fn whole_nginx(directory: &Directory, site: &str) -> String {
    let place = directory.path().display();
    let site = directory.write("site", site, 0o600);
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {place}/temporary-{name};"))
        .concat();
    format!(
        "daemon off;\npid {place}/pid;\nerror_log stderr crit;\nworker_processes 1;\n\
         events {{ worker_connections 256; }}\nhttp {{ {temporary} include {}; }}\n",
        site.display()
    )
}

fn haproxy_settings(
    directory: &Directory,
    address: SocketAddr,
    vault: SocketAddr,
    authority: &Path,
) -> String {
    let place = directory.path().display();
    let text = replace(HAPROXY, "bind :443", &format!("bind {address}"));
    let text = replace(&text, "server vault 127.0.0.1:8443", &format!("server vault {vault}"));
    let own = format!("{place}/own.both");
    let text = replace(&text, "/etc/haproxy/tls/vault.example.com.pem", &own);
    let text = replace(&text, "/etc/haproxy/tls/vault-ca.pem", authority.to_str().unwrap());
    let text = replace(&text, "log /dev/log local0", "log stdout format raw local0");
    let text = replace(&text, "    user haproxy\n    group haproxy\n", "");
    replace(&text, "vault.internal", "localhost")
}

/// A vault that believes its own machine, with the file of its authority.
fn vault(flags: &[&str]) -> (Vault, PathBuf) {
    let vault = Vault::start_with(&[&["--trusted-proxy", "127.0.0.1/32"], flags].concat());
    let authority = vault.data().join("ca.pem");
    (vault, authority)
}

fn card(key: &str) -> Request {
    let data = json!({"number": NUMBER, "expiration_month": 12, "expiration_year": 2040});
    post("/tokens").key(key).json(json!({"type": "card", "data": data}))
}

fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|it| it == text.as_bytes()) {
            found.push(path);
        }
    }
    found
}

#[track_caller]
fn check_serves(kind: Kind) {
    let (vault, authority) = vault(&[]);
    let Some(front) = Front::start(kind, vault.address, &authority) else { return };
    let key = &vault.keys.private;
    front.settle(&get("/readyz"), 200);
    front.settle(&card(key), 201);
    let made = front.send(&card(key)).with_status(201);
    assert!(made.header("bt-trace-id").is_some());
    let id = made.id();
    let read = front.send(&get(&format!("/tokens/{id}?secret=in-the-query")).key(key));
    assert_eq!(read.with_status(200).json["data"]["number"], NUMBER);
    front.send(&get("/tokens/none").key("key_test_self_pvt_wrong")).with_status(401);
    for path in ["/readyz?for=reads", "/readyz?for=writes"] {
        assert_eq!(front.send(&get(path)).with_status(200).json, json!({"status": "ready"}));
    }
    front.send(&get("/readyz?for=nothing")).with_status(400);
    front.send(&get("/metrics")).with_status(404);

    // The vault's own maximum, and the proxy's, are answered alike.
    let body = |bytes: usize| json!({"type": "token", "data": "x".repeat(bytes)});
    front.send(&post("/tokens").key(key).json(body(BODY_BYTES_MAX / 4))).with_status(201);
    let refused = front.send(&post("/tokens").key(key).json(body(BODY_BYTES_MAX)));
    assert_eq!(refused.with_status(413).json["status"], 413, "the vault has answered");
    let huge = post("/proxy").key(key).json(body(PROXY_BODY_BYTES_MAX));
    // It may cut the connection while the client still sends.
    assert!([0, 413].contains(&front.status(&huge)));
    // Both admit heads that the vault admits.
    let long = "x".repeat(HEADER_BYTES_MAX - 1_024);
    front.send(&get("/healthz").header("X-Long", &long)).with_status(200);

    // nginx writes its log when the request is over.
    wait_until("the log has the request", || {
        let trace = made.header("bt-trace-id").unwrap();
        !files_with(front.directory.path(), trace).is_empty()
    });
    for secret in [NUMBER, key.as_str(), "in-the-query", &id] {
        let found = files_with(front.directory.path(), secret);
        assert!(found.is_empty(), "{secret} is in {found:?}");
    }
}

#[test]
fn the_shipped_settings_serve_and_keep_no_data() {
    [Kind::Nginx, Kind::Haproxy].into_iter().for_each(check_serves);
}

/// A vault whose certificate another authority issued is not spoken to.
#[track_caller]
fn check_refuses_another_authority(kind: Kind) {
    let (vault, _) = vault(&[]);
    let (other, authority) = self::vault(&[]);
    let Some(front) = Front::start(kind, vault.address, &authority) else { return };
    let status = match kind {
        Kind::Haproxy => 503,
        Kind::Nginx => 502,
    };
    front.settle(&card(&vault.keys.private), status);
    front.settle(&get("/healthz"), status);
    assert_eq!(vault.operator(&["status", "--json"]).json()["vault"]["tokens"], 0);
    drop(other);
}

#[test]
fn a_vault_of_another_authority_is_refused() {
    [Kind::Nginx, Kind::Haproxy].into_iter().for_each(check_refuses_another_authority);
}

/// A connection from another address of this machine.
fn connect_from(last: u8, front: &Front) -> Connection {
    let source = SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0));
    Connection::open_from(source, front.address, &front.client).unwrap()
}

/// The limit of an address counts the clients of the proxy, whatever they claim.
#[track_caller]
fn check_tells_the_address(kind: Kind) {
    let (vault, authority) = vault(&["--rate-limits", "on", "--stop-clock"]);
    let Some(front) = Front::start(kind, vault.address, &authority) else { return };
    front.settle(&get("/healthz"), 200);
    let mut connection = connect_from(2, &front);
    let refused = (0..5_000).find_map(|liar| {
        let claimed = format!("198.51.100.{}", liar % 250);
        let request = get("/healthz").header("X-Forwarded-For", &claimed);
        connection.send(&request.bytes("vault.example.com")).unwrap();
        let answer = connection.receive().unwrap();
        if connection.closing {
            connection = connect_from(2, &front);
        }
        (answer.status != 200).then_some(answer)
    });
    refused.expect("the address is over its limit").with_status(429);
    let mut other = connect_from(3, &front);
    other.send(&get("/healthz").bytes("vault.example.com")).unwrap();
    other.receive().unwrap().with_status(200);
}

#[test]
fn the_vault_is_told_the_address_of_the_client() {
    [Kind::Nginx, Kind::Haproxy].into_iter().for_each(check_tells_the_address);
}

/// A server in place of the vault that passes on headers which reverse proxies act on.
#[track_caller]
fn check_ignores_headers_of_destinations(kind: Kind) {
    let psp = Psp::start();
    psp.answer(|received| {
        (received.path() == "/readyz").then(|| (200, "text/plain", String::from("ready")))
    });
    let port = psp.url("").rsplit(':').next().unwrap().parse().unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let Some(front) = Front::start(kind, address, &psp.ca()) else { return };
    front.settle(&get("/headers"), 200);
    let answer = front.send(&get("/headers")).with_status(200);
    assert_eq!(answer.text(), "many", "no other path was fetched");
    for name in ["x-accel-redirect", "x-accel-expires"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    let paths: Vec<_> = psp.received().iter().map(|it| String::from(it.path())).collect();
    assert!(!paths.iter().any(|path| path.starts_with("/tokens")), "{paths:?}");
}

#[test]
fn headers_of_destinations_are_neither_acted_on_nor_passed_on() {
    [Kind::Nginx, Kind::Haproxy].into_iter().for_each(check_ignores_headers_of_destinations);
}

/// The vault itself passes no such header, whatever the reverse proxy does with it.
#[test]
fn a_destination_cannot_make_nginx_fetch_a_token() {
    let psp = Psp::start();
    let (vault, authority) = vault(&["--outbound-ca", psp.ca().to_str().unwrap()]);
    let Some(front) = Front::start(Kind::Nginx, vault.address, &authority) else { return };
    let call = post("/proxy").key(&vault.keys.private).header("BT-PROXY-URL", &psp.url("/headers"));
    let answer = front.send(&call).with_status(200);
    assert_eq!(answer.text(), "many");
    assert_eq!(answer.header("x-request-id"), Some("7"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn haproxy_goes_on_with_reads_below_the_floor_of_disk_space() {
    needs_data_file!("the floor is for its disk");
    let mut vault = Vault::start();
    let id = vault.token(json!({"type": "token", "data": "x"}));
    assert_eq!(vault.stop(), Some(0));
    // Reads stop below an eighth of the floor, so that a floor of twice the free space is between.
    let free = crate::disk::free_bytes(&vault.data());
    vault.set(&format!("rate_limits = false\ndisk.floor = \"{}KiB\"", free / 512));
    vault.restart_as_service();
    let key = vault.keys.private.clone();
    let authority = vault.data().join("ca.pem");
    let Some(front) = Front::start(Kind::Haproxy, vault.address, &authority) else { return };
    let read = get(&format!("/tokens/{id}")).key(&key);
    front.settle(&card(&key), 503);
    front.settle(&read, 200);
    front.send(&get("/readyz?for=reads")).with_status(200);
    front.send(&post("/v2/tokens/search").key(&key).json(json!({}))).with_status(200);
    vault.send(&card(&key)).with_status(503);
}

/// Plays oauth2-proxy: the cookie `person` names the person and the groups, and without it nobody is
/// signed on.
fn sign_on() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(&stream);
            let (mut person, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                if let Some(cookie) = line.trim().strip_prefix("Cookie: person=") {
                    person = String::from(cookie);
                }
                line.clear();
            }
            let head = match person.split_once('/') {
                Some((name, groups)) => format!(
                    "202 Accepted\r\nX-Auth-Request-User: {name}\r\n\
                     X-Auth-Request-Email: {name}@example.com\r\nX-Auth-Request-Groups: {groups}"
                ),
                None => String::from("401 Unauthorized"),
            };
            let answer =
                format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    address
}

fn console_settings(
    directory: &Directory,
    address: SocketAddr,
    vault: SocketAddr,
    authority: &Path,
    secret: &str,
) -> String {
    let place = directory.path().display();
    let line = format!("proxy_set_header X-Console-Secret \"{secret}\";\n");
    let secret = directory.write("secret", line, 0o600);
    let site = replace(CONSOLE, "listen 443 ssl", &format!("listen {address} ssl"));
    let site = replace(&site, "server 127.0.0.1:8443", &format!("server {vault}"));
    let site = replace(&site, "http://127.0.0.1:4180", &format!("http://{}", sign_on()));
    let site =
        replace(&site, "/etc/nginx/tls/console.example.com.pem", &format!("{place}/own.pem"));
    let site =
        replace(&site, "/etc/nginx/tls/console.example.com.key", &format!("{place}/own.key"));
    let site = replace(&site, "/etc/nginx/tls/vault-ca.pem", authority.to_str().unwrap());
    let site = replace(&site, "/etc/nginx/strongroom-console.secret", secret.to_str().unwrap());
    let site = replace(&site, "/var/log/nginx", &place.to_string());
    let site = replace(&site, "proxy_ssl_name vault.internal", "proxy_ssl_name localhost");
    whole_nginx(directory, &site)
}

#[test]
fn behind_the_shipped_sign_on_people_administer_and_nobody_goes_around_it() {
    const SECRET: &str = "9c2f7a41d85e06b3f7c1a9e4d2b8065f";
    let directory = Directory::new();
    let secret = directory.write("vault-secret", SECRET, 0o400);
    // As the comment of the shipped file says, for this machine.
    let section = CONSOLE.lines().skip_while(|line| *line != "#   [console]");
    let section =
        section.map_while(|line| line.strip_prefix("#   ")).collect::<Vec<_>>().join("\n");
    let section = replace(&section, "192.0.2.10/32", "127.0.0.1/32");
    let section = replace(&section, "/etc/strongroom/console.secret", secret.to_str().unwrap());
    let tenants = section.lines().find(|line| line.starts_with("tenants")).unwrap();
    let section = replace(&section, tenants, "");
    let file = directory.write("console.toml", section, 0o600);
    let flags = ["--trusted-proxy", "127.0.0.1/32", "--console", file.to_str().unwrap()];
    let vault = Vault::start_in(directory, &flags);
    let authority = vault.data().join("ca.pem");
    let Some(front) = Front::start_with(Kind::Nginx, |directory, address| {
        console_settings(directory, address, vault.address, &authority, SECRET)
    }) else {
        return;
    };
    let console = |request: Request| request.header("Strongroom-Console", &vault.tenant_id);
    let by = |cookie: &str, request: Request| {
        front.send(&console(request).header("Cookie", &format!("person={cookie}")))
    };
    // Nobody is signed on: the browser is sent to the sign-on, whatever it claims.
    front.settle(&get("/console"), 302);
    let claimed = console(get("/applications"))
        .header("X-Forwarded-User", "mallory")
        .header("X-Forwarded-Groups", "vault-admins");
    assert_eq!(front.status(&claimed), 302);
    by("alice/vault-admins", get("/console")).with_status(200);
    let ways = by("alice/staff,vault-admins", get("/console/data/sign-on")).with_status(200).json;
    assert_eq!(ways["person"], "alice <alice@example.com>");
    assert_eq!(ways["role"], "administrator");
    assert_eq!(
        (&ways["management_keys"], &ways["sign_out"]),
        (&json!(false), &json!("/oauth2/sign_out"))
    );
    let body = json!({"name": "n", "type": "private", "permissions": ["token:read"]});
    by("alice/vault-admins", post("/applications").json(body.clone())).with_status(201);
    by("victor/vault-viewers", get("/applications")).with_status(200);
    by("victor/vault-viewers", post("/applications").json(body.clone())).with_status(403);
    by("eve/others", get("/applications")).with_status(403);
    by("eve/", get("/applications")).with_status(403);
    // What a browser sends in the place of the sign-on is replaced, and keys do not pass.
    let lifted = post("/applications")
        .json(body.clone())
        .header("X-Forwarded-User", "alice")
        .header("X-Forwarded-Groups", "vault-admins")
        .header("X-Console-Secret", SECRET)
        .key(&vault.keys.management);
    by("victor/vault-viewers", lifted).with_status(403);
    let other_site = post("/applications").json(body).header("Origin", "https://evil.example");
    by("alice/vault-admins", other_site).with_status(403);
    // A program of this machine that goes around the proxy has the headers and not the secret.
    let around = claimed.header("X-Forwarded-Email", "m@example.com");
    let refused = vault.send(&around).problem(401);
    assert!(refused.text().contains("secret"), "{}", refused.text());
    let made: Vec<_> = vault
        .chain()
        .into_iter()
        .filter(|it| it["operation"] == "create" && it["person"].is_string())
        .map(|it| it["person"].clone())
        .collect();
    assert!(
        !made.is_empty() && made.iter().all(|it| it == "alice <alice@example.com>"),
        "{made:?}"
    );
    for secret in [SECRET, "person=alice"] {
        let found = files_with(front.directory.path(), secret);
        let kept = found.iter().all(|path| path.ends_with("secret"));
        assert!(kept, "{secret} is in {found:?}");
    }
}
