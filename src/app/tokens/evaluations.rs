//! Evaluation of expressions without a delay for other requests.
//!
//! A request has one [`Budget`] for all of its expressions: mask, search indexes, fingerprint, id,
//! and all tokens of a page. It starts on the thread that serves the request, with the small part
//! of the budget that every ordinary request fits into. A request that needs more starts again on a
//! blocking thread, with the whole budget; the number of such requests is bounded. If the whole
//! budget is used up, a read redacts the data and a write is refused.

use crate::app::blocking::BlockingPool;
use crate::bounds;
use crate::expressions::{Budget, Cache};

/// The cache and the threads that all evaluations share.
#[derive(Debug)]
pub(in crate::app) struct Evaluations {
    pub(in crate::app) parsed: Cache,
    pub(in crate::app) pool: BlockingPool,
}

/// The kind of a request, which decides the maximum work of its expressions.
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
