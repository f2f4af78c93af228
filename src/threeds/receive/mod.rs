//! Checks of answers and results against their request, and their effect on a session's
//! authentication.

use serde_json::Value;
use uuid::Uuid;

use crate::threeds::ProtocolVersion;
use crate::threeds::codes::{
    CancelReason, Category, ChallengePreference, ChallengeType, Channel, Reason, ResultsStatus,
    TransactionStatus, WhitelistSource, WhitelistStatus, YesNo,
};
use crate::threeds::message::{
    AcsRenderingType, Ares, AuthenticationValue, Erro, ErrorCode, Extensions, Flag, Rejection,
    Rreq, Rres, Text,
};
use crate::threeds::session::{AreqSummary, Authentication, ReturnedExtension};

pub fn check_ares(
    transaction: Uuid,
    sent: &AreqSummary,
    ares: &Ares,
) -> Result<TransactionStatus, Rejection> {
    same(ares.server_transaction == transaction)?;
    legal(ares.version == sent.version, "messageVersion")?;
    if sent.channel == Channel::App {
        there(ares.sdk_transaction.is_some() || sent.sdk_transaction.is_none(), "sdkTransID")?;
        same(ares.sdk_transaction == sent.sdk_transaction)?;
    }
    let is_payment = sent.category == Category::Payment;
    there(ares.status.is_some() || !is_payment, "transStatus")?;
    // Without a payment a directory server may leave the status out, which means that no
    // authentication took place.
    let status = ares.status.unwrap_or(TransactionStatus::Unavailable);
    check_allowed(sent, status)?;
    if is_payment {
        check_payment(status, ares.reason, ares.authentication_value.as_ref())?;
    }
    if status == TransactionStatus::Challenge {
        check_challenge(sent, ares)?;
    }
    if status == TransactionStatus::DecoupledChallenge {
        check_decoupled(ares)?;
    }
    let undertaken = ares.decoupled == Some(YesNo::Yes);
    legal(!undertaken || sent.decoupled == YesNo::Yes, "acsDecConInd")?;
    there(!undertaken || ares.cardholder_info.is_some(), "cardholderInfo")?;
    check_whitelist(ares.whitelist_status, ares.whitelist_source)?;
    Ok(status)
}

/// Some statuses are legal only for some requests.
fn check_allowed(sent: &AreqSummary, status: TransactionStatus) -> Result<(), Rejection> {
    use ChallengePreference::{
        NoChallengeDataSharingOnly, NoChallengeRiskAnalysisPerformed, NoChallengeStrongConsumerAuth,
    };
    let is_allowed = match status {
        TransactionStatus::Challenge => {
            sent.channel != Channel::Merchant && sent.preference != Some(NoChallengeDataSharingOnly)
        }
        TransactionStatus::DecoupledChallenge => sent.decoupled == YesNo::Yes,
        TransactionStatus::Informational => matches!(
            sent.preference,
            Some(
                NoChallengeDataSharingOnly
                    | NoChallengeRiskAnalysisPerformed
                    | NoChallengeStrongConsumerAuth
            )
        ),
        TransactionStatus::Successful
        | TransactionStatus::Attempted
        | TransactionStatus::Failed
        | TransactionStatus::Unavailable
        | TransactionStatus::Rejected => true,
    };
    legal(is_allowed, "transStatus")
}

fn check_payment(
    status: TransactionStatus,
    reason: Option<Reason>,
    value: Option<&AuthenticationValue>,
) -> Result<(), Rejection> {
    match status {
        TransactionStatus::Failed
        | TransactionStatus::Unavailable
        | TransactionStatus::Rejected => there(reason.is_some(), "transStatusReason"),
        TransactionStatus::Successful | TransactionStatus::Attempted => {
            there(value.is_some(), "authenticationValue")
        }
        TransactionStatus::Challenge
        | TransactionStatus::DecoupledChallenge
        | TransactionStatus::Informational => Ok(()),
    }
}

fn check_challenge(sent: &AreqSummary, ares: &Ares) -> Result<(), Rejection> {
    there(ares.challenge_mandated.is_some(), "acsChallengeMandated")?;
    there(ares.challenge_type.is_some(), "authenticationType")?;
    match sent.channel {
        Channel::Browser => there(ares.acs_url.is_some(), "acsURL"),
        Channel::App => {
            there(ares.acs_signed_content.is_some(), "acsSignedContent")?;
            there(ares.acs_rendering_type.is_some(), "acsRenderingType")
        }
        Channel::Merchant => Ok(()),
    }
}

