//! The tables in the database.
//!
//! | table | content |
//! |---|---|
//! | `strongroom_state` | one row: the version of these tables, the history, the number of batches before this database, and whether a restore has ended. No batch changes it |
//! | `strongroom_rows` | the rows of the vault: number of the table, key, value. Keys sort by their bytes |
//! | `strongroom_writers` | for each process and shard: the newest batch, by which the outcome of a lost COMMIT is found out |
//! | `strongroom_turns` | for each shard: the number of its batches. A batch locks the rows of its shards |

use tokio_postgres::{Client, Error};

use crate::store::engine::local::state::Origin;
use crate::store::engine::postgres::Access;
use crate::store::failure::{OpenFailure, StorageFailure};
use crate::store::shards::Shards;

/// The version of these tables. The formats of rows are numbered separately.
pub(super) const VERSION: i32 = 2;

/// Each batch changes the chain head, the counters and the digests of its shards and tenants. The room
/// that `fillfactor` leaves in a page takes their new versions, so the index stays as it is (measured:
/// for 98 of 100 changes, without the room for 64).
const TABLES: &str = "\
    CREATE TABLE strongroom_state (\
        id smallint PRIMARY KEY CHECK (id = 1), \
        version integer NOT NULL, \
        timeline bytea NOT NULL CHECK (octet_length(timeline) = 16), \
        sequence bigint NOT NULL, \
        origin_timeline bytea NOT NULL CHECK (octet_length(origin_timeline) = 16), \
        origin_sequence bigint NOT NULL, \
        is_complete boolean NOT NULL);\
    CREATE TABLE strongroom_rows (\
        tbl smallint NOT NULL, key bytea NOT NULL, value bytea NOT NULL, \
        PRIMARY KEY (tbl, key)) WITH (fillfactor = 80);\
    CREATE TABLE strongroom_writers (\
        writer bytea PRIMARY KEY, number bigint NOT NULL, at timestamptz NOT NULL);\
    CREATE TABLE strongroom_turns (shard smallint PRIMARY KEY, sequence bigint NOT NULL);\
    INSERT INTO strongroom_turns (shard, sequence) VALUES (0, 0)";

const STATE: &str = "INSERT INTO strongroom_state \
    (id, version, timeline, sequence, origin_timeline, origin_sequence, is_complete) \
    VALUES (1, $1, $2, $3, $4, $3, false)";

pub(super) async fn exists(client: &Client) -> Result<bool, Error> {
    let found = client
        .query(
            "SELECT 1 FROM pg_catalog.pg_tables WHERE tablename = 'strongroom_state' \
                AND schemaname = current_schema()",
            &[],
        )
        .await?;
    Ok(!found.is_empty())
}

/// Creates the tables in the current transaction. The vault is not complete yet.
pub(super) async fn create(
    client: &Client,
    timeline: &[u8; 16],
    origin: Origin,
) -> Result<(), Error> {
    client.batch_execute(TABLES).await?;
    let sequence = i64::try_from(origin.sequence).unwrap_or(i64::MAX);
    let (timeline, before) = (timeline.as_slice(), origin.timeline.as_slice());
    client.execute(STATE, &[&VERSION, &timeline, &sequence, &before]).await.map(drop)
}

/// Makes the vault usable, with these shards. Its history continues the history that its rows come
/// from.
pub(super) async fn complete(client: &Client, shards: Shards) -> Result<(), Error> {
    let numbers: Vec<i16> = shards.all().filter_map(|it| i16::try_from(it.number()).ok()).collect();
    let turns = "INSERT INTO strongroom_turns (shard, sequence) SELECT shard, 0 \
        FROM unnest($1::smallint[]) AS shards (shard) \
        ON CONFLICT (shard) DO UPDATE SET sequence = 0";
    client.execute(turns, &[&numbers]).await?;
    let state =
        "UPDATE strongroom_state SET is_complete = true, sequence = origin_sequence WHERE id = 1";
    client.execute(state, &[]).await.map(drop)
}

/// Removes the rows of processes that ended long ago. A live process writes its row every few
/// seconds.
pub(super) const FORGET_WRITERS: &str =
    "DELETE FROM strongroom_writers WHERE at < now() - interval '1 day'";

pub(super) const REMOVE: &str =
    "DROP TABLE strongroom_state, strongroom_rows, strongroom_writers, strongroom_turns";

/// The parts of the vault's row that all versions of the tables have.
#[derive(Debug, Clone, Copy)]
pub(in crate::store) struct Summary {
    version: i32,
    is_complete: bool,
    pub(in crate::store) timeline: [u8; 16],
    pub(in crate::store) sequence: u64,
    /// The server runs without fsync.
    pub(super) lacks_sync: bool,
}

/// Reads the vault's row without prepared statements, which need tables of this version.
pub(super) async fn read(client: &Client) -> Result<Option<Summary>, Error> {
    // Other servers may lack the setting.
    let text = "SELECT version, is_complete, timeline, sequence, \
        coalesce(current_setting('fsync', true), 'on') = 'off' FROM strongroom_state WHERE id = 1";
    let Some(row) = client.query_opt(text, &[]).await? else { return Ok(None) };
    let timeline: Vec<u8> = row.try_get(2)?;
    let sequence: i64 = row.try_get(3)?;
    Ok(Some(Summary {
        version: row.try_get(0)?,
        is_complete: row.try_get(1)?,
        timeline: timeline.try_into().unwrap_or_default(),
        sequence: u64::try_from(sequence).unwrap_or_default(),
        lacks_sync: row.try_get(4)?,
    }))
}

impl Summary {
    pub(super) fn checked(self, access: Access) -> Result<Self, OpenFailure> {
        if self.version != VERSION {
            return Err(OpenFailure::Storage(StorageFailure::Database(
                format!(
                    "its tables have version {}, and this program knows {VERSION}",
                    self.version
                ),
                if self.version > VERSION {
                    "use the newer program; nothing was changed"
                } else {
                    "back the vault up with the program that made it, and restore the backup into \
                     an empty database with this one"
                },
            )));
        }
        if access == Access::Loading && self.is_complete {
            return Err(OpenFailure::Exists);
        }
        if access != Access::Loading && !self.is_complete {
            return Err(OpenFailure::Storage(StorageFailure::Database(
                String::from("the restore into it did not end"),
                "delete its tables whose names begin with strongroom_, then restore again",
            )));
        }
        Ok(self)
    }
}
