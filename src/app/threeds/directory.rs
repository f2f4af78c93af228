//! The seam to the schemes' directory servers: a message goes out, bytes come back. The simulator
//! stands behind it for test tenants, the network for production tenants, and neither for the other.

use std::fmt::Debug;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use crate::app::access::authenticate::Caller;
use crate::app::error::{Error, Upstream};
use crate::app::threeds::ThreedsSessions;
use crate::app::threeds::create::Client;
use crate::crypto::Random;
use crate::domain::id::SessionId;
use crate::domain::tenant::TenantKind;
use crate::secret::Secret;
use crate::threeds::mapping::ServerIdentity;
use crate::threeds::scheme::Scheme;
use crate::threeds::simulator::{self, Drawn, Places, Simulated};

pub trait DirectoryServers: Debug + Send + Sync {
    /// Those that are asked for their card ranges.
    fn schemes(&self) -> Vec<Scheme>;

    /// Who we are to a scheme's directory server; `None` when none is configured.
    fn introduction(&self, scheme: Scheme) -> Option<Introduction>;

    /// Sends one message and returns the body of its answer.
    fn ask<'a>(
        &'a self,
        scheme: Scheme,
        message: &'a Secret<Vec<u8>>,
        awaited: Awaited,
    ) -> Asking<'a>;
}

pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Reply, Unanswered>> + Send + 'a>>;

/// What we tell a directory server about ourselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    pub reference: String,
    pub operator: Option<String>,
    /// Where results are to be sent.
    pub results_url: String,
    /// How browsers call us: `https://host`.
    pub base: String,
}

/// How large an answer may be, and how long it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    Message,
    Ranges,
}

#[derive(Debug)]
pub struct Reply {
    pub bytes: Secret<Vec<u8>>,
    /// What the built-in ACS remembers.
    pub simulated: Option<Simulated>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// It did answer, in a way that is none.
    Broken(&'static str),
    NotConfigured,
    TimedOut,
    Unreachable(&'static str),
}

impl Unanswered {
    pub(super) fn upstream(self, scheme: Scheme, session: SessionId) -> Error {
        let (service_status, message, why) = match self {
            Self::NotConfigured => return not_configured(scheme, Some(session)),
            Self::Broken(why) => ("502", "The directory server's answer could not be read.", why),
            Self::TimedOut => {
                ("504", "The directory server did not answer in time.", "it was waited for")
            }
            Self::Unreachable(why) => ("502", "The directory server could not be reached.", why),
        };
        let name = scheme.display_name();
        Error::Upstream(Box::new(Upstream {
            service_status,
            session: Some(session),
            source: "Directory Server",
            message,
            detail: format!("{name}'s directory server: {why}. Create a new session to try again."),
        }))
    }
}

pub(super) fn not_configured(scheme: Scheme, session: Option<SessionId>) -> Error {
    let name = scheme.display_name();
    Error::Upstream(Box::new(Upstream {
        service_status: "503",
        session,
        source: "3DS Server",
        message: "No directory server is configured.",
        detail: format!(
            "A production tenant's cards are authenticated by the directory servers of their \
             schemes, and this server knows none of {name}."
        ),
    }))
}

impl ThreedsSessions<'_> {
    /// Who authenticates this caller's cards. A production tenant never reaches the simulator, a
    /// test tenant never reaches anything else.
    pub(super) fn directory_servers<'a>(
        &'a self,
        caller: &Caller,
        client: &'a Client,
    ) -> Arc<dyn DirectoryServers + 'a> {
        match caller.tenant.kind {
            TenantKind::Test => {
                Arc::new(Simulator { random: self.vault.random(), base: &client.base })
            }
            TenantKind::Production => self.network(),
        }
    }

    pub(super) fn network(self) -> Arc<dyn DirectoryServers> {
        self.vault.threeds.servers.get().cloned().unwrap_or_else(|| Arc::new(Nobody))
    }
}

impl Introduction {
    pub(super) fn identity(&self, session: SessionId) -> ServerIdentity {
        ServerIdentity {
            reference: self.reference.clone(),
            operator: self.operator.clone(),
            results_url: self.results_url.clone(),
            notification_url: format!(
                "{}/3ds/sessions/{session}/challenge-notification",
                self.base
            ),
        }
    }
}

/// No settings, no servers.
#[derive(Debug)]
struct Nobody;

impl DirectoryServers for Nobody {
    fn schemes(&self) -> Vec<Scheme> {
        Vec::new()
    }

    fn introduction(&self, _: Scheme) -> Option<Introduction> {
        None
    }

    fn ask<'a>(&'a self, _: Scheme, _: &'a Secret<Vec<u8>>, _: Awaited) -> Asking<'a> {
        Box::pin(ready(Err(Unanswered::NotConfigured)))
    }
}

/// The built-in directory server and ACS.
#[derive(Debug)]
struct Simulator<'s> {
    random: &'s Random,
    base: &'s str,
}

const SIMULATED_REFERENCE: &str = "STRONGROOM-3DSS";

impl DirectoryServers for Simulator<'_> {
    /// Its cards are a list of its own.
    fn schemes(&self) -> Vec<Scheme> {
        Vec::new()
    }

    fn introduction(&self, _: Scheme) -> Option<Introduction> {
        Some(Introduction {
            reference: String::from(SIMULATED_REFERENCE),
            operator: None,
            results_url: format!("{}/3ds/results", self.base),
            base: String::from(self.base),
        })
    }

    fn ask<'a>(&'a self, _: Scheme, message: &'a Secret<Vec<u8>>, _: Awaited) -> Asking<'a> {
        let random = || uuid::Builder::from_random_bytes(self.random.bytes()).into_uuid();
        let drawn = Drawn {
            acs_transaction: random(),
            ds_transaction: random(),
            proof: self.random.bytes(),
        };
        let places = Places { base: self.base };
        let (bytes, simulated) = simulator::answer(message.expose(), &drawn, &places);
        Box::pin(ready(Ok(Reply { bytes, simulated })))
    }
}
