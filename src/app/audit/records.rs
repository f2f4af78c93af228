//! `verify` compares the records with the audit chain. A record that the chain says was deleted
//! must not exist, and the live records must be those that the digests count.

use std::collections::{BTreeMap, HashSet};

use uuid::Uuid;

use crate::app::Audit;
use crate::app::error::Error;
use crate::app::findings::Report;
use crate::crypto::SystemKeys;
use crate::domain::audit::{Act, AuditEntry, EntityKind};
use crate::domain::id::{SessionId, TenantId, TokenId};
use crate::store::chain::{Checkpoint, RecordState, ShardState, ShardStates};
use crate::store::{RecordDigests, Shard, Snapshot, StorageFailure, Table, tables, whole_of};

/// Records that are in the file although their newest entry in the chain deleted or expired them.
/// Only such records are kept in memory; an intact file has none.
#[derive(Debug)]
pub(super) struct EndedRecords<'a> {
    snapshot: &'a Snapshot,
    keys: &'a HashSet<Uuid>,
    /// By kind and id: the number of the entry that ended the record, and the name of its act.
    found: BTreeMap<(&'static str, Uuid), (u64, &'static str)>,
    /// For each shard: the digests include all changes of records before this entry. Later entries
    /// must not add or remove records. `None` if the digests are missing.
    counted_up_to: Option<BTreeMap<Shard, u64>>,
    /// The first entry that adds or removes a record that is not in the digests.
    uncounted: Option<u64>,
}

impl<'a> EndedRecords<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        keys: &'a HashSet<Uuid>,
        digests: Option<RecordDigests>,
    ) -> Self {
        let counted_up_to = digests.map(|digests| {
            digests.shards().iter().map(|(shard, state)| (*shard, state.sequence)).collect()
        });
        Self { snapshot, keys, found: BTreeMap::new(), counted_up_to, uncounted: None }
    }

    /// Takes entries in chain order, so that the newest entry of a record decides.
    pub(super) fn take(
        &mut self,
        scope: &[u8; 16],
        number: u64,
        entry: &AuditEntry,
    ) -> Result<(), StorageFailure> {
        let kind = entry.entity.kind;
        let place = (kind.as_str(), entry.entity.id);
        let ends = match entry.act {
            Act::Delete | Act::Expire => true,
            Act::Convert => kind == EntityKind::TokenIntent,
            Act::Create | Act::Import => {
                self.found.remove(&place);
                self.note_uncounted(kind, number);
                return Ok(());
            }
            Act::Authenticate
            | Act::Authorize
            | Act::Backup
            | Act::BackupFailed
            | Act::DeleteCvc
            | Act::Erase
            | Act::ExpireCvc
            | Act::Export
            | Act::ExportFailed
            | Act::GrantReveal
            | Act::Invoke
            | Act::InvokeFailed
            | Act::Read
            | Act::ReadFailed
            | Act::Refuse
            | Act::Restore
            | Act::Rotate
            | Act::SignOn
            | Act::Start
            | Act::Stop
            | Act::Update
            | Act::Use
            | Act::UseCvc
            | Act::UseFailed => false,
        };
        if ends {
            self.note_uncounted(kind, number);
            if self.is_there(scope, kind, entry.entity.id)? {
                self.found.insert(place, (number, entry.act.shown()));
            }
        }
        Ok(())
    }

    /// The transaction that adds or removes a record also writes its entry and updates the digests.
    /// An entry that the digests do not include means that the records were rolled back.
    fn note_uncounted(&mut self, kind: EntityKind, number: u64) {
        let is_record = EntityKind::OF_TENANTS.contains(&kind);
        let is_uncounted = self.counted_up_to.as_ref().is_some_and(|ends| {
            let end = Shard::of_entry(number).and_then(|shard| ends.get(&shard));
            end.is_none_or(|end| number >= *end)
        });
        if is_record && is_uncounted {
            self.uncounted.get_or_insert(number);
        }
    }

    fn is_there(
        &self,
        scope: &[u8; 16],
        kind: EntityKind,
        id: Uuid,
    ) -> Result<bool, StorageFailure> {
        let table = match kind {
            EntityKind::Application => Table::Applications,
            EntityKind::ApplicationKey => return Ok(self.keys.contains(&id)),
            EntityKind::ClientKey => Table::ClientKeys,
            EntityKind::Proxy => Table::Proxies,
            EntityKind::Reactor => Table::Reactors,
            EntityKind::ReactorResult => Table::ReactorResults,
            EntityKind::Session => Table::Sessions,
            EntityKind::Tenant => Table::Tenants,
            EntityKind::ThreedsSession => Table::ThreedsSessions,
            EntityKind::Token => Table::Tokens,
            EntityKind::TokenIntent => Table::TokenIntents,
            EntityKind::Webhook => Table::Webhooks,
            EntityKind::AuditChain
            | EntityKind::DataSubject
            | EntityKind::EncryptionKey
            | EntityKind::Log
            | EntityKind::MasterKey
            | EntityKind::Request
            | EntityKind::Vault => return Ok(false),
        };
        let tenant = tables::tenant_of_scope(scope);
        let place = if table == Table::Tenants {
            tables::tenants(TenantId::new(id))
        } else if table == Table::ThreedsSessions {
            tables::threeds_sessions(tenant, SessionId::new(id))
        } else {
            // All other tables have keys of the same form.
            tables::tokens(tenant, TokenId::new(id))
        };
        Ok(self.snapshot.value(table, &place)?.is_some())
    }

    pub(super) fn report(self, report: &mut Report) {
        for ((kind, id), (number, act)) in self.found {
            report.find(format!(
                "{kind} {id}: entry {number} of the audit chain says that it was {act}, but its \
                 record is there"
            ));
        }
        if let Some(number) = self.uncounted {
            report.find(format!(
                "records: entry {number} of the audit chain records a change that their digest \
                 does not count: they were rolled back"
            ));
        }
    }
}

