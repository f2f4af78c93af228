//! Recovery shares that are sealed to their keepers: no share is in clear on the host.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use strongroom::testing::AgeIdentity;

use crate::harness::{Directory, Ended, run};

const NAMES: [&str; 3] = ["ana", "bo@shop.example", "cy"];

struct Scene {
    directory: Directory,
    config: PathBuf,
    identities: [AgeIdentity; 3],
}

impl Scene {
    fn new() -> Self {
        let directory = Directory::new();
        let place = directory.path().display();
        let text = format!(
            "data_directory = \"{place}/data\"\n[tls]\ncertificate = \"/c\"\nprivate_key = \"/k\"\n\
             [master_key]\nfile = \"{place}/master.key\"\n"
        );
        let config = directory.write("strongroom.toml", text, 0o600);
        Self { directory, config, identities: [(); 3].map(|()| AgeIdentity::generate()) }
    }

    fn keepers(&self) -> Vec<String> {
        let named = NAMES.iter().zip(&self.identities);
        named.map(|(name, identity)| format!("{name}={}", identity.public_text())).collect()
    }

    fn init(&self, scheme: &[&str], keepers: &[String]) -> Ended {
        let mut arguments = vec!["init", "--config", self.config.to_str().unwrap()];
        arguments.extend(scheme);
        for keeper in keepers {
            arguments.extend(["--share-to", keeper]);
        }
        run(&arguments)
    }

    /// The names and the bytes of the files of shares.
    fn files(&self, directory: &str) -> Vec<(String, Vec<u8>)> {
        let files = fs::read_dir(self.directory.join(directory)).unwrap();
        let mut files: Vec<_> = files.map(|it| it.unwrap().path()).collect();
        files.sort();
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
        files.iter().map(|path| (name(path), fs::read(path).unwrap())).collect()
    }
}

#[test]
fn each_keeper_opens_one_share_and_enough_of_them_recover_the_key() {
    let scene = Scene::new();
    let out = scene.directory.text("shares");
    let scheme = ["--recovery-shares", "2-of-3", "--shares-directory", &out];
    let said = scene.init(&scheme, &scene.keepers()).with_code(0);
    assert!(said.stdout.contains("any 2 of 3 recover the master key (checked)"), "{}", said.stdout);
    let files = scene.files("shares");
    assert_eq!(files.len(), 3);
    let mut opened = Vec::new();
    for (number, ((name, sealed), identity)) in files.iter().zip(&scene.identities).enumerate() {
        assert!(name.ends_with(&format!("-{}-{}.age", number + 1, NAMES[number])), "{name}");
        assert!(sealed.starts_with(b"age-encryption.org/v1\n"));
        let page = String::from_utf8(identity.open(sealed).unwrap()).unwrap();
        let others = scene.identities.iter().filter(|it| it.open(sealed).is_some());
        assert_eq!(others.count(), 1, "only its keeper opens it");
        let share = String::from(page.lines().last().unwrap());
        assert!(!said.stdout.contains(&share) && !said.stderr.contains(&share));
        opened.push(scene.directory.write(&format!("opened-{number}"), page, 0o400));
    }
    let key = scene.directory.text("recovered.key");
    let mut recover = vec!["key", "recover", "--config", scene.config.to_str().unwrap()];
    recover.extend(["--out", &key, "--share", opened[0].to_str().unwrap()]);
    recover.extend(["--share", opened[2].to_str().unwrap()]);
    run(&recover).with_code(0);
    let read = |path: &str| fs::read_to_string(path).unwrap();
    assert_eq!(read(&key).trim(), read(&scene.directory.text("master.key")).trim());
    // Later sets are made in the same way, and the report names the keepers.
    let later = scene.directory.text("later");
    let config = scene.config.to_str().unwrap();
    let shares = ["key", "shares", "--config", config, "--scheme", "2-of-3", "--directory", &later];
    let keepers = scene.keepers();
    let to = keepers.iter().flat_map(|keeper| ["--share-to", keeper.as_str()]);
    let made = run(&shares.into_iter().chain(to).chain(["--json"]).collect::<Vec<_>>()).json();
    assert_eq!(made["keepers"], json!(NAMES));
    assert_eq!(scene.files("later").len(), 3);
    let facts = run(&["report", "--config", config, "--json"]).json().to_string();
    let named = "each sealed to its keeper: ana, bo@shop.example, cy.";
    assert_eq!(facts.matches(named).count(), 2, "{facts}");
}

#[test]
fn keepers_who_do_not_fit_are_refused_before_anything_is_made() {
    let scene = Scene::new();
    let out = scene.directory.text("shares");
    let in_files = ["--recovery-shares", "2-of-3", "--shares-directory", &out];
    let keepers = scene.keepers();
    let with = |at: usize, text: String| {
        let mut keepers = keepers.clone();
        keepers[at] = text;
        keepers
    };
    let key = scene.identities[0].public_text();
    let private = scene.identities[0].private_text().expose().clone();
    for (scheme, keepers, why) in [
        (&in_files[..], keepers[..2].to_vec(), "2 keepers for 3 shares"),
        (&[], keepers.clone(), "3 keepers for no shares"),
        (&in_files[..2], keepers.clone(), "no directory is named"),
        (&in_files, with(1, String::from("bo")), "number 2 has no name"),
        (&in_files, with(1, format!("b/o={key}")), "name 2 has up to"),
        (&in_files, with(1, format!("bo={key}")), "each keeper has one name and one key"),
        (&in_files, with(1, keepers[1].replace("bo@shop.example", "ANA")), "each keeper has one"),
        (&in_files, with(1, format!("bo={private}")), "bo has no public age key"),
    ] {
        let refused = scene.init(scheme, &keepers).with_code(64);
        assert!(refused.stderr.contains(why), "{why}: {}", refused.stderr);
        assert!(!refused.stderr.contains(&private));
        assert!(!scene.directory.join("data").exists() && !scene.directory.join("shares").exists());
    }
}
