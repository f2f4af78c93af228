//! The key that signs webhooks: made when the first webhook is created, sealed under the master
//! key, and replaced by an operator's command.

use std::sync::Arc;

use uuid::Uuid;

use crate::app::Webhooks;
use crate::app::blocking::run_blocking;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::keys::facts::KeyFacts;
use crate::app::keys::ring::identity;
use crate::crypto::{KeyPurpose, SystemKeys, WebhookKey};
use crate::domain::audit::{Act, Actor, Entity, EntityKind};
use crate::secret::Secret;
use crate::store::{Change, Row, Snapshot, Table, tables};

const SCOPE: [u8; 16] = SystemKeys::SCOPE;
const LANE: &[u8] = b"webhook key";

impl Webhooks<'_> {
    /// As PEM; `None` before the first webhook.
    pub fn public_key(self) -> Result<Option<String>, Error> {
        Ok(self.key()?.map(|key| key.public_pem()))
    }

    /// Receivers fetch the public key again when a signature does not verify. Returns the new
    /// public key.
    pub async fn rotate_key(self) -> Result<String, Error> {
        let _turn = self.vault.lanes.take(LANE).await?;
        let key = self.write_new_key(Actor::Operator, Act::Rotate).await?;
        Ok(key.public_pem())
    }

    pub(super) async fn make_key_once(self) -> Result<(), Error> {
        let _turn = self.vault.lanes.take(LANE).await?;
        if self.key()?.is_none() {
            self.write_new_key(Actor::System, Act::Create).await?;
        }
        Ok(())
    }

    /// The key, opened once.
    pub(super) fn key(self) -> Result<Option<Arc<WebhookKey>>, Error> {
        let known = self.vault.webhooks.key.read().clone();
        if known.is_some() {
            return Ok(known);
        }
        let snapshot = self.vault.snapshot()?;
        let Some((place, sealed)) = stored(&snapshot)?.pop() else { return Ok(None) };
        let master = self.vault.masters.of(&snapshot)?;
        let der = master.open(&identity(&SCOPE, &place), &sealed)?;
        Ok(Some(self.remember(&der)?))
    }

    fn remember(self, der: &Secret<Vec<u8>>) -> Result<Arc<WebhookKey>, Error> {
        let key = WebhookKey::from_pkcs8(der).ok_or(Error::Internal(Fault::BadRecord))?;
        let key = Arc::new(key);
        let mut known = self.vault.webhooks.key.write();
        *known = Some(Arc::clone(&key));
        Ok(key)
    }

    /// The caller holds the lane.
    async fn write_new_key(self, actor: Actor, act: Act) -> Result<Arc<WebhookKey>, Error> {
        let _permit = self.vault.operator_walks.permit().await?;
        let made = run_blocking(|| WebhookKey::generate(self.vault.random()));
        let der = made.ok_or(Error::Internal(Fault::Impossible("no RSA key was found")))?;
        let now = self.vault.now();
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let master = self.vault.masters.of(snapshot)?;
                let old = stored(snapshot)?;
                let newest = old.last().and_then(|(place, _)| tables::key_parts(place));
                let number = newest.map_or(0, |(_, number)| number).saturating_add(1);
                let place = tables::keys(&SCOPE, KeyPurpose::Webhook.code(), number);
                let sealed =
                    master.seal(&identity(&SCOPE, &place), der.expose(), self.vault.random());
                let made = KeyFacts { made_at: Some(now), destroyed_at: None };
                let mut change = Change::new()
                    .expect_absent(Table::Keys, place.clone())
                    .expect_value(
                        Table::Meta,
                        tables::meta::MASTER.to_vec(),
                        master.check().to_vec(),
                    )
                    .and(made.put(&place))
                    .put(Table::Keys, place, sealed);
                for (place, _) in old {
                    let made_at = KeyFacts::of(snapshot, &place)?.made_at;
                    let gone = KeyFacts { made_at, destroyed_at: Some(now) };
                    change = change.and(gone.put(&place)).delete(Table::Keys, place);
                }
                let (kind, id) = (EntityKind::EncryptionKey, Uuid::nil());
                let entity = Entity::numbered_key(kind, id, "webhook", number);
                Ok((change.and(self.vault.audit().server_entry(actor, act, entity)), ()))
            })
            .await?;
        self.remember(&der)
    }
}

/// Oldest first. There is at most one.
fn stored(snapshot: &Snapshot) -> Result<Vec<Row>, Error> {
    let range = tables::keys_of_purpose(&SCOPE, KeyPurpose::Webhook.code());
    Ok(snapshot.first(&range, usize::MAX)?)
}
