//! A 3-D Secure session: one card, one device, one authentication.

use serde_json::{Map, Value};
use uuid::Uuid;

use crate::domain::id::{ApplicationId, SessionId, TenantId};
use crate::domain::time::Timestamp;
use crate::domain::words::words;
use crate::threeds::codes::{
    AcsInformation, CancelReason, Category, ChallengePreference, ChallengeType, Channel,
    MethodOutcome, Reason, TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
};
use crate::threeds::simulator::SimulatedChallenge;
use crate::threeds::state::{MethodState, SessionState};
use crate::threeds::{NamedVersion, ProtocolVersion, Scheme};

#[derive(Debug, Clone)]
pub struct ThreedsSession {
    pub id: SessionId,
    pub tenant: TenantId,
    pub kind: SessionKind,
    pub device: Option<Device>,
    pub device_info: DeviceInfo,
    pub card: CardSource,
    pub card_origin: CardOrigin,
    pub scheme: Scheme,
    pub additional_brands: Vec<String>,
    pub enrolment: Enrolment,
    pub web_challenge_mode: WebChallengeMode,
    /// Data of the caller, returned unchanged.
    pub metadata: Option<Map<String, Value>>,
    pub expires_at: Timestamp,
    /// The record is deleted at this time.
    pub kept_until: Timestamp,
    pub created_by: ApplicationId,
    pub created_at: Timestamp,
    pub modified_by: Option<ApplicationId>,
    pub modified_at: Option<Timestamp>,
    pub state: SessionState,
    /// The time of the next timeout of the session.
    pub waits_until: Option<Timestamp>,
    /// The fingerprinting indicator of the request, after it was sent.
    pub method_outcome: Option<MethodOutcome>,
    pub sent: Option<AreqSummary>,
    pub authentication: Option<Authentication>,
    /// The state of the built-in ACS's challenge.
    pub simulated: Option<SimulatedChallenge>,
}

words! {
    pub enum SessionKind {
        /// The cardholder is present.
        Customer = "customer";
        /// The merchant asks without the cardholder.
        Merchant = "merchant";
    }
}

words! {
    pub enum Device {
        Browser = "browser";
        Mobile = "mobile";
    }
}

words! {
    /// The display of a challenge in the browser.
    pub enum WebChallengeMode {
        Iframe = "iframe";
        Redirect = "redirect";
    }
}

/// The source of the card, by the id that the caller gave. A session never contains the card
/// number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CardSource {
    /// The id of a token, under the deprecated member name.
    Pan(String),
    Token(String),
    TokenIntent(String),
}

/// The record that held the card when the session was made. When that record is deleted, its
/// sessions are found through this, since they hold data of the same person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardOrigin {
    /// The internal id of the token or of the intent.
    pub record: Uuid,
    pub fingerprint: String,
    /// A keyed hash of the card number. The fingerprints of an intent and of the token that it
    /// becomes may differ; this hash does not.
    pub number: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrolment {
    pub directory_server: String,
    pub acs_start: NamedVersion,
    pub acs_end: NamedVersion,
    pub ds_start: NamedVersion,
    pub ds_end: NamedVersion,
    pub method_url: Option<String>,
    pub acs_information: Vec<AcsInformation>,
}

/// Device data that the SDKs collect, with the names and meanings of the interface.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    pub browser_accept_header: Option<String>,
    pub browser_ip: Option<String>,
    pub browser_javascript_enabled: Option<bool>,
    pub browser_java_enabled: Option<bool>,
    pub browser_language: Option<String>,
    pub browser_color_depth: Option<String>,
    pub browser_screen_height: Option<String>,
    pub browser_screen_width: Option<String>,
    pub browser_tz: Option<String>,
    pub browser_user_agent: Option<String>,
    pub sdk_transaction_id: Option<String>,
    pub sdk_application_id: Option<String>,
    pub sdk_encryption_data: Option<String>,
    /// A string or an object, returned unchanged.
    pub sdk_ephemeral_public_key: Option<Value>,
    pub sdk_max_timeout: Option<String>,
    pub sdk_reference_number: Option<String>,
    pub sdk_interface: Option<String>,
    pub sdk_ui_types: Option<Vec<String>>,
}

/// The values of the sent `AReq` that its answers are checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AreqSummary {
    pub version: ProtocolVersion,
    pub channel: Channel,
    pub category: Category,
    pub preference: Option<ChallengePreference>,
    pub decoupled: YesNo,
    pub sdk_transaction: Option<Uuid>,
}

