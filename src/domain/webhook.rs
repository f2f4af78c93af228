//! Webhooks: their destinations, and the kinds of events.

use crate::domain::id::{ApplicationId, TenantId, WebhookId};
use crate::domain::time::Timestamp;
use crate::domain::words::words;

#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: WebhookId,
    pub tenant: TenantId,
    pub status: WebhookStatus,
    pub name: String,
    /// An https URL. Each delivery decides if the server may call it.
    pub url: String,
    /// In the order of [`EventKind`], without repetition, at least one.
    pub events: Vec<EventKind>,
    /// Stored and shown for set-up programs. This server sends no e-mail.
    pub notify_email: Option<String>,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
    /// The first failure since the last successful delivery.
    pub failing: Option<DeliveryFailure>,
    /// The time from which it has been disabled, by a caller or after three days of failures.
    pub disabled_at: Option<Timestamp>,
}

words! {
    pub enum WebhookStatus {
        Disabled = "disabled";
        Enabled = "enabled";
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeliveryFailure {
    pub at: Timestamp,
    pub reason: FailureReason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureReason {
    /// The connection broke, or the answer was not HTTP.
    Broken,
    /// The server may not call this destination.
    Refused,
    Status(u16),
    TimedOut,
    Unreachable,
}

/// Prints no URL: its path may hold a token of the receiver.
impl std::fmt::Debug for Webhook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Webhook({})", self.id)
    }
}

impl FailureReason {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Refused => "refused",
            Self::Status(_) => "status",
            Self::TimedOut => "timed_out",
            Self::Unreachable => "unreachable",
        }
    }

    pub const fn status(self) -> Option<u16> {
        match self {
            Self::Status(status) => Some(status),
            Self::Broken | Self::Refused | Self::TimedOut | Self::Unreachable => None,
        }
    }

    pub fn parse(name: &str, status: Option<u16>) -> Option<Self> {
        let silences = [Self::Broken, Self::Refused, Self::TimedOut, Self::Unreachable];
        let mut all = status.map(Self::Status).into_iter().chain(silences);
        all.find(|it| it.name() == name && it.status() == status)
    }

    /// True if the receiver did not answer at all: a delivery of another event would only wait too.
    pub const fn is_silence(self) -> bool {
        !matches!(self, Self::Status(_))
    }
}

words! {
    /// The kinds of events of the published interface, and one of this server's own. Some belong to
    /// features that this server does not have: webhooks may name them, and they are never sent.
    pub enum EventKind {
        ThreedsSessionCreated = "3ds.session.created";
        ThreedsSessionAuthenticated = "3ds.session.authenticated";
        ThreedsMethodCompleted = "3ds.session.method-completed";
        ThreedsChallengeCompleted = "3ds.session.challenge-completed";
        ThreedsChallengeResultRetrieved = "3ds.session.challenge-result-retrieved";
        ThreedsDecoupledChallenge = "3ds.session.decoupled-challenge-notification";
        AccountUpdaterJobCreated = "account-updater.job.created";
        AccountUpdaterJobCompleted = "account-updater.job.completed";
        AccountUpdaterJobFailed = "account-updater.job.failed";
        ApplicationCreated = "application.created";
        ApplicationUpdated = "application.updated";
        ApplicationDeleted = "application.deleted";
        ApplicationKeyCreated = "application.key.created";
        ApplicationKeyDeleted = "application.key.deleted";
        GooglePayCreated = "google-pay.created";
        GooglePayRetrieved = "google-pay.retrieved";
        GooglePayDeleted = "google-pay.deleted";
        /// One event for each request would make every request a write, so it is not sent.
        HttpRequest = "http.request";
        NetworkTokenCreated = "network-token.created";
        NetworkTokenUpdated = "network-token.updated";
        NetworkTokenDeleted = "network-token.deleted";
        ProxyCreated = "proxy.created";
        ProxyUpdated = "proxy.updated";
        ProxyDeleted = "proxy.deleted";
        ProxyInvoked = "proxy.invoked";
        ReactorCreated = "reactor.created";
        ReactorUpdated = "reactor.updated";
        ReactorDeleted = "reactor.deleted";
        ReactorInvoked = "reactor.invoked";
        ReactorCompleted = "reactor.completed";
        ReactorFailed = "reactor.failed";
        SessionCreated = "session.created";
        SessionAuthorized = "session.authorized";
        TenantCreated = "tenant.created";
        TenantUpdated = "tenant.updated";
        TenantDeleted = "tenant.deleted";
        TenantInvitationCreated = "tenant.invitation.created";
        TenantInvitationDeleted = "tenant.invitation.deleted";
        TenantInvitationResent = "tenant.invitation.resent";
        TenantInvitationAccepted = "tenant.invitation.accepted";
        TenantMemberCreated = "tenant.member.created";
        TenantMemberDeleted = "tenant.member.deleted";
        TokenCreated = "token.created";
        TokenRead = "token.read";
        TokenUpdated = "token.updated";
        TokenDeleted = "token.deleted";
        TokenExpired = "token.expired";
        TokenPropertyExpired = "token.property.expired";
        TokenIntentCreated = "token-intent.created";
        TokenIntentDeleted = "token-intent.deleted";
        TokenIntentConverted = "token-intent.converted";
        /// Sent to one webhook at the request of its owner. No webhook can subscribe to it.
        WebhookTest = "webhook.test";
    }
}

impl EventKind {
    /// The kinds that webhooks can subscribe to.
    pub fn published() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|kind| *kind != Self::WebhookTest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_parses_back_from_its_text() {
        for reason in [
            FailureReason::Broken,
            FailureReason::Refused,
            FailureReason::Status(503),
            FailureReason::TimedOut,
            FailureReason::Unreachable,
        ] {
            assert_eq!(FailureReason::parse(reason.name(), reason.status()), Some(reason));
        }
        assert_eq!(FailureReason::parse("status", None), None);
    }
}
