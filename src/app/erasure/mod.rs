//! Erasure of one person's data: deletes every token of a tenant that matches a criterion, with its
//! token intents and 3DS sessions, and signs a receipt.
//!
//! Tokens are found by the index that lists use. When no match is left, the erasure writes its
//! audit entry, then searches once more. If it finds a record, it deletes it and writes another
//! entry. So the receipt holds for every token, intent and session that was written before the
//! entry that it names. Programs may write matching records after that entry.

mod find;

use uuid::Uuid;

use crate::app::Vault;
use crate::app::audit::entry::AuditedAct;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::records::{self, Record};
use crate::app::tokens::rows;
use crate::bounds::{ERASURE_BATCH_MAX, ERASURE_PASSES_MAX, ERASURE_RECORDS_MAX};
use crate::crypto::TenantKeys;
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::domain::erasure::Criterion;
use crate::domain::id::{SessionId, TenantId, TokenId, TokenIntentId};
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_intent::TokenIntent;
use crate::store::chain::{AuditRow, Signers};
use crate::store::record::{ErasureReceipt, SignedErasure};
use crate::store::{Change, Snapshot, tables};
use crate::threeds::session::ThreedsSession;

use find::KnownCards;
pub use find::MatchingRecords;

const TOO_MANY: &str = "More records match than one erasure takes; use a criterion that one person \
                        has.";
const TOO_FAST: &str = "Programs create matching tokens faster than they are deleted; stop them \
                        first. What was deleted so far stays deleted.";

#[derive(Debug, Clone, Copy)]
pub struct Erasure<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl<'a> Erasure<'a> {
    pub const fn of(vault: &'a Vault) -> Self {
        Self { vault }
    }
}

#[derive(Debug, Default)]
struct Erased {
    tokens: Vec<Uuid>,
    intents: Vec<Uuid>,
    sessions: Vec<Uuid>,
    /// Identify the 3DS sessions of the tokens and intents.
    cards: KnownCards,
}

