//! The shards whose turns a change needs.

use crate::store::change::{Change, Expect, Write};
use crate::store::engine::Turns;
use crate::store::shards::Shards;
use crate::store::shared::generations::Generation;
use crate::store::tables::{Shard, Table};

/// The shards of its writes, and those of rows that it expects to be absent, which cannot be locked.
pub(in crate::store) fn turns_of(change: &Change, shards: Shards) -> Turns {
    if shards == Shards::default() {
        return Turns::from([Shard::VAULT]);
    }
    let mut turns = Turns::new();
    for write in &change.writes {
        turns.extend(match write {
            Write::Add(key, _) => shards.of_row(Table::Counts, key),
            Write::Audit(entries) => Some(shards.of_scope(&entries.scope)),
            Write::Delete(table, key) | Write::Put(table, key, _) => shards.of_row(*table, key),
        });
    }
    for expect in &change.expects {
        match expect {
            Expect::Absent(table, key, _) => turns.extend(shards.of_row(*table, key)),
            Expect::CountsAtMost(keys, _) => {
                turns.extend(keys.iter().filter_map(|key| shards.of_row(Table::Counts, key)));
            }
            Expect::Keys(range, _) | Expect::RowsAtMost(range, _) => {
                turns.extend(shards.of_row(range.table(), range.start()));
            }
            Expect::Is(..) | Expect::Present(..) | Expect::Value(..) => (),
        }
    }
    // The row of the generations is the vault's.
    if Generation::all_of(change).next().is_some() || turns.is_empty() {
        turns.insert(Shard::VAULT);
    }
    turns
}
