//! The rights of a call: the form in which it may use tokens, the expressions that may read its
//! values, and the failures that it may learn.

use serde_json::Value;

use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::program_calls::ProgramFailure;
use crate::app::programs::Thrown;
use crate::app::proxies::transforms::TransformFailure;
use crate::app::proxy_calls::invoke::Invocation;
use crate::app::proxy_calls::scope::GuardedValue;
use crate::app::tokens::references::Usage;
use crate::domain::application::ApplicationKind;
use crate::domain::condition::Target;
use crate::domain::container::Container;
use crate::domain::exposure::{Author, Computation, Operand, Output};
use crate::domain::permission::Permission;
use crate::secret::Secret;

const UNTRANSFORMED: &str = "A transform of the proxy failed.";

impl Invocation<'_> {
    /// For a value that is in no container.
    pub(super) fn computation(self, operand: Operand) -> Computation {
        let Some(caller) = self.caller else { return Computation::None };
        let grants = caller.grants(Target::unknown(&[Container::root()]));
        grants.computation(self.author(caller), Output::Destination, operand)
    }

    /// The author of the call's expressions. A proxy that needs no API key lends its application to
    /// everyone who has the proxy's key, and ignores API keys.
    fn author(self, caller: &Caller) -> Author {
        let is_open = self.proxy().is_some_and(|proxy| !proxy.settings.require_auth);
        if is_open { Author::Stranger } else { caller.author() }
    }

    pub(super) fn configuration(self) -> GuardedValue {
        let entries = self.proxy().into_iter().flat_map(|proxy| &proxy.settings.configuration.0);
        let entry = |(name, value): &(String, Secret<String>)| {
            (name.clone(), Value::from(value.expose().as_str()))
        };
        let value = Secret::new(Value::Object(entries.map(entry).collect()));
        GuardedValue { value, computation: self.computation(Operand::Configuration) }
    }

    /// The form in which this call may use tokens.
    ///
    /// A caller that chooses the destination could send the value of any token to itself, so it
    /// needs the right to use the token. The tenant chose the destination of a stored proxy, so the
    /// right to invoke proxies suffices, unless access rules limit the application to some
    /// containers. A session has only the rights that it was granted.
    pub(super) fn usage(self, caller: &Caller) -> Usage {
        let may_invoke = caller.require_one_somewhere(&[Permission::ProxyInvoke]).is_ok();
        let application = &caller.application;
        let is_free = caller.session.is_none()
            && application.kind == ApplicationKind::Private
            && application.access.rules().is_empty()
            && may_invoke;
        let author = self.author(caller);
        if self.proxy().is_some() && is_free {
            Usage::ByInvocation(author)
        } else {
            Usage::Plain(author)
        }
    }
}

impl TransformFailure {
    /// Replaces every reason that depends on values by one text, unless the caller may compute
    /// anything over the values of transforms.
    pub(super) fn shown_to(self, computation: Computation) -> Self {
        match self {
            Self::Failed(_)
            | Self::App(Error::Conflict(_) | Error::Forbidden(_) | Error::Invalid(_))
                if computation < Computation::Any =>
            {
                Self::Failed(UNTRANSFORMED)
            }
            // Errors of the published classes and responses are the tenant's own words. An error
            // that the program did not mean to show may quote a value.
            Self::Program(program)
                if computation < Computation::Any
                    && matches!(program.failure, ProgramFailure::Threw(Thrown::Other { .. })) =>
            {
                Self::Failed(UNTRANSFORMED)
            }
            failure @ (Self::Answered(_) | Self::App(_) | Self::Failed(_) | Self::Program(_)) => {
                failure
            }
        }
    }
}
