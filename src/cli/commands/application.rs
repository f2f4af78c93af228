//! Applications and their keys: `strongroom application`.
#![expect(clippy::doc_link_with_quotes, reason = "these are help texts, shown as they are")]

use std::path::PathBuf;

use argh::FromArgs;

/// Make and list applications and their keys. Works while the server runs and while it does not.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "application")]
pub(in crate::cli) struct ApplicationCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: ApplicationAction,
}

#[derive(FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum ApplicationAction {
    Create(ApplicationCreate),
    KeyCreate(KeyCreate),
    KeyDelete(KeyDelete),
    KeyImport(KeyImport),
    List(ApplicationList),
}

/// Make an application with a first key, whose text is shown this once.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "create")]
pub(in crate::cli) struct ApplicationCreate {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// name, for people
    #[argh(option)]
    pub(in crate::cli) name: String,
    /// type: private, public or management
    #[argh(option, long = "type")]
    pub(in crate::cli) kind: String,
    /// a permission, such as token:create; may be repeated
    #[argh(option)]
    pub(in crate::cli) permission: Vec<String>,
    /// an access rule as JSON, such as {"priority":1,"container":"/","transform":"mask",
    /// "permissions":["token:read"]}; may be repeated
    #[argh(option)]
    pub(in crate::cli) rule: Vec<String>,
    /// make no first key, for keys that are imported
    #[argh(switch)]
    pub(in crate::cli) no_key: bool,
}

/// List a tenant's applications and their keys, without the keys' texts.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "list")]
pub(in crate::cli) struct ApplicationList {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
}

/// Make another key for an application, whose text is shown this once.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key-create")]
pub(in crate::cli) struct KeyCreate {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// the application's id
    #[argh(option)]
    pub(in crate::cli) application: String,
}

/// Take over a key from elsewhere, so that programs keep theirs. Reads its text from standard input.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key-import")]
pub(in crate::cli) struct KeyImport {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// the application's id
    #[argh(option)]
    pub(in crate::cli) application: String,
}

/// Delete a key; from then on it is refused.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "key-delete")]
pub(in crate::cli) struct KeyDelete {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// the application's id
    #[argh(option)]
    pub(in crate::cli) application: String,
    /// the key's id, as `application list` shows it
    #[argh(option)]
    pub(in crate::cli) key: String,
}
