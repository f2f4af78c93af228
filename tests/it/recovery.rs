//! The master key from recovery shares: never unchecked by accident, and a share that its keeper has
//! changed is named.

use std::fs;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};

use crate::damaged_records::edit;
use crate::harness::{Directory, Ended, Vault, run};
use crate::keys::with_shares;

const ALPHABET: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Format, set, needed, total and number stand before the values; the check stands behind them.
const CONTENT_BYTES: usize = 40;

/// The bytes of a share without its check.
fn decode(share: &str) -> Vec<u8> {
    let digits = share.trim().chars().filter(|it| *it != '-');
    let bits: Vec<bool> = digits
        .flat_map(|digit| {
            let value = ALPHABET.find(digit).unwrap();
            (0..5).rev().map(move |bit| value >> bit & 1 == 1)
        })
        .collect();
    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bits.chunks(8).map(byte).take(CONTENT_BYTES).collect()
}

/// A share with a check that fits.
fn encode(content: &[u8]) -> String {
    let check = digest(&SHA256, content);
    let bytes = [content, &check.as_ref()[..4]].concat();
    let bits: Vec<bool> =
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect();
    let digits = bits.chunks(5).map(|bits| {
        let value =
            (0..5).fold(0, |value, at| value << 1 | usize::from(bits.get(at) == Some(&true)));
        ALPHABET.chars().nth(value).unwrap()
    });
    digits.collect()
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from_digit(u32::from(digit), 16).unwrap()).collect()
}

/// A copy of a share's file with something else in it.
fn changed(directory: &Directory, share: &Path, name: &str, change: impl Fn(&mut [u8])) -> PathBuf {
    let text = fs::read_to_string(share).unwrap();
    let mut content = decode(text.lines().find(|line| !line.starts_with('#')).unwrap());
    change(&mut content);
    directory.write(name, encode(&content), 0o400)
}

fn recover(out: &Path, flags: &[&str], shares: &[&PathBuf]) -> Ended {
    let mut arguments = vec!["key", "recover", "--out", out.to_str().unwrap()];
    arguments.extend(flags);
    for share in shares {
        arguments.extend(["--share", share.to_str().unwrap()]);
    }
    run(&arguments)
}

#[test]
fn a_key_is_not_recovered_unchecked_unless_that_is_asked_for() {
    let directory = Directory::new();
    let (config, shares) = with_shares(&directory, "one");
    let out = directory.join("out.key");
    let enough = [&shares[0], &shares[1], &shares[2]];
    let refused = recover(&out, &[], &enough).with_code(64).stderr;
    assert!(refused.contains("--unchecked"), "{refused}");
    let config = config.to_str().unwrap();
    recover(&out, &["--config", config, "--unchecked"], &enough).with_code(64);
    assert!(!out.exists());
    let told = recover(&out, &["--unchecked"], &enough).with_code(0);
    assert!(told.stderr.contains("warning: the key is not checked"), "{}", told.stderr);
    assert!(told.stdout.contains("it was not checked"), "{}", told.stdout);
    assert_eq!(fs::read(&out).unwrap(), fs::read(directory.join("one.key")).unwrap());
}

#[test]
fn a_share_that_its_keeper_changed_is_named() {
    let directory = Directory::new();
    let (config, shares) = with_shares(&directory, "one");
    let (config, out) = (config.to_str().unwrap(), directory.join("out.key"));
    let name = shares[0].file_name().unwrap().to_str().unwrap();
    let set = name.split('-').nth(1).unwrap();
    let named = |number: u8, shares: &[&PathBuf]| {
        let refused = recover(&out, &["--config", config], shares).with_code(65).stderr;
        let who = format!("share {number} of set {set} was changed or invented");
        assert!(refused.contains(&who), "{refused}");
        assert!(!out.exists());
    };
    let forged = changed(&directory, &shares[2], "forged", |share| share[20] ^= 1);
    named(3, &[&shares[0], &shares[1], &forged]);
    // Also where the rest would be enough.
    named(3, &[&forged, &shares[0], &shares[1], &shares[3]]);
    // Another's number.
    let renumbered = changed(&directory, &shares[3], "renumbered", |share| share[7] = 5);
    named(5, &[&shares[0], &shares[1], &renumbered]);
    recover(&out, &["--config", config], &[&shares[0], &shares[1], &shares[3]]).with_code(0);
}

