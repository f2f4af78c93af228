//! A development vault of a test's own, and requests to it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ClientConfig;
use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::connection::{Connection, trusting};
use crate::harness::directory::Directory;
use crate::harness::fixtures::NUMBER;
use crate::harness::http2::{Http2Connection, Protocol};
use crate::harness::postgres::{Cluster, Database, on_postgres};
use crate::harness::processes::Others;
use crate::harness::program::{Ended, Running, run, run_with_input};
use crate::harness::request::{Request, delete, get, patch, post, put};

/// The file with the URL of the database, in the directory of the test.
const DATABASE_URL: &str = "database.url";
const URL_FLAG: &str = "--engine-url-file";

pub(crate) struct Vault {
    // Declared before the directory, so that the process ends before its files are removed.
    server: Option<Running>,
    others: Others,
    flags: Vec<String>,
    pub(crate) address: SocketAddr,
    /// Of the listener for results, where there is one.
    pub(crate) results: Option<SocketAddr>,
    /// Of the listener for people with certificates, where there is one.
    pub(crate) console: Option<SocketAddr>,
    pub(crate) tenant_id: String,
    pub(crate) keys: Keys,
    client: Arc<ClientConfig>,
    idle: Mutex<Vec<Connection>>,
    protocol: Protocol,
    idle_http2: Mutex<Vec<Http2Connection>>,
    /// The database with its rows, in a run over PostgreSQL. Dropped after the process.
    database: Option<Arc<Database>>,
    directory: Directory,
}

/// The texts of three keys, one of each type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) private: String,
    pub(crate) public: String,
    pub(crate) management: String,
}

/// A further tenant in the same vault.
#[derive(Debug)]
pub(crate) struct Tenant {
    pub(crate) id: String,
    pub(crate) keys: Keys,
}

