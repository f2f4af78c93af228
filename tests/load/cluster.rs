//! A temporary PostgreSQL server with its settings as they come: every commit waits for the disk.
//!
//! The programs are Debian's. The server runs as an unprivileged user, on a Unix socket in a directory of its own, and ends
//! with this process, however it ends.

use crate::Outcome;
use crate::proc::output;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tokio::net::UnixStream;
use tokio_postgres::{Client, Config, NoTls};

/// The newest first.
const VERSIONS: [&str; 4] = ["18", "17", "16", "15"];
/// The user of Debian's package, since root may not run a server.
const USER: &str = "postgres";
const OWNER: &str = "strongroom";
const STATEMENTS: &str = "SELECT format('%s calls, %s us, %s rows: %s', calls, \
    round((mean_exec_time * 1000)::numeric), rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 70)) \
    FROM pg_stat_statements JOIN pg_database ON pg_database.oid = dbid WHERE datname = $1::text::name \
    ORDER BY total_exec_time DESC LIMIT 8";

pub(crate) struct Cluster {
    pub(crate) directory: PathBuf,
    /// Statements are counted by PostgreSQL's own extension.
    statements: bool,
    /// Stops the server and removes the directory at the end of its input.
    watcher: Child,
}

impl Cluster {
    /// `None` if PostgreSQL is not installed.
    pub(crate) fn start() -> Outcome<Option<Self>> {
        Self::start_with(false)
    }

    /// With counts of statements, which take a few percent of the database's time.
    pub(crate) fn counting_statements() -> Outcome<Option<Self>> {
        Self::start_with(true)
    }

    fn start_with(statements: bool) -> Outcome<Option<Self>> {
        let Some(programs) = programs() else { return Ok(None) };
        // Most machines keep /tmp in memory, where a sync costs nothing, and any user may enter /var/tmp.
        let directory = PathBuf::from(format!("/var/tmp/strongroom-load-{}", std::process::id()));
        let mut install = Command::new("install");
        install.args(["-d", "-m", "0700"]);
        if is_root()? {
            install.args(["-o", USER, "-g", USER]);
        }
        succeed(install.arg(&directory))?;
        let watcher = watch(&programs, &directory)?;
        let cluster = Self { directory, statements, watcher };
        cluster.run(&programs)?;
        Ok(Some(cluster))
    }

    fn run(&self, programs: &Path) -> Outcome<()> {
        let data = self.directory.join("data");
        let mut initdb = unprivileged(&programs.join("initdb"))?;
        initdb.args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--username", OWNER]);
        succeed(initdb.arg("--pgdata").arg(&data))?;
        let options = format!(
            "-c max_connections=300 -c listen_addresses= -c unix_socket_directories={} {}",
            self.directory.display(),
            if self.statements { "-c shared_preload_libraries=pg_stat_statements" } else { "" }
        );
        let mut start = unprivileged(&programs.join("pg_ctl"))?;
        start.args(["start", "--wait", "--silent", "--options", &options]);
        start.arg("--log").arg(self.directory.join("server.log"));
        succeed(start.arg("--pgdata").arg(&data))
    }

    pub(crate) async fn create(&self, database: &str) -> Outcome<String> {
        let client = connect(&self.directory, "postgres").await?;
        client.batch_execute(&format!("CREATE DATABASE {database} TEMPLATE template0")).await?;
        Ok(format!("postgres://{OWNER}@/{database}?host={}", self.directory.display()))
    }

    /// The statements of a database that took the most time, and forgets them.
    pub(crate) async fn statements(&self, database: &str) -> Outcome<Vec<String>> {
        let client = connect(&self.directory, "postgres").await?;
        client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements").await?;
        let rows = client.query(STATEMENTS, &[&database]).await?;
        client.batch_execute("SELECT pg_stat_statements_reset()").await?;
        Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
    }

    pub(crate) async fn number(&self, database: &str, query: &str) -> Outcome<i64> {
        let client = connect(&self.directory, database).await?;
        Ok(client.query_one(query, &[]).await?.try_get(0)?)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        drop(self.watcher.wait());
    }
}

/// A connection by the socket in this directory.
pub(crate) async fn connect(directory: &Path, database: &str) -> Outcome<Client> {
    let stream = UnixStream::connect(directory.join(".s.PGSQL.5432")).await?;
    let mut config = Config::new();
    config.user(OWNER).dbname(database);
    let (client, connection) = config.connect_raw(stream, NoTls).await?;
    // Its error reaches the statements that wait on it.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

fn programs() -> Option<PathBuf> {
    let directories = VERSIONS.map(|version| format!("/usr/lib/postgresql/{version}/bin"));
    directories.map(PathBuf::from).into_iter().find(|it| it.join("initdb").exists())
}

fn is_root() -> Outcome<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

fn unprivileged(program: &Path) -> Outcome<Command> {
    if !is_root()? {
        return Ok(Command::new(program));
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program);
    command.current_dir("/");
    Ok(command)
}

fn watch(programs: &Path, directory: &Path) -> Outcome<Child> {
    // `read` fails at the end of the input. Signals for the group of this program must not end it.
    const SCRIPT: &str = "trap '' INT TERM HUP; read _ || true; \
                          \"$1/pg_ctl\" stop --silent --mode=immediate --pgdata \"$2/data\"; rm -rf \"$2\"";
    let mut shell = unprivileged(Path::new("/bin/sh"))?;
    shell.args(["-c", SCRIPT, "sh"]).arg(programs).arg(directory);
    Ok(shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?)
}

fn succeed(command: &mut Command) -> Outcome<()> {
    let ended = output(command)?;
    if ended.status.success() {
        return Ok(());
    }
    Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&ended.stderr)).into())
}
