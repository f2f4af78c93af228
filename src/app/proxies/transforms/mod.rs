//! Runs the transforms of a proxy, in the order of the list.
//!
//! Transforms of requests run after the caller's expressions are filled in. Transforms of answers
//! run on 2xx answers only. A transform that fails ends the call: its effect is never skipped,
//! since it may be the mask of a card number.

pub(in crate::app) mod code;
mod message;
mod tokenize;

use serde_json::{Map, Value};

use crate::app::Proxies;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::fair_pool::Party;
use crate::app::proxies::expressions::{Filling, Unfilled};
use crate::app::proxies::transforms::code::{CodeSite, FailedProgram, Program};
use crate::app::tokens::draft::TokenDraft;
use crate::bounds::{PROXY_MASK_STEPS_INLINE_MAX, PROXY_MASK_STEPS_MAX};
use crate::domain::pattern::Steps;
use crate::domain::proxy::Proxy;
use crate::domain::proxy::mask::mask;
use crate::domain::proxy::transform::{Matcher, Side, Transform, Transforms};
use crate::expressions::{Budget, Reference, Scope, ScopedValue};
use crate::secret::Secret;

pub use message::Message;

const TOO_MUCH_MASKING: &str = "A mask of the proxy takes too long for this answer.";

/// Inputs of transforms besides the message.
#[derive(Clone, Copy)]
pub(in crate::app) struct Surroundings<'a> {
    pub(in crate::app) party: Party,
    /// Shared by all expressions in the transforms of the call.
    pub(in crate::app) work: &'a Budget,
    /// Has `config`, `proxy` and `encrypted`.
    pub(in crate::app) scope: &'a (dyn Scope + Sync),
    /// Creates tokens: the proxy's application if it has one. A call without an API key may have
    /// none.
    pub(in crate::app) caller: Option<&'a Caller>,
    /// Parses the body of a create request, whose shape belongs to `http`.
    pub(in crate::app) draft: &'a (dyn Fn(&Value) -> TokenDraft + Sync),
    /// Runs programs.
    pub(in crate::app) code: Option<CodeSite<'a>>,
}

#[derive(Debug)]
pub enum TransformFailure {
    /// Not a failure: a program answers the request itself, with this `res`.
    Answered(Secret<Value>),
    App(Error),
    /// A sentence that quotes nothing.
    Failed(&'static str),
    Program(Box<FailedProgram>),
}

struct TransformScope<'a> {
    base: &'a (dyn Scope + Sync),
    /// The body of the destination's answer, if it is JSON.
    res: Option<&'a Value>,
    /// Tokens that transforms have created, by identifier.
    made: &'a Value,
}

impl Scope for TransformScope<'_> {
    fn variable(&self, name: &str) -> Option<ScopedValue<'_>> {
        match name {
            "res" => self.res.map(ScopedValue::open),
            "transform_identifier" => Some(ScopedValue::open(self.made)),
            other => self.base.variable(other),
        }
    }

    /// The options of transforms name no tokens.
    fn reference(&self, _: &Reference) -> Option<ScopedValue<'_>> {
        None
    }
}

struct Run<'a> {
    message: Message,
    res: Option<Secret<Value>>,
    made: Secret<Value>,
    /// The steps that are left for all masks.
    steps: Steps,
    around: Surroundings<'a>,
}

