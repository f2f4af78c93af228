//! Strongroom: a vault for card and personal data in one binary.
//!
//! Programs send sensitive values over HTTPS and get tokens for them. The values are sealed in one
//! file. This page is the map of the sources; the README is for users of the interface,
//! `packaging/strongroom-guide.7` for operators, and `CONTRIBUTING.md` for changing it.
//!
//! # The rooms
//!
//! The program is one package of rooms (modules). Each stands on those above it and never looks at
//! those below it. This table is the rule: `tests/it/tidy` reads it and holds every source file
//! to it, so that it cannot grow old.
//!
//! | room | what it is for | may use |
//! |---|---|---|
//! | [`bounds`] | every maximum, with its reason, and what must hold between them | - |
//! | [`lock`] | locks that ignore poisoning, and why that is safe | - |
//! | [`files`] | directories, files and sockets by handle: nothing is renamed or removed by a name that means another file | lock |
//! | [`secret`] | values that cannot be printed and are wiped when dropped | - |
//! | [`domain`] | tokens, cards, containers, permissions, times: values and rules, without IO | bounds, lock, secret |
//! | [`clock`] | the one reader of the time of day, which tests can move | domain |
//! | [`metrics`] | counters, gauges, histograms and checks, for Prometheus, probes and `strongroom status`; pure | domain |
//! | [`expressions`] | the language of masks, fingerprints, search indexes and aliases | bounds, domain, lock, secret |
//! | [`formulas`] | the catalog of connections, embedded as it is served | - |
//! | [`idempotency`] | what a key is, how long an answer is remembered, what a repetition gets | bounds, domain, secret |
//! | [`limits`] | the published rate limits as counters of bounded size | bounds, domain, lock |
//! | [`log`] | one JSON line for each event, without text from outside | bounds, domain, metrics |
//! | [`threeds`] | 3-D Secure: messages, rules, the session's states, the simulator; pure | bounds, domain, secret |
//! | [`config`] | the settings file, parsed whole, with all its mistakes at once | bounds, domain, limits, log, secret, threeds |
//! | [`crypto`] | keys, sealing, keyed hashes, randomness; alone in knowing `ring` and `x25519-dalek` | bounds, domain, lock, secret |
//! | [`names`] | a resolver of host names without the C library | bounds, crypto |
//! | [`store`] | tables, records, snapshots, backups, the audit chain, the one writer and the engines under it; alone in knowing `redb` and `tokio-postgres` | bounds, clock, crypto, domain, files, idempotency, lock, metrics, names, secret, threeds |
//! | [`app`] | the operations, a file each; knows no HTTP | bounds, clock, crypto, domain, expressions, files, idempotency, lock, metrics, secret, store, threeds |
//! | [`http`] | routes, bodies, the shapes on the wire, problems; alone in reading bodies | app, bounds, clock, domain, formulas, idempotency, limits, lock, log, metrics, secret, threeds |
//! | [`server`] | accepting, TLS, deadlines, connection limits, the drain; knows no route | bounds, crypto, domain, files, lock, log, metrics, secret |
//! | [`outbound`] | the client of destinations outside: the guard, connections that are kept | app, bounds, config, crypto, domain, lock, log, metrics, names, secret, server |
//! | [`code`] | programs of tenants, each call in a worker process without rights; alone in knowing `rquickjs` | app, bounds, clock, crypto, domain, lock, metrics, secret |
//! | [`directory`] | a client of the schemes' directory servers over mutual TLS | app, bounds, config, domain, files, http, log, metrics, outbound, secret, server, threeds |
//! | [`report`] | a dated compliance report for auditors, as text and as a page; only holds and renders | domain |
//! | [`operator`] | the operator's commands and the socket that carries them | app, bounds, domain, files, http, report, secret, server |
//! | [`cli`] | the command line: puts the rest together | all |
//!
//! Some of these arrows are there for one thing each: [`clock`] gives the type of [`domain::time`],
//! [`operator`] shows tenants and applications in the shapes of [`http`] and gives the connections
//! of its socket places as [`server`] does, [`config`] parses into
//! the types of [`domain::backup`], [`limits`], [`log`] and [`threeds`], [`directory`] and
//! [`outbound`] read certificates and start tasks as [`server`] does, [`directory`] names the path
//! that [`http`] answers, and [`server`] takes
//! randomness from [`crypto`] for the trace ids of its own answers.
//!
//! A token, an application or a session has three shapes: one in `http::wire`, one in [`domain`]
//! (or [`threeds`]) and one in [`store::record`]. The interface, the rules and the file can each
//! change alone. A record lists the members of the struct once, with the names and the order that
//! the file has; a member that the list lacks does not compile.
//!
//! # The way of a request
//!
//! `POST /tokens`, from top to bottom:
//!
//! 1. [`server`] accepts the connection within the limits of connections, finishes the TLS
//!    handshake and reads the head of the request, each by a deadline. A further stream of an
//!    HTTP/2 connection needs a permit from the pool of all streams. A head that is malformed or too
//!    large is answered here and never reaches a route.
//! 2. [`http`] charges the client's address, then finds the row of the routing table. The table has
//!    every path: operations, pages, probes, results and metrics.
//! 3. `app::AccessControl::authenticate` turns the API key into a [`app::Caller`]: tenant,
//!    application, access rules.
//! 4. [`limits::Limiter::admit`] charges every row of the rate limits that covers the request.
//! 5. A caller that holds the permission in no container is refused here, before the body.
//! 6. [`app::Idempotency::begin`] takes the request's idempotency key. It answers "in flight", or
//!    gives the remembered answer as [`app::Error::Replayed`], which is sent instead.
//! 7. The body is read: bounded in bytes, in time and by the caller's share of the memory of all
//!    bodies. Then the caller is looked up a second time, since its key may have been deleted while
//!    the body arrived.
//! 8. `http::wire` parses the body into a [`app::TokenDraft`] and collects all mistakes.
//! 9. `app::tokens::Tokens::create` checks access, evaluates expressions and decides on a
//!    [`store::Snapshot`]. The decision is one [`store::Change`]: the sealed token, its index
//!    entries, its audit entry, its events of webhooks, and the expectations that
//!    the decision rests on. Expressions that take long run once more from the start, on a thread
//!    that no other request shares.
//! 10. The commit loop calls the decision. It renders the answer with the function that `http`
//!     gave it, also when there is no idempotency key, since a remembered answer is part of the
//!     change. On the snapshot of the decision, events become rows for the webhooks that subscribe
//!     to them; the worker that delivers them is woken once, after the commit.
//! 11. [`store::Store::commit`] queues the change, if it is not too large and its tenant has room
//!     ([`bounds::QUEUE_BYTES_MAX`]). The writer thread takes what has queued, up to a number of
//!     changes and of bytes ([`bounds::BATCH_BYTES_MAX`]), checks the expectations of each change
//!     against the newest rows, writes the rows of those whose expectations hold as one frame of
//!     the log, syncs once, makes the rows visible and answers all of them. A merge moves the rows
//!     from memory into the data file later (`store::engine::local`). A change that is refused is
//!     decided again on a fresh snapshot, at most [`bounds::DECISIONS_MAX`] times.
//! 12. `http` sends the rendered answer and logs one line. [`domain::exposure`] has decided how much
//!     of the token the answer shows.
//!
//! Reads go the same way without steps 6 and 10. Their audit entry goes into a queue that is
//! committed within 100 milliseconds, and a large answer takes its memory from one budget until the
//! client has read it. Reads of the file run on the thread of the request; walks over large parts of
//! it run in a pool of their own ([`bounds::WALKS_MAX`]).
//!
//! The app calls back into the wire format in six places: the commit loop renders the answer of a
//! write, a replay of a create renders it again ([`http::show_again`]), a patch of an application, a
//! proxy or a reactor reads its body against the stored one, a transform of a proxy reads a token
//! draft, exports and imports of the operator write and read lines, and a program of a tenant calls
//! the interface through the host that `http` makes for its call ([`app::ProgramHosts`]). Such a
//! request goes the way above without a connection; its key exists for the call alone.
//!
//! Only the commit changes anything. A client that disconnects before it leaves nothing behind;
//! after it, the writer finishes without the client. Two steps are different. A card verification
//! code is sealed under a key of its minute, and that key is synced to `cvc.keys` before the
//! decision. A key without a code is harmless and is destroyed in time. If several processes may
//! share the vault, the idempotency key of a program is reserved before the program runs
//! (`app::Idempotency::reserve`). A call that is cut off leaves the reservation until its end.
//!
//! # Rules that always hold
//!
//! 1. A write that was answered with success survives the loss of power. A write that was refused
//!    left nothing. A write that a failing disk cut off is there whole or not at all.
//! 2. Sensitive values are never in the data file in clear, in a log line, in an error, in a
//!    metric or in the message of a panic. [`log`] and [`metrics`] take a closed set of types;
//!    errors hold no input. Freed memory is overwritten.
//! 3. Nothing grows without a limit that is named in [`bounds`]. Of a limit that all callers share, no
//!    address, no crowd without a secret key and no tenant takes all: [`domain::shares`].
//! 4. Keys of a tenant's rows contain the tenant's id, and the id comes from the caller: another
//!    tenant's resource is not found, exactly like one that does not exist.
//! 5. An answer shows a stored value only with the transform of the caller's right to read it:
//!    [`domain::exposure`] decides, for every route. A mask that cannot be evaluated shows nothing; a
//!    record that does not authenticate is not opened.
//! 6. The time of day comes from [`clock`], randomness from [`crypto::Random`]. The environment gives
//!    only the variables that systemd sets: `CREDENTIALS_DIRECTORY`, `LISTEN_FDS`, `LISTEN_PID`,
//!    `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`; for the command line also
//!    `STRONGROOM_CONFIG`, and `TERM` and `COLUMNS` for progress bars.
//! 7. An act that cannot be audited does not happen: its entry is part of the same change, and a
//!    read is answered only after its entry is in the queue. A request that opened a value and then
//!    fails is answered as a read is: functions that open a value take `app::audit::opened::Opened`.
//! 8. A branch that cannot happen is an error, not a default value: it is logged with its place,
//!    answered with 500, and nothing is written.
//! 9. A failure of the disk is final: the process answers 503, ends with its own exit code and
//!    systemd starts it again. Below a floor of free space, no change begins: [`app::DiskState`].

