//! A PostgreSQL server for this test process: one cluster, and a database for each test.
//!
//! Without PostgreSQL a test prints that it is skipped. With `STRONGROOM_POSTGRES_REQUIRED=1` it
//! fails.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::crypto::Random;
use crate::domain::hex;
use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};
use crate::store::shards::Shards;
use crate::waiting::PATIENCE;

/// Runs the server if the tests run as root, because the server refuses root.
const NOBODY: u32 = 65_534;

pub(in crate::store) struct Server {
    directory: PathBuf,
    bin: PathBuf,
    /// Ends the server however this process ends: the shell waits for the end of its standard
    /// input.
    keeper: Mutex<Option<Child>>,
    databases: AtomicU32,
    port: u16,
    /// The password for its own client.
    password: &'static str,
}

pub(in crate::store) enum Security {
    /// Every user of the socket may connect.
    Open,
    /// The user of the socket needs a password.
    Password(&'static str),
    /// The same, over TCP too.
    Tcp(&'static str),
    Tls {
        certificate: String,
        key: String,
        password: &'static str,
    },
}

const KEEP: &str = r#"
"$1" -D "$2/data" -k "$2" -p "$3" >"$2/log" 2>&1 & server=$!
trap 'kill -INT $server' TERM
read -r _ && kept=yes
kill -INT $server; wait $server
[ "$kept" = yes ] || rm -rf "$2"
"#;

/// The server shared by all tests of this process; `None` if PostgreSQL is not installed.
pub(in crate::store) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER
        .get_or_init(|| find_programs().map(|bin| Server::start(&bin, &Security::Open, 5432)))
        .as_ref()
}

/// An empty vault in a separate database; `None` if the test is skipped.
pub(in crate::store) fn empty_vault(test: &str) -> Option<Database> {
    vault_with(test, Shards::default())
}

pub(in crate::store) fn vault_with(test: &str, shards: Shards) -> Option<Database> {
    let database = empty_database(test)?;
    database.create(Origin::default(), &[], Some(shards)).unwrap();
    Some(database)
}

pub(in crate::store) fn empty_database(test: &str) -> Option<Database> {
    let url = server_for(test)?.new_database();
    Some(Database::new(DatabaseUrl::parse(&url).unwrap(), None).unwrap())
}

pub(in crate::store) fn server_for(test: &str) -> Option<&'static Server> {
    let server = server();
    if server.is_none() {
        #[expect(clippy::disallowed_methods, reason = "the switch of the tests")]
        let required = std::env::var("STRONGROOM_POSTGRES_REQUIRED").is_ok();
        assert!(!required, "PostgreSQL is not installed");
        println!("skipped: PostgreSQL is not installed: {test}");
    }
    server
}

pub(in crate::store) fn engine(test: &str) -> Option<PostgresEngine> {
    Some(PostgresEngine::start(&empty_vault(test)?, Access::ReadWrite).unwrap())
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.keeper.lock().is_ok_and(|keeper| keeper.is_some()) {
            self.stop();
        }
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// The directory of the newest installed version.
fn find_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions.flatten().map(|it| it.path().join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists());
    found.sort();
    found.pop()
}

fn as_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command
}

