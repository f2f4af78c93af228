//! The engine's statements. Each connection prepares them once.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};

use crate::bounds::PAGE_BYTES;
use crate::store::engine::postgres::range::{Ends, ends};
use crate::store::engine::{Hold, KeySet, Order, Page, RowChange, Turns, ValueSets};
use crate::store::tables::{KeyRange, Table};

/// Pages up to this number of rows are read without a check of their length.
const SHORT_PAGE_ROWS: i64 = 16;

const GET: &str = "SELECT value FROM strongroom_rows WHERE tbl = $1 AND key = $2";

const GET_MANY: &str = "SELECT asked.place, found.value \
    FROM unnest($1::smallint[], $2::bytea[]) WITH ORDINALITY AS asked (tbl, key, place) \
    JOIN strongroom_rows AS found ON found.tbl = asked.tbl AND found.key = asked.key";

/// Rows are locked in the order of their keys, as other batches write them.
fn hold_text(strength: &str) -> String {
    format!("{GET_MANY} ORDER BY found.tbl, found.key FOR {strength} OF found")
}

const STATE: &str = "SELECT timeline FROM strongroom_state WHERE id = 1";

const MOMENT: &str = "SELECT timeline, sequence + (SELECT coalesce(sum(turns.sequence), 0)::bigint \
    FROM strongroom_turns AS turns) FROM strongroom_state WHERE id = 1";

/// The vault's own shard is 0, and the last one.
const TURNS: &str = "SELECT shard FROM strongroom_turns WHERE shard = ANY($1) \
    ORDER BY shard = 0, shard FOR UPDATE";

const MARK: &str = "WITH counted AS (\
        UPDATE strongroom_turns SET sequence = sequence + 1 WHERE shard = ANY($3)) \
    INSERT INTO strongroom_writers (writer, number, at) VALUES ($1, $2, now()) \
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, at = excluded.at";

const ADD: &str = "INSERT INTO strongroom_rows (tbl, key, value) \
    SELECT tbl, key, value FROM unnest($1::smallint[], $2::bytea[], $3::bytea[]) \
    AS added (tbl, key, value)";

const PUT: &str = "INSERT INTO strongroom_rows (tbl, key, value) \
    SELECT tbl, key, value FROM unnest($1::smallint[], $2::bytea[], $3::bytea[]) \
    AS put (tbl, key, value) \
    ON CONFLICT (tbl, key) DO UPDATE SET value = excluded.value";

const DELETE: &str = "DELETE FROM strongroom_rows AS rows \
    USING unnest($1::smallint[], $2::bytea[]) AS gone (tbl, key) \
    WHERE rows.tbl = gone.tbl AND rows.key = gone.key";

const OUTCOME: &str = "SELECT number FROM strongroom_writers WHERE writer = $1";

fn page_text(order: Order) -> String {
    let order = if order == Order::Ascending { "" } else { " DESC" };
    format!(
        "SELECT key, value FROM strongroom_rows \
         WHERE (tbl, key) >= ($1, $2) AND (tbl, key) < ($3, $4) \
         ORDER BY tbl{order}, key{order} LIMIT $5"
    )
}

/// Like [`page_text`], but leaves out the rows behind [`PAGE_BYTES`] and returns the number of rows
/// including them.
fn bounded_page_text(order: Order) -> String {
    let page = page_text(order);
    let order = if order == Order::Ascending { "" } else { " DESC" };
    format!(
        "SELECT key, value, total FROM (SELECT key, value, count(*) OVER () AS total, \
         sum(octet_length(value)) OVER (ORDER BY key{order} \
         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before \
         FROM ({page}) AS page) AS counted \
         WHERE before IS NULL OR before < {PAGE_BYTES} ORDER BY key{order}"
    )
}

#[derive(Debug)]
pub(super) struct Statements {
    get: Statement,
    get_many: Statement,
    get_undeleted: Statement,
    get_unchanged: Statement,
    forward: Statement,
    backward: Statement,
    forward_bounded: Statement,
    backward_bounded: Statement,
    state: Statement,
    moment: Statement,
    turns: Statement,
    mark: Statement,
    add: Statement,
    put: Statement,
    delete: Statement,
    outcome: Statement,
}

