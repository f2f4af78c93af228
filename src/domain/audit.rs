//! The entries of the audit chain: actor, action, resource, time and origin. They never hold a
//! sensitive value.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::id::{
    AccessSessionId, ApplicationId, ClientKeyId, KeyId, ProxyId, ReactorId, ReactorRequestId,
    SessionId, TenantId, TokenId, TokenIntentId, WebhookId,
};
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::words::words;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub actor: Actor,
    pub act: Act,
    pub entity: Entity,
    /// Absent for acts of the system, and for entries written before origins were recorded. The
    /// entries of a request share it.
    pub origin: Option<Arc<Origin>>,
    /// Present if the act is [`Act::Refuse`].
    pub refusals: Option<Box<Refusals>>,
}

/// Attempts that were refused for the same reason, recorded as one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusals {
    pub reason: RefusalReason,
    pub count: u64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    Application(ApplicationId),
    /// A cardholder's browser or an ACS, identified by a 3DS session and not by a key.
    Cardholder,
    /// A scheme's directory server, identified by a client certificate of the scheme's authority.
    DirectoryServer,
    /// The operator, who uses the command line on the server.
    Operator,
    /// A person at the console, without an API key. The entry's origin has the name.
    Person,
    /// The caller of a proxy that needs no API key and has no application.
    ProxyCaller,
    /// The server itself, for example when a token expires.
    System,
    /// An attempt that was refused before its application or user was known.
    Unknown,
}

/// The resource that was acted on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    pub kind: EntityKind,
    pub id: Uuid,
    /// The id that the caller chose for it, if any.
    pub name: Option<Box<str>>,
}

words! {
    pub enum Act:
        /// Its code in the file. Never change a code and never use one again.
        code -> u8 [from_code],
        /// Its name for people.
        shown -> &'static str
    {
        Create = "create", 1, "created";
        Read = "read", 2, "retrieved";
        Update = "update", 3, "updated";
        Delete = "delete", 4, "deleted";
        Expire = "expire", 5, "expired";
        ExpireCvc = "expire_cvc", 6, "lost its card verification code";
        Convert = "convert", 7, "converted";
        /// Its value was used elsewhere, for example in a 3DS request.
        Use = "use", 8, "used";
        Authenticate = "authenticate", 9, "authenticated";
        Import = "import", 10, "imported";
        Export = "export", 11, "exported";
        Backup = "backup", 12, "backed up";
        Restore = "restore", 13, "restored";
        Rotate = "rotate", 14, "rotated";
        Start = "start", 15, "started";
        Stop = "stop", 16, "stopped";
        /// An application or a key was created, or its rules were changed, and it may now see data in
        /// plain. Written in addition to the entry of the change.
        GrantReveal = "grant_reveal", 17, "may see data in plain";
        /// Attempts were refused: requests with 401 or 403, or commands of a user who may give none.
        Refuse = "refuse", 18, "refused";
        /// All tokens of a person were deleted. Written in addition to the entry of each token.
        Erase = "erase", 19, "erased";
        /// A request was sent out: through a proxy, or to a webhook as a test. A proxy that is not
        /// stored has the id zero.
        Invoke = "invoke", 24, "invoked";
        /// A backup was tried and is not there. It has the text of `Backup` and the outcome `failure`.
        BackupFailed = "backup", 25, "not backed up";
        /// An export failed after its entry was written. It has the text of `Export` and the outcome
        /// `failure`.
        ExportFailed = "export", 26, "not exported";
        /// A call through a proxy failed before it was sent, after expressions could read the
        /// configuration of the proxy. It has the text of `Invoke` and the outcome `failure`.
        InvokeFailed = "invoke", 27, "not invoked";
        /// A value was opened for a request that failed: a failure can depend on the value. It has
        /// the text of `Read` and the outcome `failure`.
        ReadFailed = "read", 28, "opened for a request that failed";
        /// The same, with the text of `Use`.
        UseFailed = "use", 29, "opened for a use that failed";
        /// A private application gave rights to a session.
        Authorize = "authorize", 20, "authorized";
        /// A person opened the console for a tenant, by the operator's sign-on.
        SignOn = "sign_on", 40, "opened in the console";
        /// A request deleted the code alone.
        DeleteCvc = "delete_cvc", 30, "lost its card verification code by a request";
        /// A call through a proxy used the code and was answered with success.
        UseCvc = "use_cvc", 31, "lost its card verification code after a use";
    }
}

