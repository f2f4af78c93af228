//! Moving in and out: `strongroom import` and `strongroom export`.

use std::path::PathBuf;

use super::vault::vault_command;

vault_command! {
    /// Import tokens from a file, with or without a running server. All rows are checked before the
    /// first is written. The same command run again after an interruption goes on where it stopped.
    #[argh(subcommand, name = "import")]
    pub(in crate::cli) struct ImportCommand {
        /// the tenant
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// csv, or jsonl: lines with bodies of POST /tokens, such as an export has
        #[argh(option)]
        pub(in crate::cli) format: String,
        /// put a column, or a member of a line, at a place of the token: COLUMN=PATH, such as
        /// pan=data.number; may be repeated. A column whose name is a path needs none
        #[argh(option)]
        pub(in crate::cli) map: Vec<String>,
        /// give every token a value: PATH=VALUE, such as containers=/pci/high/; may be repeated
        #[argh(option)]
        pub(in crate::cli) set: Vec<String>,
        /// the type of every token, such as card
        #[argh(option, long = "type")]
        pub(in crate::cli) kind: Option<String>,
        /// leave out a column; may be repeated
        #[argh(option)]
        pub(in crate::cli) ignore: Vec<String>,
        /// the character between fields of a CSV file, or tab (default: a comma)
        #[argh(option)]
        pub(in crate::cli) delimiter: Option<String>,
        /// leave out rows whose content the tenant has already
        #[argh(switch)]
        pub(in crate::cli) deduplicate: bool,
        /// the application that the tokens count as created by
        #[argh(option)]
        pub(in crate::cli) application: Option<String>,
        /// import lines of applications too, with their rights and API keys
        #[argh(switch)]
        pub(in crate::cli) applications: bool,
        /// check all rows, report all bad ones, and write nothing
        #[argh(switch)]
        pub(in crate::cli) dry_run: bool,
        /// import the good rows, and list the bad ones in this new file
        #[argh(option)]
        pub(in crate::cli) skip_bad: Option<PathBuf>,
        /// import a file a second time that was imported completely
        #[argh(switch)]
        pub(in crate::cli) again: bool,
        /// the file, or - for standard input
        #[argh(positional, arg_name = "FILE")]
        pub(in crate::cli) file: PathBuf,
    }
}

vault_command! {
    /// Write a tenant to a new file, in plain JSON lines that are sealed to public keys of age. Works
    /// with or without a running server, which goes on serving.
    #[argh(subcommand, name = "export")]
    pub(in crate::cli) struct ExportCommand {
        /// the tenant
        #[argh(option)]
        pub(in crate::cli) tenant: String,
        /// a public key (age1...) whose owner can open the file; may be repeated
        #[argh(option)]
        pub(in crate::cli) recipient: Vec<String>,
        /// a file with public keys, one a line
        #[argh(option)]
        pub(in crate::cli) recipients_file: Option<PathBuf>,
        /// the file to write; it must not exist yet
        #[argh(option)]
        pub(in crate::cli) out: PathBuf,
    }
}