fn check_decoupled(ares: &Ares) -> Result<(), Rejection> {
    there(ares.challenge_mandated.is_some(), "acsChallengeMandated")?;
    there(ares.challenge_type.is_some(), "authenticationType")?;
    legal(ares.challenge_type == Some(ChallengeType::Decoupled), "authenticationType")?;
    there(ares.decoupled.is_some(), "acsDecConInd")?;
    legal(ares.decoupled == Some(YesNo::Yes), "acsDecConInd")
}

fn check_whitelist(
    status: Option<WhitelistStatus>,
    source: Option<WhitelistSource>,
) -> Result<(), Rejection> {
    there(status.is_some() || source.is_none(), "whiteListStatus")?;
    there(source.is_some() || status.is_none(), "whiteListStatusSource")
}

/// Checks a result against the request and the answer before it.
pub fn check_rreq(
    sent: &AreqSummary,
    authentication: &Authentication,
    rreq: &Rreq,
) -> Result<TransactionStatus, Rejection> {
    same(rreq.acs_transaction == authentication.acs_transaction)?;
    same(rreq.ds_transaction == authentication.ds_transaction)?;
    legal(rreq.version == sent.version, "messageVersion")?;
    legal(rreq.category == sent.category, "messageCategory")?;
    if sent.channel == Channel::App {
        let optional = sent.version == ProtocolVersion::V210 || sent.sdk_transaction.is_none();
        there(rreq.sdk_transaction.is_some() || optional, "sdkTransID")?;
        same(rreq.sdk_transaction.is_none_or(|it| Some(it) == sent.sdk_transaction))?;
    }
    let is_payment = sent.category == Category::Payment;
    there(rreq.status.is_some() || !is_payment, "transStatus")?;
    let status = rreq.status.unwrap_or(TransactionStatus::Unavailable);
    legal(status.is_final(), "transStatus")?;
    if is_payment {
        check_payment(status, rreq.reason, rreq.authentication_value.as_ref())?;
    }
    let needs_type = matches!(status, TransactionStatus::Successful | TransactionStatus::Failed);
    there(rreq.challenge_type.is_some() || !needs_type, "authenticationType")?;
    let was_decoupled = authentication.directory_status == TransactionStatus::DecoupledChallenge;
    let counts = sent.channel != Channel::Merchant && !was_decoupled;
    there(rreq.interactions.is_some() || !counts, "interactionCounter")?;
    if rreq.reason == Some(Reason::TIMEOUT_AT_ACS) {
        there(rreq.cancel.is_some(), "challengeCancel")?;
        let timeouts = [CancelReason::AcsTimeout, CancelReason::AcsTimeoutRequestNotReceived];
        legal(rreq.cancel.is_some_and(|it| timeouts.contains(&it)), "challengeCancel")?;
    }
    check_whitelist(rreq.whitelist_status, rreq.whitelist_source)?;
    Ok(status)
}

/// Returns false if the `Erro` names another transaction.
pub fn concerns(erro: &Erro, authentication: &Authentication) -> bool {
    erro.acs_transaction.is_none_or(|it| it == authentication.acs_transaction)
        && erro.ds_transaction.is_none_or(|it| it == authentication.ds_transaction)
}

pub fn rres(rreq: &Rreq) -> Rres {
    let never_sent = rreq.cancel == Some(CancelReason::AcsTimeoutRequestNotReceived);
    Rres {
        version: rreq.version,
        server_transaction: rreq.server_transaction,
        acs_transaction: rreq.acs_transaction,
        ds_transaction: rreq.ds_transaction,
        sdk_transaction: rreq.sdk_transaction,
        results: if never_sent { ResultsStatus::NoChallengeSent } else { ResultsStatus::Received },
    }
}

