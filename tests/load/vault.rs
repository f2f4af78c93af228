//! Starts, fills, stops and kills the vault under test, through its command line alone: nothing of its library is used.

use crate::Outcome;
use crate::client::{Keys, Ready, Target, block_on};
use crate::proc::{self, Process};
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Opening a large file after a kill takes seconds; a minute is a failure.
const READY_MAX: Duration = Duration::from_mins(1);
const POLL: Duration = Duration::from_millis(10);
/// The preload prints its ids at the end, after all the work.
const PRELOAD_MAX: Duration = Duration::from_mins(30);

/// A program that speaks the vault's command line, and the directory it works on.
#[derive(Clone)]
pub(crate) struct VaultFiles {
    pub(crate) binary: PathBuf,
    pub(crate) data: PathBuf,
}

pub(crate) struct Vault {
    process: Process,
    pub(crate) target: Target,
}

/// Bytes on the disk.
pub(crate) struct Sizes {
    pub(crate) data_file: u64,
    /// The log, if there is one; all else is small.
    pub(crate) beside: u64,
}

/// The keys as `dev` keeps them.
#[derive(Deserialize)]
struct KeysFile {
    keys: Keys,
}

impl VaultFiles {
    pub(crate) fn start(&self) -> Outcome<Vault> {
        self.start_with(&[])
    }

    pub(crate) fn start_with(&self, further: &[&OsStr]) -> Outcome<Vault> {
        self.start_under(&[], further)
    }

    /// Under another program, such as valgrind, whose words come before the vault's own.
    pub(crate) fn start_under(&self, tool: &[OsString], further: &[&OsStr]) -> Outcome<Vault> {
        std::fs::create_dir_all(&self.data)?;
        let mut command = proc::command_under(tool, &self.binary);
        command.arg("dev").arg("--data").arg(&self.data);
        command.args(["--listen", "127.0.0.1:0", "--rate-limits", "off", "--json"]).args(further);
        let process = Process::start(&mut command, &self.log())?;
        let line = process.line(READY_MAX)?;
        let line = line.ok_or_else(|| format!("the vault ended; {}", process.last_words()))?;
        let ready: Ready = serde_json::from_str(&line).map_err(|why| {
            format!("the first line is not a ready line ({why}); {}", process.last_words())
        })?;
        let target = Target::new(ready, process.pid())?;
        Ok(Vault { process, target })
    }

    /// Fills a stopped vault with cards and returns a sample of the ids.
    pub(crate) fn preload(&self, tokens: u64) -> Outcome<Vec<String>> {
        let mut command = Command::new(&self.binary);
        command.arg("dev-preload").arg("--data").arg(&self.data);
        command.arg("--tokens").arg(tokens.to_string()).args(["--kind", "card"]);
        let mut process = Process::start(&mut command, &self.log())?;
        let mut ids = Vec::new();
        while let Some(line) = process.line(PRELOAD_MAX)? {
            ids.push(line.trim().to_owned());
        }
        process.finish()?;
        if ids.is_empty() {
            return Err("the preload printed no ids".into());
        }
        Ok(ids)
    }

    pub(crate) fn rotate(&self, further: &[&str]) -> Outcome<()> {
        let config = self.write_settings("", "")?;
        let mut command = Command::new(&self.binary);
        command.args(["key", "rotate", "--all-tenants"]).args(further).arg("--config").arg(&config);
        self.timed(&mut command).map(drop)
    }

    /// Settings for the directory that `dev` made; `top` comes before the first section, `sections` after the last.
    fn write_settings(&self, top: &str, sections: &str) -> Outcome<PathBuf> {
        let key = self.move_key_out()?;
        let (data, key) = (self.data.display(), key.display());
        let config = Path::with_extension(&self.data, "toml");
        let text = format!(
            "data_directory = \"{data}\"\n{top}[tls]\ncertificate = \"{data}/certificate.pem\"\nprivate_key = \
             \"{data}/certificate.key\"\n[master_key]\nfile = \"{key}\"\n{sections}"
        );
        std::fs::write(&config, text)?;
        Ok(config)
    }