words! {
    pub enum EntityKind:
        /// Its code in the file. Never change a code and never use one again.
        code -> u8 [from_code],
        /// Its name for people.
        shown -> &'static str
    {
        Application = "application", 1, "Application";
        ApplicationKey = "application_key", 2, "Application key";
        Tenant = "tenant", 3, "Tenant";
        ThreedsSession = "3ds_session", 4, "3DS session";
        Token = "token", 5, "Token";
        TokenIntent = "token_intent", 6, "Token intent";
        /// The server itself, which no tenant sees.
        AuditChain = "audit_chain", 7, "Audit chain";
        EncryptionKey = "encryption_key", 8, "Encryption key";
        Vault = "vault", 9, "Vault";
        MasterKey = "master_key", 10, "Master key";
        /// A person. The name is a keyed hash of what the person's tokens were found by.
        DataSubject = "data_subject", 18, "Data subject";
        Proxy = "proxy", 24, "Proxy";
        Reactor = "reactor", 26, "Reactor";
        /// The answer of a call of a reactor whose caller does not wait.
        ReactorResult = "reactor_result", 27, "Reactor result";
        /// A refused request. Its name is that of its route; it has no id.
        Request = "request", 17, "Request";
        Session = "session", 14, "Session";
        Webhook = "webhook", 16, "Webhook";
        ClientKey = "client_key", 15, "Client encryption key";
        /// The entries of a tenant, which were read. It has no id.
        Log = "log", 25, "Log";
    }
}

words! {
    pub enum RefusalReason:
        /// Its code in the file. Never change a code and never use one again.
        code -> u8 [from_code],
        /// Its name for people.
        shown -> &'static str
    {
        /// The request has no API key and needs one.
        NoKey = "no_key", 1, "without a key";
        /// The request has an API key that is unknown, deleted or expired.
        WrongKey = "wrong_key", 2, "with a wrong key";
        /// The API key is known and may not do this.
        NotAllowed = "not_allowed", 3, "without the right to do it";
        /// A user of the machine who is not the server's and not root used the operator's socket.
        OtherUser = "other_user", 4, "by a user who may give no commands";
        /// The request names a person of the console without the secret of the sign-on.
        WrongSecret = "wrong_secret", 5, "without the secret of the sign-on";
    }
}

/// The time at which a read may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditReads {
    /// After its entry is queued.
    Batched,
    /// After its entry is durable.
    Strict,
}

impl Act {
    pub const fn is_failure(self) -> bool {
        self.is_failed_try() || matches!(self, Self::Refuse)
    }

    /// The act of an entry about a value that was opened for a request that then failed.
    pub const fn failed(self) -> Self {
        if matches!(self, Self::Invoke) {
            Self::InvokeFailed
        } else if matches!(self, Self::Use) {
            Self::UseFailed
        } else {
            Self::ReadFailed
        }
    }

    /// True for the acts that share their text with the act that was tried.
    const fn is_failed_try(self) -> bool {
        matches!(
            self,
            Self::BackupFailed
                | Self::ExportFailed
                | Self::InvokeFailed
                | Self::ReadFailed
                | Self::UseFailed
        )
    }

    /// The texts without repetition: a failed act has the text of the act that was tried.
    pub fn texts() -> impl Iterator<Item = &'static str> {
        Self::ALL.into_iter().filter(|it| !it.is_failed_try()).map(Self::as_str)
    }
}

impl EntityKind {
    pub const OF_TENANTS: [Self; 15] = [
        Self::Application,
        Self::ApplicationKey,
        Self::ClientKey,
        Self::DataSubject,
        Self::Log,
        Self::Proxy,
        Self::Reactor,
        Self::ReactorResult,
        Self::Request,
        Self::Session,
        Self::ThreedsSession,
        Self::Tenant,
        Self::Token,
        Self::TokenIntent,
        Self::Webhook,
    ];
}

