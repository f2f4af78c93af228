//! A value for a function that a shared engine may call again.

use crate::store::failure::StorageFailure;

/// An engine of one process takes the value itself, without a copy. A shared engine gets copies.
#[derive(Debug)]
pub(in crate::store) struct Repeatable<T> {
    value: Option<T>,
    is_shared: bool,
}

impl<T: Clone> Repeatable<T> {
    pub(in crate::store) const fn new(value: T, is_shared: bool) -> Self {
        Self { value: Some(value), is_shared }
    }

    pub(in crate::store) fn give(&mut self) -> Result<T, StorageFailure> {
        let value = if self.is_shared { self.value.clone() } else { self.value.take() };
        value.ok_or(StorageFailure::Impossible("decided twice"))
    }
}
