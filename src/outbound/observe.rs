//! Metrics and log lines of requests to destinations. They contain no host: tenants choose hosts.

use crate::app::{OutboundFailure, OutboundResponse};
use crate::log::{Event, Value};
use crate::metrics::{Counter, FamilyKind, Label, Observe, Page};
use crate::outbound::OutboundClient;

#[derive(Debug, Default)]
pub(super) struct Results {
    answered: Counter,
    refused: Counter,
    unreachable: Counter,
    timed_out: Counter,
    broken: Counter,
}

impl OutboundClient {
    pub(super) fn observe(&self, answered: Result<&OutboundResponse, &OutboundFailure>) {
        let results = &self.results;
        let (counter, failure) = match answered {
            Ok(_) => (&results.answered, None),
            Err(OutboundFailure::Refused(why)) => (&results.refused, Some(("refused", *why))),
            Err(OutboundFailure::Unreachable(why)) => {
                (&results.unreachable, Some(("unreachable", *why)))
            }
            Err(OutboundFailure::TimedOut) => {
                (&results.timed_out, Some(("timed_out", "the server did not answer in time")))
            }
            Err(OutboundFailure::Broken(why)) => (&results.broken, Some(("broken", *why))),
        };
        counter.add(1);
        if let Some((result, why)) = failure {
            let event = Event::warn("outbound_failed").with("result", Value::Name(result));
            self.log.event(event.with("why", Value::Name(why)));
        }
    }
}

impl Observe for OutboundClient {
    fn measure(&self, page: &mut Page) {
        let results = &self.results;
        let mut family = page.family(
            "strongroom_outbound_requests_total",
            "Requests to destinations outside, by result.",
            FamilyKind::Counter,
        );
        for (name, counter) in [
            ("answered", &results.answered),
            ("refused", &results.refused),
            ("unreachable", &results.unreachable),
            ("timed_out", &results.timed_out),
            ("broken", &results.broken),
        ] {
            family.sample(&[("result", Label::Name(name))], counter.get());
        }
        page.counter(
            "strongroom_outbound_waits_total",
            "Requests to destinations that had to wait for a place.",
            self.pool.waits(),
        );
        page.gauge(
            "strongroom_outbound_connections",
            "Open connections to destinations.",
            self.open.get(),
        )
        .status("outbound", "connections");
        page.gauge(
            "strongroom_outbound_connections_kept",
            "Connections to destinations that are kept for further requests.",
            self.pool.kept(),
        )
        .status("outbound", "kept_connections");
    }
}
