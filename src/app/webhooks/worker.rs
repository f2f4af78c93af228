//! The worker that delivers events while the server runs.
//!
//! [`Lanes`] selects the next event. A receiver that does not answer pauses only its own lane.

use std::collections::HashSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::time::{Interval, MissedTickBehavior, Sleep};

use crate::app::Webhooks;
use crate::app::blocking::run_blocking;
use crate::app::commit::commit_loop::Priority;
use crate::app::error::{Error, Fault};
use crate::app::outbound::{OutboundFailure, OutboundRequest};
use crate::app::records;
use crate::app::webhooks::lanes::{Delivery, LaneId, Lanes};
use crate::app::webhooks::queue::{AfterAttempt, Scheduled};
use crate::bounds::{
    WEBHOOK_GATHER, WEBHOOK_LOOK_ROWS_MAX, WEBHOOK_OVERLAP, WEBHOOK_PERIOD, WEBHOOK_READY_EACH_MAX,
    WEBHOOK_READY_MAX, WEBHOOK_SLOW_FOR, WEBHOOK_WHOLE_LOOK_MAX, WEBHOOK_WHOLE_LOOK_MIN,
};
use crate::domain::https_url::HttpsUrl;
use crate::domain::time::Timestamp;
use crate::domain::webhook::{FailureReason, Webhook, WebhookStatus};
use crate::store::record::decode_event;
use crate::store::tables::PendingDelivery;
use crate::store::{Authority, Table, tables};

type Outcome = Result<AttemptOutcome, Error>;

struct Attempt<'a> {
    row: Scheduled,
    delivery: Delivery,
    outcome: Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>,
}

struct Worker<'a> {
    webhooks: Webhooks<'a>,
    lanes: Lanes,
    /// Deliveries that are ready or in flight.
    known: HashSet<PendingDelivery>,
    attempts: Vec<Attempt<'a>>,
    looked_at: Option<Timestamp>,
    /// The time of the last look at the whole schedule.
    whole_at: Option<Timestamp>,
    /// The last look did not read all rows.
    is_behind: bool,
    period: Interval,
    /// Runs from the first event after a look until the next look.
    gathering: Option<Pin<Box<Sleep>>>,
}

enum Prepared {
    /// The webhook is deleted or disabled.
    Gone,
    /// The event is no longer in the queue, or was rescheduled.
    Moved,
    /// The webhook's URL cannot be called.
    NoUrl,
    Request(Box<OutboundRequest>),
}

#[derive(Debug, Clone, Copy)]
struct AttemptOutcome {
    after: AfterAttempt,
    failure: Option<FailureReason>,
}

impl Webhooks<'_> {
    /// Runs until the store fails or closes.
    pub async fn deliver(self, by: Authority) {
        self.find_leftovers();
        let mut worker = Worker::new(self.by(by));
        while worker.turn().await.is_ok() {}
    }

    async fn attempt(self, row: Scheduled) -> Result<AttemptOutcome, Error> {
        let nothing = |after| AttemptOutcome { after, failure: None };
        let request = match self.prepare(&row) {
            Ok(Prepared::Request(request)) => Some(request),
            Ok(Prepared::NoUrl) => None,
            Ok(Prepared::Gone) => return Ok(nothing(AfterAttempt::Gone)),
            Ok(Prepared::Moved) => return Ok(nothing(AfterAttempt::Waits(None))),
            Err(Error::Internal(fault)) => {
                let PendingDelivery { tenant, event, .. } = row.delivery;
                let table = Table::WebhookDeliveries;
                let error = Error::Internal(fault);
                self.vault.damage.pass_over(table, tenant, event.uuid(), error)?;
                self.postpone(row).await?;
                return Ok(nothing(AfterAttempt::Waits(None)));
            }
            Err(error) => return Err(error),
        };
        let sent = match (self.vault.outbound.get(), request) {
            (Some(outbound), Some(request)) => outbound.send(*request).await,
            // A vault without a network client, or a URL that no client accepts.
            (None, _) | (_, None) => Err(OutboundFailure::Refused("no client")),
        };
        let failure = match sent {
            Ok(response) if (200..300).contains(&response.status) => None,
            Ok(response) => Some(FailureReason::Status(response.status)),
            Err(OutboundFailure::Broken(_)) => Some(FailureReason::Broken),
            Err(OutboundFailure::Refused(_)) => Some(FailureReason::Refused),
            Err(OutboundFailure::TimedOut) => Some(FailureReason::TimedOut),
            Err(OutboundFailure::Unreachable(_)) => Some(FailureReason::Unreachable),
        };
        let after = self.settle(row, failure).await?;
        Ok(AttemptOutcome { after, failure })
    }

    fn prepare(self, row: &Scheduled) -> Result<Prepared, Error> {
        let PendingDelivery { tenant, webhook, .. } = row.delivery;
        let snapshot = self.vault.snapshot()?;
        let key = row.delivery.delivery_key();
        let sealed = snapshot.value(Table::WebhookDeliveries, &key)?;
        let Some(sealed) = sealed.filter(|_| row.exists(&snapshot).is_ok_and(|it| it)) else {
            return Ok(Prepared::Moved);
        };
        let keys = self.vault.keys().tenant_keys(&snapshot, tenant)?;
        let found = records::find::<Webhook>(&snapshot, &keys, webhook)?;
        let enabled = found.filter(|(webhook, _)| webhook.status == WebhookStatus::Enabled);
        let Some((webhook, _)) = enabled else { return Ok(Prepared::Gone) };
        let plain = keys.open(Table::WebhookDeliveries.number(), &key, &sealed)?;
        let event = decode_event(plain.expose())?;
        let Some(url) = HttpsUrl::parse_with_query(&webhook.url) else {
            return Ok(Prepared::NoUrl);
        };
        Ok(Prepared::Request(Box::new(self.request(url, &row.delivery, &event)?)))
    }
}