    /// Moves the master key out of the data directory, in which `serve` refuses it, and leaves a link for `dev`.
    fn move_key_out(&self) -> Outcome<PathBuf> {
        let (inside, outside) = (self.data.join("master.key"), self.data.with_extension("key"));
        if std::fs::symlink_metadata(&inside)?.is_file() {
            std::fs::rename(&inside, &outside)?;
            symlink(&outside, &inside)?;
        }
        Ok(outside)
    }

    /// A binary refuses settings that it does not know.
    pub(crate) fn accepts_settings(&self, sections: &str) -> Outcome<bool> {
        let config = self.write_settings("", sections)?;
        let mut command = Command::new(&self.binary);
        Ok(proc::output(command.args(["check", "--config"]).arg(config))?.status.success())
    }

    /// Starts `strongroom serve` with further settings, and waits until it takes a connection: it prints no ready line.
    pub(crate) fn serve(&self, sections: &str) -> Outcome<Vault> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let top = format!("listen = [\"{address}\"]\nrate_limits = false\n");
        let config = self
            .write_settings(&format!("{top}\n"), &format!("[log]\nrequests = false\n{sections}"))?;
        let mut command = Command::new(&self.binary);
        let process = Process::start(command.args(["serve", "--config"]).arg(config), &self.log())?;
        let file: KeysFile = serde_json::from_slice(&std::fs::read(self.data.join("keys.json"))?)?;
        let (url, ca) = (format!("https://{address}"), self.data.join("ca.pem"));
        let target = Target::new(Ready { url, ca, keys: file.keys }, process.pid())?;
        let until = Instant::now() + READY_MAX;
        while let Err(why) = block_on(target.connect()) {
            proc::check_interrupted()?;
            if Instant::now() > until {
                return Err(format!("cannot connect ({why}); {}", process.last_words()).into());
            }
            thread::sleep(POLL);
        }
        Ok(Vault { process, target })
    }

    /// The sizes of the data file and of everything beside it.
    pub(crate) fn sizes(&self) -> Outcome<Sizes> {
        let data_file = std::fs::metadata(self.data.join("strongroom.redb"))?.blocks() * 512;
        Ok(Sizes { data_file, beside: proc::disk_bytes(&self.data)? - data_file })
    }

    /// Checks a stopped vault's audit chain and returns how many entries it has.
    pub(crate) fn verify_audit(&self) -> Outcome<f64> {
        let mut command = Command::new(&self.binary);
        let output = proc::output(command.args(["audit", "verify", "--data"]).arg(&self.data))?;
        let said = String::from_utf8(output.stdout)?;
        let entries = said.strip_prefix("entries:").and_then(|rest| rest.split_whitespace().next());
        match entries {
            Some(entries) if output.status.success() => Ok(entries.parse()?),
            _ => Err(format!("the audit chain was not verified: {said}").into()),
        }
    }

    /// Of the running vault; returns what the command said, and how long it took.
    pub(crate) fn back_up(&self, file: &Path) -> Outcome<(String, f64)> {
        self.timed(Command::new(&self.binary).arg("backup").arg("--data").arg(&self.data).arg(file))
    }

    pub(crate) fn restore(&self, file: &Path, data: &Path) -> Outcome<(String, f64)> {
        self.timed(Command::new(&self.binary).arg("restore").arg(file).arg("--data").arg(data))
    }

    fn timed(&self, command: &mut Command) -> Outcome<(String, f64)> {
        let start = Instant::now();
        let output = proc::output(command)?;
        let time = start.elapsed().as_secs_f64();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{} failed: {why}", self.binary.display()).into());
        }
        Ok((String::from_utf8(output.stdout)?, time))
    }

    pub(crate) fn remove(&self) -> Outcome<()> {
        Ok(std::fs::remove_dir_all(&self.data)?)
    }

    /// Beside the data, so that it does not count as such.
    fn log(&self) -> PathBuf {
        Path::with_extension(&self.data, "log")
    }
}

impl Vault {
    pub(crate) fn stop(&mut self) -> Outcome<()> {
        self.process.stop()
    }

    /// SIGKILL: the vault gets no chance to write anything.
    pub(crate) fn kill(&mut self) -> Outcome<()> {
        self.process.kill()
    }
}
