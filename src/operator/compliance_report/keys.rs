//! The sealing and signing keys of the vault, and their age.

use std::collections::BTreeMap;

use crate::app::{Holding, KeyInventory, KeyPurpose, KeyState, ListedKey};
use crate::bounds::REPORT_KEY_AGE_MAX;
use crate::domain::hex;
use crate::domain::id::TenantId;
use crate::domain::share_set::ShareSet;
use crate::domain::time::Timestamp;
use crate::operator::compliance_report::ComplianceReportSettings;
use crate::report::{Chapter, Requirement, moment, span};

const REQUIREMENTS: &[Requirement] = &[
    Requirement("3.6.1", "Keys of stored account data are guarded against disclosure and misuse."),
    Requirement("3.7.4", "Keys are replaced at the end of their period."),
    Requirement("3.7.5", "Keys that are replaced or no longer trusted are retired or destroyed."),
    Requirement("3.7.6", "Keys in clear are handled by split knowledge and dual control."),
];

pub(super) fn chapter(
    inventory: &KeyInventory,
    holdings: &[Holding],
    share_sets: &[ShareSet],
    settings: &ComplianceReportSettings,
    now: Timestamp,
) -> Chapter {
    let mut chapter = Chapter::new("Encryption keys", REQUIREMENTS);
    chapter = match inventory.master.made_at {
        Some(at) if now.since(at) > REPORT_KEY_AGE_MAX => chapter.attention(format!(
            "The master key is {} old: strongroom key rotate --master.",
            span(now.since(at))
        )),
        Some(at) => chapter.good(format!(
            "The master key {} has been in use since {}.",
            inventory.master.check,
            moment(at)
        )),
        None => chapter.unknown(format!(
            "The master key {} is from before its age was kept.",
            inventory.master.check
        )),
    };
    chapter = master_place(chapter, settings);
    chapter = shares(chapter, share_sets, &inventory.master.check);
    for rotation in &inventory.rotations {
        let since = moment(rotation.started_at);
        chapter = chapter.good(format!("A rotation has been under way since {since}."));
    }
    let names: BTreeMap<TenantId, &str> =
        holdings.iter().map(|it| (it.tenant.id, it.tenant.name.as_str())).collect();
    let owner = |key: &ListedKey| match key.tenant {
        None => String::from("(the server)"),
        // The facts about the keys of a deleted tenant remain.
        Some(id) => names.get(&id).map_or_else(|| format!("{id} (deleted)"), |it| (*it).into()),
    };
    for key in inventory.keys.iter().filter(|key| is_to_be_changed(key, now)) {
        chapter = chapter.attention(format!(
            "Key {} of {} is older than a year: strongroom key rotate.",
            key.number,
            owner(key)
        ));
    }
    chapter = meanings(chapter);
    let number = |count: Option<u64>| count.map_or_else(|| String::from("-"), |it| it.to_string());
    let row = |key: &ListedKey| {
        vec![
            owner(key),
            String::from(key.purpose.map_or("other", KeyPurpose::as_str)),
            String::from(key.purpose.map_or("-", KeyPurpose::algorithm)),
            String::from(period(key)),
            key.number.to_string(),
            String::from(key.state.name()),
            key.made_at.map_or_else(|| String::from("unknown"), |at| span(now.since(at))),
            number(key.uses),
            number(key.records),
            number(key.index_entries),
            number(key.doubled_entries),
        ]
    };
    let head = [
        "of",
        "for",
        "algorithm",
        "period",
        "number",
        "state",
        "age",
        "sealed",
        "records",
        "index entries",
        "doubled",
    ];
    chapter.table(&head, inventory.keys.iter().map(row).collect())
}

fn master_place(chapter: Chapter, settings: &ComplianceReportSettings) -> Chapter {
    match &settings.known {
        Some(known) => chapter.good(format!(
            "The master key has 256 bits, seals the other keys with AES-256-GCM, and is {}.",
            known.master_key
        )),
        None => chapter.unknown("The place of the master key is not known without settings."),
    }
}

/// Explains the words of the table.
fn meanings(chapter: Chapter) -> Chapter {
    chapter
        .good(
            "States: a current key seals; a retiring one only opens until its records have moved to a \
             newer one; a lasting one is kept because tags of API keys are made with it; of a \
             destroyed one only the facts remain.",
        )
        .good(
            "Purposes: seal encrypts records; audit encrypts the entries of the chain; sign signs the \
             chain; index makes the hashes by which records are found; fingerprint makes the \
             fingerprints of values; digest makes the digests of records; webhook signs webhooks.",
        )
        .good(
            "Place: all keys of the table are in the data file, sealed under the master key. Keys of \
             card verification codes (AES-256-GCM, 256 bits) are in cvc.keys until the minute of their codes has passed.",
        )
}

/// The recovery shares, which split the knowledge of the master key.
fn shares(chapter: Chapter, sets: &[ShareSet], master: &str) -> Chapter {
    if sets.is_empty() {
        return chapter.good("No recovery shares of the master key were made with this program.");
    }
    let is_current = |set: &ShareSet| hex::encode(&set.master) == master;
    let chapter = sets.iter().fold(chapter, |chapter, set| {
        let of = if is_current(set) { "the current" } else { "a replaced" };
        let keepers = if set.keepers.is_empty() {
            String::from("made in clear; their keepers are not known")
        } else {
            format!("each sealed to its keeper: {}", set.keepers.join(", "))
        };
        let text = format!(
            "Recovery shares of {of} master key, set {}: {} of {} are needed; made {}; {keepers}.",
            hex::encode(&set.set),
            set.needed,
            set.hashes.len(),
            moment(set.made_at)
        );
        // A share in clear was on this host, and nothing says who has it.
        if is_current(set) && set.keepers.is_empty() {
            return chapter.attention(format!(
                "{text} Make new ones with strongroom key shares --share-to NAME=age1..., and destroy \
                 these."
            ));
        }
        chapter.good(text)
    });
    if sets.iter().any(is_current) {
        return chapter;
    }
    chapter.attention(
        "All recovery shares are of replaced master keys and do not restore the current one: \
         strongroom key shares.",
    )
}

const fn rotates(purpose: KeyPurpose) -> bool {
    matches!(purpose, KeyPurpose::Audit | KeyPurpose::Seal | KeyPurpose::Sign)
}

/// Index keys rotate with the keys that seal; the server's first one stays for the tags of API keys.
fn period(key: &ListedKey) -> &'static str {
    let rotates = key.purpose.is_some_and(|it| rotates(it) || it == KeyPurpose::Index);
    if rotates && key.state != KeyState::Lasting { "a year" } else { "lasting" }
}

/// Returns whether a key is due for rotation. Keys of other purposes never rotate.
fn is_to_be_changed(key: &ListedKey, now: Timestamp) -> bool {
    let rotates = key.purpose.is_some_and(rotates);
    let is_old = key.made_at.is_some_and(|at| now.since(at) > REPORT_KEY_AGE_MAX);
    rotates && is_old && key.state == KeyState::Current
}
