//! The sealing and signing keys of the vault, and their age.

use std::collections::BTreeMap;

use crate::app::{Holding, KeyInventory, KeyState, ListedKey};
use crate::bounds::REPORT_KEY_AGE_MAX;
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::report::{Chapter, moment, span};

pub(super) fn chapter(inventory: &KeyInventory, holdings: &[Holding], now: Timestamp) -> Chapter {
    let mut chapter = Chapter::new(
        "Encryption keys",
        "Requirements 3.6 and 3.7: keys are kept from those who have no need of them, and are \
         changed at the end of their period. The master key stands outside the data; it seals the \
         keys of the server and of each tenant. Keys that make fingerprints never change.",
    );
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
        None => chapter.good(format!(
            "The master key {} is from before its age was kept.",
            inventory.master.check
        )),
    };
    for rotation in &inventory.rotations {
        let since = moment(rotation.started_at);
        chapter = chapter.good(format!("A rotation has been under way since {since}."));
    }
    let names: BTreeMap<TenantId, &str> =
        holdings.iter().map(|it| (it.tenant.id, it.tenant.name.as_str())).collect();
    let owner = |key: &ListedKey| match key.tenant {
        None => String::from("(the server)"),
        Some(id) => names.get(&id).map_or_else(|| id.to_string(), |name| String::from(*name)),
    };
    for key in inventory.keys.iter().filter(|key| is_to_be_changed(key, now)) {
        chapter = chapter.attention(format!(
            "Key {} of {} is older than a year: strongroom key rotate.",
            key.number,
            owner(key)
        ));
    }
    let number = |count: Option<u64>| count.map_or_else(|| String::from("-"), |it| it.to_string());
    let row = |key: &ListedKey| {
        vec![
            owner(key),
            String::from(key.purpose.map_or("other", crate::app::KeyPurpose::name)),
            key.number.to_string(),
            String::from(key.state.name()),
            key.made_at.map_or_else(|| String::from("unknown"), |at| span(now.since(at))),
            number(key.uses),
            number(key.records),
            number(key.index_entries),
        ]
    };
    let head = ["of", "for", "number", "state", "age", "sealed", "records", "index entries"];
    chapter.table(&head, inventory.keys.iter().map(row).collect())
}

/// Returns whether a key is due for rotation. Keys of other purposes never rotate.
fn is_to_be_changed(key: &ListedKey, now: Timestamp) -> bool {
    use crate::app::KeyPurpose::{Audit, Seal, Sign};
    let rotates = matches!(key.purpose, Some(Audit | Seal | Sign));
    let is_old = key.made_at.is_some_and(|at| now.since(at) > REPORT_KEY_AGE_MAX);
    rotates && is_old && key.state == KeyState::Current
}
