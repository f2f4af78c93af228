//! The driver's own checks, run where cargo runs this target as a test: a measure that is wrong is worse than none.

use crate::Outcome;
use crate::bare::Bare;
use crate::budget;
use crate::client::{id_of, parse};
use crate::counts::read_thread;
use crate::drive::{Pace, Span, Timeline, drive};
use crate::merge::{Sample, merge_spans, split};
use crate::metrics::MetricsPage;
use crate::model::{Model, Reply, confirm_replies};
use crate::proc::{self, Scratch};
use crate::request::{Kind, Load, Work, card_number, page_request};
use crate::stats::{Histogram, median};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) fn run() -> Outcome<()> {
    percentiles_are_within_one_per_cent();
    medians_are_in_the_middle();
    card_numbers_pass_the_luhn_check();
    answers_are_parsed_whole();
    cursors_are_escaped();
    metrics_are_found_by_their_whole_name();
    requests_that_touch_a_merge_are_inside();
    calls_of_the_allocator_are_summed_up();
    counts_may_grow_by_a_tenth();
    own_process_is_seen()?;
    bare_server_answers_the_model_and_errors_are_counted()?;
    budget::check()?;
    println!("load: the driver's own checks passed (cargo bench --bench load measures)");
    Ok(())
}

fn percentiles_are_within_one_per_cent() {
    for scale in [1_u64, 37, 1_000, 90_000] {
        let mut histogram = Histogram::new();
        for step in 1..=1_000 {
            histogram.record(Duration::from_nanos(step * scale));
        }
        for (share, step) in [(0.50, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let exact_us = step * scale as f64 / 1_000.0;
            let found_us = histogram.percentile_us(share);
            assert!(
                (found_us / exact_us - 1.0).abs() < 0.01,
                "{share} of x{scale}: {found_us} for {exact_us}"
            );
        }
    }
    assert!(Histogram::new().percentile_us(0.5) == 0.0);
    let mut slow = Histogram::new();
    slow.record(Duration::from_secs(100_000));
    assert!(slow.percentile_us(0.5) > 1e9, "what is off the scale lands in the last bucket");
}

fn medians_are_in_the_middle() {
    assert_eq!(median([]), None);
    assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median([4.0, 1.0]), Some(2.5));
}

fn card_numbers_pass_the_luhn_check() {
    // The documented test number is the one of this series at 424242424.
    assert_eq!(card_number(424_242_424), "4242424242424242");
    for serial in 0..1_000 {
        let number = card_number(serial * 7_919);
        let sum: u32 = number
            .bytes()
            .rev()
            .enumerate()
            .map(|(place, digit)| (place % 2, u32::from(digit - b'0')))
            .map(|(odd, value)| if odd == 1 { value * 2 / 10 + value * 2 % 10 } else { value })
            .sum();
        assert!(number.len() == 16 && sum.is_multiple_of(10), "{number}");
    }
}

fn answers_are_parsed_whole() {
    let answer = b"HTTP/1.1 201 Created\r\nA: b\r\nContent-Length: 12\r\n\r\n{\"id\":\"abc\"}";
    for cut in 0..answer.len() {
        assert!(parse(&answer[..cut]).unwrap().is_none(), "cut at {cut}");
    }
    let parsed = parse(answer).unwrap().unwrap();
    assert_eq!((parsed.status, &answer[parsed.body.clone()]), (201, &b"{\"id\":\"abc\"}"[..]));
    assert_eq!(id_of(&answer[parsed.body]).as_deref(), Some("abc"));
    assert_eq!(id_of(b"{\"tenant_id\":\"t\"}"), None);
    assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err(), "no length");
    assert!(parse(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().is_some());
    assert!(parse(b"HTTP/1.1 204 No Content\r\n\r\nx").is_err(), "more than one answer");
}

fn cursors_are_escaped() {
    let request = page_request("a+/=~", "host: h\r\n");
    assert_eq!(request, b"GET /v2/tokens?size=20&start=a%2B%2F%3D~ HTTP/1.1\r\nhost: h\r\n\r\n");
}

fn metrics_are_found_by_their_whole_name() {
    let page = MetricsPage("# TYPE a gauge\na_total 3\na{b=\"c\"} 2\na 1.5\n".to_owned());
    assert_eq!(page.value("a"), Some(1.5));
    assert_eq!(page.value("a_total"), Some(3.0));
    assert_eq!(page.value("b"), None);
}

