//! Card verification codes: sealed apart from all other data, under keys that are destroyed.
//!
//! The minute in which a code's retention ends selects the key that seals the code. After that
//! minute the key is overwritten, and no copy of the data file can reveal the code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::app::Cvcs;
use crate::app::error::{Error, Fault};
use crate::app::program_calls::gathered;
use crate::bounds::{CVC_KEYS_MAX, CVC_KEYS_OPEN_MAX};
use crate::crypto::{Identity, SealingKey};
use crate::domain::id::TenantId;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::lock::Lock;
use crate::secret::Secret;
use crate::store::{Change, CvcKeyName, Snapshot, Table, tables};

const MINUTE_BYTES: usize = 8;

impl Cvcs<'_> {
    /// Stores a code until `expires_at`, sealed under a key that is already durable.
    pub(in crate::app) fn keep(
        self,
        tenant: TenantId,
        id: Uuid,
        code: &Secret<String>,
        expires_at: Timestamp,
    ) -> Result<Change, Error> {
        let identity = tables::cvc_identity(tenant, id);
        let value = self.seal(tenant, &identity, code.expose(), expires_at)?;
        let place = tables::cvcs(expires_at, tenant, id).to_vec();
        Ok(Change::new().put(Table::Cvcs, place, value))
    }

    /// `None` if the code has expired or its key is destroyed. The record has the time of its
    /// expiry, so a record without a code costs no look-up.
    pub(in crate::app) fn find(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        id: Uuid,
        expires_at: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Error> {
        let Some(expires_at) = expires_at.filter(|at| now < *at) else { return Ok(None) };
        let place = tables::cvcs(expires_at, tenant, id);
        let Some(value) = snapshot.value(Table::Cvcs, &place)? else { return Ok(None) };
        self.open_of(tenant, id, &value, now)
    }

    /// Opens the code of a token or an intent.
    pub(in crate::app) fn open_of(
        self,
        tenant: TenantId,
        id: Uuid,
        value: &[u8],
        now: Timestamp,
    ) -> Result<Option<Secret<String>>, Error> {
        let opened = self.open(tenant, &tables::cvc_identity(tenant, id), value, now)?;
        Ok(opened.map(|(code, until)| {
            gathered::note_code(id, until, &code);
            code
        }))
    }

    pub(in crate::app) fn attach(
        self,
        snapshot: &Snapshot,
        token: &mut Token,
        now: Timestamp,
    ) -> Result<(), Error> {
        let (id, expires_at) = (token.id.uuid(), token.cvc_expires_at);
        token.cvc = self.find(snapshot, token.tenant, id, expires_at, now)?;
        Ok(())
    }

    /// The codes under damaged keys are lost.
    pub(in crate::app) fn damaged_keys(self) -> usize {
        let system = self.vault.keys().system();
        let opens = |((scope, minute), sealed): &(CvcKeyName, Vec<u8>)| {
            let (tenant, place) = (tables::tenant_of_scope(scope), minute.to_be_bytes());
            system.cvcs().open(&identity(&tenant, &place), sealed).is_ok()
        };
        let all = self.vault.cvc_keys.all();
        let closed = all.iter().filter(|key| !opens(key)).count();
        closed.max(self.vault.cvc_keys.damaged())
    }

    /// The scopes of all tenants that have keys here.
    pub(in crate::app) fn tenants(self) -> BTreeSet<[u8; 16]> {
        let own = self.vault.cvc_keys.all().into_iter().map(|(name, _)| name);
        let all = own.chain(self.vault.received_cvc_keys.all().into_keys());
        all.map(|(tenant, _)| tenant).collect()
    }

    /// Destroys the keys of all minutes that have passed.
    pub(in crate::app) fn destroy_keys(self) -> Result<usize, Error> {
        let minute = tables::cvc_minute(self.vault.now());
        self.vault.open_cvc_keys.forget_before(minute);
        self.vault.received_cvc_keys.destroy_before(minute);
        let destroyed = self.vault.cvc_keys.destroy_before(minute);
        Ok(destroyed.map_err(|failure| self.vault.store.fail(failure))?)
    }

    pub(in crate::app) fn destroy_keys_of(self, tenant: TenantId) -> Result<usize, Error> {
        self.vault.open_cvc_keys.forget_of(tenant.bytes());
        self.vault.received_cvc_keys.destroy_of(tenant.bytes());
        let destroyed = self.vault.cvc_keys.destroy_of(tenant.bytes());
        Ok(destroyed.map_err(|failure| self.vault.store.fail(failure))?)
    }

    /// Seals a text that contains a code under the code's key, so that both become unreadable at
    /// the same time.
    pub(in crate::app) fn seal(
        self,
        tenant: TenantId,
        place: &[u8],
        text: &str,
        expires_at: Timestamp,
    ) -> Result<Vec<u8>, Error> {
        let minute = tables::cvc_minute(expires_at);
        let key = self.key(tenant, minute)?;
        let until = expires_at.micros().to_be_bytes();
        let (plain, random) = ([until.as_slice(), text.as_bytes()], self.vault.random());
        Ok(key.seal_after(&minute.to_be_bytes(), &identity(&tenant, place), &plain, random))
    }

    /// The text and the end of its retention.
    pub(in crate::app) fn open(
        self,
        tenant: TenantId,
        place: &[u8],
        value: &[u8],
        now: Timestamp,
    ) -> Result<Option<(Secret<String>, Timestamp)>, Error> {
        let bad = Error::Internal(Fault::BadRecord);
        let Some((minute, sealed)) = value.split_at_checked(MINUTE_BYTES) else { return Err(bad) };
        let Ok(minute) = minute.try_into().map(u64::from_be_bytes) else { return Err(bad) };
        let name = (*tenant.bytes(), minute);
        let own = self.own_key(name)?;
        let opened = own.map(|key| key.open(&identity(&tenant, place), sealed));
        let plain = match opened {
            Some(Ok(plain)) => plain,
            // Each process has its own key for the same minute.
            Some(Err(_)) | None if self.vault.processes().may_be_several() => {
                let received = self.open_received(&name, &identity(&tenant, place), sealed)?;
                let Some(plain) = received else { return Ok(None) };
                plain
            }
            Some(Err(failed)) => return Err(failed.into()),
            None => return Ok(None),
        };
        let mut plain = plain;
        let Some(until) = plain.expose().first_chunk::<8>() else { return Err(bad) };
        let until = Timestamp::from_micros(i64::from_be_bytes(*until));
        plain.expose_mut().drain(..8);
        let code = String::from_utf8(std::mem::take(plain.expose_mut())).ok().map(Secret::new);
        Ok(code.filter(|_| now < until).map(|code| (code, until)))
    }

    /// Opens a value that another process sealed, if that process has sent its key.
    fn open_received(
        self,
        name: &CvcKeyName,
        identity: &Identity<'_>,
        sealed: &[u8],
    ) -> Result<Option<Secret<Vec<u8>>>, Error> {
        let open = || {
            let keys = self.vault.received_cvc_keys.of(name);
            keys.iter().find_map(|key| SealingKey::new(0, key).open(identity, sealed).ok())
        };
        if let Some(plain) = open() {
            return Ok(Some(plain));
        }
        // The message may have arrived since the last look.
        self.vault.processes().receive_codes(&self.vault.snapshot()?)?;
        Ok(open())
    }

    pub(in crate::app) fn own_keys(self) -> Result<BTreeMap<CvcKeyName, Vec<CvcKey>>, Error> {
        let system = self.vault.keys().system();
        let open = |((scope, minute), sealed): (CvcKeyName, Vec<u8>)| {
            let (tenant, place) = (tables::tenant_of_scope(&scope), minute.to_be_bytes());
            let bytes = system.cvcs().open(&identity(&tenant, &place), &sealed)?;
            let bytes = bytes.expose().as_slice().try_into().ok();
            let key = Secret::new(bytes.ok_or(Error::Internal(Fault::BadRecord))?);
            Ok(((scope, minute), vec![Arc::new(key)]))
        };
        self.vault.cvc_keys.all().into_iter().map(open).collect()
    }

    /// A decision must not wait for the disk, so a missing key is reported as
    /// [`Error::NeedsCvcKey`]. The commit loop then makes the key and decides again.
    fn key(self, tenant: TenantId, minute: u64) -> Result<Arc<SealingKey>, Error> {
        let name = (*tenant.bytes(), minute);
        self.own_key(name)?.ok_or(Error::NeedsCvcKey(name))
    }

    /// Returns when the key is durable and the other processes can read it. This takes one sync for
    /// each tenant and minute, on a blocking thread. If the key file fails, the store fails too.
    pub(in crate::app) async fn make_key(self, name: CvcKeyName) -> Result<(), Error> {
        let (scope, minute) = name;
        let key = Arc::new(Secret::new(self.vault.random().bytes()));
        self.vault.processes().share_code_key(name, &key).await?;
        let place = minute.to_be_bytes();
        let tenant = tables::tenant_of_scope(&scope);
        let system = self.vault.keys().system();
        let fresh =
            system.cvcs().seal(&identity(&tenant, &place), key.expose(), self.vault.random());
        let keys = Arc::clone(&self.vault.cvc_keys);
        let kept = tokio::task::spawn_blocking(move || keys.keep(name, &fresh)).await;
        let panicked = |_| Error::Internal(Fault::Impossible("making a CVC key panicked"));
        let kept = kept.map_err(panicked)?;
        kept.map_err(|failure| self.vault.store.fail(failure))?.ok_or(Error::Busy)?;
        Ok(())
    }

    /// `None` if the file does not have the key, because it was destroyed or never made.
    fn own_key(self, name: CvcKeyName) -> Result<Option<Arc<SealingKey>>, Error> {
        let open = self.vault.open_cvc_keys.get(&name);
        if let Some(open) = open.filter(|_| self.vault.cvc_keys.has(&name)) {
            return Ok(Some(open));
        }
        let Some(wrapped) = self.vault.cvc_keys.sealed(&name) else { return Ok(None) };
        let (tenant, place) = (tables::tenant_of_scope(&name.0), name.1.to_be_bytes());
        let bytes = self.vault.keys().system().cvcs().open(&identity(&tenant, &place), &wrapped)?;
        let bytes = bytes.expose().as_slice().try_into().ok();
        let bytes = Secret::new(bytes.ok_or(Error::Internal(Fault::BadRecord))?);
        let key = Arc::new(SealingKey::new(0, &bytes));
        self.vault.open_cvc_keys.keep(name, &key);
        Ok(Some(key))
    }
}

