//! Metrics of the connections and of the certificate.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::domain::time::Timestamp;
use crate::log::Log;
use crate::metrics::{Checks, Counter, FamilyKind, Gauge, Label, Observe, Page, StatusValue};
use crate::server::permits::ConnectionLimit;
use crate::server::problem::ServerProblem;

#[derive(Debug)]
pub struct Traffic {
    pub(super) open: Gauge,
    pub(super) accepted: Counter,
    pub(super) handshakes_failed: Counter,
    pub(super) spent: Counter,
    pub(super) streams_refused: Counter,
    pub(super) strangers: Counter,
    full_in_all: Counter,
    full_per_address: Counter,
    refused: [(ServerProblem, Counter); 6],
    /// Microseconds since 1970; `i64::MAX` without a certificate.
    expires: AtomicI64,
    /// The files of the certificate have changed, and cannot be served.
    is_refused: AtomicBool,
    log: Log,
}

impl Traffic {
    pub(super) fn new(expires: Option<Timestamp>, log: Log) -> Self {
        let traffic = Self {
            open: Gauge::default(),
            accepted: Counter::default(),
            handshakes_failed: Counter::default(),
            spent: Counter::default(),
            streams_refused: Counter::default(),
            strangers: Counter::default(),
            full_in_all: Counter::default(),
            full_per_address: Counter::default(),
            refused: ServerProblem::ALL.map(|refusal| (refusal, Counter::default())),
            expires: AtomicI64::new(i64::MAX),
            is_refused: AtomicBool::new(false),
            log,
        };
        traffic.certificate(expires);
        traffic
    }

    /// Notes the certificate that is now served.
    pub(super) fn certificate(&self, expires: Option<Timestamp>) {
        self.is_refused.store(false, Ordering::Relaxed);
        let expires = expires.map_or(i64::MAX, Timestamp::micros);
        self.expires.store(expires, Ordering::Relaxed);
    }

    /// The files have a certificate that cannot be served, so the one before it stays.
    pub(super) fn certificate_refused(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }

    pub(super) fn full(&self, full: ConnectionLimit) {
        match full {
            ConnectionLimit::InAll => &self.full_in_all,
            ConnectionLimit::PerAddress => &self.full_per_address,
        }
        .add(1);
    }

    /// Connections that were closed because a maximum was reached: new ones, and strangers that
    /// made room for new ones.
    pub(super) fn closed(&self) -> [u64; 3] {
        [&self.full_in_all, &self.full_per_address, &self.strangers].map(Counter::get)
    }

    pub(super) fn refused(&self, refusal: ServerProblem) {
        if let Some((_, count)) = self.refused.iter().find(|(known, _)| *known == refusal) {
            count.add(1);
        }
    }

    fn expires(&self) -> Option<Timestamp> {
        let expires = self.expires.load(Ordering::Relaxed);
        (expires < i64::MAX).then(|| Timestamp::from_micros(expires))
    }
}

impl Observe for Traffic {
    fn measure(&self, page: &mut Page) {
        page.gauge("strongroom_connections_open", "Open connections.", self.open.get())
            .status("connections", "open");
        page.counter(
            "strongroom_connections_accepted_total",
            "Connections that were accepted and served.",
            self.accepted.get(),
        )
        .status("connections", "accepted");
        let mut family = page.family(
            "strongroom_connections_refused_total",
            "Connections that were closed because a maximum was reached: in all, of one address, or as \
             a stranger whose place another one needed.",
            FamilyKind::Counter,
        );
        for (place, count) in ["in_all", "per_address", "stranger"].into_iter().zip(self.closed()) {
            family.sample(&[("place", Label::Name(place))], count).status("connections", "refused");
        }
        page.counter(
            "strongroom_tls_handshakes_failed_total",
            "Connections whose TLS handshake was not completed.",
            self.handshakes_failed.get(),
        )
        .status("connections", "failed_handshakes");
        page.counter(
            "strongroom_connections_spent_total",
            "Connections that were closed because too many requests in a row were refused, or for a \
             flood of HTTP/2 frames that serve no request.",
            self.spent.get(),
        );
        page.counter(
            "strongroom_streams_refused_total",
            "HTTP/2 streams that were refused because a maximum was reached; clients send them again.",
            self.streams_refused.get(),
        );
        let mut family = page.family(
            "strongroom_refusals_total",
            "Requests that the server answered before they reached a route, by reason.",
            FamilyKind::Counter,
        );
        for (refusal, count) in &self.refused {
            family.sample(&[("reason", Label::Name(refusal.name()))], count.get());
        }
        let expires = self.expires();
        page.known_gauge(
            "strongroom_certificate_expires_timestamp_seconds",
            "Expiry of the certificate, in seconds since 1970.",
            expires,
        )
        .status("certificate", "expires_at");
        let left = expires.map(|at| StatusValue::Count(at.since(self.log.now()).as_secs()));
        page.line("certificate", "left_s", left);
        let is_refused = expires.map(|_| self.is_refused.load(Ordering::Relaxed));
        page.known_gauge(
            "strongroom_certificate_refused",
            "1 if the files of the certificate cannot be used, so that the one before them is served \
             and the next start would fail, else 0.",
            is_refused.map(u64::from),
        );
        page.line("certificate", "files_refused", is_refused.map(StatusValue::Flag));
    }

    fn check(&self, checks: &mut Checks) {
        let expired = self.expires().is_some_and(|at| at <= self.log.now());
        if expired {
            checks.set("certificate", Some("The certificate has expired."));
            return;
        }
        // Clients are served with the certificate from before, so the server stays ready.
        let is_refused = self.is_refused.load(Ordering::Relaxed);
        checks.warn(
            "certificate",
            is_refused.then_some(
                "The files of the certificate were changed and cannot be used: the one before is \
                 served, and the next start would fail. Run strongroom check.",
            ),
        );
    }
}
