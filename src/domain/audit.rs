//! The entries of the audit chain: actor, action, resource, time and origin. They never hold a sensitive
//! value.

use std::sync::Arc;

use uuid::Uuid;

use crate::domain::id::{
    AccessSessionId, ApplicationId, ClientKeyId, KeyId, ProxyId, SessionId, TenantId, TokenId,
    TokenIntentId, WebhookId,
};
use crate::domain::origin::Origin;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub actor: Actor,
    pub act: Act,
    pub entity: Entity,
    /// Absent for acts of the system, and for entries from before origins were kept. The entries of
    /// a request share it.
    pub origin: Option<Arc<Origin>>,
    /// Present if the act is [`Act::Refuse`].
    pub refusals: Option<Box<Refusals>>,
}

/// Attempts that were refused for the same reason, and have one entry together.
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

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident $code:literal $text:literal $shown:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$of])* $variant),+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its code in the file. Never change a code and never use one again.
            pub const fn code(self) -> u8 {
                match self { $(Self::$variant => $code),+ }
            }

            pub const fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Its name for people.
            pub const fn shown(self) -> &'static str {
                match self { $(Self::$variant => $shown),+ }
            }
        }
    };
}

words! {
    /// The action.
    Act {
        Create 1 "create" "created";
        Read 2 "read" "retrieved";
        Update 3 "update" "updated";
        Delete 4 "delete" "deleted";
        Expire 5 "expire" "expired";
        ExpireCvc 6 "expire_cvc" "lost its card verification code";
        Convert 7 "convert" "converted";
        /// Its value was used elsewhere, for example in a 3DS request.
        Use 8 "use" "used";
        Authenticate 9 "authenticate" "authenticated";
        Import 10 "import" "imported";
        Export 11 "export" "exported";
        Backup 12 "backup" "backed up";
        Restore 13 "restore" "restored";
        Rotate 14 "rotate" "rotated";
        Start 15 "start" "started";
        Stop 16 "stop" "stopped";
        /// An application or a key was created, or its rules were changed, and it may now see data in
        /// plain. Written in addition to the entry of the change.
        GrantReveal 17 "grant_reveal" "may see data in plain";
        /// Attempts were refused: requests with 401 or 403, or commands of a user who may give none.
        Refuse 18 "refuse" "refused";
        /// All tokens of a person were deleted. Written in addition to the entry of each token.
        Erase 19 "erase" "erased";
        /// A request went through a proxy. A proxy that is not stored has the id zero.
        Invoke 24 "invoke" "invoked";
        /// A backup was tried and is not there. It has the text of `Backup` and the outcome `failure`.
        BackupFailed 25 "backup" "not backed up";
        /// An export failed after its entry was written. It has the text of `Export` and the outcome
        /// `failure`.
        ExportFailed 26 "export" "not exported";
        /// A private application gave rights to a session.
        Authorize 20 "authorize" "authorized";
    }
}

words! {
    /// The kind of the resource.
    EntityKind {
        Application 1 "application" "Application";
        ApplicationKey 2 "application_key" "Application key";
        Tenant 3 "tenant" "Tenant";
        ThreedsSession 4 "3ds_session" "3DS session";
        Token 5 "token" "Token";
        TokenIntent 6 "token_intent" "Token intent";
        /// The server itself, which no tenant sees.
        AuditChain 7 "audit_chain" "Audit chain";
        EncryptionKey 8 "encryption_key" "Encryption key";
        Vault 9 "vault" "Vault";
        MasterKey 10 "master_key" "Master key";
        /// A person. The name is a keyed hash of what the person's tokens were found by.
        DataSubject 18 "data_subject" "Data subject";
        Proxy 24 "proxy" "Proxy";
        /// A refused request. Its name is that of its route; it has no id.
        Request 17 "request" "Request";
        Session 14 "session" "Session";
        Webhook 16 "webhook" "Webhook";
        ClientKey 15 "client_key" "Client encryption key";
    }
}