impl<'a> Worker<'a> {
    fn new(webhooks: Webhooks<'a>) -> Self {
        let mut period = tokio::time::interval(WEBHOOK_PERIOD);
        period.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            webhooks,
            lanes: Lanes::default(),
            known: HashSet::new(),
            attempts: Vec::new(),
            looked_at: None,
            whole_at: None,
            is_behind: false,
            period,
            gathering: None,
        }
    }

    /// Waits for the next thing to do and does it. An error ends the worker.
    async fn turn(&mut self) -> Result<(), Error> {
        let gathered = async {
            match &mut self.gathering {
                Some(gathering) => gathering.as_mut().await,
                None => std::future::pending().await,
            }
        };
        let is_due = tokio::select! {
            (attempt, outcome) = next_ended(&mut self.attempts) => {
                self.end(attempt.row, attempt.delivery, outcome).await?;
                self.is_hungry()
            }
            () = self.webhooks.vault.webhooks.wake.notified() => {
                let gathering = || Box::pin(tokio::time::sleep(WEBHOOK_GATHER));
                self.gathering.get_or_insert_with(gathering);
                false
            }
            () = gathered => true,
            _ = self.period.tick() => true,
        };
        if is_due {
            self.gathering = None;
            self.take_requests().await?;
            run_blocking(|| self.look()).or_else(unless_final)?;
        }
        self.start();
        Ok(())
    }

    /// True if a lane has used up the events that the last looks found, and more are due.
    fn is_hungry(&self) -> bool {
        self.is_behind || self.lanes.values().any(|lane| lane.has_more && lane.ready.is_empty())
    }

    async fn take_requests(&mut self) -> Result<(), Error> {
        let webhooks = self.webhooks;
        let requests = std::mem::take(&mut *webhooks.vault.webhooks.requests.lock());
        if requests.unblock_all {
            self.lanes.values_mut().for_each(|lane| lane.paused_until = None);
        }
        for lane in requests.unblock {
            if let Some(lane) = self.lanes.get_mut(&lane) {
                lane.paused_until = None;
            }
        }
        for (tenant, webhook) in requests.purge {
            webhooks.purge(tenant, webhook).await.or_else(unless_final)?;
            self.forget_ready((tenant, webhook));
        }
        Ok(())
    }

    /// The next look finds the remaining events again.
    fn forget_ready(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.get_mut(&id) else { return };
        for row in lane.ready.drain(..) {
            self.known.remove(&row.delivery);
        }
        lane.has_more = true;
    }

    /// Reads due events from the schedule: those since shortly before the last look, or all of them
    /// from time to time, more often while a lane has used up its events.
    fn look(&mut self) -> Result<(), Error> {
        let now = self.webhooks.vault.now();
        let patience =
            if self.is_hungry() { WEBHOOK_WHOLE_LOOK_MIN } else { WEBHOOK_WHOLE_LOOK_MAX };
        let whole = self.whole_at.is_none_or(|at| now < at || now.since(at) >= patience);
        let from = match self.looked_at {
            Some(at) if !whole => {
                Timestamp::from_micros(at.min(now).micros().saturating_sub(micros(WEBHOOK_OVERLAP)))
            }
            Some(_) | None => Timestamp::from_micros(0),
        };
        if whole {
            self.whole_at = Some(now);
            self.is_behind = false;
            self.lanes.values_mut().for_each(|lane| lane.has_more = false);
        }
        let snapshot = self.webhooks.vault.snapshot()?;
        for (count, row) in snapshot.range(&tables::webhook_schedule(from, now))?.enumerate() {
            if !whole && count >= WEBHOOK_LOOK_ROWS_MAX {
                self.is_behind = true;
                break;
            }
            let (key, value) = row?;
            let row = Scheduled::read(&key, &value).ok_or(Error::Internal(Fault::BadRecord))?;
            self.add(row);
        }
        self.looked_at = Some(now);
        Ok(())
    }

    fn add(&mut self, row: Scheduled) {
        if self.known.contains(&row.delivery) {
            return;
        }
        let has_room = self.known.len() < WEBHOOK_READY_MAX;
        let lane = self.lanes.entry((row.delivery.tenant, row.delivery.webhook)).or_default();
        if has_room && lane.ready.len() < WEBHOOK_READY_EACH_MAX {
            lane.ready.push_back(row);
            self.known.insert(row.delivery);
        } else {
            lane.has_more = true;
        }
    }

    /// Starts deliveries until none may start.
    fn start(&mut self) {
        let webhooks = self.webhooks;
        // Without space for the outcome, the same events would be sent again and again.
        if webhooks.vault.require_space(Priority::Upkeep).is_err() {
            return;
        }
        let now = webhooks.vault.now();
        loop {
            let underway = self.attempts.iter().map(|attempt| attempt.delivery);
            let Some((row, delivery)) = self.lanes.take_next(underway, now) else { break };
            let outcome = Box::pin(async move { webhooks.attempt(row).await });
            self.attempts.push(Attempt { row, delivery, outcome });
        }
    }

    async fn end(
        &mut self,
        row: Scheduled,
        delivery: Delivery,
        after: Outcome,
    ) -> Result<(), Error> {
        let webhooks = self.webhooks;
        self.known.remove(&row.delivery);
        let id = delivery.lane;
        let lane = self.lanes.entry(id).or_default();
        lane.in_flight = lane.in_flight.saturating_sub(1);
        let outcome = match after {
            Ok(outcome) => outcome,
            // The outcome could not be written. The lane pauses for a while, then the event is sent
            // again.
            Err(error) => {
                lane.paused_until = Some(webhooks.vault.now().plus(WEBHOOK_WHOLE_LOOK_MIN));
                lane.has_more = true;
                return unless_final(error);
            }
        };
        let now = webhooks.vault.now();
        let is_slow = outcome.failure.is_some() || delivery.took_long(now);
        lane.slow_until = is_slow.then(|| now.plus(WEBHOOK_SLOW_FOR));
        match outcome.after {
            AfterAttempt::Delivered => lane.paused_until = None,
            AfterAttempt::Waits(Some(at))
                if outcome.failure.is_some_and(FailureReason::is_silence) =>
            {
                lane.paused_until = Some(at);
            }
            AfterAttempt::Waits(_) => (),
            AfterAttempt::Gone => {
                // `purge` reads the webhook again: one that was enabled meanwhile keeps its events.
                webhooks.purge(id.0, id.1).await.or_else(unless_final)?;
                self.forget_ready(id);
            }
        }
        self.lanes.forget_idle(now);
        Ok(())
    }
}

/// Waits for ever when there are no attempts.
async fn next_ended<'a>(attempts: &mut Vec<Attempt<'a>>) -> (Attempt<'a>, Outcome) {
    poll_fn(|context| {
        let mut ended = None;
        for (at, attempt) in attempts.iter_mut().enumerate() {
            if let Poll::Ready(outcome) = attempt.outcome.as_mut().poll(context) {
                ended = Some((at, outcome));
                break;
            }
        }
        match ended {
            Some((at, outcome)) => Poll::Ready((attempts.swap_remove(at), outcome)),
            None => Poll::Pending,
        }
    })
    .await
}

/// Temporary errors do not end the worker: it returns to the event at its next look.
fn unless_final(error: Error) -> Result<(), Error> {
    if matches!(error, Error::Stopped | Error::Storage(_)) { Err(error) } else { Ok(()) }
}

fn micros(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}
