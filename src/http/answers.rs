//! The memory that large answers to reads take, of all requests together.
//!
//! An answer stays in memory until the client has read it, and a client may read slowly. A large
//! answer takes its bytes from one budget until it is written out or the connection ends. If the
//! budget has too few bytes left, the client gets a 503 instead. Answers to writes never do: a 503
//! would hide that the write has happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::Response;

use crate::bounds::{ANSWER_BYTES_FREE, ANSWERS_BYTES_MAX, ANSWERS_RETRY_AFTER_S};
use crate::http::problem::Problem;
use crate::http::reply::RequestContext;
use crate::secret::SecretBody;

const NO_MEMORY: &str = "The server has no memory for an answer of this size at the moment: other clients have not read theirs.";

/// The bytes that all large answers hold together.
#[derive(Debug, Clone, Default)]
pub struct Answers(Arc<AtomicUsize>);

/// One answer's part of the budget; dropping it gives the bytes back.
#[derive(Debug)]
struct AnswerShare {
    answers: Answers,
    held: usize,
}

impl Answers {
    /// `None` when there is no memory left. An answer that is alone may be of any size.
    fn share(&self, bytes: usize) -> Option<AnswerShare> {
        let held = if bytes <= ANSWER_BYTES_FREE { 0 } else { bytes };
        let more = |taken: usize| {
            let sum = taken.checked_add(held)?;
            (taken == 0 || sum <= ANSWERS_BYTES_MAX).then_some(sum)
        };
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| AnswerShare { answers: self.clone(), held })
    }
}

impl Drop for AnswerShare {
    fn drop(&mut self) {
        self.answers.0.fetch_sub(self.held, Ordering::Relaxed);
    }
}

impl Answers {
    /// Gives a large answer its share of the budget, or replaces it with a 503. The first answer to a
    /// write must not go through here.
    pub(super) fn hold(
        &self,
        context: &RequestContext,
        response: Response<SecretBody>,
    ) -> Response<SecretBody> {
        self.try_hold(response).unwrap_or_else(|problem| context.failure(&problem))
    }

    /// The same, with the problem instead of its answer.
    pub(super) fn try_hold(
        &self,
        response: Response<SecretBody>,
    ) -> Result<Response<SecretBody>, Problem> {
        let bytes = response.body().len();
        if bytes <= ANSWER_BYTES_FREE {
            return Ok(response);
        }
        match self.share(bytes) {
            Some(share) => Ok(response.map(|body| body.holding(share))),
            None => Err(Problem::retry(503, NO_MEMORY, ANSWERS_RETRY_AFTER_S)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_answers_share_a_budget_and_give_it_back() {
        let answers = Answers::default();
        let large = ANSWERS_BYTES_MAX / 2;
        let first = answers.share(large).unwrap();
        let second = answers.share(large).unwrap();
        assert!(answers.share(ANSWER_BYTES_FREE + 1).is_none());
        assert!(answers.share(ANSWER_BYTES_FREE).is_some(), "a small one needs none of it");
        drop(first);
        assert!(answers.share(large).is_some());
        drop(second);
        let alone = answers.share(2 * ANSWERS_BYTES_MAX).unwrap();
        assert!(answers.share(large).is_none());
        drop(alone);
        assert_eq!(answers.0.load(Ordering::Relaxed), 0);
    }
}
