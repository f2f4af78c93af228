//! A round: some concurrent requests, in a random order, until all are answered, left or cut off.
//! Then the vault is compared with the model.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::app::tests::simulation::asks::{Ask, Chooser, Request};
use crate::app::tests::simulation::clients::{Answering, Sender, send};
use crate::app::tests::simulation::faults::End;
use crate::app::tests::simulation::model::{Model, Window};
use crate::app::tests::simulation::search::{Sent, explain};
use crate::app::tests::simulation::seen::{Outcome, Refusal};
use crate::app::tests::simulation::world::{Flag, World, master_of};
use crate::app::{DiskState, prove};
use crate::domain::time::Timestamp;
use crate::waiting::steps;

struct Task {
    sent: Sent,
    state: State,
    flag: Arc<Flag>,
}

enum State {
    Waiting,
    Begun(Answering),
    /// Answered, or its client has left.
    Ended,
}

impl World {
    pub(super) fn round(&mut self) {
        self.advance_clock();
        let begun_at = self.clock.now();
        let disk = self.choose_space();
        self.fill_readers();
        let requests = self.choose_requests();
        if self.one_in(8) {
            self.plan_fault();
        }
        let mut tasks: Vec<_> = requests.iter().map(|it| self.task(&requests, it, disk)).collect();
        let end = self.run(&mut tasks);
        let sent: Vec<Sent> = tasks.into_iter().map(|task| task.sent).collect();
        let is_of_master = |it: &&Sent| matches!(it.request.ask, Ask::RotateMaster);
        let of_master = sent.iter().find(is_of_master).map(|it| it.told.clone());
        let mut may_have_new_master = false;
        match of_master {
            Some(Some(Outcome::Done)) => self.master += 1,
            Some(None | Some(Outcome::Stopped)) => may_have_new_master = true,
            Some(Some(_)) | None => (),
        }
        if let Some(end) = end {
            self.end_process(end);
            self.reopen(may_have_new_master);
        }
        self.disk.release();
        self.set_disk(DiskState::Writable);
        self.check_round(&sent, begun_at, end.is_some());
    }

    /// The time between rounds: mostly short, at times hours.
    fn advance_clock(&mut self) {
        if self.one_in(60) {
            return self.set_clock_back();
        }
        let by = match self.roll(40) {
            0..26 => Duration::from_millis(self.dice.roll(5_000)),
            26..36 => Duration::from_secs(self.dice.roll(400)),
            36..38 => Duration::from_mins(self.dice.roll(120)),
            38 => Duration::from_hours(self.dice.roll(13)),
            _ => Duration::from_hours(24 + self.dice.roll(48)),
        };
        if by >= Duration::from_hours(1) {
            self.trace.lock().unwrap().fault("clock jumped by hours");
        }
        self.clock.advance(by);
    }

    fn choose_requests(&mut self) -> Vec<Request> {
        let count = 1 + self.roll(6);
        let (mut requests, mut readers) = (Vec::new(), Vec::new());
        for at in 0..count {
            let is_upkeep = at > 0 && self.one_in(4);
            let mut chooser = Chooser {
                dice: &mut self.dice,
                model: &self.model,
                now: self.clock.now(),
                keyed: &self.keyed,
                readers: self.readers.len(),
                next_key: &mut self.next_key,
            };
            let mut request = if is_upkeep { chooser.upkeep() } else { chooser.request() };
            if let Ask::List(_, Some(reader)) = request.ask {
                if readers.contains(&reader) {
                    continue;
                }
                readers.push(reader);
                request = self.readers[reader].request(reader);
            }
            // The server has one task for each kind of upkeep.
            let is_same = |it: &Request| it.ask.name() == request.ask.name();
            if request.ask.is_upkeep() && requests.iter().any(is_same) {
                continue;
            }
            let is_known = |it: &Request| it.ask.key() == request.ask.key();
            if request.ask.key().is_some() && !self.keyed.iter().any(is_known) {
                self.keyed.push(request.clone());
            }
            requests.push(request);
        }
        requests
    }

    fn task(&self, requests: &[Request], request: &Request, disk: DiskState) -> Task {
        let same = |it: &&Request| it.ask.key().is_some() && it.ask.key() == request.ask.key();
        let progress = match &request.ask {
            Ask::List(_, Some(reader)) => self.readers[*reader].progress.clone(),
            _ => None,
        };
        let sent = Sent {
            request: request.clone(),
            begun: 0,
            begun_at: self.clock.now(),
            ended: None,
            told: None,
            shares_key: requests.iter().filter(same).count() > 1,
            progress,
            disk,
        };
        Task { sent, state: State::Waiting, flag: Arc::default() }
    }

