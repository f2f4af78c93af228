//! Locks that ignore poisoning.
//!
//! The standard locks refuse to open after a thread has panicked while it held them. A panic in a
//! request is caught and answered with 500, so a lock that refuses would turn one failed request
//! into a failed process. To go on is safe: the values behind these locks are caches, counters,
//! queues and handles that each change in one step, and the records of the vault change only in
//! transactions of the store. A panic of the writer of the store ends the process.

use std::sync::{
    Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};

#[derive(Debug, Default)]
pub struct Lock<T>(Mutex<T>);

#[derive(Debug, Default)]
pub struct SharedLock<T>(RwLock<T>);

impl<T> Lock<T> {
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// `None` while another thread holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl<T> SharedLock<T> {
    pub const fn new(value: T) -> Self {
        Self(RwLock::new(value))
    }

    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
