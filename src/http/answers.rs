//! The memory of large answers to reads, of all requests together.
//!
//! An answer stays in memory until the client has read it, and a client may read slowly. A large
//! answer takes its bytes from one budget and gives them back piece by piece as they are written,
//! or when the connection ends. If the caller's share of the budget has too few bytes left, the
//! client gets a 503 instead. Answers to writes never do: a 503 would hide that the write has
//! happened.

use std::sync::Arc;

use hyper::Response;

use crate::bounds::{
    ANSWER_BYTES_FREE, ANSWER_PIECE_BYTES, ANSWERS_BYTES_MAX, ANSWERS_RETRY_AFTER_S,
};
use crate::domain::shares::{Claimant, Shares};
use crate::http::{Problem, RequestContext};
use crate::secret::SecretBody;

const NO_MEMORY: &str = "The server has no memory for an answer of this size at the moment: other clients have not read theirs.";

/// The bytes that all large answers hold together.
#[derive(Debug, Clone)]
pub struct Answers(Arc<Shares>);

/// The budget of one piece of an answer; dropping it gives the bytes back.
#[derive(Debug)]
struct PieceShare {
    answers: Answers,
    claimant: Claimant,
    held: usize,
}

impl Drop for PieceShare {
    fn drop(&mut self) {
        self.answers.0.give_back(self.claimant, self.held);
    }
}

impl Answers {
    pub fn new() -> Self {
        Self(Arc::new(Shares::new(ANSWERS_BYTES_MAX)))
    }

    /// Gives a large answer its share of the budget, or replaces it with a 503. The first answer to
    /// a write must not go through here.
    pub(super) fn hold(
        &self,
        context: &RequestContext,
        claimant: Claimant,
        response: Response<SecretBody>,
    ) -> Response<SecretBody> {
        self.try_hold(claimant, response).unwrap_or_else(|problem| context.failure(&problem))
    }

    /// As [`Answers::hold`], but returns the problem instead of an answer.
    pub(super) fn try_hold(
        &self,
        claimant: Claimant,
        response: Response<SecretBody>,
    ) -> Result<Response<SecretBody>, Problem> {
        if response.body().len() <= ANSWER_BYTES_FREE {
            return Ok(response);
        }
        let (head, body) = response.into_parts();
        let body = self.pieces(claimant, body).ok_or_else(no_memory)?;
        Ok(Response::from_parts(head, body))
    }

    /// Refuses a request with an effect outside if even the smallest answer that needs memory would
    /// find none. It reserves nothing and checks for no more: few answers are large, and callers
    /// that leave theirs unread must not stop calls with small ones.
    pub(super) fn require_room(&self, claimant: Claimant) -> Result<(), Problem> {
        let bytes = ANSWER_BYTES_FREE.saturating_add(1);
        if !self.0.take(claimant, bytes) {
            return Err(no_memory());
        }
        self.0.give_back(claimant, bytes);
        Ok(())
    }

    /// The answer in pieces that each give back their bytes. `None` if no memory is left. An answer
    /// that is larger than the whole share of its claimant takes the whole share, so that an idle
    /// server can send it.
    fn pieces(&self, claimant: Claimant, body: SecretBody) -> Option<SecretBody> {
        let mut left = body.len().min(self.0.most(claimant));
        if !self.0.take(claimant, left) {
            return None;
        }
        // The last piece is made first: the part of an answer that is not counted is then freed
        // first.
        Some(body.in_pieces(ANSWER_PIECE_BYTES, |bytes| {
            let held = bytes.min(left);
            left = left.saturating_sub(held);
            PieceShare { answers: self.clone(), claimant, held }
        }))
    }
}

fn no_memory() -> Problem {
    Problem::retry(503, NO_MEMORY, ANSWERS_RETRY_AFTER_S)
}

impl Default for Answers {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;
    use crate::domain::id::TenantId;

    const MIB: usize = 1024 * 1024;

    fn body(bytes: usize) -> SecretBody {
        SecretBody::from("x".repeat(bytes))
    }

    #[test]
    fn large_answers_share_a_budget_and_small_ones_need_none() {
        let answers = Answers::new();
        let [one, other] =
            [1, 2].map(|id| Claimant::Keyed(TenantId::new(uuid::Uuid::from_u128(id))));
        let hold = |claimant, bytes| answers.try_hold(claimant, Response::new(body(bytes)));
        let room = |claimant| answers.require_room(claimant).is_ok();
        assert!(room(one));
        let unread: Vec<_> = (0..16).map(|_| hold(one, MIB).unwrap()).collect();
        assert!(!room(one) && room(other));
        assert_eq!(hold(one, ANSWER_BYTES_FREE + 1).unwrap_err().status, 503);
        assert!(hold(one, ANSWER_BYTES_FREE).is_ok(), "a small one needs none of it");
        assert!(hold(other, 8 * MIB).is_ok(), "another tenant has a share too");
        let third = Claimant::Keyed(TenantId::new(uuid::Uuid::from_u128(3)));
        let also_unread = hold(other, 8 * MIB).unwrap();
        assert!(room(third), "two tenants that leave answers unread stop no call of a third");
        drop((unread, also_unread));
        assert_eq!(answers.0.taken(), 0);
        let alone = hold(one, 2 * ANSWERS_BYTES_MAX).unwrap();
        assert_eq!(answers.0.taken(), ANSWERS_BYTES_MAX / 2);
        drop(alone);
        assert_eq!(answers.0.taken(), 0);
    }

    #[tokio::test]
    async fn an_answer_gives_its_bytes_back_as_its_pieces_are_written() {
        let answers = Answers::new();
        let claimant = Claimant::Stranger { address: [192, 0, 2, 1].into(), tenant: None };
        let mut answer = answers.pieces(claimant, body(2 * MIB + 1)).unwrap();
        assert_eq!(answers.0.taken(), 2 * MIB + 1);
        let (mut read, mut before) = (0, answers.0.taken());
        while let Some(frame) = answer.frame().await {
            let piece = frame.unwrap().into_data().unwrap();
            assert!(piece.len() <= ANSWER_PIECE_BYTES);
            read += piece.len();
            assert_eq!(answers.0.taken(), before, "the piece is still to be written");
            before -= piece.len();
            drop(piece);
            assert_eq!(answers.0.taken(), before);
        }
        assert_eq!((read, before), (2 * MIB + 1, 0));
    }
}
