//! Moving a tenant: the export of all its data, and the import of tokens and applications from
//! other vaults.

mod applications;
mod export;
mod import;
mod rows;

pub use export::{ExportFailure, ExportItem, ExportTarget};
pub use import::{ImportMode, ImportPage, ImportSummary};
pub use rows::{ApplicationRow, ImportRow, RowDraft};

use crate::app::Vault;

#[derive(Debug, Clone, Copy)]
pub struct Transfer<'a> {
    pub(in crate::app) vault: &'a Vault,
}

impl<'a> Transfer<'a> {
    pub const fn of(vault: &'a Vault) -> Self {
        Self { vault }
    }
}
