//! `strongroom report`: gathers the facts for an auditor and says which of them need attention.
//!
//! The requirements that chapters name are those of PCI DSS 4.0.1. The report states facts; the
//! auditor decides whether a requirement is met.

mod access;
mod holdings;
mod keys;
mod safety;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::app::{Error, TrustAnchors, Vault};
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::report::{Chapter, ComplianceReport};

/// Facts from the settings, which the vault itself does not know.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComplianceReportSettings {
    pub data_directory: String,
    pub listen: Vec<String>,
    /// In seconds since 1970. Absent if the certificate cannot be read.
    pub certificate_expires_at: Option<i64>,
    pub audit_retention_days: u64,
    pub audit_reads_strict: bool,
}

pub(super) async fn render(
    vault: &Vault,
    settings: &ComplianceReportSettings,
) -> Result<Vec<u8>, Error> {
    // The report lists access rights, so making it is audited.
    vault.audit().write_operator_entry(Act::Export, Entity::of_server(EntityKind::Vault)).await?;
    let report = gather(vault, settings).await?;
    let attention = report.attention().count();
    let (text, html) = (report.text(), report.html());
    let made_at = report.made_at.to_wire();
    let answer = json!({"made_at": made_at, "attention": attention, "text": text, "html": html});
    Ok(answer.to_string().into_bytes())
}

async fn gather(
    vault: &Vault,
    settings: &ComplianceReportSettings,
) -> Result<ComplianceReport, Error> {
    let now = vault.now();
    let holdings = vault.upkeep().holdings()?;
    let inventory = vault.keys().inventory().await?;
    let chain = vault.audit().inspect(&TrustAnchors::default()).await?;
    let chapters = vec![
        vault_chapter(vault, settings)?,
        holdings::chapter(vault, &holdings, now)?,
        holdings::codes(&holdings),
        keys::chapter(&inventory, &holdings, now),
        access::chapter(&holdings, now),
        safety::audit(&vault.audit().status()?, &chain, settings),
        safety::backups(&vault.backups().state()?, vault.upkeep().archive().condition(), now),
        safety::tls(settings, now),
    ];
    Ok(ComplianceReport {
        title: String::from("Strongroom: compliance report"),
        made_at: now,
        chapters,
    })
}

fn vault_chapter(vault: &Vault, settings: &ComplianceReportSettings) -> Result<Chapter, Error> {
    let id = vault.upkeep().vault_id()?.map_or_else(|| String::from("none"), |id| id.to_string());
    Ok(Chapter::new("Vault", "The vault that this report is about.")
        .good(format!("Vault {id}, in {}.", settings.data_directory))
        .good(concat!("Version ", env!("CARGO_PKG_VERSION"), "."))
        .good(format!("Format of the data file: {}.", crate::app::FORMAT))
        .good(
            "Every value is sealed by AES-256-GCM under a key of its own, derived from the keys of \
             its tenant (requirement 3.5.1).",
        ))
}
