//! Applications and their keys: `strongroom application`.
#![expect(clippy::doc_link_with_quotes, reason = "these are help texts, shown as they are")]

use std::path::PathBuf;

use argh::FromArgs;

/// Create and list applications and their keys, with or without a running server.
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

/// Create an application with a first key, whose text is shown only once.
#[derive(FromArgs, Debug)]
#[argh(subcommand, name = "create")]
pub(in crate::cli) struct ApplicationCreate {
    /// settings file
    #[argh(option)]
    pub(in crate::cli) config: PathBuf,
    /// the tenant's id
    #[argh(option)]
    pub(in crate::cli) tenant: String,
    /// display name
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
    /// an origin of pages that may use the keys in hosted card fields, such as
    /// `https://shop.example`, for a public application; may be repeated
    #[argh(option)]
    pub(in crate::cli) origin: Vec<String>,
    /// create no first key, if keys will be imported
    #[argh(switch)]
    pub(in crate::cli) no_key: bool,
}

/// List a tenant's applications and their keys, without the texts of the keys.
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

/// Create another key for an application, whose text is shown only once.
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

/// Import a key that programs already use. Reads its text from standard input.
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

/// Delete a key; it is refused from then on.
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