impl Vault {
    /// A test tenant, without rate limits.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// With further flags for `strongroom dev`.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        Self::start_in(Directory::new(), flags)
    }

    /// In a directory that the test has prepared.
    pub(crate) fn start_in(directory: Directory, flags: &[&str]) -> Self {
        let cluster = on_postgres().then(|| Cluster::shared().expect("PostgreSQL is installed"));
        let database = cluster.as_ref().map(|it| Arc::new(Database::new(it)));
        let mut vault = Self::start_over(directory, flags, database);
        vault.others = Others::beside(&vault);
        vault
    }

    /// With its rows in this database.
    pub(crate) fn start_over(
        directory: Directory,
        flags: &[&str],
        database: Option<Arc<Database>>,
    ) -> Self {
        let mut all = vec!["--listen", "127.0.0.1:0", "--json"];
        if !flags.contains(&"--rate-limits") {
            all.extend(["--rate-limits", "off"]);
        }
        all.extend(flags);
        let mut flags: Vec<_> = all.into_iter().map(String::from).collect();
        if let Some(database) = &database {
            let file = directory.write(DATABASE_URL, database.url(), 0o600);
            flags.extend([String::from(URL_FLAG), file.display().to_string()]);
        }
        Self::started(directory, flags, database)
    }

    fn started(directory: Directory, flags: Vec<String>, database: Option<Arc<Database>>) -> Self {
        let (server, ready) = start(&directory, &flags);
        let ready = ready.unwrap_or_else(|| panic!("it did not start: {}", server.log()));
        let vault = Self {
            server: Some(server),
            others: Others::default(),
            flags,
            address: address(&ready["url"]),
            results: results(&ready),
            console: ready.get("console").map(address),
            tenant_id: text(&ready["tenant_id"]),
            keys: Keys::of(&ready),
            client: trusting(&PathBuf::from(text(&ready["ca"]))),
            idle: Mutex::new(Vec::new()),
            protocol: Protocol::of_thread(),
            idle_http2: Mutex::new(Vec::new()),
            database,
            directory,
        };
        vault.write_config();
        vault
    }

    /// Starts a vault that was stopped or killed, on another port.
    pub(crate) fn restart(&mut self) {
        assert!(self.server.is_none(), "it still runs");
        let (server, ready) = start(&self.directory, &self.flags);
        let ready = ready.unwrap_or_else(|| panic!("it did not start: {}", server.log()));
        self.address = address(&ready["url"]);
        self.results = results(&ready);
        assert_eq!(self.keys, Keys::of(&ready), "a restart prints the same keys");
        self.server = Some(server);
        self.write_config();
        self.others.each(Self::restart);
    }

    #[track_caller]
    pub(crate) fn stop_and_restart(&mut self) {
        assert_eq!(self.stop(), Some(0));
        self.restart();
    }

    /// Stops the vault, adds these lines to its settings, and starts it by `strongroom serve`.
    #[track_caller]
    pub(crate) fn serve(&mut self, lines: &str) {
        assert_eq!(self.stop(), Some(0));
        self.set(lines);
        self.restart_as_service();
    }

    /// Starts a vault that was stopped by `strongroom serve`, which has no keys to print. It is one
    /// process from now on.
    pub(crate) fn restart_as_service(&mut self) {
        assert!(self.server.is_none(), "it still runs");
        self.others = Others::default();
        self.move_key_out();
        let (server, address) = Running::serve(&self.config(), &self.directory.join("log"));
        self.address = address.unwrap_or_else(|| panic!("it did not start: {}", server.log()));
        self.server = Some(server);
    }

    /// Adds lines to the settings of the service; the names of sections stand before a dot.
    pub(crate) fn set(&self, lines: &str) {
        self.write_config();
        let text = fs::read_to_string(self.config()).unwrap();
        self.directory.write("strongroom.toml", format!("{lines}\n{text}"), 0o600);
    }

    /// As `kill -9` does, also when it has ended by itself.
    pub(crate) fn kill(&mut self) {
        self.close_idle();
        self.others.each(Self::kill);
        self.server.take().expect("it runs").kill();
    }

    /// Trusts the certificates of this file from now on.
    pub(crate) fn trust(&mut self, ca: &Path) {
        self.client = trusting(ca);
    }

    /// `KILL` ends all its processes: clients that send until their server is gone would go on.
    pub(crate) fn signal(&self, name: &str) {
        if name == "KILL" {
            self.others.kill();
        }
        self.server.as_ref().expect("it runs").signal(name);
    }

    /// The process that serves.
    pub(crate) fn process_id(&self) -> u32 {
        self.server.as_ref().expect("it runs").id()
    }

    /// Waits for its end and returns the exit code, `None` when a signal ended it.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.close_idle();
        let code = self.server.take().expect("it runs").wait();
        self.others.each(Self::kill);
        code
    }

    /// Ends it by SIGTERM and returns its exit code.
    pub(crate) fn stop(&mut self) -> Option<i32> {
        self.close_idle();
        self.others.each(|other| assert_eq!(other.stop(), Some(0)));
        self.server.take().expect("it runs").terminate()
    }

    pub(crate) fn get(&self, path: &str, key: &str) -> Answer {
        self.send(&get(path).key(key))
    }

    pub(crate) fn delete(&self, path: &str, key: &str) -> Answer {
        self.send(&delete(path).key(key))
    }

    pub(crate) fn post(&self, path: &str, key: &str, body: Value) -> Answer {
        self.send(&post(path).key(key).json(body))
    }

    pub(crate) fn put(&self, path: &str, key: &str, body: Value) -> Answer {
        self.send(&put(path).key(key).json(body))
    }

    /// Makes a token with the private key and returns its id.
    #[track_caller]
    pub(crate) fn token(&self, body: Value) -> String {
        self.create(body).with_status(201).id()
    }

    /// Asks for a token with the private key.
    #[track_caller]
    pub(crate) fn create(&self, body: Value) -> Answer {
        self.post("/tokens", &self.keys.private, body)
    }

    /// Patches a token with the private key.
    #[track_caller]
    pub(crate) fn patch(&self, id: &str, body: Value) -> Answer {
        self.patch_as(&self.keys.private, id, body)
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]
    pub(crate) fn patch_as(&self, key: &str, id: &str, body: Value) -> Answer {
        self.send(&patch(&format!("/tokens/{id}")).key(key).body(body.to_string()))
    }

    /// Reads a token with the private key.
    #[track_caller]
    pub(crate) fn read(&self, id: &str) -> Answer {
        self.get(&format!("/tokens/{id}"), &self.keys.private)
    }

    #[track_caller]
    pub(crate) fn read_as(&self, key: &str, id: &str) -> Answer {
        self.get(&format!("/tokens/{id}"), key)
    }

    /// Deletes a token with the private key.
    #[track_caller]
    pub(crate) fn remove(&self, id: &str) {
        self.delete(&format!("/tokens/{id}"), &self.keys.private).with_status(204);
    }

    /// Makes an intent of a card number with this key and returns its id.
    #[track_caller]
    pub(crate) fn intent(&self, key: &str) -> String {
        let card = json!({"type": "card", "data": {"number": NUMBER}});
        self.post("/token-intents", key, card).with_status(201).id()
    }

    #[track_caller]
    pub(crate) fn set_rules(&self, application: &Answer, rules: &Value) {
        let path = format!("/applications/{}", application.id());
        let body = json!({"name": "n", "rules": rules});
        self.put(&path, &self.keys.management, body).with_status(200);
    }

    /// Changes settings of the tenant as the tenant itself may.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "settings are written where they are sent")]
    pub(crate) fn set_tenant(&self, settings: Value) {
        let body = json!({"name": "n", "settings": settings});
        self.put("/tenants/self", &self.keys.management, body).with_status(200);
    }

    /// Entries of the tenant's log, the newest first.
    #[track_caller]
    pub(crate) fn logged(&self, query: &str) -> Vec<Value> {
        let page = self.get(&format!("/logs?{query}"), &self.keys.management).with_status(200);
        page.json["data"].as_array().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn acts(&self, query: &str) -> Vec<String> {
        self.logged(query).iter().map(|entry| text(&entry["operation"])).collect()
    }

    /// Checks that none of these texts is in a file of the data directory or in the log.
    #[track_caller]
    pub(crate) fn assert_nowhere(&self, texts: &[&str]) {
        let mut places = vec![(self.directory.join("log"), self.log().into_bytes())];
        for entry in fs::read_dir(self.data()).unwrap() {
            let path = entry.unwrap().path();
            if let Ok(bytes) = fs::read(&path) {
                places.push((path, bytes));
            }
        }
        for (path, bytes) in places {
            for text in texts {
                let found = bytes.windows(text.len()).any(|part| part == text.as_bytes());
                assert!(!found, "{text} is in {}", path.display());
            }
        }
    }

    #[track_caller]
    pub(crate) fn send(&self, request: &Request) -> Answer {
        self.try_send(request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Tries an idle connection first; if the server has closed it, a new one.
    #[track_caller]
    pub(crate) fn try_send(&self, request: &Request) -> io::Result<Answer> {
        self.others.settle_reads(request.path.starts_with("/logs"));
        let answer = self.try_send_at_once(request)?;
        self.others.follow(request, answer.status);
        Ok(answer)
    }

    #[track_caller]
    fn try_send_at_once(&self, request: &Request) -> io::Result<Answer> {
        if let Protocol::Http2(answers) = &self.protocol {
            return self.try_send_http2(request).inspect(|_| {
                answers.fetch_add(1, Ordering::Relaxed);
            });
        }
        let bytes = request.bytes(&self.address.to_string());
        let kept = self.others.take(&mut self.idle.lock().unwrap());
        if let Some(connection) = kept
            && let Ok(answer) = self.exchange(connection, &bytes)
        {
            return Ok(answer);
        }
        self.exchange(self.try_connect()?, &bytes)
    }

    #[track_caller]
    fn try_send_http2(&self, request: &Request) -> io::Result<Answer> {
        let host = self.address.to_string();
        let kept = self.others.take(&mut self.idle_http2.lock().unwrap());
        let answered = kept.and_then(|mut connection| {
            let answer = connection.exchange(request, &host).ok()?;
            Some((answer, connection))
        });
        let (answer, connection) = if let Some(answered) = answered {
            answered
        } else {
            let mut connection =
                Http2Connection::open(self.others.address(self.address), &self.client)?;
            (connection.exchange(request, &host)?, connection)
        };
        self.idle_http2.lock().unwrap().push(connection);
        Ok(answer)
    }

    /// Closes the connections that no request uses.
    pub(crate) fn close_idle(&self) {
        self.idle.lock().unwrap().clear();
        self.idle_http2.lock().unwrap().clear();
    }

    #[track_caller]
    fn exchange(&self, mut connection: Connection, bytes: &[u8]) -> io::Result<Answer> {
        connection.send(bytes)?;
        let answer = connection.receive()?;
        if !connection.closing {
            self.idle.lock().unwrap().push(connection);
        }
        Ok(answer)
    }

    /// A connection for bytes of the test's own making.
    pub(crate) fn connect(&self) -> Connection {
        self.try_connect().unwrap_or_else(|error| panic!("{error}: {}", self.log()))
    }

    pub(crate) fn try_connect(&self) -> io::Result<Connection> {
        Connection::open_api(self.others.address(self.address), &self.client)
    }

    pub(crate) fn client(&self) -> &Arc<ClientConfig> {
        &self.client
    }

    pub(crate) fn cpu_time(&self) -> Duration {
        self.server.as_ref().expect("it runs").cpu_time()
    }

    pub(crate) fn resident_kib(&self) -> u64 {
        self.server.as_ref().expect("it runs").resident_kib()
    }

    /// Sends these bytes on a connection of their own and returns the first answer.
    #[track_caller]
    pub(crate) fn raw(&self, bytes: &[u8]) -> Answer {
        let mut connection = self.connect();
        connection.send(bytes).unwrap();
        connection.receive().unwrap()
    }

    /// Makes an application with the management key and returns the text of its key.
    #[track_caller]
    pub(crate) fn key_with(&self, kind: &str, permissions: &[&str], rules: &Value) -> String {
        self.application(kind, permissions, rules).member("key")
    }

    /// The same, and returns the whole answer.
    #[track_caller]
    pub(crate) fn application(&self, kind: &str, permissions: &[&str], rules: &Value) -> Answer {
        let body = json!({
            "name": "Made by a test", "type": kind, "permissions": permissions, "rules": rules,
        });
        self.post("/applications", &self.keys.management, body).with_status(201)
    }

    /// A further tenant with an application of each type, of the same access as the first has.
    #[track_caller]
    pub(crate) fn tenant(&self, kind: &str) -> Tenant {
        let made =
            self.operator(&["tenant", "create", "--name", "Further", "--type", kind, "--threeds"]);
        let id = text(&made.json()["id"]);
        let reveal = r#"{"priority":1,"container":"/","transform":"reveal","permissions":["token:create","token:read","token:search","token:update","token:delete","token:use"]}"#;
        let key = |arguments: &[&str]| {
            let fixed = ["application", "create", "--tenant", &id, "--name", "Made by a test"];
            text(&self.operator(&[&fixed, arguments].concat()).json()["key"])
        };
        let intents = ["create", "read", "delete"].map(|verb| format!("token-intent:{verb}"));
        let sessions = ["create", "read", "authenticate"].map(|verb| format!("3ds:session:{verb}"));
        let private: Vec<_> = intents
            .iter()
            .chain(&sessions)
            .map(String::as_str)
            .chain(["reactor:invoke"])
            .flat_map(|permission| ["--permission", permission])
            .collect();
        let private = [&["--type", "private", "--rule", reveal], private.as_slice()].concat();
        let management: Vec<_> = ["create", "read", "update", "delete"]
            .map(|verb| ["application", "proxy", "reactor"].map(|of| format!("{of}:{verb}")))
            .into_iter()
            .flatten()
            .chain([String::from("log:read")])
            .chain(["read", "update"].map(|verb| format!("tenant:{verb}")))
            .chain(["create", "read", "delete"].map(|verb| format!("keys:{verb}")))
            .chain(["create", "read", "update", "delete"].map(|verb| format!("webhooks:{verb}")))
            .flat_map(|permission| [String::from("--permission"), permission])
            .collect();
        let management: Vec<_> = management.iter().map(String::as_str).collect();
        let keys = Keys {
            private: key(&private),
            public: key(&["--type", "public", "--permission", "token:create"]),
            management: key(&[&["--type", "management"], management.as_slice()].concat()),
        };
        Tenant { id, keys }
    }

    /// The key of an application that the operator makes for a tenant.
    #[track_caller]
    pub(crate) fn operators_key(&self, tenant: &str, kind: &str, permission: &str) -> String {
        let made = ["application", "create", "--tenant", tenant, "--name", "n", "--type", kind];
        text(&self.operator(&[&made[..], &["--permission", permission]].concat()).json()["key"])
    }

    /// The entries of the whole audit chain, in its order.
    #[track_caller]
    pub(crate) fn chain(&self) -> Vec<Value> {
        self.operator(&["audit", "export"]).json_lines()
    }

    pub(crate) fn operator(&self, arguments: &[&str]) -> Ended {
        self.operator_with_input(arguments, "")
    }

    pub(crate) fn operator_with_input(&self, arguments: &[&str], input: &str) -> Ended {
        let config = self.config();
        let config = ["--config", config.to_str().unwrap()];
        self.others.settle_reads(arguments.first() == Some(&"audit"));
        let ended = run_with_input(&[arguments, &config].concat(), input);
        self.others.follow_command(arguments);
        ended
    }

    /// Moves the clock ahead and waits until the work that fell due is done.
    #[track_caller]
    pub(crate) fn advance(&self, by: u64) -> Value {
        let data = self.data();
        let seconds = by.to_string();
        let advanced = run(&["dev-clock", "--data", data.to_str().unwrap(), "advance", &seconds]);
        self.others.advance(by);
        advanced.json()
    }

    pub(crate) fn verify(&self) -> Ended {
        assert!(self.server.is_none(), "it still runs");
        let (data, key) = (self.data(), self.master_key());
        run(&["verify", "--data", data.to_str().unwrap(), "--master-key", key.to_str().unwrap()])
    }

    /// Stops the vault and checks that nothing is wrong with it.
    #[track_caller]
    pub(crate) fn stop_and_verify(&mut self) -> Ended {
        assert_eq!(self.stop(), Some(0));
        self.verify().with_code(0)
    }

    /// The directory of the test, around the vault's own.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.directory.join("data")
    }

    /// The file of the master key: in the data directory, where `dev` makes it, or outside of it.
    pub(crate) fn master_key(&self) -> PathBuf {
        let outside = self.directory.join("master.key");
        if outside.exists() { outside } else { self.data().join("master.key") }
    }

    /// Moves the master key out of the data directory, in which `serve` refuses it, and leaves a link
    /// for `dev`.
    pub(crate) fn move_key_out(&self) {
        let (inside, outside) = (self.data().join("master.key"), self.directory.join("master.key"));
        if fs::symlink_metadata(&inside).is_ok_and(|it| it.is_file()) {
            // The data directory may be a file system of its own.
            fs::copy(&inside, &outside).unwrap();
            fs::remove_file(&inside).unwrap();
            symlink(&outside, &inside).unwrap();
        }
        let text = fs::read_to_string(self.config()).unwrap();
        let named = |path: &Path| format!("file = \"{}\"", path.display());
        let text = text.replace(&named(&inside), &named(&outside));
        self.directory.write("strongroom.toml", text, 0o600);
    }

    /// Puts an earlier data file of this stopped vault in place, without the log of later changes.
    pub(crate) fn put_back(&self, data_file: &[u8]) {
        for entry in fs::read_dir(self.data()).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_str().unwrap().starts_with("strongroom.log.") {
                fs::remove_file(path).unwrap();
            }
        }
        fs::write(self.data().join("strongroom.redb"), data_file).unwrap();
    }

    /// A settings file for this vault, for `serve` and for the operator's commands.
    pub(crate) fn config(&self) -> PathBuf {
        self.directory.join("strongroom.toml")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.directory.join("log")).unwrap()
    }

    fn write_config(&self) {
        let (data, key) = (self.data(), self.master_key());
        let (data, key) = (data.display(), key.display());
        let text = format!(
            "{}data_directory = \"{data}\"\nlisten = [\"127.0.0.1:0\"]\n[tls]\ncertificate = \
             \"{data}/certificate.pem\"\nprivate_key = \"{data}/certificate.key\"\n[master_key]\n\
             file = \"{key}\"\n",
            self.engine_settings()
        );
        self.directory.write("strongroom.toml", text, 0o600);
    }
}

