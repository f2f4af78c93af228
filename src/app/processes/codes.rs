//! The exchange of the keys of card verification codes between processes, so that each of them can
//! read every code.
//!
//! A code must be gone for good after its retention, but a database keeps old rows in its log and
//! in its replicas. A key is therefore in a row only under a key pair of the receiving process.
//! Each process makes a new pair every few minutes, and holds the private half only in memory and
//! not for long. The row is sealed under a key of the server as well, and so is the public half in
//! the row of a process: a stranger with access to the database can neither ask for keys nor add
//! any. A key that no process has in memory is gone.
//!
//! A process sends a new key to all others before it uses the key. To a process that has joined, it
//! sends all keys that it has, since their makers may have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, MutexGuard};

use uuid::Uuid;

use crate::app::Processes;
use crate::app::error::{Error, Fault};
use crate::app::keys::cvc::CvcKey;
use crate::app::processes::code_exchange::CodeExchange;
use crate::app::processes::follow::deleted;
use crate::bounds::CODE_KEYS_PER_MESSAGE;
use crate::crypto::{Identity, KeyTransfer, TransferMessage};
use crate::domain::process::{ListedProcess, ProcessRole};
use crate::secret::Secret;
use crate::store::SharedRows;
use crate::store::shared::{CodeMessage, ProcessRow};
use crate::store::{CvcKeyName, Snapshot, Table, tables};

type Keys = BTreeMap<CvcKeyName, Vec<CvcKey>>;

const NAME_BYTES: usize = 16 + 8;
const ENTRY_BYTES: usize = NAME_BYTES + 32;