impl Statements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        let place = [Type::INT2, Type::BYTEA, Type::INT2, Type::BYTEA, Type::INT8];
        let (forward, backward) = (page_text(Order::Ascending), page_text(Order::Descending));
        let forward_bounded = bounded_page_text(Order::Ascending);
        let backward_bounded = bounded_page_text(Order::Descending);
        let lists = [Type::INT2_ARRAY, Type::BYTEA_ARRAY, Type::BYTEA_ARRAY];
        let writer = [Type::BYTEA, Type::INT8, Type::INT2_ARRAY];
        let many = [Type::INT2_ARRAY, Type::BYTEA_ARRAY];
        let (undeleted, unchanged) = (hold_text("KEY SHARE"), hold_text("SHARE"));
        let (get, get_many, forward, backward, forward_bounded, backward_bounded) = tokio::try_join!(
            client.prepare_typed(GET, &[Type::INT2, Type::BYTEA]),
            client.prepare_typed(GET_MANY, &many),
            client.prepare_typed(&forward, &place),
            client.prepare_typed(&backward, &place),
            client.prepare_typed(&forward_bounded, &place),
            client.prepare_typed(&backward_bounded, &place),
        )?;
        let (get_undeleted, get_unchanged, state, moment, turns) = tokio::try_join!(
            client.prepare_typed(&undeleted, &many),
            client.prepare_typed(&unchanged, &many),
            client.prepare(STATE),
            client.prepare(MOMENT),
            client.prepare_typed(TURNS, &[Type::INT2_ARRAY]),
        )?;
        let (mark, add, put, delete, outcome) = tokio::try_join!(
            client.prepare_typed(MARK, &writer),
            client.prepare_typed(ADD, &lists),
            client.prepare_typed(PUT, &lists),
            client.prepare_typed(DELETE, &many),
            client.prepare_typed(OUTCOME, &[Type::BYTEA]),
        )?;
        let pages = (forward, backward, forward_bounded, backward_bounded);
        let (forward, backward, forward_bounded, backward_bounded) = pages;
        Ok(Self {
            get,
            get_many,
            get_undeleted,
            get_unchanged,
            forward,
            backward,
            forward_bounded,
            backward_bounded,
            state,
            moment,
            turns,
            mark,
            add,
            put,
            delete,
            outcome,
        })
    }

    pub(super) async fn get(
        &self,
        client: &Client,
        table: Table,
        key: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let row = client.query_opt(&self.get, &[&number(table), &key]).await?;
        row.map(|row| row.try_get(0)).transpose()
    }

    /// The values of several keys. With `hold`, their rows stay as they are until the transaction
    /// ends.
    pub(super) async fn get_many(
        &self,
        client: &Client,
        keys: &[(Table, &[u8])],
        hold: Option<Hold>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let statement = match hold {
            None => &self.get_many,
            Some(Hold::Delete) => &self.get_undeleted,
            Some(Hold::Change) => &self.get_unchanged,
        };
        let (tables, names): (Vec<i16>, Vec<&[u8]>) =
            keys.iter().map(|(table, key)| (number(*table), *key)).unzip();
        let mut values = vec![None; keys.len()];
        for row in client.query(statement, &[&tables, &names]).await? {
            let place: i64 = row.try_get(0)?;
            let place = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
            if let Some(value) = place.and_then(|place| values.get_mut(place)) {
                *value = Some(row.try_get(1)?);
            }
        }
        Ok(values)
    }

    /// Sends the statements of all sets together.
    pub(super) async fn get_sets(
        &self,
        client: &Client,
        sets: &[KeySet<'_>; 3],
    ) -> Result<ValueSets, Error> {
        let [one, two, three] = sets.each_ref().map(|(keys, hold)| async {
            if keys.is_empty() {
                return Ok(Vec::new());
            }
            self.get_many(client, keys, *hold).await
        });
        let (one, two, three) = tokio::join!(biased; one, two, three);
        Ok([one?, two?, three?])
    }

    pub(super) async fn page(
        &self,
        client: &Client,
        range: &KeyRange,
        order: Order,
        count_max: usize,
    ) -> Result<Page, Error> {
        let table = number(range.table());
        let Ends { from, to } = ends(range);
        let (to_table, to) = match to {
            Some(to) => (table, to),
            None => (table.saturating_add(1), Vec::new()),
        };
        let limit = i64::try_from(count_max).unwrap_or(i64::MAX);
        let params: [&(dyn ToSql + Sync); 5] = [&table, &from, &to_table, &to, &limit];
        let is_short = limit <= SHORT_PAGE_ROWS;
        let statement = match (order, is_short) {
            (Order::Ascending, true) => &self.forward,
            (Order::Descending, true) => &self.backward,
            (Order::Ascending, false) => &self.forward_bounded,
            (Order::Descending, false) => &self.backward_bounded,
        };
        let found = client.query(statement, &params).await?;
        let total = match found.first() {
            Some(first) if !is_short => first.try_get::<_, i64>(2)?,
            Some(_) | None => i64::try_from(found.len()).unwrap_or(i64::MAX),
        };
        let rows: Result<Vec<_>, Error> =
            found.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect();
        let is_whole = usize::try_from(total).is_ok_and(|total| total == found.len());
        Ok(Page { rows: rows?, is_last: is_whole && total < limit })
    }

    /// The vault's timeline; `None` if the database has no vault.
    pub(super) async fn timeline(&self, client: &Client) -> Result<Option<[u8; 16]>, Error> {
        let row = client.query_opt(&self.state, &[]).await?;
        row.map(|row| timeline_of(&row)).transpose()
    }

    /// The vault's timeline, and the number of batches in all shards.
    pub(super) async fn moment(&self, client: &Client) -> Result<Option<([u8; 16], u64)>, Error> {
        let Some(row) = client.query_opt(&self.moment, &[]).await? else { return Ok(None) };
        Ok(Some((timeline_of(&row)?, unsigned(row.try_get(1)?))))
    }

    /// Waits for the turns of these shards. Returns false if the vault lacks one.
    pub(super) async fn take_turns(&self, client: &Client, shards: &Turns) -> Result<bool, Error> {
        let taken = client.query(&self.turns, &[&numbers(shards)]).await?;
        Ok(taken.len() == shards.len())
    }

    /// Counts a batch and records it as this writer's newest.
    pub(super) async fn mark(
        &self,
        client: &Client,
        (writer, batch): (&[u8; 16], i64),
        shards: &Turns,
    ) -> Result<(), Error> {
        let params: [&(dyn ToSql + Sync); 3] = [&writer.as_slice(), &batch, &numbers(shards)];
        client.execute(&self.mark, &params).await.map(drop)
    }

    pub(super) async fn write(&self, client: &Client, rows: &RowSets) -> Result<(), Error> {
        let RowSets { added, put, deleted } = rows;
        let (added, put, deleted) = tokio::join!(biased;
            insert(client, &self.add, added),
            insert(client, &self.put, put),
            async {
                if !deleted.is_empty() {
                    let Columns { tables, keys, .. } = Columns::new(deleted);
                    client.execute(&self.delete, &[&tables, &keys]).await?;
                }
                Ok(())
            },
        );
        added.and(put).and(deleted)
    }

    /// The newest batch of a writer.
    pub(super) async fn outcome(
        &self,
        client: &Client,
        writer: &[u8; 16],
    ) -> Result<Option<i64>, Error> {
        let row = client.query_opt(&self.outcome, &[&writer.as_slice()]).await?;
        row.map(|row| row.try_get(0)).transpose()
    }
}

