//! The steps to formats 2, 3, 5 and 6.

use crate::crypto::{Identity, OpenFailed};
use crate::store::change::Change;
use crate::store::failure::StorageFailure;
use crate::store::meta;
use crate::store::migration::old_file::OldFile;
use crate::store::migration::step_rows::StepRows;
use crate::store::tables::Table;

/// Format 2: gives the file an id, so that backups of different vaults can be distinguished.
pub(super) fn tell_vaults_apart(
    old: &OldFile<'_>,
    rows: &mut StepRows<'_>,
) -> Result<(), StorageFailure> {
    rows.take(meta::put_file_id(Change::new(), old.random.bytes()))
}

/// Format 3: seals the file's keys under a key derived from the master key, where older formats
/// used the master key itself. The master key stays the same, so its file and its shares remain
/// valid.
///
/// Two more changes need the new format, because an older program would break them. Records have
/// digests, which checkpoints cover; they are computed when the file is opened, since their key is
/// made then, and an older program would not update them. And after a rotation the server has
/// several index keys for API keys, which an older program does not support.
pub(super) fn separate_master_keys(
    old: &OldFile<'_>,
    rows: &mut StepRows<'_>,
) -> Result<(), StorageFailure> {
    let Some(master) = old.master else { return Ok(()) };
    let damaged = || StorageFailure::Damaged(String::from("a key does not open"));
    let known = meta::master_check(old.snapshot)?.ok_or_else(damaged)?;
    // Setting the new format without sealing the keys again would make the file unreadable.
    if !master.has_check(&known) {
        return Err(damaged());
    }
    rows.take(meta::put_master_check(Change::new(), master.check()))?;
    for entry in old.snapshot.range(&Table::Keys.whole())? {
        let (key, sealed) = entry?;
        let scope: &[u8; 16] = key.first_chunk().ok_or_else(damaged)?;
        let place = Identity { tenant: scope, table: Table::Keys.number(), key: &key };
        let plain = master.open(&place, &sealed).map_err(|OpenFailed| damaged())?;
        let again = master.seal(&place, plain.expose(), old.random);
        rows.put(Table::Keys, key, again)?;
    }
    Ok(())
}

/// Format 5: there are more tables, for proxies, sessions, webhooks and the keys of clients. No row
/// changes. An older program would not seal the new rows again in a rotation and would not expire
/// them, so it must not open the file.
///
/// Format 6: there is a table of the last uses of API keys. No row changes. An older program would
/// leave the row of a key that it deletes, so it must not open the file.
#[expect(clippy::unnecessary_wraps, reason = "other steps can fail")]
pub(super) const fn keep_rows(_: &OldFile<'_>, _: &mut StepRows<'_>) -> Result<(), StorageFailure> {
    Ok(())
}
