//! A call that ran, with the tokens of its result: the answer is decided.

use serde_json::Value;

use crate::app::programs::Contract;
use crate::app::{Caller, Error, PreparedReaction, Reacted, TokenizeOutcome, Vault, Write};
use crate::bounds::{PROGRAM_ANSWER_BYTES_MAX, REACTOR_RESULT_BYTES_MAX};
use crate::domain::reactor::ProgramAnswer;
use crate::http::Reply;
use crate::http::programs::answer;
use crate::http::wire::tokenize;
use crate::idempotency::{RememberedAnswer, Sources};
use crate::secret::Secret;

/// A call whose answer is decided.
pub(in crate::http) enum Finished {
    /// With the reason, if it is a failure.
    Own(ProgramAnswer, Option<&'static str>),
    /// A result of the older contract.
    Result { value: Secret<Value>, tokens: Option<TokenizeOutcome> },
}

impl Finished {
    /// The reason, if it is a failure.
    pub(in crate::http) const fn failure(&self) -> Option<&'static str> {
        match self {
            Self::Own(_, reason) => *reason,
            Self::Result { .. } => None,
        }
    }

    /// The answer to repetitions with the same idempotency key. One that takes more room than a
    /// stored result is not kept; the program does not run a second time all the same.
    pub(in crate::http) fn remembered(&self, prepared: &PreparedReaction) -> RememberedAnswer {
        let mut answer = match self {
            Self::Own(answer, _) => answer::remembered(answer),
            Self::Result { value, tokens } => answer::bt_answer(value.expose(), tokens.as_ref()),
        };
        let fits = answer.bytes() <= REACTOR_RESULT_BYTES_MAX;
        let Some(sources) = prepared.sources(&answer).filter(|_| fits) else {
            return answer::remembered(&answer::not_kept());
        };
        answer.sources = Some(sources).filter(Sources::bind);
        answer
    }

    pub(in crate::http) fn into_reply(self) -> Reply {
        match self {
            Self::Own(answer, _) => Reply::of_program(answer),
            Self::Result { value, tokens } => {
                Reply::from(answer::bt_answer(value.expose(), tokens.as_ref()))
            }
        }
    }
}

/// Makes the tokens of the result, with the rights of the reactor's application, else of the
/// caller. A success of the program ends the codes that it used, whatever becomes of its tokens.
pub(in crate::http) async fn finish(
    app: &Vault,
    caller: &Caller,
    prepared: &PreparedReaction,
    reacted: Reacted,
) -> Result<Finished, Error> {
    let Reacted { contract, result } = reacted;
    let used = match (result, contract) {
        (Ok(result), Contract::Bt) => answer::bt_result(&result).map(Ok),
        (Ok(result), Contract::Node) => answer::node_answer(&result).map(Err),
        (Err(failure), _) => Err(failure),
    };
    let is_success = used
        .as_ref()
        .is_ok_and(|used| used.as_ref().err().is_none_or(|own| (200..300).contains(&own.status)));
    if is_success {
        app.reactors().destroy_codes(caller, prepared).await;
    }
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
            match make(app, caller, prepared, body).await {
                Ok(made) => Some(made),
                // The caller would take "busy" for a call that has not run.
                Err(Error::Busy) => {
                    let reason = Some("the server was too busy to make the tokens");
                    return Ok(Finished::Own(answer::no_tokens(), reason));
                }
                Err(error) => return Err(error),
            }
        }
        None => None,
    };
    let bytes = answer::bt_answer(value.expose(), tokens.as_ref()).bytes();
    if bytes > PROGRAM_ANSWER_BYTES_MAX {
        return Ok(Finished::Own(answer::too_large(), Some("the answer is too large")));
    }
    Ok(Finished::Result { value, tokens })
}

async fn make(
    app: &Vault,
    caller: &Caller,
    prepared: &PreparedReaction,
    body: &Value,
) -> Result<TokenizeOutcome, Error> {
    let maker = app.reactors().maker(caller, prepared)?;
    let made = app.tokens(&maker).tokenize(tokenize::parse(body), &Write::plain()).await?;
    Ok(made.outcome)
}
