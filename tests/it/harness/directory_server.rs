//! A directory server of the tests' own: mutual TLS on loopback, and a thread that answers by a
//! closure and remembers the messages that came.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

use crate::harness::wait::PATIENCE;

/// An authority, and certificates of it.
pub(crate) struct Authority {
    pub(crate) pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
pub(crate) struct Certificate {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// For both ends of a connection, as the schemes' authorities give them.
    pub(crate) fn issue(&self) -> Certificate {
        let names = ["localhost", "127.0.0.1"].map(String::from).to_vec();
        let mut params = CertificateParams::new(names).unwrap();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Certificate { certificate, key: key.serialize_pem() }
    }

    /// For a person: the name, and the groups as organizational units.
    pub(crate) fn issue_person(&self, name: &str, groups: &[&str]) -> Certificate {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        for (at, group) in groups.iter().enumerate() {
            // Attributes of the same type replace each other, unless they are custom.
            let unit = if at == 0 {
                DnType::OrganizationalUnitName
            } else {
                DnType::CustomDnType(vec![2, 5, 4, 11])
            };
            params.distinguished_name.push(unit, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Certificate { certificate, key: key.serialize_pem() }
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        roots
    }

    /// A client that trusts this authority and shows a certificate.
    pub(crate) fn client(&self, shown: &Certificate) -> Arc<ClientConfig> {
        Self::client_with(self.roots(), shown)
    }

    /// A client that trusts the authorities of a file and shows a certificate.
    pub(crate) fn client_of(shown: &Certificate, ca: &Path) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(ca).unwrap() {
            roots.add(certificate.unwrap()).unwrap();
        }
        Self::client_with(roots, shown)
    }

    fn client_with(roots: RootCertStore, shown: &Certificate) -> Arc<ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(shown.chain(), shown.key())
            .unwrap();
        Arc::new(config)
    }
}

impl Certificate {
    /// A server that shows it to anyone, or to clients of an authority.
    pub(crate) fn server(&self, clients: Option<&Authority>, alpn: &[&str]) -> Arc<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(clients) => {
                let roots = Arc::new(clients.roots());
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build();
                builder.with_client_cert_verifier(verifier.unwrap())
            }
        };
        let mut config = builder.with_single_cert(self.chain(), self.key()).unwrap();
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Arc::new(config)
    }

    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()]
    }

    fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap()
    }
}

pub(crate) enum Told {
    Json(Value),
    Text(String),
    Status(u16),
    /// Nothing, until the other side gives up.
    Silence,
}

type Answering = Box<dyn Fn(&Value) -> Told + Send>;

pub(crate) struct DirectoryServer {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    answering: Arc<Mutex<Answering>>,
    tls: Arc<Mutex<Arc<ServerConfig>>>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DirectoryServer {
    /// Shows `own` and takes clients of `clients` alone.
    pub(crate) fn start(
        own: &Certificate,
        clients: &Authority,
        answering: impl Fn(&Value) -> Told + Send + 'static,
    ) -> Self {
        let tls = Arc::new(Mutex::new(own.server(Some(clients), &[])));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answering: Arc<Mutex<Answering>> = Arc::new(Mutex::new(Box::new(answering)));
        let (asked, ending) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let thread = thread::spawn({
            let (tls, asked) = (Arc::clone(&tls), Arc::clone(&asked));
            let (answering, ending) = (Arc::clone(&answering), Arc::clone(&ending));
            move || {
                while let Ok((socket, _)) = listener.accept() {
                    if ending.load(Ordering::SeqCst) {
                        return;
                    }
                    let (config, asked) = (tls.lock().unwrap().clone(), Arc::clone(&asked));
                    let answering = Arc::clone(&answering);
                    // A thread for each connection: one that hangs does not hold the others up.
                    thread::spawn(move || serve(socket, config, &asked, &answering));
                }
            }
        });
        Self { address, asked, answering, tls, ending, thread: Some(thread) }
    }

    /// From now on it shows another certificate, or takes other clients.
    pub(crate) fn identify(&self, own: &Certificate, clients: &Authority) {
        *self.tls.lock().unwrap() = own.server(Some(clients), &[]);
    }

    /// From now on it answers so.
    pub(crate) fn answer(&self, answering: impl Fn(&Value) -> Told + Send + 'static) {
        *self.answering.lock().unwrap() = Box::new(answering);
    }

    /// The messages of a type that came since the last look, in their order.
    pub(crate) fn asked(&self, kind: &str) -> Vec<Value> {
        let mut asked = self.asked.lock().unwrap();
        let (these, others) = asked.drain(..).partition(|message| message["messageType"] == kind);
        *asked = others;
        these
    }

    /// The only one of its type that came since the last look.
    #[track_caller]
    pub(crate) fn asked_once(&self, kind: &str) -> Value {
        let mut asked = self.asked(kind);
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.remove(0)
    }
}

impl Drop for DirectoryServer {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        // Wakes the thread from `accept`. It is only left behind when it cannot be reached.
        if TcpStream::connect_timeout(&self.address, PATIENCE).is_ok() {
            self.thread.take().map(JoinHandle::join);
        }
    }
}

/// The other side reports failures; this one only ends the connection.
fn serve(
    socket: TcpStream,
    config: Arc<ServerConfig>,
    asked: &Mutex<Vec<Value>>,
    answering: &Mutex<Answering>,
) -> Option<()> {
    socket.set_read_timeout(Some(PATIENCE)).ok()?;
    socket.set_write_timeout(Some(PATIENCE)).ok()?;
    let connection = ServerConnection::new(config).ok()?;
    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let message: Value = serde_json::from_slice(&body).ok()?;
    let told = answering.lock().unwrap()(&message);
    asked.lock().unwrap().push(message);
    let (status, text) = match told {
        Told::Json(value) => (200, value.to_string()),
        Told::Text(text) => (200, text),
        Told::Status(status) => (status, String::new()),
        Told::Silence => {
            // The other side closes.
            stream.read_exact(&mut [0]).ok();
            return None;
        }
    };
    let length = text.len();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n");
    let stream = stream.get_mut();
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(text.as_bytes()).ok()?;
    stream.conn.send_close_notify();
    stream.flush().ok()
}
