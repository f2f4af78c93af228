//! Reactors over HTTP.

use std::sync::Arc;

use uuid::Uuid;

use crate::app::{Error, InvocationKind, PreparedReaction, ResultState, originated};
use crate::domain::https_url::HttpsUrl;
use crate::domain::id::{ProxyId, ReactorId, ReactorRequestId};
use crate::domain::mistakes::Mistakes;
use crate::domain::origin::Origin;
use crate::domain::proxy::Proxy;
use crate::domain::reactor::Reactor;
use crate::http::origin::claimant;
use crate::http::path::AnyFormula;
use crate::http::program_state::lines::LineQuery;
use crate::http::programs::answer;
use crate::http::programs::finish::{Finished, finish};
use crate::http::programs::later::LaterCall;
use crate::http::programs::line_page::{self, ProgramLine};
use crate::http::programs::{Hosts, ProgramMark};
use crate::http::wire::answer::Answer as _;
use crate::http::wire::{Object, cursor};
use crate::http::{Answer, Exchange, Problem, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

const CALLBACK: &str = "The callback is an https URL.";
const NOT_FROM_PROGRAMS: &str = "A program cannot make calls that go on without it.";
const PENDING: &str = "The call has no result yet.";
const FORMULAS: &str = "Reactor formulas were removed from the published interface: create a \
                        reactor with the program in its member code, POST /reactors.";

/// The program has run when this fails: its failure is an answer of its own.
pub(in crate::http) async fn react(exchange: &Exchange<'_>, id: &ReactorId) -> WriteAnswer {
    match exchange.body.expose().get("callback_url").filter(|url| !url.is_null()) {
        Some(url) => {
            let url = url.as_str().and_then(HttpsUrl::parse_with_query);
            let url = url.ok_or_else(|| Mistakes::one("callback_url", CALLBACK))?;
            Box::pin(begin(exchange, *id, Some(url))).await
        }
        None => Box::pin(run(exchange, *id)).await,
    }
}

pub(in crate::http) async fn react_async(exchange: &Exchange<'_>, id: &ReactorId) -> WriteAnswer {
    Box::pin(begin(exchange, *id, None)).await
}

fn hosts(exchange: &Exchange<'_>) -> Result<Hosts, Error> {
    let (parts, trace) = (exchange.parts, exchange.context.trace.as_str());
    exchange.http.program_hosts(parts, exchange.address, trace, exchange.caller.credential())
}

/// True if a program sent the request.
fn is_of_program(exchange: &Exchange<'_>) -> bool {
    exchange.parts.extensions.get::<ProgramMark>().is_some()
}

/// Accepts a call whose caller does not wait, and starts it.
async fn begin(exchange: &Exchange<'_>, id: ReactorId, callback: Option<HttpsUrl>) -> WriteAnswer {
    // Otherwise a program could call itself for ever.
    if is_of_program(exchange) {
        return Err(Error::Forbidden(NOT_FROM_PROGRAMS).into());
    }
    let (caller, reactors) = (exchange.caller, exchange.app.reactors());
    let place = exchange.http.programs.pending.take(caller.party()).ok_or(Error::Busy)?;
    let kind = InvocationKind::Async(reactors.new_request());
    let hosts = hosts(exchange)?;
    let http = exchange.http.programs.http()?;
    let prepared = reactors.prepare(caller, id, exchange.body.expose(), kind).await?;
    let has_callback = callback.is_some();
    let render = |request: &ReactorRequestId| {
        let mut body = Object::new();
        // The published answer to a call with a callback is empty, which a client cannot parse.
        if !has_callback {
            body.display("asyncReactorRequestId", request);
        }
        RememberedAnswer::new(AnswerStatus::Accepted, body.close())
    };
    let accepted = reactors.accept(caller, &prepared, &exchange.write(&render)).await?;
    let call = LaterCall {
        http,
        caller: Arc::clone(exchange.shared_caller),
        prepared,
        hosts,
        callback,
        place,
    };
    let origin = Origin::of_request(Some(exchange.address), exchange.context.trace.as_str());
    exchange.http.programs.background.start(originated(Arc::new(origin), call.run()));
    Ok(Reply::from(accepted.answer))
}

pub(in crate::http) async fn read_result(
    exchange: &Exchange<'_>,
    id: &ReactorId,
    request: &ReactorRequestId,
) -> Answer {
    match exchange.app.reactors().result(exchange.caller, *id, *request).await? {
        ResultState::Answered(answer) => Ok(Reply::again(*answer)),
        ResultState::Lost => Ok(Reply::of_program(answer::lost())),
        // Published clients poll while they get 404.
        ResultState::Pending => Err(Problem::new(404, PENDING)),
    }
}

async fn run(exchange: &Exchange<'_>, id: ReactorId) -> WriteAnswer {
    let (app, caller, kind) = (exchange.app, exchange.caller, InvocationKind::Sync);
    let reactors = app.reactors();
    let hosts = hosts(exchange)?;
    // Checked before the program has effects: its answer must find room.
    exchange.http.answers.require_room(claimant(Some(caller), exchange.address))?;
    let prepared = reactors.prepare(caller, id, exchange.body.expose(), kind).await?;
    if let Some(guard) = &exchange.guard {
        app.idempotency().reserve(guard, prepared.timeout()).await?;
    }
    let reacted = match reactors.run(caller, &prepared, &hosts, prepared.timeout()).await {
        Ok(reacted) => reacted,
        Err(error) => {
            let (why, guard) = (answer::refused(&error), exchange.guard.as_ref());
            reactors.fail(caller, &prepared, why, guard).await;
            return Err(error.into());
        }
    };
    let finished = finish(app, caller, &prepared, reacted).await;
    tell(exchange, &prepared, &finished).await?;
    Ok(finished?.into_reply())
}

/// Remembers a result, not a failure: a repetition after a failure runs the program again.
async fn tell(
    exchange: &Exchange<'_>,
    prepared: &PreparedReaction,
    finished: &Result<Finished, Error>,
) -> Result<(), Error> {
    let (caller, reactors) = (exchange.caller, exchange.app.reactors());
    let failure = match finished {
        Ok(finished) if finished.failure().is_none() => {
            let render = |(): &()| finished.remembered(prepared);
            return reactors.finish(caller, prepared, &exchange.write(&render)).await;
        }
        Ok(finished) => finished.failure(),
        Err(error) => Some(answer::refused(error)),
    };
    if let Some(why) = failure {
        reactors.fail(caller, prepared, why, exchange.guard.as_ref()).await;
    }
    Ok(())
}

/// The lines of a reactor's programs. Reading them counts as reading the reactor.
pub(in crate::http) async fn list_reactor_logs(exchange: &Exchange<'_>, id: &ReactorId) -> Answer {
    let request = line_page::parse(&exchange.query)?;
    exchange.app.read_named::<Reactor>(exchange.caller, *id).await?;
    Ok(lines(exchange, id.uuid(), request))
}

/// The lines of a proxy's code transforms.
pub(in crate::http) async fn list_proxy_logs(exchange: &Exchange<'_>, id: &ProxyId) -> Answer {
    let request = line_page::parse(&exchange.query)?;
    exchange.app.read_named::<Proxy>(exchange.caller, *id).await?;
    Ok(lines(exchange, id.uuid(), request))
}

fn lines(exchange: &Exchange<'_>, owner: Uuid, (query, size): (LineQuery, usize)) -> Reply {
    let (tenant, lines) = (exchange.caller.tenant.id, &exchange.http.programs.lines);
    let (page, has_more) = lines.page(tenant, owner, &query, size);
    let next = page.last().filter(|_| has_more).map(|line| line.id.as_bytes().as_slice());
    let items: Vec<_> = page.iter().map(|line| ProgramLine::render(line)).collect();
    Reply::ok(cursor::render_page(size, next, &items))
}

pub(in crate::http) fn formulas() -> Answer {
    Err(Problem::new(410, FORMULAS))
}

pub(in crate::http) fn formula(_: &AnyFormula) -> Answer {
    formulas()
}
