//! One call of a reactor: fill the arguments, audit, run the program.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::app::Reactors;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::program_calls::gathered::Gathered;
use crate::app::program_calls::identity::{ProgramOwner, tag_of};
use crate::app::program_calls::{ProgramFailure, ProgramHosts, ProgramJob, contract, timeout};
use crate::app::programs::Contract;
use crate::app::proxy_calls::arguments::{self, FilledArguments};
use crate::app::records;
use crate::bounds::ARGUMENTS_BYTES_MAX;
use crate::domain::id::{ReactorId, ReactorRequestId};
use crate::domain::reactor::Reactor;
use crate::domain::time::Timestamp;
use crate::idempotency::{RememberedAnswer, Sources};
use crate::secret::{Secret, SecretBuffer};

const NO_APPLICATION: &str = "The application of the reactor was deleted, so it makes no tokens.";
const NO_CALLER: &str = "The caller lost its access while the program ran, so it makes no tokens.";
const NO_REACTOR: &str = "The reactor was deleted while its program ran, so it makes no tokens.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvocationKind {
    Async(ReactorRequestId),
    Sync,
}

/// A call that is ready to run. Its arguments are filled and audited.
pub struct PreparedReaction {
    pub(super) reactor: Reactor,
    pub(super) kind: InvocationKind,
    pub(super) begun: Timestamp,
    input: FilledArguments,
    gathered: Arc<Gathered>,
}

/// A call that ran.
#[derive(Debug)]
pub struct Reacted {
    pub contract: Contract,
    /// JSON.
    pub result: Result<Secret<Vec<u8>>, ProgramFailure>,
}

impl PreparedReaction {
    /// The id of the result of a call whose caller does not wait.
    pub const fn request(&self) -> Option<ReactorRequestId> {
        match self.kind {
            InvocationKind::Async(id) => Some(id),
            InvocationKind::Sync => None,
        }
    }

    /// The tokens and intents whose values the program got, or `None` if there are too many to keep
    /// the answer with them.
    pub fn sources(&self, answer: &RememberedAnswer) -> Option<Sources> {
        self.gathered.sources(|word| answer.holds_word(word))
    }

    pub fn timeout(&self) -> Duration {
        timeout(self.reactor.settings.runtime.as_ref(), self.kind != InvocationKind::Sync)
    }
}

impl Reactors<'_> {
    /// Checks everything that can be refused before the program starts. `body` is the body of the
    /// request.
    pub async fn prepare(
        self,
        caller: &Caller,
        id: ReactorId,
        body: &Value,
        kind: InvocationKind,
    ) -> Result<PreparedReaction, Error> {
        let (snapshot, begun) = (self.vault.snapshot()?, self.vault.now());
        let (reactor, _): (Reactor, _) = records::require(&snapshot, &caller.keys, id, begun)?;
        drop(snapshot);
        // No value is opened for a program that cannot run.
        self.vault.require_programs()?;
        let input = match contract(reactor.settings.runtime.as_ref()) {
            Contract::Bt => body.get("args").unwrap_or(&Value::Null),
            Contract::Node => body,
        };
        let mut text = SecretBuffer::with_capacity(256);
        text.json(input);
        let gathered = Gathered::begin();
        let filled = arguments::fill(self.vault, caller, id, text.finish());
        let input = gathered.during(filled).await?;
        gathered.are_callers();
        if input.json.expose().len() > ARGUMENTS_BYTES_MAX {
            return Err(Error::invalid(
                "args",
                "The arguments are too large with the values in them.",
            ));
        }
        Ok(PreparedReaction { reactor, kind, begun, input, gathered })
    }

    /// Runs the program. It and its wait for a worker take at most this time.
    pub async fn run(
        self,
        caller: &Caller,
        prepared: &PreparedReaction,
        hosts: &dyn ProgramHosts,
        timeout: Duration,
    ) -> Result<Reacted, Error> {
        let settings = &prepared.reactor.settings;
        let runtime = settings.runtime.as_ref();
        let contract = contract(runtime);
        let name = match contract {
            Contract::Bt => "args",
            Contract::Node => "req",
        };
        let job = ProgramJob {
            tenant: caller.tenant.id,
            tenant_kind: caller.tenant.kind,
            party: caller.party(),
            owner: ProgramOwner::Reactor(prepared.reactor.id),
            code: &settings.code,
            runtime,
            application: settings.application,
            configuration: &settings.configuration,
            input: (name, &prepared.input.json),
            timeout,
        };
        let result = prepared.gathered.during(self.vault.run_program(job, hosts)).await?;
        Ok(Reacted { contract, result })
    }

    /// Destroys the codes in the arguments of a program that succeeded, if the tenant wants it. The
    /// program has had its effects, so a failure to write must not change the answer; the codes then
    /// end with their retention.
    pub async fn destroy_codes(self, caller: &Caller, prepared: &PreparedReaction) {
        self.vault.tokens(caller).destroy_used(&prepared.input.codes).await.ok();
    }

    /// The maker of the tokens of a result, with the rights that it has now: the application of the
    /// reactor, else the caller. Either may have been deleted while the program ran, and so may the
    /// reactor.
    pub fn maker(self, caller: &Caller, prepared: &PreparedReaction) -> Result<Arc<Caller>, Error> {
        let access = self.vault.access();
        let (tenant, id) = (caller.tenant.id, prepared.reactor.id);
        let again = access.authenticate_again(caller);
        if !ProgramOwner::Reactor(id).is_there(&self.vault.snapshot()?, tenant)? {
            return Err(Error::Forbidden(NO_REACTOR));
        }
        match prepared.reactor.settings.application {
            Some(application) => {
                let found = access.caller_without_key(tenant, application, tag_of(id))?;
                found.map(Arc::new).ok_or(Error::Forbidden(NO_APPLICATION))
            }
            None => match again {
                Err(Error::Unauthenticated) => Err(Error::Forbidden(NO_CALLER)),
                again => again,
            },
        }
    }
}

opaque_debug!(PreparedReaction);
