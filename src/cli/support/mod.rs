//! Support for all commands: settings, files, the vault, output and failures.

pub(in crate::cli) mod archive_keys;
pub(in crate::cli) mod arguments;
pub(in crate::cli) mod failure;
pub(in crate::cli) mod failure_texts;
pub(in crate::cli) mod files;
pub(in crate::cli) mod master_key_file;
pub(in crate::cli) mod open_vault;
pub(in crate::cli) mod order;
pub(in crate::cli) mod output;
pub(in crate::cli) mod runtime;
pub(in crate::cli) mod settings;
