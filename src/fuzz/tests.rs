//! Runs the targets over their stored seeds, and over mutations that are the same in every run.
//! `STRONGROOM_FUZZ_MUTATIONS` and `STRONGROOM_FUZZ_SEED` select more and others.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::*;

/// Mutations of each target, spread over its seeds.
const MUTATIONS: u64 = 600;
/// Bytes on which parsers fail more often than on others.
const SPECIAL: &[u8] = b"\0\x01\x7f\x80\xff\"'\\{}[]()|:,.$@?*-+%&=;#/ \t\r\n0189";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = folder().join("seeds").join(target);
    let mut seeds: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().display().to_string(), fs::read(&path).unwrap()))
        .collect();
    seeds.sort();
    seeds
}

/// The number in this environment variable.
fn chosen(name: &str, usual: u64) -> u64 {
    let given = std::env::var_os(name);
    given.map_or(usual, |it| it.into_string().unwrap().parse().unwrap())
}

/// The generator of mutations, a xorshift; any other would do.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % sides.max(1)
    }

    fn mutate(&mut self, seed: &[u8], other: &[u8]) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len() + 1);
            let special = SPECIAL[self.roll(SPECIAL.len())];
            match self.roll(7) {
                0 => bytes.insert(at, special),
                1 if at < bytes.len() => bytes[at] ^= 1 << self.roll(8),
                2 if at < bytes.len() => bytes[at] = special,
                3 => bytes.truncate(at),
                4 => drop(bytes.drain(at..(at + self.roll(8)).min(bytes.len()))),
                5 => {
                    let end = (at + self.roll(16)).min(bytes.len());
                    let part = bytes[at..end].to_vec();
                    bytes.splice(at..at, part);
                }
                _ => {
                    let from = self.roll(other.len() + 1);
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
            }
        }
        bytes
    }
}

/// Returns an input that breaks a rule, so that it can be stored as a seed.
fn check(name: &str, from: &str, data: &[u8]) -> Result<(), String> {
    let run = || run(name, data);
    let broken = || format!("{name}, from {from}: {}", data.escape_ascii());
    catch_unwind(AssertUnwindSafe(run)).map_err(|_panic| broken())
}

fn check_target(name: &str) -> Result<(), String> {
    let seeds = seeds(name);
    assert!(!seeds.is_empty(), "{name} has no seeds");
    for (seed, bytes) in &seeds {
        check(name, seed, bytes)?;
    }
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ chosen("STRONGROOM_FUZZ_SEED", 0));
    for round in 0..chosen("STRONGROOM_FUZZ_MUTATIONS", MUTATIONS) {
        let (seed, bytes) = &seeds[usize::try_from(round).unwrap() % seeds.len()];
        let (_, other) = &seeds[dice.roll(seeds.len())];
        check(name, seed, &dice.mutate(bytes, other))?;
    }
    Ok(())
}

#[test]
fn every_target_holds_its_rules_on_its_seeds_and_on_mutations_of_them() {
    let results = TARGETS.iter().map(|(name, _)| check_target(name));
    let broken: Vec<String> = results.filter_map(Result::err).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_target_has_a_program_and_every_program_and_folder_of_seeds_a_target() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    let programs: Vec<&str> = manifest
        .split("[[bin]]\nname = \"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted());
    assert_eq!(programs, names);
    let mut folders: Vec<String> = fs::read_dir(folder().join("seeds"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().display().to_string())
        .collect();
    folders.sort();
    assert_eq!(folders, names);
    for name in names {
        let program = fs::read_to_string(folder().join(format!("targets/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("fuzz(\"{name}\", data)")), "{program}");
    }
}