fn identity<'a>(tenant: &'a TenantId, place: &'a [u8]) -> Identity<'a> {
    Identity { tenant: tenant.bytes(), table: Table::Cvcs.number(), key: place }
}

/// A cache of opened keys: most codes of a time are under the same few keys.
#[derive(Debug, Default)]
pub(in crate::app) struct OpenCvcKeys(Lock<BTreeMap<CvcKeyName, Arc<SealingKey>>>);

impl OpenCvcKeys {
    pub(super) fn get(&self, name: &CvcKeyName) -> Option<Arc<SealingKey>> {
        self.0.lock().get(name).cloned()
    }

    /// When there are too many keys, all of them are dropped, and opened again when needed.
    pub(super) fn keep(&self, name: CvcKeyName, key: &Arc<SealingKey>) {
        let mut keys = self.0.lock();
        if keys.len() >= CVC_KEYS_OPEN_MAX {
            keys.clear();
        }
        keys.insert(name, Arc::clone(key));
    }

    /// The file destroys these keys.
    pub(super) fn forget_before(&self, minute: u64) {
        let mut keys = self.0.lock();
        keys.retain(|(_, of), _| *of >= minute);
    }

    /// The file destroys these keys.
    pub(super) fn forget_of(&self, tenant: &[u8; 16]) {
        let mut keys = self.0.lock();
        keys.retain(|(of, _), _| of != tenant);
    }
}

