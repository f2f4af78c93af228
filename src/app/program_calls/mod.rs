//! Calls of tenants' programs: the rights of a call, its argument and its outcome. Reactors and code
//! transforms of proxies share them.

pub(in crate::app) mod gathered;
pub(in crate::app) mod identity;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use crate::app::Vault;
use crate::app::error::{Error, Fault};
use crate::app::fair_pool::Party;
use crate::app::outbound::{OutboundFailure, OutboundRequest, OutboundResponse};
use crate::app::program_calls::gathered::Gathered;
use crate::app::program_calls::identity::{ProgramIdentity, ProgramOwner, ProgramRights};
use crate::app::programs::{
    Contract, ProgramCall, ProgramHost, ProgramOutcome, ProgramState, Programs, SWITCHED_OFF, Stop,
    Thrown, VAULT_URL,
};
use crate::bounds::JSON_VALUES_MAX;
use crate::crypto::Sha256;
use crate::domain::application::ApplicationKind;
use crate::domain::hops::HopName;
use crate::domain::id::{ApplicationId, TenantId};
use crate::domain::json_count::count_values;
use crate::domain::key_text::KeyText;
use crate::domain::outside_json;
use crate::domain::program::{self, LineLevel, Runtime};
use crate::domain::proxy::Configuration;
use crate::domain::tenant::TenantKind;
use crate::secret::{Secret, SecretBuffer};
use crate::store::meta;

const UNREADABLE: &str =
    "The result of the program is nested too deeply, or a text in it is not valid Unicode.";

/// Makes the services of the vault for a call. The interface that programs call belongs to `http`.
pub trait ProgramHosts: Sync {
    /// Fails if too many programs wait for each other.
    fn host(&self, call: HostedCall) -> Result<Arc<dyn ProgramHost>, Error>;
}

/// A call for which a host is made.
#[derive(Debug)]
pub struct HostedCall {
    pub tenant: TenantId,
    /// The reactor or the proxy.
    pub owner: Uuid,
    /// `None` if the program has no rights of its own.
    pub identity: Option<Arc<ProgramIdentity>>,
    /// The lines that are kept.
    pub lines: Option<LineLevel>,
    /// Notes the values that the requests of the program open.
    pub gathered: Option<Arc<Gathered>>,
}

/// A call of a program that has no result.
#[derive(Debug)]
pub enum ProgramFailure {
    NotAProgram(Secret<String>),
    Stopped(Stop),
    Threw(Thrown),
    /// The result does not have the form of the contract.
    Unusable(&'static str),
}

/// One call of a program of a tenant.
pub(in crate::app) struct ProgramJob<'a> {
    pub(in crate::app) tenant: TenantId,
    pub(in crate::app) tenant_kind: TenantKind,
    pub(in crate::app) party: Party,
    pub(in crate::app) owner: ProgramOwner,
    pub(in crate::app) code: &'a Secret<String>,
    pub(in crate::app) runtime: Option<&'a Runtime>,
    pub(in crate::app) application: Option<ApplicationId>,
    pub(in crate::app) configuration: &'a Configuration,
    /// JSON: `args` of the older contract, `req` or `res` of the newer one.
    pub(in crate::app) input: (&'static str, &'a Secret<Vec<u8>>),
    pub(in crate::app) timeout: Duration,
}

/// Ends the identity of a call, also if the call is dropped.
struct CallEnd(Option<Arc<ProgramIdentity>>);

impl Drop for CallEnd {
    fn drop(&mut self) {
        if let Some(identity) = &self.0 {
            identity.end();
        }
    }
}

pub(in crate::app) const fn contract(runtime: Option<&Runtime>) -> Contract {
    match runtime {
        Some(runtime) if runtime.image.is_node() => Contract::Node,
        Some(_) | None => Contract::Bt,
    }
}

impl Vault {
    /// Fails if no program can run here.
    pub(in crate::app) fn require_programs(&self) -> Result<&dyn Programs, Error> {
        let programs = self.programs.get().ok_or(Error::NoPrograms(SWITCHED_OFF))?;
        match programs.obstacle() {
            Some(why) => Err(Error::NoPrograms(why)),
            None => Ok(programs.as_ref()),
        }
    }

