//! State that lives in one process and must hold for all processes of one store.
//!
//! With the local engine, one process has the store: it holds the lock of the data file. With an
//! engine that several processes share, each of these needs an answer. A new piece of such state
//! gets a row here.
//!
//! | state | where | the local engine | several processes |
//! |---|---|---|---|
//! | cached callers | `app::access::callers`, dropped by [`Store::access_generation`] | the writer advances the generation before it answers | a row holds the generation; each process polls it |
//! | cached subscriptions of webhooks | `app::webhooks`, dropped by `Store::webhook_generation` | the writer advances the generation before it answers | a row holds the generation; each process polls it |
//! | requests in flight by idempotency key | `app::commit::idempotency::in_flight` | a set in memory refuses the second request | the expectation in the change decides: conflict or replay |
//! | epochs of key rotations | [`crate::store::epochs`] | guards in memory show when old work has ended | each process reports the oldest phase that it uses |
//! | rate limits | `limits` | counters in memory | counters of each process, divided by their number |
//! | background tasks: sweep, rotation, checkpoints, backups, scrub, archive, card ranges, deliveries of webhooks | `cli::serve` | the one process runs them | one leader, by a lease with a fencing number |
//! | the end of the audit chain | [`crate::store::batch`] | read in the batch that writes it | one chain for each process |
//! | digests of live records | [`crate::store::digests`] | kept in memory between batches | read in the transaction that changes them |
//! | keys of card verification codes | [`crate::store::CvcKeys`] | a file beside the data file | held by the process that took the code |
//! | rows that are not merged yet | [`crate::store::engine::local`] | layers in memory over the data file | none: the database has them |
//!
//! [`Store::access_generation`]: crate::store::Store::access_generation
