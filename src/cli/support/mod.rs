//! Support for all commands: settings, files, the vault, output and failures.

pub mod archive_keys;
pub mod arguments;
pub mod confirm;
pub mod database_url;
pub mod estimate;
pub mod failure;
pub mod failure_texts;
pub mod files;
pub mod key_place;
pub mod master_key_command;
pub mod master_key_file;
pub mod membership;
pub mod open_vault;
pub mod order;
pub mod output;
pub mod panics;
pub mod progress;
pub mod runner;
pub mod server_status;
pub mod settings;
pub mod shares;
pub mod table;
pub mod vault_place;

pub use archive_keys::{
    archive_directory, explain_archive, other_master_key, read_keys, refused_pieces, timeline,
};
pub use arguments::{quotas, switch};
pub use confirm::Confirmation;
pub use database_url::{database, read_url};
pub use failure::{Exit, Failure, Result};
pub use failure_texts::{
    cannot, explain, explain_at, explain_backup, explain_bind, misconfigured, next_step,
    no_resource, not_accepted, not_understood, refused, run_as_owner, storage, unreachable_server,
};
pub use files::{
    SecretFile, check_directory, create_private, give_to_owner, make_directory, read_text,
    restrict, write_new, write_secret,
};
pub use key_place::{ADVICE, WHY};
pub use master_key_file::{
    CREDENTIALS_DIRECTORY, beside, credential, finish_rotation, left_by_rotation, make_master_key,
    put_in_place, read_held, read_master_key, read_master_text, require_credential,
};
pub use membership::{as_member, block_on, find_living, host_name, process_user, runtime};
pub use open_vault::{catch_damage, mention_recovery, or_close};
pub use order::{
    ShownWork, accepted, ask_server, carry_out, carry_out_shown, order, refuse_without_space, sign,
};
pub use output::{Form, complain, on_one_line, path_text, say, show_json, shown_time, tell};
pub use panics::{damaged_pages, end_if_not_caught, log_panics};
pub use progress::{Label, ProgressBar, Unit};
pub use runner::CommandRunner;
pub use server_status::{is_followed, read_status};
pub use settings::{read_config, read_console, read_threeds, read_whole};
pub use vault_place::{DEV_URL, VaultHome, VaultPlace, over_database};
