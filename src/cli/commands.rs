//! Every command and its flags, as `--help` shows them.

#![expect(
    clippy::doc_link_with_quotes,
    clippy::doc_markdown,
    reason = "these are help texts, shown as they are"
)]

use std::path::PathBuf;

use argh::FromArgs;

/// A vault for card and personal data: programs exchange sensitive values for tokens over HTTPS.
/// Try it with `strongroom dev`; run it with `strongroom init` and `strongroom serve`.
#[derive(FromArgs, Debug)]
#[argh(
    note = "Exit codes: 0 done, 64 wrong usage, 65 bad data or refused, 69 something needed is \
            taken, 70 a fault of this program, 74 the disk, 77 a key or a permission, 78 settings."
)]
pub(super) struct Strongroom {
    #[argh(subcommand)]
    pub(super) command: Subcommand,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(super) enum Subcommand {
    Application(ApplicationCommand),
    Check(Check),
    Dev(Dev),
    DevClock(DevClock),
    DevPreload(DevPreload),
    Init(Init),
    Serve(Serve),
    Tenant(TenantCommand),
    Verify(Verify),
    Version(Version),
}

/// Start a vault for trying and testing, with everything made for it: keys, certificate, tenant.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "dev")]
pub(super) struct Dev {
    /// directory that holds everything; made on first use (default ./strongroom-dev)
    #[argh(option, default = "PathBuf::from(\"strongroom-dev\")")]
    pub(super) data: PathBuf,
    /// address and port to listen on; port 0 picks a free one (default 127.0.0.1:8443)
    #[argh(option, default = "String::from(\"127.0.0.1:8443\")")]
    pub(super) listen: String,
    /// type of the tenant that is made on first use: test or production (default test)
    #[argh(option)]
    pub(super) tenant_type: Option<String>,
    /// whether the published rate limits apply: on or off (default on)
    #[argh(option, default = "String::from(\"on\")")]
    pub(super) rate_limits: String,
    /// a quota of the tenant as NAME=VALUE, such as tokenize_limit=100; may be repeated
    #[argh(option)]
    pub(super) quota: Vec<String>,
    /// print one line of JSON when ready instead of text for people
    #[argh(switch)]
    pub(super) json: bool,
}

/// Move the clock of a running development server ahead, and do what falls due by it.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "dev-clock")]
pub(super) struct DevClock {
    /// directory of the running development server (default ./strongroom-dev)
    #[argh(option, default = "PathBuf::from(\"strongroom-dev\")")]
    pub(super) data: PathBuf,
    #[argh(subcommand)]
    pub(super) action: DevClockAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(super) enum DevClockAction {
    Advance(Advance),
}

/// Move it ahead; returns when what fell due has been done.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "advance")]
pub(super) struct Advance {
    /// by how many seconds
    #[argh(positional)]
    pub(super) seconds: u64,
}

/// Fill a stopped development vault with tokens, for measuring. Prints some of their ids.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "dev-preload")]
pub(super) struct DevPreload {
    /// directory that `strongroom dev` made (default ./strongroom-dev)
    #[argh(option, default = "PathBuf::from(\"strongroom-dev\")")]
    pub(super) data: PathBuf,
    /// how many tokens to make
    #[argh(option)]
    pub(super) tokens: u64,
    /// what they hold: token (a short text) or card (default token)
    #[argh(option, default = "String::from(\"token\")")]
    pub(super) kind: String,
}

/// Make a new vault: its data directory, its master key unless there is one, its data file.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "init")]
pub(super) struct Init {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// where to write the master key, when the settings name a systemd credential
    #[argh(option)]
    pub(super) master_key: Option<PathBuf>,
}

/// Run the vault. SIGTERM finishes what is in flight and stops; SIGHUP reads the
/// certificate and the BIN file again.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "serve")]
pub(super) struct Serve {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Check a settings file and report every mistake in it. Starts nothing.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "check")]
pub(super) struct Check {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Walk a stopped vault's data file: every record opens, every index entry fits, the counts agree.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "verify")]
pub(super) struct Verify {
    /// settings file of the vault
    #[argh(option)]
    pub(super) config: Option<PathBuf>,
    /// data directory, in place of the settings' own
    #[argh(option)]
    pub(super) data: Option<PathBuf>,
    /// master key file, in place of the settings' own (in a `dev` directory: its master.key)
    #[argh(option)]
    pub(super) master_key: Option<PathBuf>,
}

/// Print the version.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "version")]
pub(super) struct Version {}

/// Make, list and adjust tenants. Works while the server runs and while it does not.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "tenant")]
pub(super) struct TenantCommand {
    #[argh(subcommand)]
    pub(super) action: TenantAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(super) enum TenantAction {
    Create(TenantCreate),
    List(TenantList),
    Set(TenantSet),
}

/// Make a tenant with keys of its own.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "create")]
pub(super) struct TenantCreate {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// name, for people
    #[argh(option)]
    pub(super) name: String,
    /// type: test or production
    #[argh(option, long = "type")]
    pub(super) kind: String,
    /// enable 3-D Secure
    #[argh(switch)]
    pub(super) threeds: bool,
    /// a quota as NAME=VALUE, such as cvc_retention=30m; may be repeated
    #[argh(option)]
    pub(super) quota: Vec<String>,
}

/// List all tenants.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(super) struct TenantList {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
}

/// Change a tenant; what is not named stays.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "set")]
pub(super) struct TenantSet {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(super) tenant: String,
    /// new name
    #[argh(option)]
    pub(super) name: Option<String>,
    /// whether 3-D Secure is enabled: on or off
    #[argh(option)]
    pub(super) threeds: Option<String>,
    /// a quota as NAME=VALUE (tokenize_limit, detokenize_limit, cvc_retention,
    /// token_intent_retention, log_retention, rate_limit); may be repeated
    #[argh(option)]
    pub(super) quota: Vec<String>,
}

/// Make and list applications and their keys. Works while the server runs and while it does not.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "application")]
pub(super) struct ApplicationCommand {
    #[argh(subcommand)]
    pub(super) action: ApplicationAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(super) enum ApplicationAction {
    Create(ApplicationCreate),
    KeyCreate(KeyCreate),
    KeyDelete(KeyDelete),
    KeyImport(KeyImport),
    List(ApplicationList),
}

/// Make an application with a first key, whose text is shown this once.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "create")]
pub(super) struct ApplicationCreate {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(super) tenant: String,
    /// name, for people
    #[argh(option)]
    pub(super) name: String,
    /// type: private, public or management
    #[argh(option, long = "type")]
    pub(super) kind: String,
    /// a permission, such as token:create; may be repeated
    #[argh(option)]
    pub(super) permission: Vec<String>,
    /// an access rule as JSON, such as {"priority":1,"container":"/","transform":"mask",
    /// "permissions":["token:read"]}; may be repeated
    #[argh(option)]
    pub(super) rule: Vec<String>,
    /// make no first key, for keys that are imported
    #[argh(switch)]
    pub(super) no_key: bool,
}

/// List a tenant's applications and their keys, without the keys' texts.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(super) struct ApplicationList {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(super) tenant: String,
}

/// Make another key for an application, whose text is shown this once.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key-create")]
pub(super) struct KeyCreate {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(super) tenant: String,
    /// the application's id
    #[argh(option)]
    pub(super) application: String,
}

/// Take over a key from elsewhere, so that programs keep theirs. Reads its text from standard input.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key-import")]
pub(super) struct KeyImport {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(super) tenant: String,
    /// the application's id
    #[argh(option)]
    pub(super) application: String,
}

/// Delete a key; from then on it is refused.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key-delete")]
pub(super) struct KeyDelete {
    /// settings file
    #[argh(option)]
    pub(super) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(super) tenant: String,
    /// the application's id
    #[argh(option)]
    pub(super) application: String,
    /// the key's id, as `application list` shows it
    #[argh(option)]
    pub(super) key: String,
}
