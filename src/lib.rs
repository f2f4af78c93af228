//! Strongroom: a vault for card and personal data in one binary.
//!
//! Programs hand sensitive values over by HTTPS and get tokens for them. The values lie sealed in
//! one file. This page is the map of the sources; the README is for those who use it, and
//! `packaging/strongroom-guide.7` for those who run it.
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
//! | [`secret`] | values that cannot be printed and are wiped when dropped | - |
//! | [`domain`] | tokens, cards, containers, permissions, times: values and rules, without IO | bounds, secret |
//! | [`clock`] | the one reader of the time of day, which tests can move | domain |
//! | [`metrics`] | counters, gauges, histograms and checks, for Prometheus, probes and `strongroom status`; pure | domain |
//! | [`expressions`] | the language of masks, fingerprints, search indexes and aliases | bounds, domain, secret |
//! | [`formulas`] | the catalog of connections, embedded as it is served | - |
//! | [`idempotency`] | what a key is, how long an answer is remembered, what a repetition gets | bounds, domain, secret |
//! | [`limits`] | the published rate limits as counters of bounded size | bounds, domain |
//! | [`log`] | one JSON line for each event, without text from outside | bounds, domain, metrics |
//! | [`threeds`] | 3-D Secure: messages, rules, the session's states, the simulator; pure | bounds, domain, secret |
//! | [`config`] | the settings file, parsed whole, with all its mistakes at once | bounds, domain, limits, log, secret, threeds |
//! | [`crypto`] | keys, sealing, keyed hashes, randomness; alone in knowing `ring` | bounds, domain, secret |
//! | [`store`] | tables, records, snapshots, backups, the audit chain and the one writer; alone in knowing `redb` | bounds, crypto, domain, idempotency, metrics, secret, threeds |
//! | [`app`] | the operations, a file each; knows no HTTP | bounds, clock, crypto, domain, expressions, idempotency, metrics, secret, store, threeds |
//! | [`http`] | routes, bodies, the shapes on the wire, problems; alone in reading bodies | app, bounds, clock, domain, formulas, idempotency, limits, log, metrics, secret, threeds |
//! | [`server`] | accepting, TLS, deadlines, connection limits, the drain; knows no route | bounds, crypto, domain, log, metrics, secret |
//! | [`directory`] | a client of the schemes' directory servers over mutual TLS, with a resolver of names | app, bounds, config, crypto, http, log, secret, server, threeds |
//! | [`report`] | a dated compliance report for auditors, as text and as a page; only holds and renders | domain |
//! | [`operator`] | the operator's commands and the socket that carries them | app, bounds, domain, http, report, secret |
//! | [`cli`] | the command line: puts the rest together | all |
//!
//! Five of these arrows are there for one thing each: [`clock`] gives [`domain::time`]'s type,
//! [`operator`] shows tenants and applications in the shapes of [`http`], [`config`] parses into
//! what [`domain::backup`], [`limits`], [`log`] and [`directory`] are given (schemes by their names),
//! [`directory`] reads certificates as [`server`] does and names the path that [`http`] answers, and
//! [`server`] takes randomness from [`crypto`] for the ids of what it answers itself.
//!
//! A thing that goes over the wire, is decided about and is kept has three shapes: one in
//! `http::wire`, one in [`domain`], one in [`store::record`]. They never share a type, so that
//! the interface, the rules and the file can each change alone.
//!
//! # The way of a request
//!
//! `POST /tokens`, from top to bottom:
//!
//! 1. [`server`] takes the connection if there is a place for it, finishes the TLS handshake and
//!    reads the head of the request, each by a deadline. A further stream of an HTTP/2 connection
//!    needs a place among all streams.
//! 2. [`http`] counts the client's address, then finds the route: [`http::route::ROUTES`] is the
//!    whole interface.
//! 3. [`app::Vault::authenticate`] turns the key into a [`app::Caller`]: tenant, application, access.
//! 4. [`limits::Limiter::admit`] charges every row of the table that covers the request.
//! 5. A permission that the caller holds in no container at all ends it here, before any body. So
//!    does an idempotency key whose first request is under way or was answered.
//! 6. The body is read: bounded in bytes, in time and in the memory of all bodies, wiped when done
//!    with. The caller is looked up once more, since its key may have been deleted meanwhile.
//! 7. `http::wire` parses it into a [`app::TokenDraft`] and gathers all mistakes.
//! 8. [`app::Vault::create_token`] reads a [`store::Snapshot`], checks access and data, evaluates the
//!    expressions, seals the token and its audit entry, and makes of it all one [`store::Change`].
//! 9. [`store::Store::commit`] queues the change. The writer thread takes what has queued, checks
//!    each change's expectations, applies those that hold, syncs once, and answers all of them. A
//!    change whose expectations failed is decided again on a fresh snapshot.
//! 10. `http` renders the token as the caller may see it, or the problem, and logs one line.
//!     [`domain::exposure`] has decided how much of the token that is. A large answer to a read
//!     takes its memory from one budget until the client has read it.
//!
//! Only the commit changes anything. A client that leaves before it leaves nothing behind; after
//! it, the writer finishes without the client.
//!
//! # What must always hold
//!
//! 1. A write that was answered with success survives the loss of power. One that was refused left
//!    nothing. One that a failing disk cut off is there whole or not at all.
//! 2. Sensitive values are never in the data file in clear, in a log line, in an error, in a
//!    metric, in the message of a panic. What [`log`] and [`metrics`] take is a closed set of types;
//!    errors hold no input.
//! 3. Nothing grows without a name in [`bounds`].
//! 4. Keys of the file start with the tenant's id, and a caller brings the tenant along: another
//!    tenant's resource is not found, exactly like one that does not exist.
//! 5. An answer shows a stored value only with the transform of the caller's right to read it:
//!    [`domain::exposure`] decides, for every route. A mask that cannot be evaluated shows nothing; a record that does not authenticate is not
//!    opened.
//! 6. The time of day comes from [`clock`], randomness from [`crypto::Random`], and nothing comes
//!    from the environment but what systemd sets there: the directory of credentials
//!    (`CREDENTIALS_DIRECTORY`), the sockets it has bound (`LISTEN_FDS`, `LISTEN_PID`), and where
//!    and how often it wants to hear from us (`NOTIFY_SOCKET`, `WATCHDOG_USEC`, `WATCHDOG_PID`).
//! 7. What cannot be audited does not happen: an entry is part of the change that it tells of, and a
//!    read is answered when its entry has a place in the queue.
//! 8. A failure of the disk is final: the process answers 503, ends with its own exit code and is
//!    started again. It never works on with a file that it cannot trust. Before it comes to that,
//!    below a floor of free space, no change begins: [`app::Room`].

pub mod app;
pub mod bounds;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crypto;
pub mod directory;
pub mod domain;
pub mod expressions;
pub mod formulas;
pub mod http;
pub mod idempotency;
pub mod limits;
pub mod log;
pub mod metrics;
pub mod operator;
pub mod report;
pub mod secret;
pub mod server;
pub mod store;
pub mod threeds;
#[cfg(test)]
mod waiting;

/// Overwrites every block of memory when it is freed. `Secret` wipes the values that are ours; this
/// wipes the copies that libraries make of them: digits of JSON numbers and names of members in
/// `serde_json`, scratch space of its parser, buffers of hyper and rustls. The allocator below it is
/// mimalloc, since glibc's keeps twice as much memory after load (measured: 233 against 112 MiB).
#[global_allocator]
static ALLOCATOR: zeroizing_alloc::ZeroAlloc<mimalloc::MiMalloc> =
    zeroizing_alloc::ZeroAlloc(mimalloc::MiMalloc);
