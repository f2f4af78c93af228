//! `strongroom report`: gathers the facts for an auditor and says which of them need attention.
//!
//! The requirements that chapters name are those of PCI DSS 4.0.1. The account states facts; that a
//! requirement is met is for the auditor to say.

mod access;
mod holdings;

use crate::app::{App, Error};
use crate::report::{Chapter, Document};

/// Everything that the vault itself knows.
pub(super) fn account(app: &App) -> Result<Document, Error> {
    let now = app.now();
    let holdings = app.holdings()?;
    let chapters = vec![
        vault(),
        holdings::chapter(app, &holdings, now)?,
        holdings::codes(&holdings),
        access::chapter(&holdings, now),
    ];
    Ok(Document { title: String::from("Strongroom: account of the vault"), made_at: now, chapters })
}

fn vault() -> Chapter {
    Chapter::new("Vault", "What this account is about.")
        .good(concat!("Version ", env!("CARGO_PKG_VERSION"), "."))
        .good(format!("Format of the data file: {}.", crate::app::FORMAT))
        .good(
            "Every value is sealed by AES-256-GCM under a key of its own, derived from the keys of \
             its tenant (requirement 3.5.1).",
        )
}