async fn insert(client: &Client, statement: &Statement, rows: &[RowChange]) -> Result<(), Error> {
    if !rows.is_empty() {
        let Columns { tables, keys, values } = Columns::new(rows);
        client.execute(statement, &[&tables, &keys, &values]).await?;
    }
    Ok(())
}

/// A batch's rows by the statements that write them. All keys differ.
#[derive(Debug, Default)]
pub(super) struct RowSets {
    /// Rows that do not exist yet.
    added: Vec<RowChange>,
    put: Vec<RowChange>,
    deleted: Vec<RowChange>,
}

impl RowSets {
    pub(super) fn new(rows: Vec<RowChange>, is_new: impl Fn(&RowChange) -> bool) -> Self {
        let mut sets = Self::default();
        for row in rows {
            let set = match row.value {
                None => &mut sets.deleted,
                Some(_) if is_new(&row) => &mut sets.added,
                Some(_) => &mut sets.put,
            };
            set.push(row);
        }
        sets
    }
}

struct Columns<'a> {
    tables: Vec<i16>,
    keys: Vec<&'a [u8]>,
    values: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn new(rows: &'a [RowChange]) -> Self {
        Self {
            tables: rows.iter().map(|row| number(row.table)).collect(),
            keys: rows.iter().map(|row| row.key.as_slice()).collect(),
            values: rows.iter().filter_map(|row| row.value.as_deref()).collect(),
        }
    }
}

fn number(table: Table) -> i16 {
    i16::from(table.number())
}

/// Batch numbers are never negative, unless another program wrote one.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn timeline_of(row: &Row) -> Result<[u8; 16], Error> {
    let timeline: Vec<u8> = row.try_get(0)?;
    // The table checks the length.
    Ok(timeline.try_into().unwrap_or_default())
}

fn numbers(shards: &Turns) -> Vec<i16> {
    shards.iter().map(|shard| i16::try_from(shard.number()).unwrap_or(i16::MAX)).collect()
}
