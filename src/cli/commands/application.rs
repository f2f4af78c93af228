//! Applications and their keys: `strongroom application`.
#![expect(clippy::doc_link_with_quotes, reason = "these are help texts, shown as they are")]

use argh::{ArgsInfo, FromArgs};

use super::vault::vault_command;

/// Create, list, change and delete applications and their keys, with or without a running server.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "application")]
pub(in crate::cli) struct ApplicationCommand {
    #[argh(subcommand)]
    pub(in crate::cli) action: ApplicationAction,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum ApplicationAction {
    Create(ApplicationCreate),
    Delete(ApplicationDelete),
    KeyCreate(KeyCreate),
    KeyDelete(KeyDelete),
    KeyImport(KeyImport),
    List(ApplicationList),
    Set(ApplicationSet),
}

vault_command! {
    /// Create an application with a first key, whose text is shown only once.
    #[argh(subcommand, name = "create")]
    pub(in crate::cli) struct ApplicationCreate {
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
}

vault_command! {
    /// Change an application; options that are not given change nothing. The type never changes.
    #[argh(subcommand, name = "set")]
    pub(in crate::cli) struct ApplicationSet {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// the application's id
        #[argh(option)]
        pub(in crate::cli) application: String,
        /// new name
        #[argh(option)]
        pub(in crate::cli) name: Option<String>,
        /// a permission; may be repeated, and replaces all permissions
        #[argh(option)]
        pub(in crate::cli) permission: Vec<String>,
        /// remove all permissions
        #[argh(switch)]
        pub(in crate::cli) no_permission: bool,
        /// an access rule as JSON; may be repeated, and replaces all rules
        #[argh(option)]
        pub(in crate::cli) rule: Vec<String>,
        /// remove all rules
        #[argh(switch)]
        pub(in crate::cli) no_rule: bool,
        /// an origin of pages, for a public application; may be repeated, and replaces all origins
        #[argh(option)]
        pub(in crate::cli) origin: Vec<String>,
        /// remove all origins
        #[argh(switch)]
        pub(in crate::cli) no_origin: bool,
    }
}

vault_command! {
    /// Delete an application with its keys, which are refused from then on.
    #[argh(subcommand, name = "delete")]
    pub(in crate::cli) struct ApplicationDelete {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// the application's id
        #[argh(option)]
        pub(in crate::cli) application: String,
        /// ask for no confirmation
        #[argh(switch)]
        pub(in crate::cli) yes: bool,
    }
}

vault_command! {
    /// List a tenant's applications and their keys, without the texts of the keys.
    #[argh(subcommand, name = "list")]
    pub(in crate::cli) struct ApplicationList {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
    }
}

vault_command! {
    /// Create another key for an application, whose text is shown only once.
    #[argh(subcommand, name = "key-create")]
    pub(in crate::cli) struct KeyCreate {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// the application's id
        #[argh(option)]
        pub(in crate::cli) application: String,
    }
}

vault_command! {
    /// Import a key that programs already use. Reads its text from standard input.
    #[argh(subcommand, name = "key-import")]
    pub(in crate::cli) struct KeyImport {
        /// the tenant's id
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// the application's id
        #[argh(option)]
        pub(in crate::cli) application: String,
    }
}

vault_command! {
    /// Delete a key; it is refused from then on.
    #[argh(subcommand, name = "key-delete")]
    pub(in crate::cli) struct KeyDelete {
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
}