impl Erasure<'_> {
    /// Returns the signed receipt.
    pub async fn erase(
        self,
        tenant: TenantId,
        criterion: &Criterion,
    ) -> Result<SignedErasure, Error> {
        // A vault that cannot sign its chain cannot sign the receipt.
        if !self.vault.audit().may_sign()? {
            return Err(Error::Conflict("The audit chain is damaged; see audit verify."));
        }
        let found = self.find(tenant, criterion).await?;
        if found.count() > ERASURE_RECORDS_MAX {
            return Err(Error::Unprocessable(TOO_MANY));
        }
        let id = self.vault.next_id(self.vault.now());
        let mut erased = Erased::default();
        self.delete_all(tenant, criterion, found, &mut erased).await?;
        for _ in 0..ERASURE_PASSES_MAX {
            let found = self.find_again(tenant, criterion, &erased.cards).await?;
            if found.count() > 0 {
                self.delete_all(tenant, criterion, found, &mut erased).await?;
            } else if let Some(signed) = self.conclude(tenant, criterion, id, &mut erased).await? {
                // The log still has the records.
                self.vault.store.forget().await?;
                return Ok(signed);
            }
        }
        Err(Error::Conflict(TOO_FAST))
    }

    /// Writes the audit entry and signs the receipt. `None` if a search after the entry finds
    /// records, which may have been written before it; they are deleted.
    async fn conclude(
        self,
        tenant: TenantId,
        criterion: &Criterion,
        id: Uuid,
        erased: &mut Erased,
    ) -> Result<Option<SignedErasure>, Error> {
        let (at, hash) = self.write_entry(tenant, criterion, Act::Erase, id).await?;
        let late = self.find_again(tenant, criterion, &erased.cards).await?;
        if late.count() > 0 {
            self.delete_all(tenant, criterion, late, erased).await?;
            return Ok(None);
        }
        self.receipt(tenant, criterion, id, std::mem::take(erased), at, hash).map(Some)
    }

    async fn delete_all(
        self,
        tenant: TenantId,
        criterion: &Criterion,
        found: MatchingRecords,
        erased: &mut Erased,
    ) -> Result<(), Error> {
        for batch in found.sessions.chunks(ERASURE_BATCH_MAX) {
            let remove = |snapshot: &Snapshot, keys: &TenantKeys, id: &Uuid| {
                self.remove::<ThreedsSession>(snapshot, keys, SessionId::new(*id))
            };
            erased.sessions.extend(self.delete_batch(tenant, batch, remove).await?);
        }
        for batch in found.intents.chunks(ERASURE_BATCH_MAX) {
            let remove = |snapshot: &Snapshot, keys: &TenantKeys, id: &TokenIntentId| {
                self.remove::<TokenIntent>(snapshot, keys, *id)
            };
            let gone = self.delete_batch(tenant, batch, remove).await?;
            erased.cards.extend(&[], &gone, &found.numbers);
            erased.intents.extend(gone.iter().map(|id| id.uuid()));
        }
        for batch in found.tokens.chunks(ERASURE_BATCH_MAX) {
            let remove = |snapshot: &Snapshot, keys: &TenantKeys, (id, _): &(TokenId, String)| {
                self.remove_token(snapshot, keys, *id, criterion)
            };
            let gone = self.delete_batch(tenant, batch, remove).await?;
            erased.cards.extend(&gone, &[], &found.numbers);
            erased.tokens.extend(gone.iter().map(|(id, _)| id.uuid()));
        }
        Ok(())
    }

    /// Deletes the records for which `removal` returns a change, in one change.
    async fn delete_batch<I: Clone + Send + Sync>(
        self,
        tenant: TenantId,
        batch: &[I],
        removal: impl Fn(&Snapshot, &TenantKeys, &I) -> Result<Option<Change>, Error> + Sync,
    ) -> Result<Vec<I>, Error> {
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let (_, keys) = self.vault.access().tenant_with_keys(snapshot, tenant)?;
                let (mut change, mut gone) = (Change::new(), Vec::new());
                for record in batch {
                    if let Some(removal) = removal(snapshot, &keys, record)? {
                        change = change.and(removal);
                        gone.push(record.clone());
                    }
                }
                Ok((change, gone))
            })
            .await
    }

    /// As `DELETE /tokens/{id}`, unless the token no longer matches.
    fn remove_token(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        id: TokenId,
        criterion: &Criterion,
    ) -> Result<Option<Change>, Error> {
        let found = records::find::<Token>(snapshot, keys, id)?;
        let found = found.filter(|(token, _)| criterion.is_of_token(token));
        Ok(found.map(|(token, version)| {
            let change = records::expect(&token, version).and(rows::delete(&token, keys));
            change.and(self.deleted(keys.tenant(), &token))
        }))
    }

    fn remove<R: Record<Id: Into<Entity>>>(
        self,
        snapshot: &Snapshot,
        keys: &TenantKeys,
        id: R::Id,
    ) -> Result<Option<Change>, Error> {
        let found = records::find::<R>(snapshot, keys, id)?;
        Ok(found.map(|(record, version)| {
            let change = records::remove(keys, &record, version);
            change.and(self.deleted(keys.tenant(), id))
        }))
    }

    fn deleted<'s>(
        self,
        tenant: TenantId,
        subject: impl Into<crate::app::audit::subject::Subject<'s>>,
    ) -> Change {
        let at = self.vault.now();
        let deleted =
            AuditedAct { at, actor: Actor::Operator, act: Act::Delete, subject: subject.into() };
        self.vault.audit().acts(tenant, &[deleted])
    }

    /// Writes the audit entry of a search that deletes nothing. Returns the hash of the criterion.
    pub async fn note_search(
        self,
        tenant: TenantId,
        criterion: &Criterion,
    ) -> Result<String, Error> {
        let (_, hash) = self.write_entry(tenant, criterion, Act::Read, Uuid::nil()).await?;
        Ok(hash)
    }

    async fn write_entry(
        self,
        tenant: TenantId,
        criterion: &Criterion,
        act: Act,
        id: Uuid,
    ) -> Result<(Timestamp, String), Error> {
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let (_, keys) = self.vault.access().tenant_with_keys(snapshot, tenant)?;
                let hash = hash(&keys, criterion);
                let name = Some(Box::from(hash.as_str()));
                let person = Entity { kind: EntityKind::DataSubject, id, name };
                let audit = self.vault.audit();
                let entry = audit.entry(tenant, Actor::Operator, act, person, now);
                Ok((entry, (now, hash)))
            })
            .await
    }

    fn receipt(
        self,
        tenant: TenantId,
        criterion: &Criterion,
        id: Uuid,
        erased: Erased,
        at: Timestamp,
        hash: String,
    ) -> Result<SignedErasure, Error> {
        let snapshot = self.vault.snapshot()?;
        let missing = || Error::Internal(Fault::Dangling);
        let entry = self.number_of(&snapshot, tenant, id)?.ok_or_else(missing)?;
        let system = self.vault.keys().system();
        let receipt = ErasureReceipt {
            file: Signers::read(&snapshot)?.ok_or_else(missing)?.file,
            tenant: tenant.uuid(),
            erasure: id,
            criterion: String::from(criterion.kind()),
            hash,
            tokens: erased.tokens,
            token_intents: erased.intents,
            threeds_sessions: erased.sessions,
            at,
            entry,
            signer: system.signer(),
        };
        Ok(receipt.sign(system.signing()))
    }

    /// The number of the erasure's last entry, which is near the end of the chain.
    fn number_of(
        self,
        snapshot: &Snapshot,
        tenant: TenantId,
        id: Uuid,
    ) -> Result<Option<u64>, Error> {
        for row in snapshot.range_backwards(&tables::audit_of(tenant.bytes()))? {
            let (key, value) = row?;
            let row = AuditRow::decode(&key, &value).ok_or(Error::Internal(Fault::BadRecord))?;
            for (entry, number) in self.vault.audit().open_row(&row)?.iter().zip(row.sequence..) {
                if entry.act == Act::Erase && entry.entity.id == id {
                    return Ok(Some(number));
                }
            }
        }
        Ok(None)
    }
}

