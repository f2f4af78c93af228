//! Faults of the disk and of the machine, and the start after them.

use std::time::Duration;

use crate::app::tests::simulation::world::World;
use crate::app::{DiskState, VaultFailure};
use crate::store::OpenFailure;
use crate::store::tests::disk::{EIO, ENOSPC, Fate, Fault, Operation, TestDisk};
use crate::waiting::steps;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Killed, or ended by a failure of the disk. The system keeps its writes.
    Killed,
    PowerLost(Fate),
}

impl World {
    fn fate(&mut self) -> Fate {
        match self.roll(4) {
            0 => Fate::Lost,
            1 => Fate::Reached,
            _ => Fate::Torn(self.dice.roll(u64::MAX)),
        }
    }

    pub(super) fn end(&mut self) -> End {
        if self.one_in(2) { End::Killed } else { End::PowerLost(self.fate()) }
    }

    /// Makes one of the next operations of the disk fail.
    pub(super) fn plan_fault(&mut self) {
        let (operation, most) = match self.roll(8) {
            0..4 => (Operation::Sync, 10),
            4..7 => (Operation::Write, 40),
            _ => (Operation::Read, 20),
        };
        let fate = self.fate();
        let (fault, name) = match (operation, self.roll(6)) {
            (Operation::Read, _) => (Fault::Once(EIO), "planned: a read fails"),
            (_, 0) => (Fault::Kill, "planned: killed at a write or sync"),
            (Operation::Sync, 1) => (Fault::Once(EIO), "planned: a sync fails"),
            (_, 1) => (Fault::Once(EIO), "planned: a write fails"),
            (Operation::Write, 2) => (Fault::Always(ENOSPC), "planned: the disk is full"),
            _ => (
                Fault::PowerLoss(fate),
                match fate {
                    Fate::Lost => "planned: power loss, unsynced writes lost",
                    Fate::Reached => "planned: power loss, unsynced writes kept",
                    Fate::Torn(_) => "planned: power loss, writes torn",
                },
            ),
        };
        let nth = 1 + self.roll(most);
        self.disk.plan(operation, nth, fault);
        self.trace.lock().unwrap().fault(name);
    }

    pub(super) fn end_process(&mut self, end: End) {
        let name = match end {
            End::Killed => "process ended",
            End::PowerLost(Fate::Torn(_)) => "power lost, writes torn",
            End::PowerLost(_) => "power lost",
        };
        self.trace.lock().unwrap().fault(name);
        match end {
            // The power may be off already.
            End::Killed => self.disk.kill(),
            End::PowerLost(fate) => self.disk.lose_power(fate),
        }
        self.server = None;
        self.walk = std::sync::Arc::default();
        match end {
            End::Killed => self.disk.restart(),
            End::PowerLost(_) => self.disk = TestDisk::holding(self.disk.durable()),
        }
    }

    /// Opens the vault again, also through faults while it opens. `may_have_new_master` means that
    /// a replacement of the master key was not answered.
    pub(super) fn reopen(&mut self, may_have_new_master: bool) {
        for attempt in steps("a vault that opens") {
            let is_disturbed = attempt < 3 && self.one_in(5);
            if is_disturbed {
                self.plan_fault();
            }
            let opened = self.open(self.master);
            // A disturbed start fails because of the disk, never because of the data.
            let has_failed = matches!(&opened, Err(VaultFailure::File(OpenFailure::Storage(_))));
            if is_disturbed && (has_failed || self.disk.is_off()) {
                self.server = opened.ok();
                let end = self.end();
                self.end_process(end);
                continue;
            }
            self.disk.release();
            match opened {
                Ok(server) => {
                    self.server = Some(server);
                    return;
                }
                Err(VaultFailure::ReplacedMasterKey(_)) if may_have_new_master => self.master += 1,
                Err(failure) => panic!("the vault does not open: {failure:?}"),
            }
        }
    }

    pub(super) fn restart(&mut self) {
        self.trace.lock().unwrap().fault("stopped and started");
        let app = self.app();
        if self.one_in(2) {
            self.drive(app.audit().sign()).unwrap();
        }
        app.close();
        drop(app);
        while self.step_writer() {}
        self.server = None;
        self.walk = std::sync::Arc::default();
        self.reopen(false);
    }

    /// Sets the clock back by some minutes, after a sweep: the model does not know if an expired
    /// record was removed, and one that was not would live again.
    pub(super) fn set_clock_back(&mut self) {
        self.trace.lock().unwrap().fault("clock set back");
        let (app, at) = (self.app(), self.clock.now());
        self.drive(app.upkeep().sweep_all()).unwrap();
        self.model.tenants.iter_mut().for_each(|tenant| tenant.sweep_for_good(at));
        self.clock.set_back(Duration::from_millis(self.dice.roll(600_000)));
        // Their order of old and new tokens holds only for a clock that moves forward.
        self.readers.clear();
    }

    /// Chooses the free space of the disk for a round.
    pub(super) fn choose_space(&mut self) -> DiskState {
        let state = match self.roll(40) {
            0 | 1 => DiskState::ReadOnly,
            2 => DiskState::Full,
            _ => DiskState::Writable,
        };
        match state {
            DiskState::Writable => (),
            DiskState::ReadOnly => self.trace.lock().unwrap().fault("disk nearly full"),
            DiskState::Full => self.trace.lock().unwrap().fault("disk below its hard floor"),
        }
        self.set_disk(state);
        state
    }
}
