//! Commands, their answers, and their execution.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::app::{Authority, BackupFailure, DiskState, Error, ExportFailure, Vault};
use crate::bounds::CLOCK_ADVANCE_MAX;
use crate::domain::audit::{Act, Entity, EntityKind};
use crate::operator::compliance_report::{self, ComplianceReportSettings};
use crate::operator::transfer::{self, ImportRows};
use crate::operator::vault_keys::{self, KeyScope};
use crate::operator::{Answer, access, audit, lifecycle, progress, webhooks};

/// Declares the commands: each with its members and the expression that runs it.
macro_rules! commands {
    (|$vault:ident, $clock:ident| $(
        $(#[$doc:meta])*
        $name:ident $({ $($member:ident: $type:ty),+ })? $(($rows:ident: $rows_type:ty))?
        $([$act:ident $what:literal $(of $subject:ident)?])? => $work:expr;
    )+) => {
        /// A command of the operator; on the socket it is one line of JSON.
        #[derive(Serialize, Deserialize)]
        #[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
        pub enum Command {
            $($(#[$doc])* $name $({ $($member: $type),+ })? $(($rows_type))?,)+
        }

        impl Command {
            /// The entry of a command that writes none itself: the act, the command's name for
            /// people, and the id of the record that it is about.
            fn entry(&self) -> Option<(Act, Entity)> {
                match self {
                    $(Self::$name { $($($subject,)?)? .. } => {
                        None$(.or_else(|| Some((Act::$act, command_entity($what, &[$($subject)?])))))?
                    })+
                }
            }

            async fn carry_out(
                self,
                $vault: &Vault,
                $clock: ClockControl,
            ) -> Result<Vec<u8>, CommandRefusal> {
                match self {
                    $(Self::$name $({ $($member),+ })? $(($rows))? => Ok($work?),)+
                }
            }
        }
    };
}

commands! { |vault, clock|
    /// Moves a development server's clock ahead, and returns when expired records are removed.
    AdvanceClock { seconds: u64 } => advance(vault, clock, seconds).await;
    /// `application` has the shape of the body of `POST /applications`.
    ApplicationCreate { tenant: String, application: Value } =>
        access::create_application(vault, &tenant, &application).await;
    /// Deletes an application with its keys.
    ApplicationDelete { tenant: String, application: String } =>
        lifecycle::delete_application(vault, &tenant, &application).await;
    ApplicationList { tenant: String } [Read "application list" of tenant] =>
        access::list_applications(vault, &tenant);
    /// `change` has members of the body of `PUT /applications/{id}`; those that are absent stay.
    ApplicationSet { tenant: String, application: String, change: Map<String, Value> } =>
        lifecycle::set_application(vault, &tenant, &application, &change).await;
    /// Exports a page of the chain in clear. The first request has no `next`. Further requests send
    /// the `reading` of the page before; a page without it gets an audit entry of its own.
    AuditExport {
        next: Option<String>,
        from: Option<String>,
        to: Option<String>,
        reading: Option<Uuid>
    } => audit::export(vault, next, from, to, reading).await;
    /// Requests the entries after a position. `reading` is as for an export.
    AuditFollow { after: Option<String>, reading: Option<Uuid> } =>
        audit::follow(vault, after.as_deref(), reading).await;
    AuditReceipt [Read "audit receipt"] => audit::receipt(vault).await;
    /// Checks the chain. `since` is the text of a receipt, `public_key` is hexadecimal.
    AuditVerify { since: Option<String>, public_key: Option<String> } [Read "audit verify"] =>
        audit::verify(vault, since.as_deref(), public_key.as_deref()).await;
    /// Writes a backup to a new file. The path is absolute.
    Backup { file: PathBuf } => back_up(vault, file).await;
    /// Deletes the records of a person. Either `fingerprint` or `metadata` finds them.
    Erase { tenant: String, fingerprint: Option<String>, metadata: BTreeMap<String, String> } =>
        lifecycle::erase_person(vault, &tenant, fingerprint, metadata).await;
    /// Finds the records that `Erase` would delete.
    EraseFind { tenant: String, fingerprint: Option<String>, metadata: BTreeMap<String, String> } =>
        lifecycle::find_person(vault, &tenant, fingerprint, metadata).await;
    /// Writes a tenant to a new file, sealed to the public keys of the recipients. The path is
    /// absolute.
    Export { tenant: String, recipients: Vec<String>, file: PathBuf } =>
        transfer::export(vault, &tenant, &recipients, file).await;
    /// Checks or writes a page of an import.
    Import(rows: ImportRows) => transfer::import(vault, rows).await;
    /// Requests the state of an import. `again` forgets one that is finished.
    ImportBegin { tenant: String, import: String, again: bool } [Update "import begin" of tenant] =>
        transfer::begin(vault, &tenant, &import, again).await;
    /// Asks if an import that is finished was one of these rows: their number and their digest.
    ImportCompare { tenant: String, import: String, rows: u64, digest: String }
    [Read "import compare" of tenant] =>
        transfer::compare(vault, &tenant, &import, rows, &digest);
    KeyCreate { tenant: String, application: String } =>
        access::create_key(vault, &tenant, &application).await;
    KeyDelete { tenant: String, application: String, key: String } =>
        access::delete_key(vault, &tenant, &application, &key).await;
    KeyImport { tenant: String, application: String, text: String } =>
        access::import_key(vault, &tenant, &application, &text).await;
    /// Requests the public key for the transfer of a new master key.
    MasterHandover [Read "master key handover"] => vault_keys::begin_handover(vault);
    /// Records recovery shares before they are written: the id of the master key, the id of the
    /// set, the number of shares that are needed, the hash of each share, and the names of the
    /// keepers, if the shares are sealed to them. Ids and hashes are hexadecimal.
    MasterShares {
        check: String,
        set: String,
        needed: u8,
        hashes: Vec<String>,
        keepers: Vec<String>
    } => vault_keys::note_shares(vault, &check, &set, needed, &hashes, keepers).await;
    /// Requests the recorded hashes of a set of recovery shares.
    MasterShareSet { set: String } [Read "recovery shares"] => vault_keys::share_set(vault, &set);
    /// Transfers the new master key, sealed to the public key of `MasterHandover`. Both members are
    /// hexadecimal.
    MasterRotate { public: String, sealed: String } =>
        vault_keys::take_handed(vault, &public, &sealed).await;
    /// Requests the progress of a backup, an export or a rotation.
    Progress { job: String } => progress::read(vault, &job);
    /// Makes the compliance report for auditors, as text and as HTML.
    Report { settings: ComplianceReportSettings } =>
        compliance_report::render(vault, &settings).await;
    TenantCreate { name: String, r#type: String, threeds: bool, quotas: Vec<(String, String)> } =>
        access::create_tenant(vault, name, &r#type, threeds, &quotas).await;
    /// Deletes a tenant, or goes on with its deletion. The client repeats it until nothing is left.
    TenantDelete { tenant: String, go_on: bool } =>
        lifecycle::delete_tenant(vault, &tenant, go_on).await;
    TenantList [Read "tenant list"] => access::list_tenants(vault);
    TenantSet {
        tenant: String,
        name: Option<String>,
        threeds: Option<bool>,
        quotas: Vec<(String, String)>
    } => access::change_tenant(vault, &tenant, name, threeds, quotas).await;
    /// `scope` is `audit`, `server` or a tenant's id.
    VaultKeyDestroy { scope: String, number: u32 } =>
        vault_keys::destroy(vault, &KeyScope::parse(&scope)?, number).await;
    VaultKeyList [Read "key list"] => vault_keys::list(vault).await;
    /// `scope` is `audit`, `server`, `tenants` or a tenant's id.
    VaultKeyRotate { scope: String } => vault_keys::rotate(vault, &KeyScope::parse(&scope)?).await;
    /// Waits for the end of a rotation. `scope` is that of `VaultKeyRotate`.
    VaultKeyWait { scope: String } =>
        progress::wait_for_rotation(vault, &KeyScope::parse(&scope)?).await;
    /// Lists the events that wait for a webhook.
    WebhookEvents { tenant: String, webhook: String } [Read "webhook events" of webhook] =>
        webhooks::events(vault, &tenant, &webhook).await;
    WebhookList { tenant: String } [Read "webhook list" of tenant] => webhooks::list(vault, &tenant);
    /// Makes the events that wait for a webhook due now.
    WebhookRetry { tenant: String, webhook: String } [Update "webhook retry" of webhook] =>
        webhooks::retry(vault, &tenant, &webhook).await;
    /// Replaces the key that signs webhooks.
    WebhookRotateKey => webhooks::rotate_key(vault).await;
}

// `KeyImport` holds the text of a key, `Import` the rows of a file.
opaque_debug!(Command);

/// The answer to a command: a JSON value, or sentences with the reasons for a refusal.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum CommandAnswer {
    Done(Value),
    /// The disk is full or nearly full.
    ReadOnly {
        why: String,
        free_bytes: Option<u64>,
        floor_bytes: Option<u64>,
    },
    Refused(Vec<String>),
}

/// The reasons for a refusal as sentences, or the state of a vault without space.
enum CommandRefusal {
    ReadOnly(&'static str),
    Sentences(Vec<String>),
}

impl From<Error> for CommandRefusal {
    fn from(error: Error) -> Self {
        if let Error::ReadOnly(why) = error {
            return Self::ReadOnly(why);
        }
        Self::Sentences(sentences(&error))
    }
}

impl From<BackupFailure> for CommandRefusal {
    fn from(failure: BackupFailure) -> Self {
        Self::Sentences(vec![failure.to_string()])
    }
}

impl From<ExportFailure> for CommandRefusal {
    fn from(failure: ExportFailure) -> Self {
        if let ExportFailure::Vault(error) = failure {
            return error.into();
        }
        Self::Sentences(vec![failure.to_string()])
    }
}

/// Permission to move the clock. Only a development server has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockControl {
    Fixed,
    Settable,
}

impl Command {
    pub async fn run(self, vault: &Vault, clock_control: ClockControl) -> CommandAnswer {
        let entry = self.entry();
        let mut done = self.carry_out(vault, clock_control).await;
        if let (Ok(_), Some((act, entity))) = (&done, entry) {
            // The answer is shown only if it has its entry.
            if let Err(error) = vault.audit().write_operator_entry(act, entity).await {
                done = Err(error.into());
            }
        }
        match done {
            Ok(json) => {
                serde_json::from_slice(&json).map_or_else(|_| unreadable(), CommandAnswer::Done)
            }
            Err(CommandRefusal::ReadOnly(why)) if vault.disk_state() == DiskState::Writable => {
                CommandAnswer::Refused(vec![String::from(why)])
            }
            Err(CommandRefusal::ReadOnly(why)) => {
                let (free_bytes, floor_bytes) = vault.upkeep().disk_room().unzip();
                let (why, free_bytes) = (String::from(why), free_bytes.flatten());
                CommandAnswer::ReadOnly { why, free_bytes, floor_bytes }
            }
            Err(CommandRefusal::Sentences(sentences)) => CommandAnswer::Refused(sentences),
        }
    }
}

/// `about` is the id of a tenant or a webhook. A command with another text is refused.
fn command_entity(name: &str, about: &[&String]) -> Entity {
    let about = about.first().and_then(|id| Uuid::parse_str(id).ok());
    let mut entity = Entity::new(EntityKind::Vault, about.unwrap_or_default());
    entity.name = Some(Box::from(name));
    entity
}

/// The answer to a command that was carried out but whose result is not JSON. An empty result would
/// look like a complete one.
fn unreadable() -> CommandAnswer {
    let what = "The command was carried out, but its answer is not JSON: this is a bug.";
    CommandAnswer::Refused(vec![String::from(what)])
}

async fn back_up(vault: &Vault, file: PathBuf) -> Result<Vec<u8>, BackupFailure> {
    let start = vault.now();
    let written = vault.backups().back_up(file).await?;
    let took_ms = u64::try_from(vault.now().since(start).as_millis()).unwrap_or(u64::MAX);
    let (manifest, file_bytes) = (written.manifest, written.file_bytes);
    let result = json!({"manifest": manifest, "file_bytes": file_bytes, "took_ms": took_ms});
    Ok(result.to_string().into_bytes())
}

async fn advance(vault: &Vault, clock_control: ClockControl, seconds: u64) -> Answer {
    if clock_control == ClockControl::Fixed {
        return Err(Error::Forbidden("Only a development server's clock can be moved."));
    }
    if seconds > CLOCK_ADVANCE_MAX.as_secs() {
        let most = CLOCK_ADVANCE_MAX.as_secs();
        return Err(Error::invalid("seconds", format!("At most {most} seconds at once.")));
    }
    vault.clock().advance(Duration::from_secs(seconds));
    let removed = vault.upkeep().by(Authority::Anyone).sweep_all().await?;
    vault.access().write_last_uses().await?;
    for (_, refreshed) in vault.card_ranges().by(Authority::Anyone).refresh_all().await {
        refreshed?;
    }
    let now = vault.now().to_wire();
    Ok(json!({"now": now, "removed": removed}).to_string().into_bytes())
}

/// The reasons of a refusal, for people.
pub fn sentences(error: &Error) -> Vec<String> {
    match error {
        Error::Busy => vec![String::from("The vault is busy; try again shortly.")],
        Error::Conflict(why)
        | Error::Forbidden(why)
        | Error::NoPrograms(why)
        | Error::ReadOnly(why)
        | Error::Unprocessable(why) => vec![String::from(*why)],
        // Commands have no idempotency key, and the commit loop handles the missing CVC key.
        Error::AnswerGone | Error::InFlight | Error::NeedsCvcKey(_) | Error::Replayed(_) => {
            vec![String::from("The vault has a fault: this error does not belong to commands.")]
        }
        Error::Internal(fault) => vec![format!("The vault has a fault: {}.", fault.name())],
        Error::Invalid(mistakes) => {
            let each = mistakes.by_path().iter();
            each.flat_map(|(path, all)| all.iter().map(move |it| format!("{path}: {it}"))).collect()
        }
        Error::NotFound(what) => vec![format!("There is no such {what}.")],
        Error::Stopped => vec![String::from("The vault is stopping.")],
        Error::Storage(failure) => vec![format!("The data file failed: {failure}.")],
        Error::Unauthenticated => vec![String::from("The key is not valid.")],
        Error::Upstream(upstream) => vec![upstream.detail.clone()],
    }
}