fn requests_that_touch_a_merge_are_inside() {
    let origin = Instant::now();
    let span = |start: u64, end: u64| Span {
        start: origin + Duration::from_millis(start),
        end: origin + Duration::from_millis(end),
    };
    let sample = |start, is_running, merges| {
        let merges = f64::from(merges);
        Sample { span: span(start, start + 1), is_running, merges }
    };
    // A merge that two samples see, then one that falls between two samples.
    let samples = [
        sample(0, false, 0),
        sample(10, true, 0),
        sample(20, true, 0),
        sample(30, false, 1),
        sample(40, false, 1),
        sample(50, false, 1),
        sample(60, false, 2),
        sample(70, false, 2),
    ];
    let merges = merge_spans(&samples);
    let ends: Vec<_> = merges.iter().map(|merge| (merge.start, merge.end)).collect();
    let expected = [span(0, 31), span(50, 61)].map(|merge| (merge.start, merge.end));
    assert_eq!(ends, expected);
    let mut sides = (Histogram::new(), Histogram::new());
    let requests =
        [span(5, 6), span(25, 35), span(32, 33), span(40, 65), span(49, 50), span(62, 90)];
    split(&requests, &merges, &mut sides.0, &mut sides.1);
    assert_eq!((sides.0.total(), sides.1.total()), (4, 2));
}

fn calls_of_the_allocator_are_summed_up() {
    let dump = "summary: 9\nfn=(1) main\n3 5\ncfn=(2) mi_malloc_aligned\ncalls=7 0\n3 90\ncfn=(3) mi_free\ncalls=6 0\n\
        4 1\nfn=(2)\n1 1\ncfn=(4) _mi_page_malloc_zero\ncalls=2 0\n5 1\nfn=(5) other\ncfn=(2)\ncalls=4 0\n\ntotals: 99 3\n";
    assert_eq!(read_thread(dump), Some((99, 11)));
    assert_eq!(read_thread("fn=(1) main\n"), None, "a dump that ends early");
}

fn counts_may_grow_by_a_tenth() {
    let compare = |counted| budget::compare("# why\nget allocations 100\n", counted).is_ok();
    assert!(compare("get allocations 110") && compare("get allocations 9"));
    assert!(!compare("get allocations 111") && !compare("get allocations"));
}

fn own_process_is_seen() -> Outcome<()> {
    let pid = std::process::id();
    let (cpu_s, resident) = (proc::cpu_s(pid), proc::resident_bytes(pid));
    assert!(cpu_s.is_some_and(|s| s < 60.0) && resident.is_some_and(|bytes| bytes > 100_000));
    let scratch = Scratch::new()?;
    std::fs::create_dir(scratch.path("inner"))?;
    std::fs::write(scratch.path("inner/file"), [1; 10_000])?;
    assert!((10_000..100_000).contains(&proc::disk_bytes(&scratch.path(""))?));
    Ok(())
}

fn bare_server_answers_the_model_and_errors_are_counted() -> Outcome<()> {
    let reply = |status, body: &str| Reply {
        status,
        headers: vec![
            ("x-sample".to_owned(), "a".to_owned()),
            ("x-sample".to_owned(), "b".to_owned()),
        ],
        body: body.to_owned(),
    };
    let model = Model {
        key: "key".to_owned(),
        create: reply(201, "{\"id\":\"made\"}"),
        get: reply(200, "{\"id\":\"read\"}"),
        page: reply(503, "{}"),
    };
    let scratch = Scratch::new()?;
    let bare = Bare::start(&model, &scratch.path("bare"))?;
    let pace = Pace {
        warm: Duration::from_millis(20),
        window: Duration::from_millis(200),
        client_threads: 2,
        timeline: Timeline::Kept,
    };
    let mut work =
        Work { ids: Arc::new(vec!["one".to_owned()]), kind: Kind::Card, load: Load::Mix };
    let slice = drive(&bare.target, &work, 3, pace)?;
    assert_eq!((slice.errors, slice.first_error), (0, None));
    assert!(slice.rps > 0.0 && slice.p50_us > 0.0 && slice.p99_us >= slice.p50_us);
    assert!(!slice.created.is_empty() && slice.created.iter().all(|created| created.id == "made"));
    assert!(!slice.timeline.is_empty() && slice.p90_us <= slice.p99_us);
    work.load = Load::Page(String::new());
    let slice = drive(&bare.target, &work, 1, pace)?;
    assert!(slice.errors > 0 && slice.rps == 0.0);
    assert_eq!(slice.first_error.as_deref(), Some("503 {}"));
    confirm_replies(&bare.target, &work, &model)?;
    let mut other = model;
    other.get.body.push(' ');
    assert!(confirm_replies(&bare.target, &work, &other).is_err());
    drop(bare);
    Ok(())
}
