//! Trying and testing: `strongroom dev`, `dev-clock`, `dev-preload`.
#![expect(clippy::doc_markdown, reason = "these are help texts, shown as they are")]

use std::path::PathBuf;

use argh::{ArgsInfo, FromArgs};

use crate::limits::Network;

/// Start a vault for trying and testing. Creates what it needs: keys, certificate, tenant.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "dev")]
pub(in crate::cli) struct DevCommand {
    /// directory of the vault; created on first use (default ./strongroom-dev)
    #[argh(option, default = "PathBuf::from(\"strongroom-dev\")")]
    pub(in crate::cli) data: PathBuf,
    /// address and port to listen on; port 0 selects a free port (default 127.0.0.1:8443)
    #[argh(option, default = "String::from(\"127.0.0.1:8443\")")]
    pub(in crate::cli) listen: String,
    /// type of the tenant that is created on first use: test or production (default test)
    #[argh(option)]
    pub(in crate::cli) tenant_type: Option<String>,
    /// the published rate limits: on or off (default on)
    #[argh(option, default = "String::from(\"on\")")]
    pub(in crate::cli) rate_limits: String,
    /// a quota of the tenant as NAME=VALUE, such as tokenize_limit=100; may be repeated
    #[argh(option)]
    pub(in crate::cli) quota: Vec<String>,
    /// a file with the threeds section of the settings, which names directory servers for
    /// production tenants
    #[argh(option)]
    pub(in crate::cli) threeds: Option<PathBuf>,
    /// the bundle of the published browser SDK for 3-D Secure, such as
    /// node_modules/@basis-theory/web-threeds/dist/bundle/index.js, for the page /examples/checkout
    #[argh(option)]
    pub(in crate::cli) threeds_sdk: Option<PathBuf>,
    /// a PEM file with the certificate authorities of destinations such as proxies call, in place
    /// of the system's
    #[argh(option)]
    pub(in crate::cli) outbound_ca: Option<PathBuf>,
    /// a network of reverse proxies, such as 10.0.0.0/8, whose X-Forwarded-For header gives the
    /// client's address; may be repeated
    #[argh(option)]
    pub(in crate::cli) trusted_proxy: Vec<Network>,
    /// a file with the URL of a PostgreSQL database for the vault's rows, instead of a data file; with
    /// mode 0600 or 0400
    #[argh(option)]
    pub(in crate::cli) engine_url_file: Option<PathBuf>,
    /// stop the clock at the time of the start; only `dev-clock advance` moves it
    #[argh(switch)]
    pub(in crate::cli) stop_clock: bool,
    /// print one line of JSON when ready, instead of text
    #[argh(switch)]
    pub(in crate::cli) json: bool,
}

/// Move the clock of a running development server ahead, and remove everything that has expired.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "dev-clock")]
pub(in crate::cli) struct DevClockCommand {
    /// directory of the running development server (default ./strongroom-dev)
    #[argh(option, default = "PathBuf::from(\"strongroom-dev\")")]
    pub(in crate::cli) data: PathBuf,
    #[argh(subcommand)]
    pub(in crate::cli) action: DevClockAction,
}

#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand)]
pub(in crate::cli) enum DevClockAction {
    Advance(Advance),
}

/// Move the clock ahead. Returns when everything that has expired by the new time is removed.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "advance")]
pub(in crate::cli) struct Advance {
    /// a duration such as 30s, 15m, 24h or 90d, or a number of seconds
    #[argh(positional, arg_name = "DURATION")]
    pub(in crate::cli) duration: String,
}

/// Fill a stopped development vault with tokens, for benchmarks. Prints some of their ids.
#[derive(ArgsInfo, FromArgs, Debug)]
#[argh(subcommand, name = "dev-preload")]
pub(in crate::cli) struct DevPreloadCommand {
    /// directory that `strongroom dev` made (default ./strongroom-dev)
    #[argh(option, default = "PathBuf::from(\"strongroom-dev\")")]
    pub(in crate::cli) data: PathBuf,
    /// number of tokens to create
    #[argh(option)]
    pub(in crate::cli) tokens: u64,
    /// content of the tokens: token (a short text) or card (default token)
    #[argh(option, default = "String::from(\"token\")")]
    pub(in crate::cli) kind: String,
}