/// The outcome so far: from the answer, later from the challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    pub version: ProtocolVersion,
    pub acs_transaction: Uuid,
    pub ds_transaction: Uuid,
    pub sdk_transaction: Option<Uuid>,
    pub acs_reference: String,
    pub ds_reference: String,
    pub acs_operator: Option<String>,
    pub value: Option<String>,
    pub status: TransactionStatus,
    /// The status of the answer; a challenge does not change it.
    pub directory_status: TransactionStatus,
    pub reason: Option<Reason>,
    pub eci: Option<String>,
    pub challenge_mandated: Option<YesNo>,
    pub challenge_type: Option<ChallengeType>,
    pub acs_url: Option<String>,
    pub acs_signed_content: Option<String>,
    /// Interface and template.
    pub acs_rendering_type: Option<(String, String)>,
    pub decoupled: Option<YesNo>,
    pub preference: Option<ChallengePreference>,
    pub attempts: Option<String>,
    pub cancel: Option<CancelReason>,
    pub cardholder_info: Option<String>,
    pub whitelist_status: Option<WhitelistStatus>,
    pub whitelist_source: Option<WhitelistSource>,
    pub extensions: Vec<ReturnedExtension>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedExtension {
    pub id: String,
    pub name: String,
    pub critical: bool,
    pub data: Value,
}

impl DeviceInfo {
    /// Overwrites the members that `newer` has, and keeps the rest.
    pub fn take(&mut self, newer: &Self) {
        macro_rules! take {
            ($($member:ident),+ $(,)?) => {$(
                if newer.$member.is_some() {
                    self.$member.clone_from(&newer.$member);
                }
            )+};
        }
        take! {
            browser_accept_header, browser_ip, browser_javascript_enabled, browser_java_enabled,
            browser_language, browser_color_depth, browser_screen_height, browser_screen_width,
            browser_tz, browser_user_agent, sdk_transaction_id, sdk_application_id,
            sdk_encryption_data, sdk_ephemeral_public_key, sdk_max_timeout, sdk_reference_number,
            sdk_interface, sdk_ui_types,
        }
    }
}

impl Device {
    /// The SDKs send `app` for a mobile device.
    pub fn parse_sent(text: &str) -> Option<Self> {
        if text == "app" { Some(Self::Mobile) } else { Self::parse(text) }
    }
}

impl Enrolment {
    /// The versions that 3DS server, directory server and ACS support, oldest first.
    pub fn available(&self) -> Vec<ProtocolVersion> {
        let start = self.acs_start.max(self.ds_start);
        let end = self.acs_end.min(self.ds_end);
        let spoken = |version: &ProtocolVersion| (start..=end).contains(&(*version).into());
        ProtocolVersion::ALL.into_iter().filter(spoken).collect()
    }

    pub fn recommended(&self) -> Option<ProtocolVersion> {
        self.available().into_iter().max()
    }
}

impl ThreedsSession {
    pub const fn channel(&self) -> Channel {
        match (self.kind, self.device) {
            (SessionKind::Merchant, _) => Channel::Merchant,
            (SessionKind::Customer, Some(Device::Mobile)) => Channel::App,
            (SessionKind::Customer, Some(Device::Browser) | None) => Channel::Browser,
        }
    }

    /// The fingerprinting indicator of the request, as sent or as it would be sent now.
    pub const fn method_indicator(&self) -> MethodOutcome {
        match (self.method_outcome, self.state) {
            (Some(outcome), _) => outcome,
            (None, SessionState::Created { method: MethodState::Absent, .. }) => {
                MethodOutcome::Unavailable
            }
            (None, SessionState::Created { method: MethodState::Completed, .. }) => {
                MethodOutcome::Completed
            }
            (
                None,
                SessionState::Created { method: MethodState::Pending, .. }
                | SessionState::Requested
                | SessionState::Challenged { .. }
                | SessionState::Decoupled { .. }
                | SessionState::Decided
                | SessionState::Failed,
            ) => MethodOutcome::NotCompleted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(acs: [&str; 2], ds: [&str; 2], available: &[&str]) {
        let version = |text| NamedVersion::parse(text).unwrap();
        let enrolment = Enrolment {
            directory_server: String::new(),
            acs_start: version(acs[0]),
            acs_end: version(acs[1]),
            ds_start: version(ds[0]),
            ds_end: version(ds[1]),
            method_url: None,
            acs_information: Vec::new(),
        };
        let found: Vec<_> = enrolment.available().iter().map(|it| it.as_str()).collect();
        assert_eq!(found, available);
        assert_eq!(enrolment.recommended().map(ProtocolVersion::as_str), available.last().copied());
    }

    #[test]
    fn the_newest_version_that_all_speak_is_recommended() {
        check(["2.1.0", "2.2.0"], ["2.1.0", "2.2.0"], &["2.1.0", "2.2.0"]);
        check(["2.1.0", "2.1.0"], ["2.1.0", "2.2.0"], &["2.1.0"]);
        check(["2.2.0", "2.2.0"], ["2.1.0", "2.2.0"], &["2.2.0"]);
        check(["2.1.0", "2.3.1"], ["2.2.0", "2.3.1"], &["2.2.0"]);
        check(["2.3.1", "2.3.1"], ["2.1.0", "2.3.1"], &[]);
        check(["2.2.0", "2.2.0"], ["2.1.0", "2.1.0"], &[]);
    }
}
