//! `strongroom report`: gathers the facts for an auditor and says which of them need attention.
//!
//! Every sentence comes from a check made for this report: by the vault, or by the command, which
//! checks settings and files and tries the listener. The report states facts; the auditor decides
//! if a requirement is met.

mod access;
mod activity;
mod holdings;
mod keys;
mod programs;
mod safety;
mod settings;

use serde_json::{Value, json};

use crate::app::{Error, TrustAnchors, Vault, digest_of};
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::domain::counted::counted;
use crate::domain::hex;
use crate::domain::time::Timestamp;
use crate::operator::Answer;
use crate::report::{Chapter, ComplianceReport, Finding, Requirement, moment, printable};

pub use settings::{CheckedThing, ClockFacts, ComplianceReportSettings, KnownSettings, TlsFacts};

/// The standard whose requirements the chapters name.
const STANDARD: &str = "PCI DSS 4.0.1";

pub(super) async fn render(vault: &Vault, settings: &ComplianceReportSettings) -> Answer {
    let report = gather(vault, settings).await?;
    let (text, html) = (report.text(), report.html());
    // The report lists access rights, so it is audited before it is returned. The entry has the
    // digests of both files, so that an edited copy can be detected.
    let mut entity = Entity::of_server(EntityKind::Vault);
    entity.name = Some(format!("report txt {} html {}", digest_of(&text), digest_of(&html)).into());
    vault.audit().write_operator_entry(Act::Export, entity).await?;
    let answer = json!({
        "made_at": report.made_at.to_wire(),
        "attention": report.attention().count(),
        "unknown": report.unknown(),
        "calm": report.calm(),
        "text": text,
        "html": html,
        "facts": facts(&report),
    });
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
        settings::chapter(settings),
        holdings::chapter(vault, &holdings, &inventory, now)?,
        holdings::codes(vault, &holdings, &vault.upkeep().stored_codes()?, now),
        keys::chapter(&inventory, &holdings, &vault.keys().share_sets()?, settings, now),
        access::chapter(vault, &holdings, now)?,
        safety::audit(&vault.audit().status()?, &chain, settings),
        programs::chapter(vault.program_state(), settings),
        activity::chapter(vault, settings).await?,
        safety::backups(&vault.backups().state()?, vault.upkeep().archive().condition(), now),
        safety::tls(settings, now),
        safety::time(settings),
    ];
    let title = String::from("Strongroom: compliance report");
    Ok(ComplianceReport { title, made_at: now, about: about(vault, settings)?, chapters })
}

fn about(
    vault: &Vault,
    settings: &ComplianceReportSettings,
) -> Result<Vec<(&'static str, String)>, Error> {
    let unknown = || String::from("not known");
    let id = vault.upkeep().vault_id()?.map_or_else(|| String::from("none"), |id| id.to_string());
    let at = |seconds: i64| moment(Timestamp::from_seconds(seconds));
    let head = vault.audit().status()?.head;
    let chain = format!(
        "{}; the last link is {}. The entry of this report follows, with the SHA-256 of its files.",
        counted(head.next, "entry", "entries"),
        hex::encode(head.link.bytes())
    );
    let period = format!("{} to {}", at(settings.from), at(settings.to));
    let place = if vault.processes().may_be_several() {
        format!("a PostgreSQL database; {} live servers share it", vault.processes().live())
    } else {
        String::from("the data file in the data directory")
    };
    Ok(vec![
        ("Standard", String::from(STANDARD)),
        ("Period", period),
        ("Host", printable(&settings.host.clone().unwrap_or_else(unknown))),
        ("Vault", id),
        ("Data directory", printable(&settings.data_directory)),
        ("Place of the rows", place),
        (
            "Settings",
            printable(&settings.known.as_ref().map_or_else(unknown, |known| known.file.clone())),
        ),
        ("Program", String::from(concat!("strongroom ", env!("CARGO_PKG_VERSION")))),
        ("Audit chain", chain),
        ("Format of the data file", crate::app::FORMAT.to_string()),
    ])
}

/// The report as JSON, for programs.
fn facts(report: &ComplianceReport) -> Value {
    let finding = |it: &Finding| json!({"standing": it.standing.name(), "sentence": it.sentence});
    let requirement = |it: &Requirement| json!({"number": it.0, "title": it.1});
    let chapter = |it: &Chapter| {
        let rows = it.table.as_ref().map(|table| {
            let row = |row: &Vec<String>| -> Value {
                table.head.iter().copied().zip(row.iter().map(String::as_str)).collect()
            };
            table.rows.iter().map(row).collect::<Vec<_>>()
        });
        json!({
            "title": it.title,
            "requirements": it.requirements.iter().map(requirement).collect::<Vec<_>>(),
            "findings": it.findings.iter().map(finding).collect::<Vec<_>>(),
            "rows": rows,
        })
    };
    let about: Value = report.about.iter().map(|(name, value)| (*name, value.as_str())).collect();
    json!({
        "made_at": report.made_at.to_wire(),
        "about": about,
        "attention": report.attention().count(),
        "unknown": report.unknown(),
        "chapters": report.chapters.iter().map(chapter).collect::<Vec<_>>(),
    })
}