impl Vault {
    /// The database with its rows, if they are in one.
    pub(crate) const fn database(&self) -> Option<&Arc<Database>> {
        self.database.as_ref()
    }

    /// A second process over the same rows, which reaches them by this URL.
    pub(crate) fn beside(&self, url: &str) -> Self {
        let directory = Directory::new();
        make_private(&directory.join("data"));
        self.copy_files(&directory);
        self.start_copy(directory, self.database.clone(), url)
    }

    /// A vault of this backup, in a database or in a file, with the keys of this one.
    pub(crate) fn restored(&self, backup: &Path, database: Option<Arc<Database>>) -> Self {
        let directory = Directory::new();
        let (backup, data) = (backup.to_str().unwrap(), directory.join("data"));
        let url = database.as_ref().map_or_else(String::new, |it| it.url());
        if database.is_some() {
            let file = directory.write(DATABASE_URL, &url, 0o600);
            let text = format!(
                "data_directory = \"{0}\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/k\"\n\
                 [master_key]\nfile = \"/m\"\n[engine]\nkind = \"postgres\"\nurl_file = \"{1}\"\n",
                data.display(),
                file.display()
            );
            let config = directory.write("restore.toml", text, 0o600);
            run(&["restore", backup, "--config", config.to_str().unwrap()]).with_code(0);
        } else {
            run(&["restore", backup, "--data", data.to_str().unwrap()]).with_code(0);
        }
        self.copy_files(&directory);
        self.start_copy(directory, database, &url)
    }

