//! Load: a number of closed-loop connections against one server, a warm-up, a measured window.
//! It never retries: an answer other than 2xx, or none at all, is an error and is counted.

use crate::Outcome;
use crate::client::{ANSWER_MAX, Connection, Target, block_on, id_of};
use crate::proc;
use crate::request::{Created, Kind, Load, Requests, Sent, Work};
use crate::stats::{Histogram, quotient};
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

#[derive(Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) warm: Duration,
    pub(crate) window: Duration,
    pub(crate) client_threads: usize,
    pub(crate) timeline: Timeline,
}

/// Histograms are enough for most figures; a timeline takes memory for each request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeline {
    Kept,
    LeftOut,
}

#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// The figures of one slice of load on one server.
pub(crate) struct Slice {
    pub(crate) rps: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) cpu_us: f64,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<String>,
    /// The newest tokens whose creation each connection got an answer for.
    pub(crate) created: Vec<Created>,
    /// The number of tokens made in all, warm-up included.
    pub(crate) made: u64,
    /// Every request of the window, if the pace keeps a timeline.
    pub(crate) timeline: Vec<Span>,
}

/// Drives one server with a number of connections: connect all, warm up, measure a window.
pub(crate) fn drive(
    target: &Target,
    work: &Work,
    connections: usize,
    pace: Pace,
) -> Outcome<Slice> {
    drive_all(std::slice::from_ref(target), work, connections, pace)
}

/// The same with the connections spread evenly over several servers of one vault.
pub(crate) fn drive_all(
    targets: &[Target],
    work: &Work,
    connections: usize,
    pace: Pace,
) -> Outcome<Slice> {
    proc::check_interrupted()?;
    let threads = pace.client_threads.clamp(1, connections);
    let barrier = Arc::new(Barrier::new(threads + 1));
    let (tally, cpu_share) = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|index| {
                let share = (connections + threads - 1 - index) / threads;
                let (barrier, work) = (Arc::clone(&barrier), work.clone());
                scope.spawn(move || drive_share(targets, &work, share, pace, &barrier))
            })
            .collect();
        barrier.wait();
        thread::sleep(pace.warm);
        // Several tenants of one server are several targets.
        let servers: BTreeSet<u32> = targets.iter().map(|target| target.pid).collect();
        let cpu_s = || servers.iter().map(|pid| proc::cpu_s(*pid)).sum::<Option<f64>>();
        let (cpu_before, from) = (cpu_s(), Instant::now());
        thread::sleep(pace.window);
        let (cpu_after, took) = (cpu_s(), from.elapsed());
        let mut tally = Tally::new();
        for thread in running {
            tally.merge(thread.join().expect("client threads do not panic")?);
        }
        // A busy machine may wake this thread late, so the share of processor time counts, not the sum.
        let used = cpu_after.zip(cpu_before).map_or(0.0, |(after, before)| after - before);
        Outcome::Ok((tally, used / took.as_secs_f64()))
    })?;
    let window_s = pace.window.as_secs_f64();
    let requests = tally.latencies.total() as f64;
    Ok(Slice {
        rps: requests / window_s,
        p50_us: tally.latencies.percentile_us(0.50),
        p90_us: tally.latencies.percentile_us(0.90),
        p99_us: tally.latencies.percentile_us(0.99),
        cpu_us: quotient(cpu_share * window_s * 1e6, requests),
        errors: tally.errors,
        first_error: tally.first_error,
        created: tally.created,
        made: tally.made,
        timeline: tally.timeline,
    })
}

struct Tally {
    latencies: Histogram,
    errors: u64,
    first_error: Option<String>,
    created: Vec<Created>,
    made: u64,
    timeline: Vec<Span>,
}

impl Tally {
    fn new() -> Self {
        Self {
            latencies: Histogram::new(),
            errors: 0,
            first_error: None,
            created: Vec::new(),
            made: 0,
            timeline: Vec::new(),
        }
    }

    fn refuse(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }

    fn merge(&mut self, other: Self) {
        self.latencies.merge(&other.latencies);
        self.errors += other.errors;
        if self.first_error.is_none() {
            self.first_error = other.first_error;
        }
        self.created.extend(other.created);
        self.made += other.made;
        self.timeline.extend(other.timeline);
    }
}

