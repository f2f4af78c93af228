//! Support for all commands: settings, files, the vault, output and failures.

pub(in crate::cli) mod archive_keys;
pub(in crate::cli) mod arguments;
pub(in crate::cli) mod confirm;
pub(in crate::cli) mod database_failures;
pub(in crate::cli) mod database_url;
pub(in crate::cli) mod failure;
pub(in crate::cli) mod failure_texts;
pub(in crate::cli) mod files;
pub(in crate::cli) mod key_place;
pub(in crate::cli) mod master_key_command;
pub(in crate::cli) mod master_key_file;
pub(in crate::cli) mod membership;
pub(in crate::cli) mod open_vault;
pub(in crate::cli) mod order;
pub(in crate::cli) mod output;
pub(in crate::cli) mod panics;
pub(in crate::cli) mod progress;
pub(in crate::cli) mod runner;
pub(in crate::cli) mod runtime;
pub(in crate::cli) mod server_status;
pub(in crate::cli) mod settings;
pub(in crate::cli) mod user;
pub(in crate::cli) mod vault_home;
pub(in crate::cli) mod vault_place;