    /// Copies the keys and certificates of a development vault.
    fn copy_files(&self, directory: &Directory) {
        for name in ["keys.json", "master.key", "ca.pem", "certificate.pem", "certificate.key"] {
            let (from, to) = (self.data().join(name), directory.join("data").join(name));
            fs::copy(from, to).unwrap();
        }
    }

    fn start_copy(&self, directory: Directory, database: Option<Arc<Database>>, url: &str) -> Self {
        let mut flags = self.flags.clone();
        if let Some(at) = flags.iter().position(|flag| flag == URL_FLAG) {
            flags.drain(at..at + 2);
        }
        if database.is_some() {
            let file = directory.write(DATABASE_URL, url, 0o600);
            flags.extend([String::from(URL_FLAG), file.display().to_string()]);
            symlink(file, directory.join("data").join(DATABASE_URL)).unwrap();
        }
        let vault = Self::started(directory, flags, database);
        assert_eq!(self.keys, vault.keys, "both have the same keys");
        vault
    }

    /// The settings that name the database, for the begin of the file.
    pub(crate) fn engine_settings(&self) -> String {
        self.database.as_ref().map_or_else(String::new, |_| {
            let file = self.directory.join(DATABASE_URL);
            format!("engine.kind = \"postgres\"\nengine.url_file = \"{}\"\n", file.display())
        })
    }
}

impl Keys {
    fn of(ready: &Value) -> Self {
        let key = |name: &str| text(&ready["keys"][name]);
        Self { private: key("private"), public: key("public"), management: key("management") }
    }
}

/// The server and its ready line, which is absent when it ended before it was ready.
fn start(directory: &Directory, flags: &[String]) -> (Running, Option<Value>) {
    let data = directory.join("data");
    let mut arguments = vec!["dev", "--data", data.to_str().unwrap()];
    arguments.extend(flags.iter().map(String::as_str));
    let mut server = Running::start(&arguments, &directory.join("log"));
    let ready = server.line().map(|line| serde_json::from_str(&line).expect("a ready line"));
    (server, ready)
}

fn make_private(path: &Path) {
    fs::DirBuilder::new().mode(0o700).create(path).unwrap();
}

fn results(ready: &Value) -> Option<SocketAddr> {
    ready.get("results").map(address)
}

fn address(url: &Value) -> SocketAddr {
    let url = text(url);
    url.strip_prefix("https://").expect("an https URL").parse().unwrap()
}

#[track_caller]
fn text(value: &Value) -> String {
    String::from(value.as_str().unwrap_or_else(|| panic!("{value} is no text")))
}