fn new_directory() -> PathBuf {
    let name = hex::encode(&Random::new().bytes::<8>());
    let directory = crate::waiting::scratch().join(format!("sr-pg-{name}"));
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    if rustix::process::geteuid().is_root() {
        chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    directory
}

impl Server {
    /// A separate server that one test may stop, or that requires authentication.
    pub(in crate::store) fn of_its_own(security: &Security) -> Self {
        let port = match security {
            Security::Open | Security::Password(_) => 5432,
            Security::Tcp(_) | Security::Tls { .. } => {
                let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
                free.local_addr().unwrap().port()
            }
        };
        Self::start(&find_programs().unwrap(), security, port)
    }

    /// A standby that follows this server, which waits for it with every COMMIT.
    pub(in crate::store) fn standby(&self) -> Self {
        let directory = new_directory();
        let mut copy = as_user(&self.bin.join("pg_basebackup"));
        copy.arg("-h").arg(&self.directory).args(["-U", "postgres", "-R", "-X", "stream"]);
        copy.args(["-c", "fast", "-C", "-S", "standby", "-D"]).arg(directory.join("data"));
        let made = copy.current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let (bin, keeper) = (self.bin.clone(), Mutex::new(None));
        let (databases, port) = (AtomicU32::new(0), self.port);
        let standby = Self { directory, bin, keeper, databases, port, password: "" };
        standby.run();
        self.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("postgres", "SELECT pg_reload_conf()");
        standby
    }

    fn start(bin: &Path, security: &Security, port: u16) -> Self {
        let directory = new_directory();
        let password = match security {
            Security::Open => "",
            Security::Password(password)
            | Security::Tcp(password)
            | Security::Tls { password, .. } => password,
        };
        let entry = if password.is_empty() { "trust" } else { "scram-sha-256" };
        let password_file = directory.join("password");
        let mut init = as_user(&bin.join("initdb"));
        init.args(["-N", "-A", entry, "-U", "postgres", "-E", "UTF8", "--locale=C"]);
        if !password.is_empty() {
            fs::write(&password_file, password).unwrap();
            init.arg("--pwfile").arg(&password_file);
        }
        init.arg("-D");
        let made = init.arg(directory.join("data")).current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut settings =
            String::from("fsync = off\nmax_connections = 300\nshared_buffers = 32MB\n");
        settings.push_str(match security {
            Security::Open | Security::Password(_) => "listen_addresses = ''\n",
            Security::Tcp(_) => "listen_addresses = '127.0.0.1'\n",
            Security::Tls { .. } => "listen_addresses = '127.0.0.1'\nssl = on\n",
        });
        if let Security::Tls { certificate, key, .. } = security {
            for (name, text) in [("server.crt", certificate), ("server.key", key)] {
                let path = directory.join("data").join(name);
                fs::write(&path, text).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
                if rustix::process::geteuid().is_root() {
                    chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
                }
            }
        }
        let path = directory.join("data/postgresql.conf");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n{settings}")).unwrap();
        let server = Self {
            directory,
            bin: bin.to_owned(),
            keeper: Mutex::new(None),
            databases: AtomicU32::new(0),
            port,
            password,
        };
        server.run();
        server
    }

    /// Starts the server and returns when it answers.
    pub(in crate::store) fn run(&self) {
        let mut shell = as_user(Path::new("sh"));
        shell.args(["-c", KEEP, "sh"]).arg(self.bin.join("postgres")).arg(&self.directory);
        shell.arg(self.port.to_string());
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        *self.keeper.lock().unwrap() = Some(shell.spawn().unwrap());
        let begun = Instant::now();
        while !self.is_ready() {
            assert!(begun.elapsed() < PATIENCE, "it accepts no connections: {}", self.log());
        }
    }

    fn is_ready(&self) -> bool {
        let mut ready = Command::new(self.bin.join("pg_isready"));
        ready.arg("-q").arg("-p").arg(self.port.to_string()).arg("-h").arg(&self.directory);
        ready.status().unwrap().success()
    }

    /// Ends the server as an operator does, with all its connections.
    pub(in crate::store) fn stop(&self) {
        let mut keeper = self.keeper.lock().unwrap().take().unwrap();
        // A line on standard input keeps the directory.
        keeper.stdin.take().unwrap().write_all(b"stop\n").unwrap();
        let begun = Instant::now();
        while keeper.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < PATIENCE, "it does not stop: {}", self.log());
            std::thread::yield_now();
        }
    }

    pub(in crate::store) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(in crate::store) fn tcp_port(&self) -> u16 {
        self.port
    }

    pub(in crate::store) fn new_database_name(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    pub(in crate::store) fn new_database(&self) -> String {
        let name = self.new_database_name();
        format!("postgres://postgres@/{name}?host={}", self.directory.display())
    }

    /// Runs statements as the owner, with psql.
    pub(in crate::store) fn sql(&self, database: &str, text: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.arg("-h").arg(&self.directory).args(["-U", "postgres", "-X", "-q", "-A", "-t"]);
        psql.arg("-p").arg(self.port.to_string()).env("PGPASSWORD", self.password);
        psql.args(["-v", "ON_ERROR_STOP=1", "-d", database, "-c", text]);
        let done = psql.stdin(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    pub(in crate::store) fn log(&self) -> String {
        let mut text = String::new();
        let read = fs::File::open(self.directory.join("log"));
        read.unwrap().read_to_string(&mut text).unwrap();
        text
    }
}
