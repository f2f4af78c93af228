//! The exchange of the keys of card verification codes: its state in memory.

use std::collections::BTreeSet;
use std::time::Duration;

use uuid::Uuid;

use crate::bounds::{CODE_PAIR_AFTER, CODE_PAIR_KEPT};
use crate::crypto::{Random, TransferMessage, TransferPair};
use crate::secret::Secret;

#[derive(Debug, Default)]
pub(in crate::app) struct CodeExchange {
    pub(super) pairs: Pairs,
    /// Processes that were sent all keys.
    pub(super) greeted: BTreeSet<Uuid>,
    /// Processes that have sent a message.
    pub(super) heard: BTreeSet<Uuid>,
    /// Messages that were read but are still in the store.
    pub(super) read: BTreeSet<Vec<u8>>,
}

/// Key pairs with the process age at which they were made. The last one is in use.
#[derive(Debug, Default)]
pub(super) struct Pairs(Vec<(Duration, TransferPair)>);

impl Pairs {
    /// Makes a new pair if the last one is old, and destroys pairs that are no longer needed.
    pub(super) fn renew(&mut self, now: Duration, random: &Random) {
        self.0.retain(|(made, _)| now < made.saturating_add(CODE_PAIR_KEPT));
        let is_old = |made: Duration| now >= made.saturating_add(CODE_PAIR_AFTER);
        if self.0.last().is_none_or(|(made, _)| is_old(*made)) {
            self.0.push((now, TransferPair::new(random)));
        }
    }

    pub(super) fn current(&self) -> Option<&TransferPair> {
        self.0.last().map(|(_, pair)| pair)
    }

    pub(super) fn receive(&self, message: &TransferMessage) -> Option<Secret<Vec<u8>>> {
        self.0.iter().find_map(|(_, pair)| pair.receive(message).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_pair_is_replaced_and_then_destroyed_while_the_process_runs() {
        let (mut pairs, random) = (Pairs::default(), Random::new());
        let minutes = |minutes: u64| Duration::from_mins(minutes);
        let mut publics = Vec::new();
        // The minute, the number of pairs, and whether the last one is new.
        for (minute, count, is_new) in
            [(0, 1, true), (3, 1, false), (4, 2, true), (5, 1, false), (8, 2, true), (60, 1, true)]
        {
            pairs.renew(minutes(minute), &random);
            assert_eq!(pairs.0.len(), count, "minute {minute}");
            let public = pairs.current().unwrap().public();
            assert_eq!(publics.last() != Some(&public), is_new, "minute {minute}");
            publics.push(public);
        }
    }
}
