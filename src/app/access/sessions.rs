//! Sessions: a public application creates one, and a private application gives it rights.
//!
//! At every use, a session has the rights that it was given and that its grantor still has. It ends
//! at its expiry, or with either of the two API keys that created and authorized it: a key that is
//! deleted because it leaked leaves no session behind.

use crate::app::AccessControl;
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::records::{self, Record};
use crate::bounds::{SESSION_LIFE, SESSION_LIFE_MAX, SESSIONS_MAX};
use crate::crypto::Sha256;
use crate::domain::access::Access;
use crate::domain::application::{Application, ApplicationKind};
use crate::domain::audit::Act;
use crate::domain::base58;
use crate::domain::expires_at::parse_expiry;
use crate::domain::id::AccessSessionId;
use crate::domain::key_text::KeyText;
use crate::domain::mistakes::Mistakes;
use crate::domain::session::{Session, SessionGrant};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::tables::CountKind;

/// 22 base58 digits hold the nonce's 128 bits.
const NONCE_DIGITS: usize = 22;

/// Only the answer that creates the session shows its two texts.
#[derive(Debug)]
pub struct NewSession {
    pub text: KeyText,
    /// By this the private application names the session.
    pub nonce: Secret<String>,
    pub expires_at: Timestamp,
}

#[derive(Debug)]
pub struct SessionAuthorization {
    pub nonce: Secret<String>,
    pub access: Access,
    pub expires_at: Option<String>,
}

impl AccessControl<'_> {
    pub async fn create_session(self, caller: &Caller) -> Result<NewSession, Error> {
        caller.require_key_of(ApplicationKind::Public)?;
        let (now, tenant) = (self.vault.now(), caller.tenant.id);
        let text = KeyText::of_session(caller.tenant.kind, &self.vault.random().bytes());
        let nonce = self.vault.random().bytes::<16>();
        let nonce = Secret::new(base58::encode_padded(&nonce, NONCE_DIGITS));
        let session = Session {
            id: id_of_nonce(nonce.expose()),
            tenant,
            application: caller.application.id,
            made_with: caller.tag,
            key_hash: hash_of_key(&text),
            created_at: now,
            expires_at: now.plus(SESSION_LIFE),
            grant: None,
        };
        let created = || Subject::Session(&session, &caller.application.name);
        self.vault
            .commit(Priority::Normal, |snapshot| {
                let counted = (tenant, CountKind::Sessions);
                // Unauthorized sessions expire within minutes, so the caller may try again.
                let room =
                    records::require_counted_room(snapshot, counted, SESSIONS_MAX, Error::Busy)?;
                let change = self
                    .vault
                    .create_record(&caller.keys, &session)?
                    .and(self.vault.audit().caller_entry(caller, Act::Create, created(), now));
                Ok((change.and(room), ()))
            })
            .await?;
        Ok(NewSession { text, nonce, expires_at: session.expires_at })
    }

    pub async fn authorize_session(
        self,
        caller: &Caller,
        authorization: &SessionAuthorization,
        write: &Write<'_, ()>,
    ) -> Result<CommitOutcome<()>, Error> {
        caller.require_key_of(ApplicationKind::Private)?;
        let (now, _tenant) = (self.vault.now(), caller.tenant.id);
        let SessionAuthorization { nonce, access, expires_at } = authorization;
        let wanted = expires_at.as_deref().map(|text| life(text, now)).transpose()?;
        if !caller.application.access.covers(access) {
            return Err(Error::Forbidden(BEYOND));
        }
        let id = id_of_nonce(nonce.expose());
        let _turn = self.vault.lanes.take(id.bytes()).await?;
        self.vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (before, version): (Session, _) =
                    records::require(snapshot, &caller.keys, id, now)?;
                if before.grant.is_some() {
                    return Err(Error::Conflict("The session was authorized already."));
                }
                let mut session = before.clone();
                session.expires_at = wanted.unwrap_or(before.expires_at);
                session.grant = Some(SessionGrant {
                    grantor: caller.application.id,
                    authorized_with: caller.tag,
                    authorized_at: now,
                    access: access.clone(),
                });
                let owner: Option<(Application, _)> =
                    records::find(snapshot, &caller.keys, session.application)?;
                let name = owner.map(|(owner, _)| owner.name).unwrap_or_default();
                let subject = Subject::Session(&session, &name);
                let mut change = self
                    .vault
                    .replace_record(&caller.keys, &before.entries(&caller.keys), &session, version)?
                    .and(self.vault.audit().caller_entry(caller, Act::Authorize, subject, now));
                if access.reveals() {
                    let audit = self.vault.audit();
                    change = change.and(audit.caller_entry(caller, Act::GrantReveal, id, now));
                }
                Ok((change, ()))
            })
            .await
    }
}

const BEYOND: &str =
    "A session cannot get rights that the application of the API key does not have itself.";

fn life(text: &str, now: Timestamp) -> Result<Timestamp, Error> {
    let mistake = |message: &str| Error::Invalid(Mistakes::one("expires_at", message));
    let at = parse_expiry(text, now).map_err(|invalid| mistake(invalid.message()))?;
    if at > now.plus(SESSION_LIFE_MAX) {
        return Err(mistake("A session lasts at most 24 hours."));
    }
    Ok(at)
}

/// The id of a session is a part of the hash of its nonce. So the nonce finds the session without a
/// further row, and the id, which logs show, does not disclose the nonce.
fn id_of_nonce(nonce: &str) -> AccessSessionId {
    let hash = sha256(&[b"session nonce ", nonce.as_bytes()]);
    let half = hash.first_chunk::<16>().copied().unwrap_or_default();
    AccessSessionId::new(uuid::Builder::from_random_bytes(half).into_uuid())
}

pub(super) fn hash_of_key(text: &KeyText) -> [u8; 32] {
    sha256(&[text.expose().as_bytes()])
}

fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part);
    }
    digest.finish()
}
