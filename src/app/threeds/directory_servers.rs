//! The interface to the directory servers of the card schemes: send a message, get the bytes of its
//! answer.

use std::fmt::Debug;
use std::pin::Pin;

use crate::app::error::{Error, Upstream};
use crate::domain::id::SessionId;
use crate::secret::Secret;
use crate::threeds::scheme::Scheme;
use crate::threeds::simulator::SimulatedChallenge;

pub trait DirectoryServers: Debug + Send + Sync {
    /// The schemes whose card ranges are fetched.
    fn schemes(&self) -> Vec<Scheme>;

    /// `None` if no directory server is configured for the scheme.
    fn introduction(&self, scheme: Scheme) -> Option<Introduction>;

    /// Returns the body of the answer.
    fn ask<'a>(
        &'a self,
        scheme: Scheme,
        message: &'a Secret<Vec<u8>>,
        awaited: ResponseKind,
    ) -> Asking<'a>;
}

pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Reply, DirectoryFailure>> + Send + 'a>>;

/// The server's identity in messages to a directory server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    pub reference: String,
    pub operator: Option<String>,
    /// Directory servers send results to this URL.
    pub results_url: String,
    /// For browsers: `https://host`.
    pub base: String,
}

/// Decides the maximum size of an answer and its deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseKind {
    Message,
    Ranges,
}

#[derive(Debug)]
pub struct Reply {
    pub bytes: Secret<Vec<u8>>,
    /// The state of a challenge of the built-in ACS.
    pub simulated: Option<SimulatedChallenge>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryFailure {
    /// The server's answer is not usable.
    Broken(&'static str),
    NotConfigured,
    TimedOut,
    Unreachable(&'static str),
}

impl DirectoryFailure {
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
