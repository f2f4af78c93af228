use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::rt::Timer as _;

use crate::server::head_timer::HeadTimer;
use crate::waiting::within;

#[tokio::test]
async fn each_deadline_is_kept_whatever_the_one_before_it() {
    let timer = HeadTimer::default();
    // The one before it is later, earlier, or dropped before its time, as when a head arrives.
    for (before_ms, wait_ms) in [(3_600_000, 20), (5, 60), (3_600_000, 5), (1, 30)] {
        let mut before = timer.sleep(Duration::from_millis(before_ms));
        poll_fn(|cx| Poll::Ready(before.as_mut().poll(cx).is_ready())).await;
        drop(before);
        let (begun, wait) = (Instant::now(), Duration::from_millis(wait_ms));
        within("the deadline", timer.sleep(wait)).await;
        assert!(begun.elapsed() >= wait, "{wait_ms}");
    }
}
