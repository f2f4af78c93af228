//! A temporary PostgreSQL server, and a database in it for each vault.
//!
//! The programs are Debian's. A server runs as an unprivileged user, on a Unix socket in a directory
//! of its own. A shell that reads a pipe of this process stops it when this process ends, however it
//! ends.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use crate::harness::directory::scratch;
use crate::harness::program::output_of;
use crate::harness::wait::wait_until;

/// Set to `postgres`, it makes every vault of the suite keep its rows in a database.
const ENGINE: &str = "STRONGROOM_TEST_ENGINE";
/// Set, it makes a missing PostgreSQL a failure.
const REQUIRED: &str = "STRONGROOM_POSTGRES_REQUIRED";
/// The newest first.
const VERSIONS: [&str; 4] = ["18", "17", "16", "15"];
/// Root may not run PostgreSQL.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// Ends the test with a line that says why, where the vaults of the suite have no data file.
macro_rules! needs_data_file {
    ($why:literal) => {
        if $crate::harness::lacks_data_file($why) {
            return;
        }
    };
}
pub(crate) use needs_data_file;

/// True if the vaults of the suite keep their rows in a database.
pub(crate) fn on_postgres() -> bool {
    let engine = env::var_os(ENGINE).unwrap_or_else(|| "local".into());
    match engine.to_str() {
        Some("postgres") => true,
        Some("local") => false,
        _ => panic!("{ENGINE} is {}: it takes local and postgres", engine.display()),
    }
}

pub(crate) fn lacks_data_file(why: &str) -> bool {
    let lacks = on_postgres();
    if lacks {
        let test = std::thread::current().name().map(String::from).unwrap_or_default();
        // Past the capture of the test program, which shows only the output of failed tests.
        writeln!(std::io::stderr(), "skipped: {test} needs the data file: {why}").ok();
    }
    lacks
}

/// A server of PostgreSQL, stopped when dropped.
#[derive(Debug)]
pub(crate) struct Cluster {
    directory: PathBuf,
    programs: PathBuf,
    user: Option<User>,
    /// Stops the server and removes the directory at the end of its input.
    watcher: Child,
}

/// An unprivileged user of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct User {
    uid: u32,
    gid: u32,
}

impl Cluster {
    /// The server that the vaults of all tests share; `None` without PostgreSQL, which it says.
    pub(crate) fn shared() -> Option<Arc<Self>> {
        static SHARED: OnceLock<Option<Arc<Cluster>>> = OnceLock::new();
        SHARED.get_or_init(|| Self::start().map(Arc::new)).clone()
    }

    /// A server of a test's own, which the test may stop.
    pub(crate) fn start() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Some(programs) = programs() else {
            assert!(env::var_os(REQUIRED).is_none(), "PostgreSQL is not installed");
            writeln!(std::io::stderr(), "skipped: PostgreSQL is not installed").ok();
            return None;
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let directory = scratch().join(format!("srp-{}-{number}", std::process::id()));
        fs::remove_dir_all(&directory).ok();
        fs::create_dir(&directory).unwrap();
        let user = unprivileged();
        if let Some(User { uid, gid }) = user {
            chown(&directory, Some(uid), Some(gid)).unwrap();
        }
        let data = directory.join("data");
        let mut initdb = command(&programs, "initdb", user);
        initdb.args(["--auth=trust", "--username=strongroom", "--encoding=UTF8", "--locale=C"]);
        succeed(initdb.arg("--no-sync").arg("--pgdata").arg(&data));
        let watcher = watch(&programs, user, &directory);
        let cluster = Self { directory, programs, user, watcher };
        cluster.run();
        Some(cluster)
    }

    pub(crate) fn run(&self) {
        let directory = self.directory.display();
        // A test that ends the server by SIGKILL must find all answered writes: only a loss of power
        // loses what is not synced.
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={directory} -c fsync=off \
             -c full_page_writes=off -c max_connections=400 -c shared_buffers=128MB \
             -c log_min_messages=fatal"
        );
        let mut start = self.control("start");
        // Its output would keep the pipes of this process open.
        start.args(["--wait", "--silent", "--options", &options]).arg("--log");
        succeed(start.arg(self.directory.join("server.log")));
    }

    /// Stops it as a crash does: no transaction is finished.
    pub(crate) fn crash(&self) {
        succeed(self.control("stop").args(["--mode=immediate", "--silent"]));
    }

    /// Stops it as a planned restart does: clients are disconnected.
    pub(crate) fn stop(&self) {
        succeed(self.control("stop").args(["--mode=fast", "--silent"]));
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs a statement as its owner and returns the rows as text.
    pub(crate) fn ask(&self, database: &str, statement: &str) -> String {
        let mut psql = command(&self.programs, "psql", self.user);
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--username=strongroom", "--set=ON_ERROR_STOP=1", "--dbname", database]);
        psql.arg("--host").arg(&self.directory).args(["--command", statement]);
        succeed(&mut psql)
    }

    fn control(&self, action: &str) -> Command {
        let mut control = command(&self.programs, "pg_ctl", self.user);
        control.arg(action).arg("--pgdata").arg(self.directory.join("data"));
        control
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        self.watcher.wait().ok();
    }
}

/// An empty database, removed when dropped.
#[derive(Debug)]
pub(crate) struct Database {
    cluster: Arc<Cluster>,
    name: String,
}

