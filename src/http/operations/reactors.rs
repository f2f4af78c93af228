//! Reactors over HTTP.

use serde_json::Value;

use crate::app::programs::Contract;
use crate::app::{Caller, Error, InvocationKind, PreparedReaction, Reacted, TokenizeOutcome, Vault, Write};
use crate::domain::id::ReactorId;
use crate::domain::reactor::{ProgramAnswer, Reactor};
use crate::http::path::AnyFormula;
use crate::http::programs::answer;
use crate::http::wire::tokenize;
use crate::http::wire::reactor::{self, ReactorDetail};
use crate::http::{Answer, Exchange, Problem, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::secret::Secret;

const FORMULAS: &str = "Reactor formulas were removed from the published interface: create a \
                        reactor with the program in its member code, POST /reactors.";

pub(in crate::http) async fn create_reactor(exchange: &Exchange<'_>) -> WriteAnswer {
    let settings = || reactor::parse(exchange.body.expose());
    // The mistakes of the body are reported before the limits of the tenant.
    settings()?;
    let answer = |new: &Reactor| {
        reactor::answer(new, AnswerStatus::Created).at(format!("/reactors/{}", new.id))
    };
    let (caller, write) = (exchange.caller, exchange.write(&answer));
    let made = exchange.app.reactors().create(caller, &settings, &write).await?;
    Ok(Reply::from(made.answer))
}

pub(in crate::http) async fn list_reactors(exchange: &Exchange<'_>) -> Answer {
    let (query, page) = reactor::parse_query(&exchange.query)?;
    let found = exchange.app.reactors().list(exchange.caller, &query).await?;
    let detail = ReactorDetail::of(exchange.caller);
    let items: Vec<_> = found.reactors.iter().map(|it| reactor::render(it, detail)).collect();
    Ok(Reply::ok(page.render(found.total, &items)))
}

pub(in crate::http) async fn read_reactor(exchange: &Exchange<'_>, id: &ReactorId) -> Answer {
    let found = exchange.app.reactors().read(exchange.caller, *id).await?;
    Ok(Reply::ok(reactor::render(&found, ReactorDetail::of(exchange.caller))))
}

pub(in crate::http) async fn replace_reactor(
    exchange: &Exchange<'_>,
    id: &ReactorId,
) -> WriteAnswer {
    let revise = |_: &Reactor| reactor::parse(exchange.body.expose());
    let answer = |changed: &Reactor| reactor::answer(changed, AnswerStatus::Ok);
    let (caller, write) = (exchange.caller, exchange.write(&answer));
    let changed = exchange.app.reactors().update(caller, *id, &revise, &write).await?;
    Ok(Reply::from(changed.answer))
}

pub(in crate::http) async fn patch_reactor(exchange: &Exchange<'_>, id: &ReactorId) -> Answer {
    let revise = |known: &Reactor| reactor::parse_patch(exchange.body.expose(), known);
    let answer = |_: &Reactor| RememberedAnswer::empty(AnswerStatus::Ok);
    let write = exchange.write(&answer);
    exchange.app.reactors().update(exchange.caller, *id, &revise, &write).await?;
    Ok(Reply::nothing())
}

pub(in crate::http) async fn delete_reactor(exchange: &Exchange<'_>, id: &ReactorId) -> Answer {
    exchange.app.reactors().delete(exchange.caller, *id).await?;
    Ok(Reply::nothing())
}

/// The program has run when this fails: its failure is an answer of its own.
pub(in crate::http) async fn react(exchange: &Exchange<'_>, id: &ReactorId) -> WriteAnswer {
    Box::pin(run(exchange, *id)).await
}

async fn run(exchange: &Exchange<'_>, id: ReactorId) -> WriteAnswer {
    let (app, caller, kind) = (exchange.app, exchange.caller, InvocationKind::Sync);
    let reactors = app.reactors();
    let hosts = exchange.hosts()?;
    let mut prepared = reactors.prepare(caller, id, exchange.body.expose(), kind).await?;
    let reacted = match reactors.run(caller, &mut prepared, &hosts).await {
        Ok(reacted) => reacted,
        Err(error) => {
            let why = Some(answer::refused(&error));
            reactors.finish(caller, &prepared, why, &Write::plain()).await;
            return Err(error.into());
        }
    };
    let finished = finish(app, caller, reacted).await;
    let (error, remembered) = match &finished {
        Ok(Finished::Result { value, tokens }) => (None, Some((value, tokens))),
        Ok(Finished::Own(_, error)) => (*error, None),
        Err(error) => (Some(answer::refused(error)), None),
    };
    tell(exchange, &prepared, error, remembered).await;
    Ok(finished?.into_reply())
}

/// Remembers a result, not a failure: a repetition after a failure runs the program again.
async fn tell(
    exchange: &Exchange<'_>,
    prepared: &PreparedReaction,
    error: Option<&'static str>,
    remembered: Option<(&Secret<Value>, &Option<TokenizeOutcome>)>,
) {
    let reactors = exchange.app.reactors();
    match remembered {
        Some((value, tokens)) => {
            let render = |(): &()| answer::bt_answer(value.expose(), tokens.as_ref());
            let write = exchange.write(&render);
            reactors.finish(exchange.caller, prepared, error, &write).await;
        }
        None => reactors.finish(exchange.caller, prepared, error, &Write::plain()).await,
    }
}

/// A call whose answer is decided.
pub(in crate::http) enum Finished {
    /// With the reason, if it is a failure.
    Own(ProgramAnswer, Option<&'static str>),
    /// A result of the older contract.
    Result { value: Secret<Value>, tokens: Option<TokenizeOutcome> },
}

impl Finished {
    fn into_reply(self) -> Reply {
        match self {
            Self::Own(answer, _) => Reply::of_program(answer),
            Self::Result { value, tokens } => {
                Reply::from(answer::bt_answer(value.expose(), tokens.as_ref()))
            }
        }
    }
}

/// Makes the tokens of the result, with the rights of the reactor's application, else of the
/// caller.
pub(in crate::http) async fn finish(
    app: &Vault,
    caller: &Caller,
    reacted: Reacted,
) -> Result<Finished, Error> {
    let Reacted { contract, result, maker } = reacted;
    let used = match (result, contract) {
        (Ok(result), Contract::Bt) => answer::bt_result(result.expose()).map(Ok),
        (Ok(result), Contract::Node) => answer::node_answer(result.expose()).map(Err),
        (Err(failure), _) => Err(failure),
    };
    let value = match used {
        Ok(Ok(value)) => value,
        Ok(Err(own)) => return Ok(Finished::Own(own, None)),
        Err(failure) => {
            let reason = Some(answer::reason(&failure));
            return Ok(Finished::Own(answer::failure(contract, &failure), reason));
        }
    };
    let tokens = match value.expose().get("tokenize").filter(|value| !value.is_null()) {
        Some(body) => {
            let maker = maker.as_deref().unwrap_or(caller);
            let draft = tokenize::parse(body);
            Some(app.tokens(maker).tokenize(draft, &Write::plain()).await?.outcome)
        }
        None => None,
    };
    Ok(Finished::Result { value, tokens })
}

pub(in crate::http) fn formulas() -> Answer {
    Err(Problem::new(410, FORMULAS))
}

pub(in crate::http) fn formula(_: &AnyFormula) -> Answer {
    formulas()
}