/// A key in clear, wiped when the last copy is dropped.
pub(in crate::app) type CvcKey = Arc<Secret<[u8; 32]>>;

/// Each process makes its own key for a tenant and a minute, so a name may have several keys.
#[derive(Debug, Default)]
pub(in crate::app) struct ReceivedCvcKeys(Lock<BTreeMap<CvcKeyName, Vec<CvcKey>>>);

impl ReceivedCvcKeys {
    /// Does nothing if the key is known or there are too many.
    pub(in crate::app) fn keep(&self, name: CvcKeyName, key: CvcKey) {
        let mut keys = self.0.lock();
        let count: usize = keys.values().map(Vec::len).sum();
        let of_name = keys.entry(name).or_default();
        if count < CVC_KEYS_MAX && !of_name.iter().any(|known| known.expose() == key.expose()) {
            of_name.push(key);
        }
    }

    pub(in crate::app) fn of(&self, name: &CvcKeyName) -> Vec<CvcKey> {
        self.0.lock().get(name).cloned().unwrap_or_default()
    }

    pub(in crate::app) fn all(&self) -> BTreeMap<CvcKeyName, Vec<CvcKey>> {
        self.0.lock().clone()
    }

    pub(super) fn destroy_before(&self, minute: u64) {
        self.0.lock().retain(|(_, of), _| *of >= minute);
    }

    pub(super) fn destroy_of(&self, tenant: &[u8; 16]) {
        self.0.lock().retain(|(of, _), _| of != tenant);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn open_keys_are_bounded_and_go_with_their_minute() {
        let keys = OpenCvcKeys::default();
        let key = Arc::new(SealingKey::new(0, &Secret::new([7; 32])));
        for minute in 0..=u64::try_from(CVC_KEYS_OPEN_MAX).unwrap() {
            keys.keep(([1; 16], minute), &key);
        }
        assert!(Arc::strong_count(&key) <= CVC_KEYS_OPEN_MAX + 1);
        keys.keep(([1; 16], 5), &key);
        keys.keep(([2; 16], 6), &key);
        keys.forget_before(6);
        assert!(keys.get(&([1; 16], 5)).is_none());
        assert!(keys.get(&([2; 16], 6)).is_some());
    }
}
