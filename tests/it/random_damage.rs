//! Random damage of each file of a stopped and of a killed vault, with the real program: it refuses
//! to start with a documented exit code and a message that says what to do, or it serves right. A
//! second start gives the same answer.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;

use crate::harness::{Answer, Connection, Request, Running, Vault, get, needs_data_file, thorough};

/// An eighth of the damages is found at least: the others lie where nothing is read any more.
const FOUND_PART: usize = 8;

type Image = BTreeMap<String, Vec<u8>>;

/// Numbers that look random and are the same for the same seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) >> 1).unwrap() % sides.max(1)
    }
}

/// The files of a vault; not its sockets.
fn image(data: &Path) -> Image {
    let entries = fs::read_dir(data).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    let ours = |name: &String| name.starts_with("strongroom.") || name == "cvc.keys";
    files.map(file).filter(|(name, _)| ours(name)).collect()
}

fn put(data: &Path, image: &Image) {
    for (name, bytes) in image {
        fs::write(data.join(name), bytes).unwrap();
    }
    for name in image_names(data) {
        if !image.contains_key(&name) {
            fs::remove_file(data.join(name)).unwrap();
        }
    }
}

fn image_names(data: &Path) -> Vec<String> {
    image(data).into_keys().collect()
}

/// Starts the server on the damaged files. Returns its exit code, or `None` if it served.
fn serve(vault: &Vault, values: &BTreeMap<String, String>, case: &str) -> Option<i32> {
    let log = vault.directory().join("log of a start");
    fs::remove_file(&log).ok();
    let (mut server, address) = Running::serve(&vault.config(), &log);
    let Some(address) = address else {
        let code = server.wait();
        let text = fs::read_to_string(&log).unwrap();
        assert!([Some(65), Some(74), Some(77)].contains(&code), "{case}: {code:?} {text}");
        assert!(text.contains("try"), "{case}: {text}");
        return code;
    };
    for (id, value) in values {
        let request = get(&format!("/tokens/{id}")).key(&vault.keys.private);
        // The server may end when it meets the damage.
        let Ok(answer) = exchange(address, vault, &request) else { break };
        match answer.status {
            200 => assert_eq!(answer.json["data"], json!(value), "{case}"),
            status => assert!([401, 404, 500, 503].contains(&status), "{case}: {status}"),
        }
    }
    server.signal("TERM");
    let code = server.wait();
    assert!([Some(0), Some(65), Some(74)].contains(&code), "{case}: {code:?} {}", server.log());
    None
}

fn exchange(address: SocketAddr, vault: &Vault, request: &Request) -> io::Result<Answer> {
    let mut connection = Connection::open_api(address, vault.client())?;
    connection.send(&request.bytes(&address.to_string()))?;
    connection.receive()
}

/// Damages one file at a time.
fn check(killed: bool) {
    let mut vault = Vault::start();
    let value = |at: usize| format!("value {at}");
    let token = |at: usize| (vault.token(json!({"type": "token", "data": value(at)})), value(at));
    let values: BTreeMap<_, _> = (0..20).map(token).collect();
    if killed {
        vault.kill();
    } else {
        assert_eq!(vault.stop(), Some(0));
    }
    vault.move_key_out();
    let (data, whole) = (vault.data(), image(&vault.data()));
    let (mut dice, mut planted, mut found) = (Dice(7), 0, 0);
    for (file, bytes) in &whole {
        let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        for round in 0..thorough(4, 12) {
            let mut damaged = whole.clone();
            let at = used.get(dice.roll(used.len())).copied().unwrap_or(0);
            let changed = damaged.get_mut(file).unwrap();
            match round % 4 {
                0 if !changed.is_empty() => changed[at] ^= 1 << dice.roll(8),
                1 if !changed.is_empty() => {
                    let end = (at / 512 * 512 + 512).min(changed.len());
                    changed[at / 512 * 512..end].fill(0);
                }
                2 => changed.truncate(at),
                _ => changed.iter_mut().skip(at).take(16).for_each(|byte| *byte = !*byte),
            }
            let case = format!("{file}, round {round}, byte {at}, killed {killed}");
            put(&data, &damaged);
            let verified = vault.operator(&["verify"]);
            let codes = [Some(0), Some(65), Some(74), Some(77)];
            assert!(codes.contains(&verified.code), "{case}: {verified:?}");
            assert!(!verified.stderr.contains("panicked"), "{case}: {verified:?}");
            planted += 1;
            found += usize::from(verified.code != Some(0));
            put(&data, &damaged);
            let first = serve(&vault, &values, &case);
            let second = serve(&vault, &values, &case);
            assert!(first == second || first.is_none(), "{case}: {first:?}, then {second:?}");
        }
    }
    assert!(found >= planted / FOUND_PART, "{found} of {planted} were found");
    // With the files as they were, everything is there.
    put(&data, &whole);
    vault.verify().with_code(0);
}

#[test]
fn a_stopped_vault_with_random_damage_is_refused_with_advice_or_serves_right() {
    needs_data_file!("it damages the file");
    check(false);
}

#[test]
fn a_killed_vault_with_random_damage_is_refused_with_advice_or_serves_right() {
    needs_data_file!("it damages the file");
    check(true);
}
