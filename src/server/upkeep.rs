//! Background work of the server: it reloads a changed certificate and logs refused connections. A
//! certificate that cannot be served does not replace the current one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::bounds;
use crate::domain::time::Timestamp;
use crate::log::{Event, Log, Value};
use crate::server::accept::TlsConfig;
use crate::server::bounds::Bounds;
use crate::server::certificate::{self, Certificate, CertificateProblem};
use crate::server::clients::ClientVerifiers;
use crate::server::http2::every;
use crate::server::tasks::StopSignal;
use crate::server::traffic::Traffic;

#[derive(Debug, Clone)]
pub(super) struct CertificateFiles {
    pub(super) certificate: PathBuf,
    pub(super) private_key: PathBuf,
    pub(super) clients: Option<ClientVerifiers>,
}

impl CertificateFiles {
    pub(super) fn load(&self, now: Timestamp) -> Result<Certificate, CertificateProblem> {
        certificate::load(&self.certificate, &self.private_key, self.clients.as_ref(), now)
    }

    /// Identifies a state of the files without reading them.
    pub(super) fn stamp(&self) -> FileStamps {
        [&self.certificate, &self.private_key].map(|path| {
            let file = fs::metadata(path).ok()?;
            Some([
                file.ino(),
                file.len(),
                file.mtime().cast_unsigned(),
                file.mtime_nsec().cast_unsigned(),
            ])
        })
    }
}

pub(super) type FileStamps = [Option<[u64; 4]>; 2];

pub(super) struct ServerUpkeep {
    pub(super) files: CertificateFiles,
    /// The state of the files when they were last read.
    pub(super) read: FileStamps,
    pub(super) expires: Timestamp,
    /// The closed connections that were logged.
    pub(super) reported: [u64; 3],
    pub(super) tls: TlsConfig,
    pub(super) traffic: Arc<Traffic>,
    pub(super) log: Log,
}

impl ServerUpkeep {
    pub(super) async fn run(mut self, bounds: Arc<Bounds>, mut stop: StopSignal) {
        let mut hangups = signal(SignalKind::hangup()).ok();
        let mut looks = every(bounds.certificate_check_every);
        let mut reports = every(bounds.refusals_logged_every);
        let mut warnings = every(bounds::CERTIFICATE_WARN_EVERY);
        let mut seen = self.read;
        self.warn_if_short();
        loop {
            tokio::select! {
                () = stop.stopping() => {
                    self.report();
                    return;
                }
                () = hangup(&mut hangups) => self.reload().await,
                _ = looks.tick() => {
                    let stamp = self.stamp().await;
                    // Two checks in a row saw the same new state, so the change is complete.
                    if stamp == seen && stamp != self.read {
                        self.reload().await;
                    }
                    seen = stamp;
                }
                _ = reports.tick() => self.report(),
                _ = warnings.tick() => self.warn_if_short(),
            }
        }
    }

    async fn reload(&mut self) {
        let files = self.files.clone();
        let now = self.log.now();
        // The stamp is taken first, so that the next check sees a change during the reading.
        self.read = self.stamp().await;
        let loaded = tokio::task::spawn_blocking(move || files.load(now)).await;
        match loaded {
            Ok(Ok(certificate)) => {
                *self.tls.write() = certificate.config;
                self.expires = certificate.expires;
                self.traffic.certificate(Some(certificate.expires));
                self.log.event(loaded_event(certificate.expires));
                self.warn_if_short();
            }
            Ok(Err(problem)) => {
                self.traffic.certificate_refused();
                let event = Event::error("certificate_kept");
                let (certificate, key) = (&self.files.certificate, &self.files.private_key);
                let event = event.with("path", Value::Path(certificate.clone()));
                let event = event.with("key_path", Value::Path(key.clone()));
                self.log.event(event.with("why", Value::Name(problem.name())));
            }
            // The runtime is shutting down, or the reading panicked and the panic hook has logged
            // it.
            Err(_) => {}
        }
    }

    async fn stamp(&self) -> FileStamps {
        let files = self.files.clone();
        tokio::task::spawn_blocking(move || files.stamp()).await.unwrap_or(self.read)
    }

    /// Logs the connections that were closed since the last time because a maximum was reached.
    fn report(&mut self) {
        let closed = self.traffic.closed();
        if closed == self.reported {
            return;
        }
        let mut event = Event::warn("connections_refused");
        let names = ["in_all", "per_address", "strangers"];
        for ((name, count), before) in names.into_iter().zip(closed).zip(self.reported) {
            event = event.with(name, Value::Count(count.saturating_sub(before)));
        }
        self.log.event(event);
        self.reported = closed;
    }

    fn warn_if_short(&self) {
        let expires = self.expires;
        if expires <= self.log.now().plus(bounds::CERTIFICATE_WARN_BEFORE) {
            let event = Event::warn("certificate_expires_soon");
            self.log.event(event.with("expires", Value::Time(expires)));
        }
    }
}

pub(super) fn loaded_event(expires: Timestamp) -> Event {
    Event::info("certificate_loaded").with("expires", Value::Time(expires))
}

/// The files are watched even if the signal handler could not be installed.
async fn hangup(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}