words! {
    /// The reason of a refusal.
    RefusalReason {
        /// The request has no API key and needs one.
        NoKey 1 "no_key" "without a key";
        /// The request has an API key that is unknown, deleted or expired.
        WrongKey 2 "wrong_key" "with a wrong key";
        /// The API key is known and may not do this.
        NotAllowed 3 "not_allowed" "without the right to do it";
        /// A user of the machine who is not the server's and not root used the operator's socket.
        OtherUser 4 "other_user" "by a user who may give no commands";
    }
}

impl Act {
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::BackupFailed | Self::ExportFailed | Self::Refuse)
    }

    /// The texts, each once: an act that failed has the text of the one that was tried.
    pub fn texts() -> impl Iterator<Item = &'static str> {
        let failed = |it: &&Self| matches!(it, Self::BackupFailed | Self::ExportFailed);
        Self::ALL.iter().filter(move |it| !failed(it)).map(|it| it.as_str())
    }
}

impl EntityKind {
    /// The kinds of a tenant's resources.
    pub const OF_TENANTS: [Self; 12] = [
        Self::Application,
        Self::ApplicationKey,
        Self::ClientKey,
        Self::DataSubject,
        Self::Proxy,
        Self::Request,
        Self::Session,
        Self::ThreedsSession,
        Self::Tenant,
        Self::Token,
        Self::TokenIntent,
        Self::Webhook,
    ];
}

impl EntityKind {
    pub fn parse(text: &str) -> Option<Self> {
        (0..=u8::MAX).filter_map(Self::from_code).find(|kind| kind.as_str() == text)
    }
}

impl Entity {
    pub const fn new(kind: EntityKind, id: Uuid) -> Self {
        Self { kind, id, name: None }
    }

    /// The server itself, which has no id.
    pub const fn of_server(kind: EntityKind) -> Self {
        Self::new(kind, Uuid::nil())
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
            Self::ProxyCaller => "proxy_caller",
            Self::System => "system",
            Self::Unknown => "unknown",
        }
    }

    pub const fn id(self) -> Option<ApplicationId> {
        match self {
            Self::Application(id) => Some(id),
            Self::Cardholder
            | Self::DirectoryServer
            | Self::Operator
            | Self::ProxyCaller
            | Self::System
            | Self::Unknown => None,
        }
    }
}

impl AuditEntry {
    /// An entry without an origin.
    pub const fn new(at: Timestamp, actor: Actor, act: Act, entity: Entity) -> Self {
        Self { at, actor, act, entity, origin: None, refusals: None }
    }

    /// The entry of attempts that were refused, which is written at `at`.
    pub fn of_refusals(
        at: Timestamp,
        actor: Actor,
        entity: Entity,
        origin: Option<Arc<Origin>>,
        refusals: Refusals,
    ) -> Self {
        Self { at, actor, act: Act::Refuse, entity, origin, refusals: Some(Box::new(refusals)) }
    }

    /// `failure` for refused attempts, and for backups and exports that failed. All other entries are
    /// of acts that took place.
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
    fn codes_and_texts_lead_back_and_are_all_different() {
        for act in Act::ALL {
            assert_eq!(Act::from_code(act.code()), Some(*act));
        }
        for kind in EntityKind::ALL {
            assert_eq!(EntityKind::from_code(kind.code()), Some(*kind));
            assert_eq!(EntityKind::parse(kind.as_str()), Some(*kind));
        }
        for reason in RefusalReason::ALL {
            assert_eq!(RefusalReason::from_code(reason.code()), Some(*reason));
        }
        assert_eq!(Act::texts().collect::<BTreeSet<_>>().len(), Act::texts().count());
        for act in Act::ALL {
            assert!(Act::texts().any(|text| text == act.as_str()), "{act:?}");
        }
        let codes: BTreeSet<_> = Act::ALL.iter().map(|act| act.code()).collect();
        assert_eq!(codes.len(), Act::ALL.len());
        assert_eq!((Act::from_code(0), EntityKind::parse("card")), (None, None));
    }
}
