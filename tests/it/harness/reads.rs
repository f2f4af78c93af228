//! The rate at which a well-behaved client reads a token, alone and while others attack.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::wait::SetOnDrop;
use crate::harness::{Request, Vault, get};

/// The least part of the rate that is left during an attack.
const RATIO_MIN: f64 = 0.5;
/// The time for which reads are counted, with and without the attack, in turn.
const WINDOW: Duration = Duration::from_millis(250);
const WINDOWS: usize = 5;
/// Other work of the machine may fall into the windows of the attack. Such an attempt is repeated.
const ATTEMPTS: usize = 6;

/// Switches of an attack.
#[derive(Debug, Default)]
pub(crate) struct Switches {
    is_on: AtomicBool,
    is_over: AtomicBool,
}

impl Switches {
    /// Waits until the attack is on; false when it is over.
    pub(crate) async fn wait(&self) -> bool {
        while !self.is_on.load(Ordering::Relaxed) && !self.is_over() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        !self.is_over()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Runs the attack in a thread and checks that a client, which reads one token again and again over
/// its own connection, is served at half its rate or better. The rate is the median of several
/// windows of the same run. Returns the rates as a text.
#[track_caller]
pub(crate) fn check_reads_during<A: Future<Output = ()>>(
    vault: &Vault,
    what: &str,
    attack: impl FnOnce(&'static Switches) -> A + Send,
) -> String {
    // Leaked, so that the tasks of the attack may hold it; a test has few.
    let switches: &'static Switches = Box::leak(Box::default());
    let read = read_of_a_token(vault);
    thread::scope(|scope| {
        let _over = SetOnDrop(&switches.is_over);
        scope.spawn(|| {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(attack(switches));
        });
        let mut best = 0.0;
        for _ in 0..ATTEMPTS {
            let (mut alone, mut attacked) = (Vec::new(), Vec::new());
            for _ in 0..WINDOWS {
                for (is_on, rates) in [(false, &mut alone), (true, &mut attacked)] {
                    switches.is_on.store(is_on, Ordering::Relaxed);
                    // The first reads are not counted: the attack begins or ends meanwhile.
                    thread::park_timeout(Duration::from_millis(20));
                    rates.push(reads_a_second(vault, &read));
                }
            }
            let (alone, attacked) = (median(alone), median(attacked));
            best = f64::max(best, attacked / alone);
            if best >= RATIO_MIN {
                return format!("{what}: {attacked:.0} of {alone:.0} reads a second are left");
            }
        }
        panic!("{what}: {best:.2} of the rate is left");
    })
}

/// The median rate of several windows.
pub(crate) fn read_rate(vault: &Vault) -> f64 {
    let read = read_of_a_token(vault);
    median((0..WINDOWS).map(|_| reads_a_second(vault, &read)).collect())
}

fn read_of_a_token(vault: &Vault) -> Request {
    let id = vault.token(json!({"type": "token", "data": "read by others"}));
    get(&format!("/tokens/{id}")).key(&vault.keys.private)
}

fn reads_a_second(vault: &Vault, read: &Request) -> f64 {
    let begun = Instant::now();
    let mut count = 0.0;
    while begun.elapsed() < WINDOW {
        vault.send(read).with_status(200);
        count += 1.0;
    }
    count / begun.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
