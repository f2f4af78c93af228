//! The directory servers of a running vault: the client for requests to them, and the listener for
//! their results.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::app::{self, Error, RangesRefresh, Vault};
use crate::bounds::{RESULTS_CONNECTIONS_MAX, RESULTS_SHARED_MAX, THREEDS_RANGES_PERIOD};
use crate::cli::serve::processes::spawn_led;
use crate::cli::support::{Exit, Failure, Result, explain_bind};
use crate::config::{DirectoryServer, DirectorySettings, ThreedsSettings};
use crate::directory::{DirectoryClient, UnusableEndpoint};
use crate::http::Http;
use crate::log::{Event, Log, Value};
use crate::server::tasks::Tasks;
use crate::server::{Authority, ClientAuthorities, Server, Settings};
use crate::threeds::ranges::PreqResult;
use crate::threeds::scheme::Scheme;

/// Configures the directory servers of the vault and binds the listener for results. Without
/// directory servers there is no listener.
pub(in crate::cli) fn set_up(
    vault: &Vault,
    threeds: &ThreedsSettings,
    tasks: &Tasks,
    log: &Log,
) -> Result<Option<Server>> {
    let Some(directory) = &threeds.directory else {
        vault.threeds().configure_threeds(threeds.retention, None);
        return Ok(None);
    };
    let network =
        DirectoryClient::new(directory, tasks.clone(), log.clone()).map_err(|unusable| {
            let UnusableEndpoint { scheme, problem } = unusable;
            let source = std::error::Error::source(&problem).map(|source| format!("\n{source}"));
            let name = scheme.as_str();
            Failure::new(Exit::Config, format!("cannot use the directory server of {name}"))
                .why(format!("{problem}{}", source.unwrap_or_default()))
                .try_this(problem.advice())
        })?;
    vault.threeds().configure_threeds(threeds.retention, Some(Arc::new(network)));
    let server = Server::bind(results_settings(directory), log.clone());
    server.map(Some).map_err(|error| explain_bind(&error))
}

fn results_settings(directory: &DirectorySettings) -> Settings {
    let mut settings = Settings::new(
        directory.results_listen.clone(),
        directory.results_certificate.clone(),
        directory.results_private_key.clone(),
    );
    settings.name = "results";
    settings.bounds.connections_max = RESULTS_CONNECTIONS_MAX;
    settings.bounds.h2_shared_max = RESULTS_SHARED_MAX;
    let authority = |server: &DirectoryServer| Authority {
        name: server.scheme.as_str(),
        ca: server.ca.clone(),
    };
    settings.authorities = directory.servers.iter().map(authority).collect();
    settings
}

/// Serves until the sender of `stopped` is dropped, then drains like the listener of the API.
pub(in crate::cli) async fn serve_results(
    server: Option<Server>,
    http: Arc<Http>,
    stopped: oneshot::Receiver<()>,
) {
    let Some(server) = server else { return };
    let answer = move |request, peer| {
        let http = Arc::clone(&http);
        async move {
            let names = ClientAuthorities::of(&request).into_iter();
            let schemes: Vec<_> = names.filter_map(Scheme::parse).collect();
            http.answer_results(request, peer, &schemes).await
        }
    };
    server.run(answer, async { drop(stopped.await) }).await;
}

/// Keeps the card ranges current if the vault has directory servers and a listener for results.
pub(in crate::cli) fn keep_ranges(
    results: Option<&Server>,
    vault: &Arc<Vault>,
    tasks: &Tasks,
    log: &Log,
) {
    if results.is_some() {
        spawn_led(vault, tasks, log, refresh_ranges);
    }
}

async fn refresh_ranges(vault: Arc<Vault>, by: app::Authority, log: Log) {
    loop {
        for (scheme, refreshed) in vault.card_ranges().by(by).refresh_all().await {
            let event = match refreshed {
                Ok(RangesRefresh { asked, ranges }) => {
                    let event = match asked {
                        PreqResult::Answered => Event::info("card_ranges_refreshed"),
                        PreqResult::Refused(code) => Event::error("card_ranges_refused")
                            .with("code", Value::Count(u64::from(code.number()))),
                        PreqResult::Unanswered => Event::warn("card_ranges_unanswered"),
                    };
                    let count = u64::try_from(ranges).unwrap_or(u64::MAX);
                    event.with("ranges", Value::Count(count))
                }
                // The store has failed or is closing: the process is about to end.
                Err(Error::Stopped | Error::Storage(_)) => return,
                Err(Error::ReadOnly(_)) => Event::warn("card_ranges_not_kept"),
                Err(_) => Event::error("card_ranges_failed"),
            };
            log.event(event.with("scheme", Value::Name(scheme.as_str())));
        }
        tokio::time::sleep(THREEDS_RANGES_PERIOD).await;
    }
}