impl Processes<'_> {
    /// Sends a key to all other servers. Call it before the key is used.
    pub(in crate::app) async fn share_code_key(
        self,
        name: CvcKeyName,
        key: &CvcKey,
    ) -> Result<(), Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(()) };
        let others = other_servers(shared, &ProcessRow::all(&self.vault.snapshot()?)?);
        self.send_codes(shared, &others, &Keys::from([(name, vec![Arc::clone(key)])])).await
    }

    /// A part of each beat: sends all keys to servers that have joined, and removes messages that
    /// are no longer needed.
    pub(super) async fn exchange_codes(self, rows: &[ProcessRow]) -> Result<(), Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(()) };
        let others = other_servers(shared, rows);
        let ids: BTreeSet<Uuid> = others.iter().map(|row| row.id).collect();
        let is_server = self.vault.processes.own().role == ProcessRole::Server;
        let newcomers: Vec<_> = {
            let mut codes = self.codes();
            // A process that was counted out and comes back has missed messages.
            codes.greeted.retain(|id| ids.contains(id));
            codes.heard.retain(|id| ids.contains(id));
            others.into_iter().filter(|row| !codes.greeted.contains(&row.id)).collect()
        };
        if is_server && !newcomers.is_empty() {
            let mut keys = self.vault.cvcs().own_keys()?;
            for (name, more) in self.vault.received_cvc_keys.all() {
                keys.entry(name).or_default().extend(more);
            }
            self.send_codes(shared, &newcomers, &keys).await?;
            self.codes().greeted.extend(newcomers.iter().map(|row| row.id));
        }
        self.remove_messages(shared, rows).await
    }

    pub(in crate::app) fn receive_codes(self, snapshot: &Snapshot) -> Result<(), Error> {
        let Some(shared) = self.vault.store.shared() else { return Ok(()) };
        for message in CodeMessage::to(snapshot, shared.process().id())? {
            if self.codes().read.contains(&message.place) {
                continue;
            }
            // A message that does not open is from a stranger, or came too late for its pair.
            if let Some((sender, keys)) = self.open_message(&message) {
                let now = tables::cvc_minute(self.vault.now());
                // The sender may not know yet that the tenant is being deleted, or was.
                let tenants = keys.iter().map(|((tenant, _), _)| *tenant).collect();
                let deleted = deleted(snapshot, tenants)?;
                let is_needed = |(tenant, minute): &CvcKeyName| {
                    *minute >= now
                        && !self.vault.store.is_closed(tenant)
                        && !deleted.contains(tenant)
                };
                for (name, key) in keys.into_iter().filter(|(name, _)| is_needed(name)) {
                    self.vault.received_cvc_keys.keep(name, key);
                }
                self.codes().heard.insert(sender);
            }
            self.codes().read.insert(message.place);
        }
        Ok(())
    }

    /// The other servers that have not sent their keys to this one.
    pub fn not_heard(self) -> Result<Vec<ListedProcess>, Error> {
        self.receive_codes(&self.vault.snapshot()?)?;
        let mut others = self.list()?;
        let codes = self.codes();
        others.retain(|it| !it.is_own && it.role == ProcessRole::Server);
        others.retain(|it| !codes.heard.contains(&it.id));
        Ok(others)
    }

    /// For this process's row.
    pub(super) fn sealed_public(self, shared: SharedRows<'_>) -> Vec<u8> {
        let process = shared.process();
        let mut codes = self.codes();
        codes.pairs.renew(process.age(), self.vault.random());
        let Some(pair) = codes.pairs.current() else { return Vec::new() };
        let system = self.vault.keys().system();
        system.cvcs().seal(
            &of_process(process.id().as_bytes()),
            &pair.public(),
            self.vault.random(),
        )
    }

    async fn send_codes(
        self,
        shared: SharedRows<'_>,
        recipients: &[ProcessRow],
        keys: &Keys,
    ) -> Result<(), Error> {
        let entries: Vec<_> =
            keys.iter().flat_map(|(name, all)| all.iter().map(move |key| (name, key))).collect();
        // A message without keys announces that the sender has none.
        let parts: Vec<_> = if entries.is_empty() {
            vec![entries.as_slice()]
        } else {
            entries.chunks(CODE_KEYS_PER_MESSAGE).collect()
        };
        // Rows that a stranger wrote get no keys.
        let publics = recipients.iter().filter_map(|row| Some((row.id, self.public_of(row)?)));
        let publics: Vec<_> = publics.collect();
        for part in parts.into_iter().filter(|_| !publics.is_empty()) {
            let message = |(id, public): &(Uuid, [u8; 32])| self.message(shared, *id, public, part);
            shared.send(publics.iter().map(message).collect::<Result<_, _>>()?).await?;
        }
        Ok(())
    }

    fn message(
        self,
        shared: SharedRows<'_>,
        recipient: Uuid,
        public: &[u8; 32],
        entries: &[(&CvcKeyName, &CvcKey)],
    ) -> Result<CodeMessage, Error> {
        let random = self.vault.random();
        let mut plain = Secret::new(Vec::with_capacity(entries.len().saturating_mul(ENTRY_BYTES)));
        for ((tenant, minute), key) in entries {
            let plain = plain.expose_mut();
            plain.extend(tenant);
            plain.extend(minute.to_be_bytes());
            plain.extend(key.expose());
        }
        let sent = KeyTransfer::send(public, plain.expose(), random).or(Err(Error::Internal(
            Fault::Impossible("the public key of a process is not valid"),
        )))?;
        let place = CodeMessage::place(recipient, shared.process().id(), random.bytes());
        let message = [sent.public.as_slice(), &sent.sealed].concat();
        let system = self.vault.keys().system();
        let sealed = system.cvcs().seal(&of_process(&place), &message, random);
        Ok(CodeMessage { place, sealed })
    }

    fn open_message(self, message: &CodeMessage) -> Option<(Uuid, Vec<(CvcKeyName, CvcKey)>)> {
        let (_, sender) = message.parties()?;
        let system = self.vault.keys().system();
        let opened = system.cvcs().open(&of_process(&message.place), &message.sealed).ok()?;
        let (public, sealed) = opened.expose().split_first_chunk()?;
        let sent = TransferMessage { public: *public, sealed: sealed.to_vec() };
        let codes = self.codes();
        let plain = codes.pairs.receive(&sent)?;
        let (entries, rest) = plain.expose().as_chunks::<ENTRY_BYTES>();
        let entries = entries.iter().map(entry).collect::<Option<_>>()?;
        rest.is_empty().then_some((sender, entries))
    }

    /// `None` unless the process itself sealed the public half.
    fn public_of(self, row: &ProcessRow) -> Option<[u8; 32]> {
        let system = self.vault.keys().system();
        let opened = system.cvcs().open(&of_process(row.id.as_bytes()), &row.code_key).ok()?;
        opened.expose().as_slice().try_into().ok()
    }

    /// Removes the messages that this process has read. The leader also removes messages to
    /// processes that have ended.
    async fn remove_messages(
        self,
        shared: SharedRows<'_>,
        rows: &[ProcessRow],
    ) -> Result<(), Error> {
        let mut places: Vec<_> = self.codes().read.iter().cloned().collect();
        if self.leads() {
            let is_live = |id: Uuid| rows.iter().any(|row| row.id == id);
            let all = CodeMessage::all(&self.vault.snapshot()?)?;
            let ended =
                all.into_iter().filter(|it| it.parties().is_none_or(|(to, _)| !is_live(to)));
            places.extend(ended.map(|it| it.place));
        }
        if !places.is_empty() {
            shared.remove(places.clone()).await?;
            let mut codes = self.codes();
            for place in &places {
                codes.read.remove(place);
            }
        }
        Ok(())
    }

    fn codes(&self) -> MutexGuard<'_, CodeExchange> {
        self.vault.processes.codes.lock()
    }
}

fn other_servers(shared: SharedRows<'_>, rows: &[ProcessRow]) -> Vec<ProcessRow> {
    let own = shared.process().id();
    let is_other = |row: &&ProcessRow| row.id != own && row.role == ProcessRole::Server;
    rows.iter().filter(is_other).cloned().collect()
}

const fn of_process(key: &[u8]) -> Identity<'_> {
    Identity { tenant: &[0; 16], table: Table::Processes.number(), key }
}

fn entry(bytes: &[u8; ENTRY_BYTES]) -> Option<(CvcKeyName, CvcKey)> {
    let (tenant, rest) = bytes.split_first_chunk::<16>()?;
    let (minute, key) = rest.split_first_chunk::<8>()?;
    Some(((*tenant, u64::from_be_bytes(*minute)), Arc::new(Secret::new(key.try_into().ok()?))))
}