impl Audit<'_> {
    /// For the next checkpoint: all shards as one, and each. The defaults when a digest is missing.
    pub(super) fn record_states(
        self,
        snapshot: &Snapshot,
    ) -> Result<(RecordState, ShardStates), Error> {
        let system = self.vault.keys().system();
        let Some(shards) = RecordDigests::shards_of(snapshot, system.digests())? else {
            return Ok((RecordState::default(), ShardStates::default()));
        };
        let states = ShardStates::new(shards.iter().map(|(shard, it)| {
            let commitment = system.digests().commitment(&it.digest, it.generation);
            (*shard, ShardState { generation: it.generation, commitment })
        }));
        let count = u64::try_from(whole_of(&shards).count()).unwrap_or(0);
        Ok((states.whole(count), states))
    }

    /// The shards of which the newest checkpoint names a later state of the records than the file
    /// has, or a different state of the same generation.
    pub(in crate::app) fn rolled_back(self, snapshot: &Snapshot) -> Result<Vec<Shard>, Error> {
        let known = Checkpoint::newest_states(snapshot)?;
        let (_, now) = self.record_states(snapshot)?;
        Ok(known.rolled_back_in(&now).into_iter().map(|(shard, _)| shard).collect())
    }

    /// Compares the stored digests with the records and reports differences. Returns the stored
    /// digests, or `None` if they are missing or do not open.
    pub(super) fn verify_digests(
        self,
        snapshot: &Snapshot,
        report: &mut Report,
    ) -> Result<Option<RecordDigests>, Error> {
        let system = self.vault.keys().system();
        let Some(stored) = RecordDigests::read(snapshot, system.digests())? else {
            report.find(String::from("records: their digests are missing or do not open"));
            return Ok(None);
        };
        let counted = RecordDigests::count(snapshot, system.digests())?;
        let scopes: HashSet<_> =
            stored.scopes().chain(counted.scopes()).map(|(scope, _)| *scope).collect();
        let mut scopes: Vec<_> = scopes.into_iter().collect();
        scopes.sort_unstable();
        for scope in scopes {
            let (known, found) = (stored.of(&scope), counted.of(&scope));
            if known != found {
                let whose = match scope {
                    SystemKeys::SCOPE => String::from("server"),
                    _ => format!("tenant {}", TenantId::new(Uuid::from_bytes(scope))),
                };
                let (known, found) = (known.count(), found.count());
                report.find(format!(
                    "{whose}: {known} records were written, and {found} are there that are not all \
                     the same: a row was put back, removed or exchanged behind the server's back"
                ));
            }
        }
        if !stored.add_up() {
            let text = "records: the digests of the tenants do not add up to that of the vault: \
                        one was rolled back with its records";
            report.find(String::from(text));
        }
        for shard in self.rolled_back(snapshot)? {
            let whose = if shard == Shard::VAULT && stored.shards().len() == 1 {
                String::from("records")
            } else {
                format!("records of shard {}", shard.number())
            };
            report.find(format!(
                "{whose}: the newest checkpoint knows other or later ones: they were rolled back"
            ));
        }
        Ok(Some(stored))
    }
}