impl Proxies<'_> {
    /// The request as the destination gets it.
    pub(in crate::app) async fn transform_request(
        self,
        proxy: &Proxy,
        message: Message,
        around: Surroundings<'_>,
    ) -> Result<Message, TransformFailure> {
        let transforms = &proxy.settings.request_transforms;
        self.transform(proxy, (transforms, Side::Request, 0), message, None, around).await
    }

    /// The answer as the caller gets it. Answers other than 2xx are not changed.
    pub(in crate::app) async fn transform_response(
        self,
        proxy: &Proxy,
        status: u16,
        message: Message,
        around: Surroundings<'_>,
    ) -> Result<Message, TransformFailure> {
        let transforms = &proxy.settings.response_transforms;
        if transforms.is_empty() || !(200..300).contains(&status) {
            return Ok(message);
        }
        let res = if transforms
            .list()
            .iter()
            .all(|it| matches!(it, Transform::Mask { .. } | Transform::Code { .. }))
        {
            None
        } else {
            message.readable_json()?
        };
        self.transform(proxy, (transforms, Side::Response, status), message, res, around).await
    }

    async fn transform(
        self,
        proxy: &Proxy,
        (transforms, side, status): (&Transforms, Side, u16),
        message: Message,
        res: Option<Secret<Value>>,
        around: Surroundings<'_>,
    ) -> Result<Message, TransformFailure> {
        let made = Secret::new(Value::Object(Map::new()));
        let steps = Steps::new(PROXY_MASK_STEPS_MAX);
        let mut run = Run { message, res, made, steps, around };
        for transform in transforms.list() {
            match transform {
                Transform::AppendHeader { name, value } => {
                    let text = self.fill(&run, |filling| filling.text(value.expose())).await?;
                    run.message.set_header(name, text)?;
                }
                Transform::AppendJson { location, value } => {
                    let value = self.fill(&run, |filling| filling.value(value.expose())).await?;
                    run.message.set_member(location, value)?;
                }
                Transform::AppendText { value } => {
                    let text = self.fill(&run, |filling| filling.text(value.expose())).await?;
                    run.message.append_text(text.expose())?;
                }
                Transform::Code { code, runtime } => {
                    let program = Program { code, runtime: runtime.as_ref(), side, status };
                    let around = run.around;
                    Box::pin(self.run_code(proxy, program, &mut run.message, &around)).await?;
                }
                Transform::Mask { matcher, replacement } => {
                    let masked = self.mask(&mut run, matcher, *replacement).await?;
                    run.message.set_text(masked)?;
                }
                Transform::Tokenize { token, identifier } => {
                    let body = self.fill(&run, |filling| filling.token(token.expose())).await?;
                    let made = self.tokenize(&run.around, body.expose()).await?;
                    if let (Some(identifier), Value::Object(members)) =
                        (identifier, run.made.expose_mut())
                    {
                        members.insert(identifier.clone(), made);
                    }
                }
            }
        }
        Ok(run.message)
    }

    async fn fill<T>(
        self,
        run: &Run<'_>,
        mut fill: impl FnMut(Filling<'_>) -> Result<T, Unfilled>,
    ) -> Result<T, TransformFailure> {
        let scope = TransformScope {
            base: run.around.scope,
            res: run.res.as_ref().map(Secret::expose),
            made: run.made.expose(),
        };
        let vault = self.vault;
        let evaluate = |budget: &Budget| Ok(fill(Filling { scope: &scope, host: vault, budget }));
        let filled = vault.evaluating(run.around.party, run.around.work, evaluate).await?;
        filled.map_err(TransformFailure::Failed)
    }

    /// Starts on the thread of the request, as expressions do, and starts again on another thread
    /// if it takes long. There all masks of the call share their steps.
    async fn mask(
        self,
        run: &mut Run<'_>,
        matcher: &Matcher,
        replacement: char,
    ) -> Result<Secret<String>, TransformFailure> {
        let text = run.message.text()?;
        let masked = |steps: &mut Steps| mask(text, matcher, replacement, steps);
        if let Ok(masked) = masked(&mut Steps::new(PROXY_MASK_STEPS_INLINE_MAX)) {
            return Ok(masked);
        }
        let pool = &self.vault.evaluations.masks;
        let masked = pool.run(run.around.party, || masked(&mut run.steps)).await?;
        masked.ok().ok_or(TransformFailure::Failed(TOO_MUCH_MASKING))
    }
}

from_causes!(TransformFailure: Error => Self::App);

opaque_debug!(Surroundings<'_>);