impl Authentication {
    pub fn from_ares(ares: Ares, status: TransactionStatus, sent: &AreqSummary) -> Self {
        Self {
            version: ares.version,
            acs_transaction: ares.acs_transaction,
            ds_transaction: ares.ds_transaction,
            sdk_transaction: ares.sdk_transaction,
            acs_reference: owned(&ares.acs_reference),
            ds_reference: owned(&ares.ds_reference),
            acs_operator: ares.acs_operator.as_ref().map(owned),
            value: ares.authentication_value.map(|it| String::from(it.as_str())),
            status,
            directory_status: status,
            reason: ares.reason,
            eci: ares.eci.as_ref().map(owned),
            challenge_mandated: ares.challenge_mandated,
            challenge_type: ares.challenge_type,
            acs_url: ares.acs_url.as_ref().map(owned),
            acs_signed_content: ares.acs_signed_content.as_ref().map(owned),
            acs_rendering_type: ares.acs_rendering_type.as_ref().map(rendering),
            decoupled: ares.decoupled,
            preference: sent.preference,
            attempts: None,
            cancel: None,
            cardholder_info: ares.cardholder_info.as_ref().map(owned),
            whitelist_status: ares.whitelist_status,
            whitelist_source: ares.whitelist_source,
            extensions: returned(ares.extensions),
        }
    }

    /// Replaces the outcome of the answer by the result of the challenge.
    pub fn take_result(&mut self, rreq: Rreq, status: TransactionStatus) {
        self.status = status;
        self.reason = rreq.reason;
        self.value = rreq.authentication_value.map(|it| String::from(it.as_str()));
        self.eci = rreq.eci.as_ref().map(owned);
        self.challenge_type = rreq.challenge_type.or(self.challenge_type);
        self.attempts = rreq.interactions.map(|it| String::from(it.as_str()));
        self.cancel = rreq.cancel;
        self.whitelist_status = rreq.whitelist_status.or(self.whitelist_status);
        self.whitelist_source = rreq.whitelist_source.or(self.whitelist_source);
        let extensions = returned(rreq.extensions);
        if !extensions.is_empty() {
            self.extensions = extensions;
        }
    }

    /// Ends the authentication because its result cannot be delivered.
    pub fn give_up(&mut self) {
        // Version 2.1 has no reason for a technical failure.
        self.end(Reason::from_code("22", self.version));
    }

    /// Ends the authentication because no result arrived in time.
    pub fn run_out(&mut self) {
        self.end(self.silence());
    }

    fn end(&mut self, reason: Option<Reason>) {
        self.status = TransactionStatus::Unavailable;
        self.value = None;
        self.eci = None;
        self.reason = reason;
    }

    /// True if a result is too late because [`Authentication::run_out`] was applied.
    pub fn has_run_out(&self) -> bool {
        self.status == TransactionStatus::Unavailable
            && self.directory_status != TransactionStatus::Unavailable
            && self.attempts.is_none()
            && self.reason == self.silence()
    }

    /// The reason for a missing result.
    fn silence(&self) -> Option<Reason> {
        if self.directory_status == TransactionStatus::DecoupledChallenge {
            Reason::from_code("24", ProtocolVersion::V220)
        } else {
            Some(Reason::TIMEOUT_AT_ACS)
        }
    }
}

fn owned<const MAX: usize>(text: &Text<MAX>) -> String {
    String::from(text.as_str())
}

fn rendering(rendering: &AcsRenderingType) -> (String, String) {
    (owned(&rendering.interface), owned(&rendering.template))
}

/// Unwraps data that [`crate::threeds::mapping`] wrapped in an object.
fn returned(extensions: Option<Extensions>) -> Vec<ReturnedExtension> {
    let convert = |it: &crate::threeds::message::Extension| {
        let value = it.data.value();
        let inner = value.as_object().filter(|members| members.len() == 1);
        let wrapped = inner.and_then(|members| members.get("data")).filter(|it| it.is_string());
        ReturnedExtension {
            id: owned(&it.id),
            name: owned(&it.name),
            critical: it.critical == Flag::True,
            data: wrapped.cloned().unwrap_or_else(|| Value::clone(value)),
        }
    };
    extensions.map(|all| all.0.iter().map(convert).collect()).unwrap_or_default()
}

fn same(is_same: bool) -> Result<(), Rejection> {
    let unknown = || Rejection::new(ErrorCode::TransactionUnknown, "transaction ids");
    if is_same { Ok(()) } else { Err(unknown()) }
}

fn there(is_there: bool, name: &str) -> Result<(), Rejection> {
    if is_there { Ok(()) } else { Err(Rejection::new(ErrorCode::ElementMissing, name)) }
}

fn legal(is_legal: bool, name: &str) -> Result<(), Rejection> {
    if is_legal { Ok(()) } else { Err(Rejection::new(ErrorCode::FormatInvalid, name)) }
}

#[cfg(test)]
mod tests;
