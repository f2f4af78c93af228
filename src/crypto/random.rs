//! Random bytes of the operating system, drawn in blocks, because a system call for each salt would
//! cost more than the sealing.

use ring::rand::{SecureRandom, SystemRandom};

use crate::lock::Lock;

const BLOCK_BYTES: usize = 4_096;

pub struct Random {
    source: SystemRandom,
    block: Lock<Block>,
    /// Replaces the operating system, so that a simulation repeats.
    #[cfg(test)]
    seed: Option<Lock<u64>>,
}

struct Block {
    bytes: [u8; BLOCK_BYTES],
    used: usize,
}

impl Random {
    #[expect(clippy::disallowed_methods, reason = "this is the one source of randomness")]
    pub fn new() -> Self {
        let block = Block { bytes: [0; BLOCK_BYTES], used: BLOCK_BYTES };
        Self {
            source: SystemRandom::new(),
            block: Lock::new(block),
            #[cfg(test)]
            seed: None,
        }
    }

    /// Gives the same bytes for the same seed.
    #[cfg(test)]
    pub(crate) fn seeded(seed: u64) -> Self {
        Self { seed: Some(Lock::new(seed)), ..Self::new() }
    }

    /// Returns fresh random bytes. Their place in the block is overwritten.
    pub fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }

    pub fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() > BLOCK_BYTES {
            self.draw(bytes);
            return;
        }
        let mut block = self.block.lock();
        if bytes.len() > BLOCK_BYTES.saturating_sub(block.used) {
            self.draw(&mut block.bytes);
            block.used = 0;
        }
        let start = block.used;
        block.used = start.saturating_add(bytes.len());
        let end = block.used;
        match block.bytes.get_mut(start..end) {
            Some(fresh) => {
                bytes.copy_from_slice(fresh);
                fresh.fill(0);
            }
            // Cannot happen, but leaving `bytes` at zero would be unsafe.
            None => self.draw(bytes),
        }
    }

    /// The source itself, for key agreement, in which `ring` draws the bytes.
    pub(super) const fn source(&self) -> &SystemRandom {
        &self.source
    }

    fn draw(&self, bytes: &mut [u8]) {
        #[cfg(test)]
        if let Some(seed) = &self.seed {
            return tests::draw_seeded(&mut seed.lock(), bytes);
        }
        // No operation is safe without randomness.
        assert!(self.source.fill(bytes).is_ok(), "the operating system gives no randomness");
    }
}

impl Default for Random {
    fn default() -> Self {
        Self::new()
    }
}

opaque_debug!(Random);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The generator `SplitMix64`.
    pub(super) fn draw_seeded(seed: &mut u64, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = *seed;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.copy_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes()[..chunk.len()]);
        }
    }

    #[test]
    fn no_bytes_are_given_out_twice_across_blocks() {
        let random = Random::new();
        let seen: HashSet<[u8; 24]> = (0..2_000).map(|_| random.bytes()).collect();
        assert_eq!(seen.len(), 2_000);
        let mut large = vec![0; 3 * BLOCK_BYTES];
        random.fill(&mut large);
        assert!(large.chunks(64).all(|chunk| chunk.iter().any(|byte| *byte != 0)));
    }
}