#[test]
fn a_key_and_its_shares_are_checked_with_a_backup_when_the_vault_is_lost() {
    let directory = Directory::new();
    let (config, shares) = with_shares(&directory, "one");
    let (other, _) = with_shares(&directory, "two");
    let backup = |config: &Path, name: &str| {
        let path = directory.join(name);
        let file = path.to_str().unwrap();
        run(&["backup", "--config", config.to_str().unwrap(), file]).with_code(0);
        path
    };
    let (own, other) = (backup(&config, "own.backup"), backup(&other, "other.backup"));
    fs::remove_dir_all(directory.join("one")).unwrap();
    let out = directory.join("out.key");
    let check = |backup: &Path, shares: &[&PathBuf]| {
        recover(&out, &["--backup", backup.to_str().unwrap()], shares)
    };
    let forged = changed(&directory, &shares[1], "forged", |share| share[39] ^= 0x80);
    let refused = check(&own, &[&shares[0], &forged, &shares[2]]).with_code(65).stderr;
    assert!(refused.contains("share 2 of set "), "{refused}");
    let refused = check(&other, &[&shares[0], &shares[1], &shares[2]]).with_code(77).stderr;
    assert!(refused.contains("not the key of this backup"), "{refused}");
    assert!(!out.exists());
    check(&own, &[&shares[0], &shares[1], &shares[2]]).with_code(0);
    assert_eq!(fs::read(&out).unwrap(), fs::read(directory.join("one.key")).unwrap());
}

#[test]
fn a_running_vault_names_a_changed_share_and_its_chain_has_the_hashes() {
    let vault = Vault::start();
    let place = vault.directory();
    let made = place.join("shares");
    let shares = ["key", "shares", "--scheme", "2-of-3", "--directory", made.to_str().unwrap()];
    vault.operator(&shares).with_code(0);
    let mut shares: Vec<_> =
        fs::read_dir(&made).unwrap().map(|entry| entry.unwrap().path()).collect();
    shares.sort();
    let forged = changed(place, &shares[0], "forged", |share| share[8] ^= 0xff);
    let out = place.join("out.key");
    let config = vault.config();
    let config = ["--config", config.to_str().unwrap()];
    let refused = recover(&out, &config, &[&forged, &shares[1]]).with_code(65).stderr;
    assert!(refused.contains("share 1 of set "), "{refused}");
    recover(&out, &config, &[&shares[0], &shares[1]]).with_code(0);
    let chain = vault.operator(&["audit", "export"]).with_code(0).stdout;
    for share in &shares {
        let text = fs::read_to_string(share).unwrap();
        let content = decode(text.lines().last().unwrap());
        let hash = digest(&SHA256, &[b"strongroom share 1", content.as_slice()].concat());
        let hash = hex(hash.as_ref());
        assert!(chain.contains(&hash), "{hash} is not in {chain}");
    }
}

#[test]
fn shares_that_give_the_right_key_are_taken_although_their_hashes_were_changed() {
    let directory = Directory::new();
    let (config, shares) = with_shares(&directory, "one");
    let (config, out) = (config.to_str().unwrap(), directory.join("out.key"));
    let changed = edit(&directory.join("one"), "meta", |key, value| {
        let mut value = value.to_vec();
        if key.starts_with(b"shares/") {
            // A digit of the last hash, which is the last text of the row.
            let digit = value.iter().rposition(u8::is_ascii_hexdigit).unwrap();
            value[digit] = if value[digit] == b'0' { b'1' } else { b'0' };
        }
        Some(value)
    });
    assert_eq!(changed, 1);
    let told = recover(&out, &["--config", config], &[&shares[4], &shares[0], &shares[1]]);
    let told = told.with_code(0).stderr;
    assert!(told.contains("they do not match the recorded hashes"), "{told}");
    assert_eq!(fs::read(&out).unwrap(), fs::read(directory.join("one.key")).unwrap());
}
