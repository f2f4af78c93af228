//! `POST /3ds/sessions`.

use std::net::IpAddr;

use serde_json::{Map, Value};

use crate::app::ThreedsSessions;
use crate::app::audit::opened::Opened;
use crate::app::audit::subject::Subject;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::{Error, Upstream};
use crate::bounds::THREEDS_SESSION_MAX;
use crate::domain::audit::Act;
use crate::domain::card::iin::TestCard;
use crate::domain::id::SessionId;
use crate::domain::mistakes::Mistakes;
use crate::domain::tenant::TenantKind;
use crate::domain::webhook::EventKind;
use crate::threeds::scheme::Scheme;
use crate::threeds::session::{
    CardSource, Device, DeviceInfo, Enrolment, SessionKind, ThreedsSession, WebChallengeMode,
};
use crate::threeds::simulator::{self, EnrolmentError, SimulatorUrls};
use crate::threeds::state::{MethodState, SessionState};

#[derive(Debug, Default)]
pub struct SessionDraft {
    pub card: Option<CardSource>,
    pub kind: Option<SessionKind>,
    pub device: Option<Device>,
    pub device_info: DeviceInfo,
    pub web_challenge_mode: Option<WebChallengeMode>,
    pub metadata: Option<Map<String, Value>>,
    pub mistakes: Mistakes,
}

/// Properties of the browser that its request has, and the server's address as the client sees it.
#[derive(Debug, Clone)]
pub struct Client {
    /// `https://host`
    pub base: String,
    pub address: IpAddr,
    pub accept: Option<String>,
    pub user_agent: Option<String>,
}

/// The published SDK recognizes the failure by this text.
pub(super) const NO_SCHEME: &str = "The card was not supported by any card schemes";

impl ThreedsSessions<'_> {
    pub async fn create_session(
        self,
        caller: &Caller,
        draft: &SessionDraft,
        client: &Client,
        write: &Write<'_, ThreedsSession>,
    ) -> Result<CommitOutcome<ThreedsSession>, Error> {
        caller.require_threeds()?;
        draft.mistakes.clone().into_result()?;
        let now = self.vault.now();
        let id = SessionId::new(self.vault.next_id(now));
        let opened = Opened::by(self.vault, caller);
        let committed = self
            .vault
            .commit_write(Priority::Normal, write, |snapshot| {
                let (Some(source), Some(kind)) = (&draft.card, draft.kind) else {
                    return Err(Error::Invalid(draft.mistakes.clone()));
                };
                let held = self.card_of_session(snapshot, caller, source, now, &opened)?;
                let (scheme, mut enrolment, additional_brands) =
                    self.enrol(caller, held.card.number.expose(), client, id)?;
                let device = draft.device.filter(|_| kind == SessionKind::Customer);
                // Fingerprinting is for browsers. Apps get its URL too, but do not wait for it.
                if kind == SessionKind::Merchant {
                    enrolment.method_url = None;
                }
                let has_method = enrolment.method_url.is_some() && device != Some(Device::Mobile);
                let method = if has_method { MethodState::Pending } else { MethodState::Absent };
                let expires_at = held.expires_at.unwrap_or(now.plus(THREEDS_SESSION_MAX));
                let session = ThreedsSession {
                    id,
                    tenant: caller.tenant.id,
                    kind,
                    device,
                    device_info: device_info(draft, device, client),
                    card: source.clone(),
                    card_origin: held.origin,
                    scheme,
                    additional_brands,
                    enrolment,
                    web_challenge_mode: draft
                        .web_challenge_mode
                        .unwrap_or(WebChallengeMode::Iframe),
                    metadata: draft.metadata.clone(),
                    expires_at,
                    kept_until: now.plus(self.session_retention()),
                    created_by: caller.application.id,
                    created_at: now,
                    modified_by: None,
                    modified_at: None,
                    state: SessionState::Created { method, expires_at },
                    waits_until: None,
                    method_outcome: None,
                    sent: None,
                    authentication: None,
                    simulated: None,
                };
                let created = Subject::Threeds(&session, Some(EventKind::ThreedsSessionCreated));
                let acts =
                    [caller.did(Act::Use, held.entity, now), caller.did(Act::Create, created, now)];
                let change = self
                    .create_session_rows(&caller.keys, &session)?
                    .and(held.expectation)
                    .and(self.vault.audit().acts(session.tenant, &acts));
                Ok((change, session))
            })
            .await;
        opened.settle(committed).await
    }

    /// The card's scheme, the data for its authentication, and its additional brands.
    fn enrol(
        self,
        caller: &Caller,
        number: &str,
        client: &Client,
        id: SessionId,
    ) -> Result<(Scheme, Enrolment, Vec<String>), Error> {
        match caller.tenant.kind {
            TenantKind::Test => {
                let places = SimulatorUrls { base: &client.base };
                let (scheme, enrolment) =
                    simulator::enrol(number, &places).map_err(|why| not_enrolled(why, id))?;
                let additional = TestCard::of(number).and_then(|card| card.additional_brand);
                Ok((scheme, enrolment, additional.map(display_name).into_iter().collect()))
            }
            TenantKind::Production => {
                let (scheme, enrolment, others) = self.vault.card_ranges().enrol(number, id)?;
                let names = others.iter().map(|it| String::from(it.display_name()));
                Ok((scheme, enrolment, names.collect()))
            }
        }
    }
}

/// Fills in from the request the values that the SDK did not collect.
fn device_info(draft: &SessionDraft, device: Option<Device>, client: &Client) -> DeviceInfo {
    let mut collected = draft.device_info.clone();
    if device == Some(Device::Browser) {
        let accept = collected.browser_accept_header.take();
        collected.browser_accept_header = accept.or_else(|| client.accept.clone());
        let agent = collected.browser_user_agent.take();
        collected.browser_user_agent = agent.or_else(|| client.user_agent.clone());
        let address = collected.browser_ip.take();
        collected.browser_ip = address.or_else(|| Some(client.address.to_canonical().to_string()));
    }
    collected
}

fn not_enrolled(why: EnrolmentError, session: SessionId) -> Error {
    match why {
        EnrolmentError::UnknownCard => {
            Error::invalid(NO_SCHEME, "No scheme's directory server knows the card.")
        }
        EnrolmentError::ServerError => Error::Upstream(Box::new(Upstream {
            service_status: "500",
            session: Some(session),
            source: "3DS Server",
            message: "The 3DS server failed.",
            detail: String::from("The card selects a failing 3DS server."),
        })),
    }
}

/// `Cartes Bancaires` for `cartes-bancaires`.
fn display_name(brand: &str) -> String {
    let word = |word: &str| {
        let mut letters = word.chars();
        letters.next().map_or_else(String::new, |first| {
            first.to_uppercase().chain(letters).collect::<String>()
        })
    };
    brand.split('-').map(word).collect::<Vec<_>>().join(" ")
}
