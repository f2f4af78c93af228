//! Every example that the reference prints is run as it is printed: as curl, with the published
//! client for Python and with the one for Node. Scripts of `tests/clients/examples` print and run them.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::{Value, json};

use crate::access_examples::{TOKEN, adapted};
use crate::harness::{Directory, Operation, api_document, output_of, post};
use crate::openapi_examples::{key_of_a_shop, path, successes};
use crate::proxy::Scene;
use crate::quickstarts::{CLIENTS, can_run};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/examples");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/openapi.json");

#[test]
fn the_examples_for_curl_work_as_printed() {
    let Some(stage) = Stage::prepare("curl --version") else { return };
    stage.place.write(".curlrc", "silent\nwrite-out = \"\\n%{http_code}\"\n", 0o600);
    stage.check("curl", |job| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &job.code]).envs(&job.variables).env("CURL_HOME", stage.place.path());
        let said = String::from_utf8_lossy(&output_of(&mut shell).stdout).into_owned();
        let status = said.rsplit('\n').next().unwrap_or_default();
        End { is_ok: true, out: format!("{status} {said}") }
    });
}

#[test]
fn the_examples_for_python_work_as_printed() {
    let python = format!("{CLIENTS}/python/bin/python");
    let Some(stage) = Stage::prepare(&format!("{python} -c 'import basis_theory'")) else { return };
    stage.check_batch("python", &python, "run.py");
}

#[test]
fn the_examples_for_node_work_as_printed() {
    let modules = format!("{CLIENTS}/node/node_modules");
    let Some(stage) = Stage::prepare(&format!("test -d {modules}")) else { return };
    std::os::unix::fs::symlink(&modules, stage.place.join("node_modules")).unwrap();
    stage.check_batch("node", "node", "run.mjs");
}

struct Stage {
    scene: Scene,
    place: Directory,
}

/// An example with the values of its variables.
struct Job {
    title: String,
    wanted: Vec<u16>,
    code: String,
    variables: BTreeMap<&'static str, String>,
}

/// The end of an example: a client raises failures, plain HTTPS prints the status first.
struct End {
    is_ok: bool,
    out: String,
}

impl Stage {
    /// `None` if the programs are not installed here, and need not be.
    fn prepare(probe: &str) -> Option<Self> {
        let has_all = can_run("node --version") && can_run(probe);
        has_all.then(|| Self { scene: Scene::start(), place: Directory::new() })
    }

    fn jobs(&self, language: &str) -> Vec<Job> {
        let url = format!("https://{}", self.scene.vault.address);
        let mut print = Command::new("node");
        print.args([&format!("{SCRIPTS}/print.mjs"), DOCUMENT, &url]);
        let printed = output_of(&mut print);
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        let printed: Vec<Value> = serde_json::from_slice(&printed.stdout).unwrap();
        let mut chosen: Vec<_> = printed.iter().filter(|it| it["language"] == language).collect();
        // Examples may share a resource. No key of the tenant works after the last one.
        chosen.sort_by_key(|it| {
            (it["method"] == "delete", it["path"] == "/tenants/self", it["method"] == "put")
        });
        assert!(chosen.len() > 70, "only {} examples", chosen.len());
        chosen.into_iter().map(|example| self.job(example)).collect()
    }

    fn job(&self, example: &Value) -> Job {
        let text = |name: &str| example[name].as_str().unwrap();
        let operation = api_document()
            .operations()
            .find(|it| it.method == text("method") && it.path == text("path"))
            .unwrap();
        Job {
            title: format!("{} {} {}", operation.method, operation.path, text("name")),
            wanted: successes(operation),
            code: String::from(text("code")),
            variables: self.variables(operation, text("code")),
        }
    }

    fn variables(
        &self,
        operation: Operation<'static>,
        code: &str,
    ) -> BTreeMap<&'static str, String> {
        let vault = &self.scene.vault;
        let keys = &vault.keys;
        let public = match operation.path {
            "/fields/v1/access" => key_of_a_shop(vault),
            _ => keys.public.clone(),
        };
        let ca = vault.data().join("ca.pem");
        let mut variables = BTreeMap::from([
            ("CA", ca.display().to_string()),
            ("KEY", keys.private.clone()),
            ("MANAGEMENT_KEY", keys.management.clone()),
            ("PUBLIC_KEY", public),
            ("PSP_URL", self.scene.psp.url("/echo")),
        ]);
        if operation.path.contains("{id}") {
            let real = path(vault, operation);
            let parts = operation.path.split('/').zip(real.split('/'));
            for (name, value) in parts.filter(|(name, _)| name.starts_with('{')) {
                let name = if name == "{id}" { "ID" } else { "KEY_ID" };
                variables.insert(name, String::from(value));
            }
        } else if code.contains("ID") {
            let body = adapted(vault, operation.path, &json!({"id": TOKEN}));
            variables.insert("ID", String::from(body["id"].as_str().unwrap()));
        }
        if code.contains("NONCE") {
            let new = vault.send(&post("/sessions").key(&keys.public)).with_status(201);
            variables.insert("NONCE", new.member("nonce"));
        }
        variables
    }

    /// Runs one example after the other.
    fn check(&self, language: &str, run: impl Fn(&Job) -> End) {
        let jobs = self.jobs(language);
        let ends: Vec<_> = jobs.iter().map(run).collect();
        check_ends(&jobs, &ends);
    }

    /// Runs all examples in one process, since the clients take a second to load.
    fn check_batch(&self, language: &str, program: &str, script: &str) {
        let jobs = self.jobs(language);
        let file = self.place.join("jobs.json");
        let listed: Vec<_> =
            jobs.iter().map(|it| json!({"code": it.code, "variables": it.variables})).collect();
        self.place.write("jobs.json", json!(listed).to_string(), 0o600);
        let ca = self.scene.vault.data().join("ca.pem");
        let mut command = Command::new(program);
        command.arg(format!("{SCRIPTS}/{script}")).arg(&file);
        command.env("SSL_CERT_FILE", &ca).env("NODE_EXTRA_CA_CERTS", &ca);
        let ended = output_of(&mut command);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let ends: Vec<Value> = serde_json::from_slice(&ended.stdout).unwrap();
        let end = |it: &Value| End {
            is_ok: it["ok"] == true,
            out: String::from(it["out"].as_str().unwrap()),
        };
        check_ends(&jobs, &ends.iter().map(end).collect::<Vec<_>>());
    }
}

fn check_ends(jobs: &[Job], ends: &[End]) {
    assert_eq!(jobs.len(), ends.len());
    let failures = jobs.iter().zip(ends).filter_map(|(job, end)| {
        let status = end.out.get(..3).and_then(|it| it.parse::<u16>().ok());
        let is_wanted = status.is_none_or(|it| job.wanted.contains(&it));
        let what = || format!("{}: {}\n{}", job.title, end.out, job.code);
        (!end.is_ok || !is_wanted).then(what)
    });
    let failures: Vec<_> = failures.collect();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}