/// One client thread with its share of the connections.
fn drive_share(
    targets: &[Target],
    work: &Work,
    connections: usize,
    pace: Pace,
    barrier: &Barrier,
) -> Outcome<Tally> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let mut tally = Tally::new();
    let opened = match &runtime {
        Ok(runtime) => runtime.block_on(connect_all(targets, connections, &mut tally)),
        Err(_) => Vec::new(),
    };
    // Every thread arrives here, also after a failure: the barrier has no deadline.
    barrier.wait();
    let from = Instant::now() + pace.warm;
    runtime?.block_on(async {
        let mut loops = JoinSet::new();
        for (connection, target) in opened {
            loops.spawn(closed_loop(connection, target.requests(work.clone()), from, pace));
        }
        while let Some(done) = loops.join_next().await {
            tally.merge(done.expect("connections do not panic"));
        }
    });
    Ok(tally)
}

async fn connect_all(
    targets: &[Target],
    connections: usize,
    tally: &mut Tally,
) -> Vec<(Connection, Target)> {
    let mut opening = JoinSet::new();
    for target in targets.iter().cycle().take(connections).cloned() {
        opening.spawn(async move {
            let connection = tokio::time::timeout(ANSWER_MAX, target.connect()).await??;
            Outcome::Ok((connection, target))
        });
    }
    let mut opened = Vec::with_capacity(connections);
    while let Some(result) = opening.join_next().await {
        match result.expect("connecting does not panic") {
            Ok(opened_one) => opened.push(opened_one),
            Err(why) => tally.refuse(format!("cannot connect: {why}")),
        }
    }
    opened
}

/// One request after the other until the window ends; those that end inside it count.
async fn closed_loop(
    mut connection: Connection,
    mut requests: Requests,
    from: Instant,
    pace: Pace,
) -> Tally {
    let mut tally = Tally::new();
    let until = from + pace.window;
    let hang = tokio::time::sleep_until((until + ANSWER_MAX).into());
    tokio::pin!(hang);
    loop {
        let sent = requests.write_next(&mut connection.out);
        let start = Instant::now();
        if start >= until {
            break;
        }
        let answer = tokio::select! {
            biased;
            answer = connection.exchange() => answer,
            () = &mut hang => Err(format!("no answer for {ANSWER_MAX:?}").into()),
        };
        let end = Instant::now();
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                tally.refuse(why.to_string());
                break;
            }
        };
        let body = connection.bytes(&answer.body);
        if !(200..300).contains(&answer.status) {
            tally.refuse(format!("{} {}", answer.status, String::from_utf8_lossy(body)));
            continue;
        }
        if (from..until).contains(&end) {
            tally.latencies.record(end - start);
            if pace.timeline == Timeline::Kept {
                tally.timeline.push(Span { start, end });
            }
        }
        if sent == Sent::Create {
            match id_of(body) {
                Some(id) => requests.remember(id),
                None => tally.refuse("a created token has no id".to_owned()),
            }
        }
    }
    (tally.created, tally.made) = requests.into_created();
    tally
}

/// Tokens of a vault without a load of its own: gets need some to choose from, and lists a last page.
pub(crate) const SEEDED: usize = 1_000;

pub(crate) fn seeded(target: &Target, kind: Kind) -> Outcome<Arc<Vec<String>>> {
    let work = Work { ids: Arc::default(), kind, load: Load::Create };
    Ok(Arc::new(block_on(seed(target, &work, SEEDED))?))
}

/// Creates `count` tokens and returns their ids; the first failure ends it.
pub(crate) async fn seed(target: &Target, work: &Work, count: usize) -> Outcome<Vec<String>> {
    /// Enough to share commits, few enough for any server.
    const CONNECTIONS: usize = 16;
    let mut running = JoinSet::new();
    for index in 0..CONNECTIONS {
        let target = target.clone();
        let share = (count + CONNECTIONS - 1 - index) / CONNECTIONS;
        let mut requests = target.requests(Work { load: Load::Create, ..work.clone() });
        running.spawn(async move {
            let mut connection = target.connect().await?;
            let mut ids = Vec::with_capacity(share);
            for _ in 0..share {
                requests.write_next(&mut connection.out);
                let answer = connection.exchange_in_time().await?;
                let body = connection.bytes(&answer.body);
                match id_of(body) {
                    Some(id) if answer.status == 201 => ids.push(id),
                    _ => {
                        let body = String::from_utf8_lossy(body);
                        return Outcome::Err(
                            format!("create answered {} {body}", answer.status).into(),
                        );
                    }
                }
            }
            Ok(ids)
        });
    }
    let mut ids = Vec::with_capacity(count);
    while let Some(done) = running.join_next().await {
        ids.extend(done??);
    }
    Ok(ids)
}
