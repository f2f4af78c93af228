//! The shipped unit that copies backups and the archive to object storage: its own commands, run by
//! rclone against a remote in a directory. What is over there is never changed or removed, and a
//! vault comes back from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::{Archived, text};
use crate::harness::{Directory, needs_data_file, output_of, run};
use crate::reverse_proxies::find;

const UNIT: &str = include_str!("../../systemd/strongroom-copy.service");

/// The commands of the unit, with these places in place of its variables.
fn commands(places: &[(&str, &str)]) -> Vec<Vec<String>> {
    let joined = UNIT.replace("\\\n", " ");
    let lines = joined.lines().filter_map(|line| line.strip_prefix("ExecStart="));
    let word = |word: &str| {
        let replace = |word: String, (from, to): &(&str, &str)| word.replace(from, to);
        let word = places.iter().fold(String::from(word), replace);
        assert!(!word.contains(['%', '$']), "{word}");
        word
    };
    lines.map(|line| line.split_whitespace().map(word).collect()).collect()
}

struct Remote {
    place: PathBuf,
    commands: Vec<Vec<String>>,
}

impl Remote {
    fn new(scratch: &Directory, backups: &Path, archive: &Path) -> Self {
        let place = scratch.join("bucket");
        let settings = format!("[strongroom]\ntype = alias\nremote = {}\n", place.display());
        scratch.write("rclone.conf", settings, 0o600);
        let commands = commands(&[
            ("%d", text(scratch.path())),
            ("${BACKUPS}", text(backups)),
            ("${ARCHIVE}", text(archive)),
            ("${REMOTE}", "strongroom:"),
        ]);
        assert_eq!(commands.len(), 2);
        Self { place, commands }
    }

    /// True if both copies succeed, as the unit needs it.
    fn copy(&self, rclone: &Path) -> bool {
        self.commands.iter().all(|words| {
            let mut command = Command::new(rclone);
            // --retries: a file that was changed is not tried again here.
            command.args(&words[1..]).args(["--retries", "1"]);
            output_of(&mut command).status.success()
        })
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        for folder in ["archive", "backups"] {
            for entry in fs::read_dir(self.place.join(folder)).into_iter().flatten() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap();
                found.push((format!("{folder}/{name}"), fs::read(&path).unwrap()));
            }
        }
        found.sort();
        found
    }
}

#[test]
fn copies_in_object_storage_are_whole_stay_and_give_the_vault_back() {
    needs_data_file!("a database has no archive");
    let Some(rclone) = find("rclone", "rclone") else { return };
    let mut archived = Archived::start();
    let ids = [archived.token("one"), archived.token("two")];
    archived.settle();
    let scratch = Directory::new();
    let backups = archived.vault.directory().path().to_path_buf();
    let remote = Remote::new(&scratch, &backups, &archived.archive());
    // What is not complete, and keys and settings beside the backups, stay here.
    fs::write(archived.archive().join("a.piece.unfinished"), "part").unwrap();
    fs::write(backups.join("b.backup.unfinished"), "part").unwrap();
    assert!(remote.copy(&rclone));
    let first = remote.files();
    let names: Vec<_> = first.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"backups/a.backup"), "{names:?}");
    let endings: BTreeSet<_> = names.iter().filter_map(|name| name.rsplit('.').next()).collect();
    assert_eq!(endings, BTreeSet::from(["backup", "piece"]), "{names:?}");
    // Again: nothing changes. More changes: more pieces, and the others as they were.
    assert!(remote.copy(&rclone));
    assert_eq!(remote.files(), first);
    let last = archived.token("three");
    archived.settle();
    assert!(remote.copy(&rclone));
    let second = remote.files();
    assert!(second.len() > first.len());
    assert!(first.iter().all(|file| second.contains(file)));
    assert_eq!(archived.vault.stop(), Some(0));
    // A file that was changed here is refused; a file that was removed here stays over there.
    let piece = archived.pieces().remove(0);
    let content = fs::read(&piece).unwrap();
    fs::write(&piece, "ransom").unwrap();
    assert!(!remote.copy(&rclone), "a changed piece was copied");
    fs::remove_file(&piece).unwrap();
    assert!(remote.copy(&rclone));
    let name = piece.file_name().unwrap().to_str().unwrap();
    assert!(remote.files().contains(&(format!("archive/{name}"), content)));
    // The vault from the copies alone.
    let (data, key) = (scratch.join("restored"), archived.vault.master_key());
    let (backup, archive) = (remote.place.join("backups/a.backup"), remote.place.join("archive"));
    let flags = ["--data", text(&data), "--key", text(&key), "--archive", text(&archive)];
    run(&[&["restore"], &flags[..], &["--json"], &[text(&backup)]].concat()).with_code(0);
    let verified = run(&["verify", "--data", text(&data), "--master-key", text(&key), "--json"]);
    let tokens = verified.json()["records"]["tokens"].as_u64().unwrap();
    assert!(tokens >= 3, "{tokens} of {ids:?} and {last}");
}
