//! A server of PostgreSQL for this test process: one cluster, and a database for each test.
//!
//! Without PostgreSQL a test says that it is skipped. With `STRONGROOM_POSTGRES_REQUIRED=1` it fails.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::crypto::Random;
use crate::domain::hex;
use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::{Access, Database, DatabaseUrl, PostgresEngine};

/// The user that runs the server if the tests run as root, which the server refuses.
const NOBODY: u32 = 65_534;

/// A running server.
pub(in crate::store) struct Server {
    directory: PathBuf,
    bin: PathBuf,
    /// Ends the server when this process ends, whichever way: the shell waits for the end of its
    /// standard input.
    keeper: Mutex<Option<Child>>,
    databases: AtomicU32,
}

const KEEP: &str = r#"
"$1" -D "$2/data" -k "$2" -p 5432 >"$2/log" 2>&1 & server=$!
trap 'kill -INT $server' TERM
read -r _ || true
kill -INT $server; wait $server
"#;

/// The server of all tests of this process; `None` if PostgreSQL is not installed.
pub(in crate::store) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| find_programs().map(|bin| Server::start(&bin))).as_ref()
}

/// An empty vault in a database of its own, or `None` with a line that says so.
pub(in crate::store) fn empty_vault(test: &str) -> Option<Database> {
    let database = empty_database(test)?;
    database.create(Origin::default(), &[], true).unwrap();
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
        #[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
        {
            println!("skipped: PostgreSQL is not installed: {test}");
        }
    }
    server
}

pub(in crate::store) fn engine(test: &str) -> Option<PostgresEngine> {
    Some(PostgresEngine::start(&empty_vault(test)?, Access::ReadWrite).unwrap())
}

/// The directory of the newest installed version.
fn find_programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut found: Vec<PathBuf> = versions.flatten().map(|it| it.path().join("bin")).collect();
    found.retain(|bin| bin.join("initdb").exists());
    found.sort();
    found.pop()
}

/// A command that runs as another user if this one is root.
fn as_user(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
    command
}

impl Server {
    fn start(bin: &Path) -> Self {
        let name = hex::encode(&Random::new().bytes::<8>());
        let directory = std::env::temp_dir().join(format!("sr-pg-{name}"));
        fs::create_dir(&directory).unwrap();
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut init = as_user(&bin.join("initdb"));
        init.args(["-N", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"]);
        let made = init.arg(directory.join("data")).current_dir("/").output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let settings = "fsync = off\nlisten_addresses = ''\nmax_connections = 300\n\
                        shared_buffers = 32MB\n";
        let path = directory.join("data/postgresql.conf");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n{settings}")).unwrap();
        let server = Self {
            directory,
            bin: bin.to_owned(),
            keeper: Mutex::new(None),
            databases: AtomicU32::new(0),
        };
        server.run();
        server
    }

    /// Starts the server and returns when it answers.
    pub(in crate::store) fn run(&self) {
        let mut shell = as_user(Path::new("sh"));
        shell.args(["-c", KEEP, "sh"]).arg(self.bin.join("postgres")).arg(&self.directory);
        shell.current_dir("/").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        *self.keeper.lock().unwrap() = Some(shell.spawn().unwrap());
        for _ in crate::waiting::steps("the server accepts connections") {
            let mut ready = Command::new(self.bin.join("pg_isready"));
            ready.arg("-q").arg("-h").arg(&self.directory);
            if ready.status().unwrap().success() {
                return;
            }
        }
    }

    /// Ends the server as an operator does, with all connections.
    pub(in crate::store) fn stop(&self) {
        let mut keeper = self.keeper.lock().unwrap().take().unwrap();
        drop(keeper.stdin.take());
        keeper.wait().unwrap();
    }

    /// The directory of its socket.
    pub(in crate::store) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates an empty database and returns its address.
    pub(in crate::store) fn new_database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        format!("postgres://postgres@/{name}?host={}", self.directory.display())
    }

    /// Runs statements as the owner, by the server's own client.
    pub(in crate::store) fn sql(&self, database: &str, text: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.arg("-h").arg(&self.directory).args(["-U", "postgres", "-X", "-q", "-A", "-t"]);
        psql.args(["-v", "ON_ERROR_STOP=1", "-d", database, "-c", text]);
        let done = psql.stdin(Stdio::null()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    }

    /// The end of its log, for a test that failed.
    pub(in crate::store) fn log(&self) -> String {
        let mut text = String::new();
        let read = fs::File::open(self.directory.join("log"));
        read.unwrap().read_to_string(&mut text).unwrap();
        text
    }
}
