//! The disk alone: the time to overwrite 4 KiB of a preallocated file and make them durable. No vault can answer a durable
//! create in less.

use crate::Outcome;
use crate::proc;
use crate::stats::Histogram;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

const BLOCK_BYTES: usize = 4_096;
/// The writes go through the file from its start to its end, as those of a log do.
const BLOCKS: u64 = 4_096;

pub(crate) struct Overwrite {
    file: File,
    block: u64,
}

impl Overwrite {
    pub(crate) fn new(path: &Path) -> Outcome<Self> {
        let file = File::create(path)?;
        for block in 0..BLOCKS {
            file.write_all_at(&[0; BLOCK_BYTES], block * BLOCK_BYTES as u64)?;
        }
        file.sync_all()?;
        Ok(Self { file, block: 0 })
    }

    /// The p50 in microseconds of overwriting a block with fdatasync, one after the other for a window.
    pub(crate) fn p50_us(&mut self, window: Duration) -> Outcome<f64> {
        proc::check_interrupted()?;
        let mut latencies = Histogram::new();
        let until = Instant::now() + window;
        while Instant::now() < until {
            self.block = (self.block + 1) % BLOCKS;
            let start = Instant::now();
            self.file.write_all_at(&[0xA5; BLOCK_BYTES], self.block * BLOCK_BYTES as u64)?;
            self.file.sync_data()?;
            latencies.record(start.elapsed());
        }
        Ok(latencies.percentile_us(0.50))
    }
}
