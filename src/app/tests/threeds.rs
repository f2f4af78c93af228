//! 3-D Secure on a disk that is nearly full: what was begun comes to its end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::app::tests::floor::{FLOOR, Free};
use crate::app::tests::master;
use crate::app::{App, Asking, Awaited, DirectoryServers, Error, Introduction, Reply};
use crate::bounds::THREEDS_RETENTION;
use crate::clock::Clock;
use crate::secret::Secret;
use crate::store::tests::block_on;
use crate::store::tests::disk::TestDisk;
use crate::threeds::ranges::Asked;
use crate::threeds::scheme::Scheme;

const SCHEMES: [Scheme; 2] = [Scheme::Visa, Scheme::Mastercard];

/// Directory servers that know every card, and remember the types of what they were asked.
#[derive(Debug, Default)]
struct Servers {
    asked: Mutex<Vec<(Scheme, String)>>,
}

impl Servers {
    fn take_asked(&self) -> Vec<(Scheme, String)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl DirectoryServers for Servers {
    fn schemes(&self) -> Vec<Scheme> {
        SCHEMES.to_vec()
    }

    fn introduction(&self, _: Scheme) -> Option<Introduction> {
        let text = || String::from("https://vault.example");
        Some(Introduction {
            reference: String::from("REF-1"),
            operator: None,
            results_url: text(),
            base: text(),
        })
    }

    fn ask<'a>(&'a self, scheme: Scheme, message: &'a Secret<Vec<u8>>, _: Awaited) -> Asking<'a> {
        let message: Value = serde_json::from_slice(message.expose()).unwrap();
        let kind = String::from(message["messageType"].as_str().unwrap());
        self.asked.lock().unwrap().push((scheme, kind));
        let told = pres(&message);
        let bytes = Secret::new(told.to_string().into_bytes());
        Box::pin(std::future::ready(Ok(Reply { bytes, simulated: None })))
    }
}

/// Every Visa card; and that nothing has changed, where that was asked.
fn pres(preq: &Value) -> Value {
    let ranges = json!([{
        "startRange": "4000000000000000", "endRange": "4999999999999999",
        "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0",
    }]);
    let mut pres = json!({
        "messageType": "PRes", "messageVersion": preq["messageVersion"],
        "threeDSServerTransID": preq["threeDSServerTransID"], "dsTransID": Uuid::max(),
        "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.2.0", "serialNum": "1",
    });
    if preq.get("serialNum").is_none() {
        pres["cardRangeData"] = ranges;
    }
    pres
}

/// A vault with directory servers and a disk that a test can fill.
fn vault(clock: &Clock) -> (App, Free, Arc<Servers>) {
    let mut app = App::on_backend(TestDisk::new(), master(), clock.clone()).unwrap();
    let (free, servers) = (Free::default(), Arc::new(Servers::default()));
    free.watched_by(&mut app);
    free.set(&app, FLOOR);
    app.configure_threeds(THREEDS_RETENTION, Some(Arc::<Servers>::clone(&servers)));
    (app, free, servers)
}

#[test]
fn ranges_that_cannot_be_kept_are_used_and_not_asked_for_again() {
    let clock = Clock::new();
    let (app, free, servers) = vault(&clock);
    free.set(&app, FLOOR - 1);
    let refused = block_on(app.refresh_ranges());
    // Each scheme is asked, whatever came of the other.
    assert_eq!(refused.iter().map(|(scheme, _)| *scheme).collect::<Vec<_>>(), SCHEMES);
    assert!(refused.iter().all(|(_, it)| matches!(it, Err(Error::ReadOnly(_)))), "{refused:?}");
    assert_eq!(servers.take_asked().len(), 2);
    clock.advance(Duration::from_hours(1));
    assert!(block_on(app.refresh_ranges()).is_empty());
    assert!(servers.take_asked().is_empty());
    free.set(&app, 2 * FLOOR);
    clock.advance(Duration::from_hours(22));
    for (_, refreshed) in block_on(app.refresh_ranges()) {
        let refreshed = refreshed.unwrap();
        assert_eq!((refreshed.asked, refreshed.ranges), (Asked::Answered, 1));
    }
    assert!(app.verify().unwrap().is_clean());
}
