//! The memory that large answers to reads take, of all requests together.
//!
//! An answer stays in memory until the client has taken it, and a client may take its time. What is
//! not small takes its bytes from one budget until it is written out or given up. An answer that finds
//! too little left gives way to a 503. Answers to writes are not held back: the write has happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::Response;

use crate::bounds::{ANSWER_BYTES_FREE, ANSWERS_BYTES_MAX, ANSWERS_RETRY_AFTER_S};
use crate::http::problem::Problem;
use crate::http::reply::RequestContext;
use crate::secret::SecretBody;

const NO_MEMORY: &str = "The server has no memory for an answer of this size at the moment: others have not read theirs.";

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
    /// The answer with its share of the memory of all answers, if it needs one. The first answer to
    /// a write does not go through here: a 503 in its place would hide that the write was made.
    pub(super) fn hold(
        &self,
        context: &RequestContext,
        response: Response<SecretBody>,
    ) -> Response<SecretBody> {
        let bytes = response.body().len();
        if bytes <= ANSWER_BYTES_FREE {
            return response;
        }
        match self.share(bytes) {
            Some(share) => response.map(|body| body.holding(share)),
            None => context.failure(&Problem::retry(503, NO_MEMORY, ANSWERS_RETRY_AFTER_S)),
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
