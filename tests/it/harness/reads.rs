//! Reads of a well-behaved client while others attack, measured in processor time of the server: the
//! other work of a busy machine does not count.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::harness::wait::SetOnDrop;
use crate::harness::{Request, Vault, get};

/// The work of the server from the begin of an attack to its end.
#[derive(Debug)]
pub(crate) struct Attacked {
    pub(crate) took: Duration,
    /// During the slowest read.
    pub(crate) slowest: Duration,
    reads: usize,
}

impl Attacked {
    /// Runs the attack while another client reads one token again and again.
    pub(crate) fn by(vault: &Vault, attack: impl FnOnce()) -> Self {
        let read = read_of_a_token(vault);
        let (start, over) = (vault.cpu_time(), AtomicBool::new(false));
        thread::scope(|scope| {
            let reading = scope.spawn(|| {
                let (mut slowest, mut reads) = (Duration::ZERO, 0);
                while !over.load(Ordering::Relaxed) {
                    let asked = vault.cpu_time();
                    vault.send(&read).with_status(200);
                    slowest = slowest.max(vault.cpu_time().saturating_sub(asked));
                    reads += 1;
                }
                (slowest, reads)
            });
            let stop_reading = SetOnDrop(&over);
            attack();
            let took = vault.cpu_time().saturating_sub(start);
            drop(stop_reading);
            let (slowest, reads) = reading.join().unwrap();
            Self { took, slowest, reads }
        })
    }

    /// Checks that reads were served between the parts of the attack: none waited for half of it.
    #[track_caller]
    pub(crate) fn check_reads_went_on(&self) {
        assert!(self.reads > 10 && self.slowest <= self.took / 2, "{self:?}");
    }
}

/// The processor time that the server spends on a fixed number of reads.
pub(crate) fn cpu_of_reads(vault: &Vault) -> Duration {
    const READS: usize = 300;
    let read = read_of_a_token(vault);
    let before = vault.cpu_time();
    for _ in 0..READS {
        vault.send(&read).with_status(200);
    }
    vault.cpu_time().checked_sub(before).unwrap()
}

fn read_of_a_token(vault: &Vault) -> Request {
    let id = vault.token(json!({"type": "token", "data": "read by others"}));
    get(&format!("/tokens/{id}")).key(&vault.keys.private)
}