impl Database {
    pub(crate) fn new(cluster: &Arc<Cluster>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("vault{}", COUNT.fetch_add(1, Ordering::Relaxed));
        cluster.ask("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        Self { cluster: Arc::clone(cluster), name }
    }

    /// Its URL by a socket in this directory.
    pub(crate) fn url_at(&self, socket: &Path) -> String {
        format!("postgres://strongroom@/{}?host={}", self.name, socket.display())
    }

    pub(crate) fn url(&self) -> String {
        self.url_at(self.cluster.directory())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn ask(&self, statement: &str) -> String {
        self.cluster.ask(&self.name, statement)
    }

    /// The shards that this work writes to, without the vault's own.
    pub(crate) fn shards_of(&self, work: impl FnOnce()) -> Vec<String> {
        let turns = "SELECT shard || ' ' || sequence FROM strongroom_turns WHERE shard > 0";
        let look = || self.ask(turns).lines().map(String::from).collect::<BTreeSet<_>>();
        let before = look();
        work();
        let shard = |it: &String| String::from(it.split(' ').next().unwrap());
        look().difference(&before).map(shard).collect()
    }

    /// Takes the turn of a shard as a process does that hangs in the middle of a batch.
    pub(crate) fn hold_turn(&self, shard: &str) -> HeldTurn {
        const NAME: &str = "holds a turn";
        let mut psql = command(&self.cluster.programs, "psql", self.cluster.user);
        psql.args(["--no-psqlrc", "--quiet", "--username=strongroom", "--dbname", &self.name]);
        psql.arg("--host").arg(self.cluster.directory()).env("PGAPPNAME", NAME);
        psql.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut psql = psql.spawn().unwrap();
        let take = "BEGIN; SELECT 1 FROM strongroom_turns WHERE shard =";
        writeln!(psql.stdin.as_mut().unwrap(), "{take} {shard} FOR UPDATE;").unwrap();
        let held = HeldTurn(psql);
        let state = "state = 'idle in transaction' AND query LIKE '%FOR UPDATE%'";
        wait_until("the turn is held", || {
            self.count_sessions(&format!("application_name = '{NAME}' AND {state}")) == 1
        });
        held
    }

    /// The number of batches that wait for a turn.
    pub(crate) fn waiting(&self) -> usize {
        self.count_sessions("wait_event_type = 'Lock' AND query LIKE '%strongroom_turns%'")
    }

    fn count_sessions(&self, condition: &str) -> usize {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()";
        self.ask(&format!("{count} AND {condition}")).parse().unwrap()
    }

    /// The keys and values of all rows of the vault, one behind the other.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let rows = self.ask("SELECT encode(key || value, 'hex') FROM strongroom_rows");
        assert!(rows.len() > 1_000, "there are rows to look at");
        let digits: Vec<u8> = rows.bytes().filter(|it| *it != b'\n').collect();
        let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(byte).collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A failure here would hide that of the test.
        let mut psql = command(&self.cluster.programs, "psql", self.cluster.user);
        psql.args(["--quiet", "--username=strongroom", "--dbname=postgres", "--host"]);
        let drop = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        psql.arg(self.cluster.directory()).args(["--command", &drop]);
        psql.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
    }
}

/// The turn of a shard, given back when dropped.
#[derive(Debug)]
pub(crate) struct HeldTurn(Child);

impl Drop for HeldTurn {
    fn drop(&mut self) {
        // The client ends at the end of its input, and its transaction with it.
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}

/// The directory of the newest version that is installed.
fn programs() -> Option<PathBuf> {
    let directories = VERSIONS.map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    directories.map(PathBuf::from).into_iter().find(|it| it.join("initdb").exists())
}

/// The user for a server, if this process runs as root.
fn unprivileged() -> Option<User> {
    use std::os::unix::fs::MetadataExt as _;
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return None;
    }
    let table = fs::read_to_string("/etc/passwd").unwrap();
    let of_name = |name: &str| {
        let mut fields = table
            .lines()
            .map(|line| line.split(':'))
            .find_map(|mut fields| (fields.next() == Some(name)).then_some(fields))?;
        let (uid, gid) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
        Some(User { uid, gid })
    };
    let found = USERS.iter().find_map(|name| of_name(name));
    Some(found.expect("this machine has one of these users"))
}

fn command(programs: &Path, name: &str, user: Option<User>) -> Command {
    let program = programs.join(name);
    let Some(User { uid, gid }) = user else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    command.args([format!("--reuid={uid}"), format!("--regid={gid}")]);
    command.arg("--clear-groups").arg(program).current_dir("/");
    command
}

fn watch(programs: &Path, user: Option<User>, directory: &Path) -> Child {
    // `read` fails at the end of the input. Signals for the test program's group must not end it.
    const SCRIPT: &str = "trap '' INT TERM HUP; read _ || true; \
                          \"$1/pg_ctl\" stop --silent --mode=immediate --pgdata \"$2/data\"; \
                          rm -rf \"$2\"";
    let mut shell = command(Path::new("/bin"), "sh", user);
    shell.args(["-c", SCRIPT, "sh"]).arg(programs).arg(directory);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Runs it to its end and returns what it printed.
#[track_caller]
fn succeed(command: &mut Command) -> String {
    let output = output_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from(String::from_utf8(output.stdout).unwrap().trim_end())
}