fn hash(keys: &TenantKeys, criterion: &Criterion) -> String {
    match criterion {
        // The plain fingerprint would let everyone who may create tokens confirm the card number.
        Criterion::Fingerprint(print) => {
            keys.fingerprint().fingerprint("erasure by fingerprint", print)
        }
        Criterion::Metadata(metadata) => {
            let text = Criterion::text_of_metadata(metadata);
            keys.fingerprint().fingerprint("erasure by metadata", &text)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::app::tests::{TestVault, everything};
    use crate::app::{TokenIntentDraft, Write};
    use crate::domain::access::Access;
    use crate::domain::permission::Permission;
    use crate::domain::token_type::TokenType;
    use crate::secret::Secret;
    use crate::store::tests::block_on;

    #[test]
    fn a_record_that_comes_between_the_last_look_and_the_entry_is_erased_too() {
        let TestVault { app, caller, .. } = TestVault::new();
        let tenant = caller.tenant.id;
        let mut rights = everything();
        rights.access = Access::new(vec![Permission::TokenIntentCreate], Vec::new());
        block_on(async {
            let access = app.access();
            let made = access.create_application(tenant, &rights, None, &Write::plain()).await;
            let caller = access.authenticate(&made.unwrap().outcome.1.unwrap().text).unwrap();
            let draft = TokenIntentDraft {
                kind: Some(TokenType::Card),
                data: Some(Secret::new(json!({"number": "4242424242424242"}))),
                ..TokenIntentDraft::default()
            };
            let made = app.token_intents(&caller).create(&draft, &Write::plain()).await.unwrap();
            let intent = made.outcome.intent;
            let criterion = Criterion::Fingerprint(intent.fingerprint);
            let (erasure, id) = (Erasure::of(&app), app.next_id(app.now()));
            let mut erased = Erased::default();
            let early = erasure.conclude(tenant, &criterion, id, &mut erased).await.unwrap();
            assert!(early.is_none(), "the intent was there before the entry");
            let signed = erasure.conclude(tenant, &criterion, id, &mut erased).await.unwrap();
            let receipt = signed.unwrap().receipt;
            assert_eq!(receipt.token_intents, [intent.id.uuid()]);
            let newest = erasure.number_of(&app.snapshot().unwrap(), tenant, id).unwrap();
            assert_eq!(Some(receipt.entry), newest);
        });
    }
}