    /// The reason for which no program can run here.
    pub(in crate::app) fn program_obstacle(&self) -> Option<&'static str> {
        self.programs.get().map_or(Some(SWITCHED_OFF), |programs| programs.obstacle())
    }

    /// `None` outside of a server, such as in a command on a stopped vault.
    pub fn program_state(&self) -> Option<ProgramState> {
        self.programs.get().map(|programs| programs.state())
    }

    /// Returns the result of the program as JSON.
    pub(in crate::app) async fn run_program(
        &self,
        job: ProgramJob<'_>,
        hosts: &dyn ProgramHosts,
    ) -> Result<Result<Secret<Vec<u8>>, ProgramFailure>, Error> {
        let programs = self.require_programs()?;
        let identity = self.identity(&job).map(Arc::new);
        let _end = CallEnd(identity.clone());
        let lines = job.runtime.and_then(|runtime| runtime.lines);
        let (tenant, owner) = (job.tenant, job.owner.uuid());
        let (identity_of_call, gathered) = (identity.clone(), gathered::current());
        let call = HostedCall { tenant, owner, identity: identity_of_call, lines, gathered };
        let host = hosts.host(call)?;
        let key = identity.as_ref().map(|it| Secret::new(String::from(it.key())));
        let argument = argument(&job, key.as_ref());
        let call = ProgramCall {
            tenant: job.tenant,
            owner,
            credential: job.party.credential,
            code: Secret::new(job.code.expose().clone()),
            contract: contract(job.runtime),
            argument,
            key,
            timeout: job.timeout,
        };
        let outcome = match programs.run(call, Arc::clone(&host)).await? {
            ProgramOutcome::Returned(result) => Ok(result),
            ProgramOutcome::Threw(thrown) => Err(ProgramFailure::Threw(thrown)),
            ProgramOutcome::NotAProgram(why) => Err(ProgramFailure::NotAProgram(why)),
            ProgramOutcome::Stopped(stop) => Err(ProgramFailure::Stopped(stop)),
        };
        host.ended(outcome.as_ref().err());
        Ok(outcome)
    }

    /// The rights of the newer contract come from the runtime; an application that a request gave
    /// all the same counts, as the narrower of two statements of the tenant would not be clear.
    fn identity(&self, job: &ProgramJob<'_>) -> Option<ProgramIdentity> {
        let permissions = job.runtime.filter(|it| it.image.is_node()).map(|it| &it.permissions);
        let permissions = permissions.filter(|permissions| !permissions.is_empty());
        let rights = match (job.application, permissions) {
            (Some(application), _) => ProgramRights::Application(application),
            (None, Some(permissions)) => ProgramRights::Permissions(permissions.clone()),
            (None, None) => return None,
        };
        let random = self.random().bytes();
        let key = KeyText::new(job.tenant_kind, ApplicationKind::Private, &random);
        let credential = job.party.credential;
        Some(ProgramIdentity::new(key, job.tenant, job.owner, (rights, credential)))
    }

    /// The name of this vault on requests of programs. All its processes have the same one.
    pub fn hop_name(&self) -> Result<&HopName, Error> {
        if let Some(name) = self.hop_name.get() {
            return Ok(name);
        }
        let id = meta::file_id(&self.snapshot()?)?.ok_or(Error::Internal(Fault::Dangling))?;
        let mut digest = Sha256::new();
        digest.update(b"name on requests of programs");
        digest.update(id.as_bytes());
        Ok(self.hop_name.get_or_init(|| HopName::new(&digest.finish())))
    }

    /// Sends a request of a program to a destination outside.
    pub async fn send_for_program(
        &self,
        request: OutboundRequest,
    ) -> Result<OutboundResponse, OutboundFailure> {
        const NO_CLIENT: OutboundFailure =
            OutboundFailure::Unreachable("this server has no client for destinations");
        self.outbound.get().ok_or(NO_CLIENT)?.send(request).await
    }
}

/// The argument of the function, without the members that the worker adds.
fn argument(job: &ProgramJob<'_>, key: Option<&Secret<String>>) -> Secret<Vec<u8>> {
    let (name, input) = &job.input;
    let mut out = SecretBuffer::with_capacity(input.expose().len().saturating_add(1024));
    out.extend_all([b"{\"", name.as_bytes(), b"\":", input.expose()]);
    out.extend(b",\"configuration\":{");
    for (at, (name, value)) in job.configuration.0.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        text(&mut out, name);
        out.push(b':');
        text(&mut out, value.expose());
    }
    out.extend(b"},\"applicationOptions\":{\"apiKey\":");
    match key {
        Some(key) => text(&mut out, key.expose()),
        None => out.extend(b"null"),
    }
    out.extend_all([b",\"baseUrl\":\"", VAULT_URL.as_bytes(), b"\"}}"]);
    out.finish()
}

fn text(out: &mut SecretBuffer, text: &str) {
    // Writing into memory cannot fail.
    serde_json::to_writer(out, text).ok();
}

/// The result of a program as a tree of values. A tree takes many times the memory of its text, so
/// its values are counted first.
#[expect(clippy::result_large_err, reason = "one failure a call, which is not copied")]
pub fn read_result(result: &Secret<Vec<u8>>) -> Result<Secret<Value>, ProgramFailure> {
    if count_values(result.expose()) > JSON_VALUES_MAX {
        return Err(ProgramFailure::Stopped(Stop::ResultTooLarge));
    }
    outside_json::parse(result.expose()).ok_or(ProgramFailure::Unusable(UNREADABLE))
}

/// The deadline of a call.
pub(in crate::app) fn timeout(runtime: Option<&Runtime>, is_async: bool) -> Duration {
    if is_async { program::timeout_async(runtime) } else { program::timeout(runtime) }
}