    fn sender(&self, request: &Request) -> Sender {
        let sessions = &self.model.tenants[request.tenant].sessions;
        let session = match &request.ask {
            Ask::UseSession(at, _) => Some(sessions[*at].text.clone()),
            Ask::Authorize(at) => Some(sessions[*at].nonce.clone()),
            _ => None,
        };
        let cursor = match &request.ask {
            Ask::List(_, Some(reader)) => self.readers[*reader].cursor.clone(),
            _ => None,
        };
        if let Ask::BackUp = request.ask {
            // A process that ended during a backup has left its file, which would make the next
            // backup fail.
            for left in ["a.backup", "a.backup.unfinished"] {
                std::fs::remove_file(self.backups.join(left)).ok();
            }
        }
        Sender {
            app: self.app(),
            site: Arc::clone(&self.site),
            request: request.clone(),
            session,
            cursor,
            walk: Arc::clone(&self.walk),
            next_master: self.master + 1,
            backup: self.backups.join("a.backup"),
        }
    }

    /// Returns the end of the process, if it came.
    fn run(&mut self, tasks: &mut [Task]) -> Option<End> {
        for step in steps("the end of a round") {
            self.trace.lock().unwrap().counts.steps += 1;
            if self.has_failed() {
                return Some(self.end_after_failure(tasks, step));
            }
            let is_ready = |task: &Task| match &task.state {
                State::Waiting => true,
                State::Begun(_) => task.flag.is_set(),
                State::Ended => false,
            };
            let ready: Vec<_> = (0..tasks.len()).filter(|at| is_ready(&tasks[*at])).collect();
            match self.roll(100) {
                0 => self.cancel_one(tasks),
                1 | 2 => self.merge(),
                3 => self.clock.advance(Duration::from_millis(self.dice.roll(3_000))),
                4 if self.one_in(4) => return Some(self.end()),
                5..30 => drop(self.step_writer()),
                _ if !ready.is_empty() => {
                    let at = ready[self.roll(ready.len())];
                    self.poll(&mut tasks[at], step);
                }
                _ => {
                    let has_written = self.step_writer();
                    let is_over = tasks.iter().all(|task| matches!(task.state, State::Ended));
                    if is_over && !has_written {
                        break;
                    }
                    let hangs = || tasks.iter().find(|it| !matches!(it.state, State::Ended));
                    let is_stuck = !has_written && !self.has_failed();
                    assert!(!is_stuck, "nobody works on {:?}", hangs().map(|it| &it.sent.request));
                }
            }
        }
        self.has_failed().then(|| self.end_after_failure(tasks, usize::MAX))
    }

    fn end_after_failure(&mut self, tasks: &mut [Task], step: usize) -> End {
        // Answers that were under way may still leave the process.
        for task in tasks.iter_mut() {
            if matches!(task.state, State::Begun(_)) && task.flag.is_set() && self.one_in(2) {
                self.poll(task, step);
            }
        }
        // After a planned loss of power, the disk has decided already.
        if self.disk.is_off() || !self.one_in(3) { End::Killed } else { self.end() }
    }

    pub(super) fn has_failed(&self) -> bool {
        let app = self.app();
        let failed = pin!(app.store().failed());
        failed.poll(&mut Context::from_waker(Waker::noop())).is_ready() || self.disk.is_off()
    }

    fn merge(&mut self) {
        let (app, turn) = (self.app(), self.roll(64));
        let is_merged = app.store().merge_now(turn).is_ok();
        self.note(format!("merge {turn}: {is_merged}"));
        *self.trace.lock().unwrap().counts.operations.entry("merge").or_default() += 1;
    }

    fn cancel_one(&mut self, tasks: &mut [Task]) {
        let begun: Vec<_> = (0..tasks.len())
            .filter(|at| matches!(tasks[*at].state, State::Begun(_)))
            .filter(|at| tasks[*at].sent.request.ask.may_be_cancelled())
            .collect();
        if begun.is_empty() {
            return;
        }
        let at = begun[self.roll(begun.len())];
        tasks[at].state = State::Ended;
        self.note(format!("{} is left by its client", tasks[at].sent.request.ask.name()));
        self.trace.lock().unwrap().fault("request cancelled");
    }

