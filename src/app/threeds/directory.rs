//! Selects the directory servers: the simulator for test tenants, the network for production
//! tenants.

use std::fmt::Debug;
use std::future::ready;
use std::sync::Arc;

use crate::app::ThreedsSessions;
use crate::app::caller::Caller;
use crate::app::threeds::create::Client;
use crate::app::threeds::directory_servers::{
    Asking, DirectoryFailure, DirectoryServers, Introduction, Reply, ResponseKind,
};
use crate::crypto::Random;
use crate::domain::id::SessionId;
use crate::domain::tenant::TenantKind;
use crate::secret::Secret;
use crate::threeds::mapping::ServerIdentity;
use crate::threeds::scheme::Scheme;
use crate::threeds::simulator::{self, SimulatorUrls, TransactionSeed};

impl ThreedsSessions<'_> {
    /// A production tenant never reaches the simulator, and a test tenant reaches nothing else.
    pub(super) fn directory_servers<'a>(
        &'a self,
        caller: &Caller,
        client: &'a Client,
    ) -> Arc<dyn DirectoryServers + 'a> {
        match caller.tenant.kind {
            TenantKind::Test => {
                Arc::new(Simulator { random: self.vault.random(), base: &client.base })
            }
            TenantKind::Production => self.network(),
        }
    }

    pub(super) fn network(self) -> Arc<dyn DirectoryServers> {
        self.vault.threeds.servers.get().cloned().unwrap_or_else(|| Arc::new(NoDirectoryServers))
    }
}

impl Introduction {
    pub(super) fn identity(&self, session: SessionId) -> ServerIdentity {
        ServerIdentity {
            reference: self.reference.clone(),
            operator: self.operator.clone(),
            results_url: self.results_url.clone(),
            notification_url: format!(
                "{}/3ds/sessions/{session}/challenge-notification",
                self.base
            ),
        }
    }
}

/// For a server without settings for directory servers.
#[derive(Debug)]
struct NoDirectoryServers;

impl DirectoryServers for NoDirectoryServers {
    fn schemes(&self) -> Vec<Scheme> {
        Vec::new()
    }

    fn introduction(&self, _: Scheme) -> Option<Introduction> {
        None
    }

    fn ask<'a>(&'a self, _: Scheme, _: &'a Secret<Vec<u8>>, _: ResponseKind) -> Asking<'a> {
        Box::pin(ready(Err(DirectoryFailure::NotConfigured)))
    }
}

/// The built-in directory server and ACS.
#[derive(Debug)]
struct Simulator<'s> {
    random: &'s Random,
    base: &'s str,
}

const SIMULATED_REFERENCE: &str = "STRONGROOM-3DSS";

impl DirectoryServers for Simulator<'_> {
    /// The simulator has a fixed list of cards and no card ranges.
    fn schemes(&self) -> Vec<Scheme> {
        Vec::new()
    }

    fn introduction(&self, _: Scheme) -> Option<Introduction> {
        Some(Introduction {
            reference: String::from(SIMULATED_REFERENCE),
            operator: None,
            results_url: format!("{}/3ds/results", self.base),
            base: String::from(self.base),
        })
    }

    fn ask<'a>(&'a self, _: Scheme, message: &'a Secret<Vec<u8>>, _: ResponseKind) -> Asking<'a> {
        let random = || uuid::Builder::from_random_bytes(self.random.bytes()).into_uuid();
        let drawn = TransactionSeed {
            acs_transaction: random(),
            ds_transaction: random(),
            proof: self.random.bytes(),
        };
        let places = SimulatorUrls { base: self.base };
        let (bytes, simulated) = simulator::answer(message.expose(), &drawn, &places);
        Box::pin(ready(Ok(Reply { bytes, simulated })))
    }
}
