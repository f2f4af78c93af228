//! Moving a tenant: the export of everything that it has, and the import of tokens and
//! applications from other vaults.

mod applications;
mod export;
mod import;
mod rows;

pub use export::{ExportFailure, ExportItem, ExportTarget};
pub use import::{ImportMode, ImportPage, ImportSummary};
pub use rows::{ApplicationRow, ImportRow, RowDraft};

use crate::app::Vault;

/// Exports and imports of the operator.
#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl<'a> Transfer<'a> {
    pub const fn of(vault: &'a Vault) -> Self {
        Self { vault }
    }
}