impl Entity {
    pub const fn new(kind: EntityKind, id: Uuid) -> Self {
        Self { kind, id, name: None }
    }

    /// The server itself, which has no id.
    pub const fn of_server(kind: EntityKind) -> Self {
        Self::new(kind, Uuid::nil())
    }

    /// A key, named by its owner and its number: `server key 2`. The id is the tenant's, or none.
    pub fn numbered_key(kind: EntityKind, id: Uuid, owner: &str, number: u32) -> Self {
        Self { kind, id, name: Some(format!("{owner} key {number}").into()) }
    }

    pub fn token(token: &Token) -> Self {
        let name = token.name.as_ref().map(|name| Box::from(name.as_str()));
        Self { kind: EntityKind::Token, id: token.id.uuid(), name }
    }

    /// The id that callers use.
    pub fn public_id(&self) -> String {
        self.name.as_deref().map_or_else(|| self.id.to_string(), String::from)
    }
}

macro_rules! from_ids {
    ($($id:ident $kind:ident;)+) => {$(
        impl From<$id> for Entity {
            fn from(id: $id) -> Self {
                Self::new(EntityKind::$kind, id.uuid())
            }
        }
    )+};
}

from_ids! {
    AccessSessionId Session;
    ClientKeyId ClientKey;
    ApplicationId Application;
    KeyId ApplicationKey;
    ProxyId Proxy;
    ReactorId Reactor;
    ReactorRequestId ReactorResult;
    SessionId ThreedsSession;
    TenantId Tenant;
    TokenId Token;
    TokenIntentId TokenIntent;
    WebhookId Webhook;
}

impl Actor {
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Application(_) => "application",
            Self::Cardholder => "cardholder",
            Self::DirectoryServer => "directory_server",
            Self::Operator => "operator",
            Self::Person => "person",
            Self::ProxyCaller => "proxy_caller",
            Self::System => "system",
            Self::Unknown => "unknown",
        }
    }

    pub const fn id(self) -> Option<ApplicationId> {
        if let Self::Application(id) = self { Some(id) } else { None }
    }
}

impl AuditEntry {
    /// An entry without an origin.
    pub const fn new(at: Timestamp, actor: Actor, act: Act, entity: Entity) -> Self {
        Self { at, actor, act, entity, origin: None, refusals: None }
    }

    /// An entry for refused attempts, written at `at`.
    pub fn of_refusals(
        at: Timestamp,
        actor: Actor,
        entity: Entity,
        origin: Option<Arc<Origin>>,
        refusals: Refusals,
    ) -> Self {
        Self { at, actor, act: Act::Refuse, entity, origin, refusals: Some(Box::new(refusals)) }
    }

    /// `failure` for refused attempts, for backups and exports that failed, and for requests that
    /// failed after they opened a value. All other entries record acts that took place.
    pub fn outcome(&self) -> &'static str {
        if self.act.is_failure() { "failure" } else { "success" }
    }

    /// A sentence, such as `Token retrieved` or `Request refused with a wrong key`.
    pub fn message(&self) -> String {
        let (kind, act) = (self.entity.kind.shown(), self.act.shown());
        match &self.refusals {
            None => format!("{kind} {act}"),
            Some(refusals) => format!("{kind} {act} {}", refusals.reason.shown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_and_texts_are_all_different() {
        assert_eq!(Act::ALL.map(|it| Act::from_code(it.code())), Act::ALL.map(Some));
        assert_eq!(
            EntityKind::ALL.map(|it| EntityKind::from_code(it.code())),
            EntityKind::ALL.map(Some)
        );
        assert_eq!(
            RefusalReason::ALL.map(|it| RefusalReason::from_code(it.code())),
            RefusalReason::ALL.map(Some)
        );
        assert_eq!(Act::texts().collect::<BTreeSet<_>>().len(), Act::texts().count());
        for act in Act::ALL {
            assert!(Act::texts().any(|text| text == act.as_str()), "{act:?}");
        }
    }
}