    fn poll(&mut self, task: &mut Task, step: usize) {
        if let State::Waiting = task.state {
            // No two requests begin at the same time, so the time of a record identifies its
            // request.
            self.clock.advance(Duration::from_micros(1));
            task.sent.begun = step;
            task.sent.begun_at = self.clock.now();
            task.state = State::Begun(send(self.sender(&task.sent.request)));
            let name = task.sent.request.ask.name();
            *self.trace.lock().unwrap().counts.operations.entry(name).or_default() += 1;
        }
        let State::Begun(future) = &mut task.state else { return };
        let told = loop {
            task.flag = Arc::default();
            let waker = Waker::from(Arc::clone(&task.flag));
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(told) => break told,
                Poll::Pending => {
                    self.settle();
                    if !task.flag.is_set() {
                        return;
                    }
                }
            }
        };
        task.state = State::Ended;
        task.sent.ended = Some((step, self.clock.now()));
        let Request { tenant, by, ask } = &task.sent.request;
        self.note(format!("tenant {tenant}, {by:?}: {ask:?} -> {told:?}"));
        *self.trace.lock().unwrap().counts.outcomes.entry(outcome(&told)).or_default() += 1;
        task.sent.told = Some(told);
    }

    fn check_round(&mut self, sent: &[Sent], begun_at: Timestamp, has_crashed: bool) {
        self.trace.lock().unwrap().counts.rounds += 1;
        let is_stopped = sent.iter().any(|it| matches!(it.told, Some(Outcome::Stopped)));
        assert!(has_crashed || !is_stopped, "a client was told that a working vault has stopped");
        let observed = self.observe();
        let after = explain(&self.model, sent, &observed).unwrap_or_else(|why| {
            let round: Vec<_> = sent.iter().map(|it| format!("{it:?}")).collect();
            panic!("{why}; the requests of the round:\n  {}", round.join("\n  "))
        });
        let before = std::mem::replace(&mut self.model, after);
        self.turn_pages(sent, begun_at);
        self.note_acts(sent);
        let others = sent;
        for sent in sent.iter().filter(|it| matches!(it.told, Some(Outcome::Done))) {
            match sent.request.ask {
                Ask::Sweep if sent.disk != DiskState::Full => {
                    self.check_codes_are_gone(sent.begun_at);
                }
                Ask::BackUp => self.check_backup(&before, others.len()),
                _ => (),
            }
        }
        if has_crashed || self.one_in(12) {
            self.verify();
        }
        if self.one_in(12) {
            self.take_receipt();
        }
        if self.one_in(25) {
            self.restart();
        }
    }

    /// The backup can be restored, and the restored vault is clean.
    fn check_backup(&mut self, before: &Model, requests: usize) {
        let (file, scratch) = (self.backups.join("a.backup"), self.backups.join("scratch"));
        if self.one_in(2) {
            // A replacement of the master key may have come in between.
            let masters = [self.master, self.master.saturating_sub(1)].map(master_of);
            let proofs = masters.map(|key| {
                prove(&file, None, &scratch, (key, self.clock.clone()), &Arc::default())
            });
            let ([Ok(proof), _] | [_, Ok(proof)]) = &proofs else { panic!("backup: {proofs:?}") };
            assert!(proof.report.is_clean(), "backup: {:?}", proof.report.findings);
            let now = Window { from: self.clock.now(), to: self.clock.now() };
            let rows = [before, &self.model].map(|model| {
                let rows = model.tenants.iter().map(|tenant| tenant.rows(now));
                rows.fold((0, 0), |sum, rows| (sum.0 + rows.0, sum.1 + rows.1))
            });
            let fewest = rows[0].0.min(rows[1].0).saturating_sub(requests);
            let most = rows[0].1.max(rows[1].1) + requests;
            let restored = proof.report.tokens + proof.report.token_intents;
            let is_right = (fewest..=most).contains(&usize::try_from(restored).unwrap());
            assert!(is_right, "a backup of {restored} records, not {fewest} to {most}");
        }
        std::fs::remove_file(&file).unwrap();
    }
}

fn outcome(told: &Outcome) -> &'static str {
    match told {
        Outcome::Token(_, crate::app::TokenOrigin::New) => "token written",
        Outcome::Token(..) => "token shown",
        Outcome::Replayed(_) => "answer replayed",
        Outcome::Page(..) | Outcome::Numbered(..) => "page",
        Outcome::Intent(_) => "intent",
        Outcome::Session { .. } => "session",
        Outcome::Threeds(_) => "3DS session",
        Outcome::Done => "done",
        Outcome::Refused(Refusal::Busy) => "busy",
        Outcome::Refused(Refusal::Conflict) => "conflict",
        Outcome::Refused(Refusal::Forbidden) => "forbidden",
        Outcome::Refused(Refusal::InFlight) => "in flight",
        Outcome::Refused(Refusal::Invalid) => "invalid",
        Outcome::Refused(Refusal::NotFound) => "not found",
        Outcome::Refused(Refusal::ReadOnly) => "read-only",
        Outcome::Refused(Refusal::Unauthenticated) => "unauthenticated",
        Outcome::Stopped => "stopped",
    }
}
