//! Evaluating expressions without holding up other requests.
//!
//! A request has one [`Budget`] for all of its expressions: mask, search indexes, fingerprint, id, and
//! all tokens of a page. It starts on the thread that serves the request, with the small part of the
//! budget that every honest request fits into. A request that needs more is begun again, with the
//! whole budget, on a thread that no other request waits for; few of those run at a time. What
//! does not fit into the whole budget is redacted in a read and refused in a write.

use crate::app::blocking::BlockingPool;
use crate::bounds;
use crate::expressions::{Budget, Cache};

/// State that all evaluations share.
#[derive(Debug)]
pub(in crate::app) struct Evaluations {
    pub(in crate::app) parsed: Cache,
    pub(in crate::app) pool: BlockingPool,
}

/// The kind of a request, which decides how much work its expressions may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app) enum Work {
    /// A page of a list, or a detokenize call.
    Page,
    Read,
    Tokenize,
    Write,
}

impl Work {
    const fn units(self) -> usize {
        match self {
            Self::Page => bounds::EXPRESSION_WORK_PAGE_MAX,
            Self::Read | Self::Write => bounds::EXPRESSION_WORK_WRITE_MAX,
            Self::Tokenize => bounds::EXPRESSION_WORK_TOKENIZE_MAX,
        }
    }

    pub(in crate::app) const fn budget(self) -> Budget {
        Budget::of(self.units())
    }
}

impl Evaluations {
    pub(in crate::app) fn new() -> Self {
        Self {
            parsed: Cache::new(),
            pool: BlockingPool::new(bounds::EVALUATIONS_MAX, bounds::EVALUATIONS_WAITING_MAX),
        }
    }
}
