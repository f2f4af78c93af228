//! The state of scheduled backups. It holds only times and sizes, and is stored in clear in
//! [`crate::store::Table::Meta`].

use crate::domain::backup::{BackupState, Proven, Taken};
use crate::store::record::shape::{members, record};

record! { in_clear encode_backups, decode_backups(): BackupState {
    taken?, failed_at?, proven?, proof_failed_at?,
} }

members! { Taken { at, bytes, rows, took = "took_us" } }
members! { Proven { at, backup_at, rows, took = "took_us" } }