/// Implements `Debug` with the name of the type alone: its content is secret, large or of no use.
macro_rules! opaque_debug {
    ($name:ident $(<$lifetime:lifetime>)?) => {
        impl std::fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    };
}

/// Implements `From` for causes that a variant holds, or that become what it holds.
macro_rules! from_causes {
    ($failure:ty: $($cause:ty => $variant:path),+ $(,)?) => {$(
        impl From<$cause> for $failure {
            fn from(cause: $cause) -> Self {
                $variant(cause.into())
            }
        }
    )+};
}

mod app;
mod bounds;
mod cli;
mod clock;
mod code;
mod config;
mod crypto;
mod directory;
mod domain;
mod expressions;
mod files;
mod formulas;
#[cfg(any(fuzzing, test))]
mod fuzz;
mod http;
mod idempotency;
mod limits;
mod lock;
mod log;
mod metrics;
mod names;
mod operator;
mod outbound;
mod report;
mod secret;
mod server;
mod store;
mod threeds;
#[cfg(test)]
mod waiting;

pub use cli::main;

/// Parts of the program that the integration tests look into. Not an interface: it changes with the
/// program.
pub mod testing {
    /// Every maximum of the program.
    pub mod bounds {
        pub use crate::bounds::*;
    }

    pub use crate::app::{Credential, programs};
    pub use crate::clock::Clock;
    pub use crate::code::{CodePlan, Packages, ProgramsOnWorkers};
    pub use crate::crypto::{AgeIdentity, Link, SigningKey};
    pub use crate::domain::application::ApplicationKind;
    pub use crate::domain::id::TenantId;
    pub use crate::domain::permission::Permission;
    #[cfg(fuzzing)]
    pub use crate::fuzz::run as fuzz;
    pub use crate::http::route::{Access, ROUTES, Route};
    pub use crate::secret::Secret;
    pub use crate::store::chain::{AuditRow, Checkpoint, SignatureKind, Statement};
    pub use crate::store::{Change, Store, Table, tables};
    pub use crate::threeds::base64;
    pub use crate::threeds::codes::TransactionStatus;
    pub use crate::threeds::simulator::cards::{CARDS, ChallengeKind, MethodSupport, Scenario};
}

/// Overwrites every block of memory when it is freed: the texts and vectors of `Secret`, and the
/// copies that libraries make of them: digits of JSON numbers and names of members in `serde_json`,
/// scratch space of its parser, buffers of hyper and rustls. The allocator below it is mimalloc:
/// glibc's keeps twice the memory after load (measured: 233 against 112 MiB).
///
/// A fuzz target has an allocator of its own, which refuses large blocks.
#[cfg(not(fuzzing))]
#[global_allocator]
static ALLOCATOR: zeroizing_alloc::ZeroAlloc<mimalloc::MiMalloc> =
    zeroizing_alloc::ZeroAlloc(mimalloc::MiMalloc);
