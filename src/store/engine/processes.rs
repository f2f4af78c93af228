//! Per-process state that must hold for all processes of one store.
//!
//! With the local engine, one process has the store: it holds the data file's lock. With a shared
//! engine ([`Engine::is_shared`]), each piece of such state needs an entry in this table; a new
//! piece gets a new row. [`crate::store::shared`] has the rows and the rules, `app::processes` the
//! work of a process among others. Tests without a path are in `app::tests::processes`.
//!
//! | state | the local engine | several processes | test |
//! |---|---|---|---|
//! | cached callers (`app::caller::callers`) | the writer advances [`Store::access_generation`] before it answers | the batch advances a row, which each process reads every 250 ms; after a second without a read, a process looks before it answers | `a_deleted_api_key_is_refused_by_the_other_process_after_its_next_look`, `a_process_that_could_not_look_for_a_second_uses_no_cached_caller` |
//! | cached subscriptions of webhooks (`app::webhooks`) | as above, with `Store::webhook_generation` | as above: an event within the 250 ms may lack a new webhook | `a_webhook_that_one_process_creates_gets_the_events_of_the_other` |
//! | the server's keys and the key of webhooks (`app::keys`) | loaded again by the process that changes them | loaded again when the generation of keys changes | `the_server_s_keys_rotate_and_both_processes_know_all_callers` |
//! | the master key (`app::keys::masters`) | the old and the new one until no reader needs the old one | replaced only while no other process lives | `the_master_key_is_replaced_only_by_a_process_that_is_alone` |
//! | card ranges (`app::threeds::ranges`) | in memory and in the file | dropped when the generation of ranges changes; the leader fetches them | `app::tests::threeds::card_ranges_that_one_process_fetches_serve_the_other_after_its_next_look` |
//! | requests to directory servers without an answer (`app::threeds::asking`) | the handler of a result waits in memory | it reads the session until the other process has stored the answer | `app::tests::threeds::a_result_that_arrives_at_another_process_waits_for_the_answer_to_its_request` |
//! | requests in flight by idempotency key (`app::commit::idempotency::in_flight`) | a set in memory refuses the second request | the expectation in the change decides: the second one gets the replay. Before a program runs, a change reserves its key | `one_idempotency_key_makes_one_token_in_two_processes`, `app::tests::reservations` |
//! | names, deduplication, quotas, maxima of records, lanes (`app::commit::lanes`) | expectations decide; lanes save repetitions | expectations decide | `a_name_and_a_value_belong_to_one_token_in_two_processes`, `two_processes_do_not_exceed_the_maximum_of_keys_and_webhooks_together` in `tests/it` |
//! | epochs of key rotations ([`crate::store::epochs`]) | guards in memory show when old work has ended | each process reports the generation of keys that all its work has followed; a rotation waits for all live processes | `a_rotation_does_not_go_on_while_a_process_works_with_older_keys` |
//! | a process that was stopped for long | cannot be: it has the lock | it was counted out: its changes are refused until its earlier work has ended and it has joined again | `a_process_that_was_counted_out_joins_only_when_its_earlier_work_has_ended`, `a_process_that_was_stopped_for_long_follows_the_keys_before_it_answers` |
//! | background tasks: sweep, rotation, checkpoints, backups, scrub, deletions, card ranges, deliveries of webhooks (`cli::serve`) | the one process runs them | one leader, by a lease whose number each of its changes expects | `a_leader_that_wakes_late_is_fenced_and_joins_again`, `work_of_the_leader_runs_in_one_process_and_moves_when_it_leaves` |
//! | closed scopes of deleted tenants ([`crate::store::closed`]) | a set in memory | the batch reads the tenant's record; the set follows the generation of access | `a_tenant_that_one_process_deletes_is_refused_by_the_other_at_once` |
//! | rate limits (`limits`) | counters in memory | counters of each process, in which a request counts as one for each live process if the settings say so | `limits::tests::scales::processes_that_share_a_rate_admit_it_together` |
//! | the ends of the audit chains ([`crate::store::batch`]) | read in the batch that writes them | the same: one chain for each shard, since the batches of a shard take turns in all processes | `store::shared::tests::two_stores_write_one_audit_chain_and_one_set_of_digests_in_turn`, `store::tests::shards` |
//! | checkpoints and the signing key (`app::audit::checkpoint`) | a lane in memory | the change expects the newest checkpoint and the signing key | `the_signing_key_is_replaced_and_the_other_process_signs_with_the_new_one` |
//! | digests of live records ([`crate::store::digests`]) | kept in memory between batches | read in the batch that changes them | `store::shared::tests::two_stores_write_one_audit_chain_and_one_set_of_digests_in_turn` |
//! | a batch that is decided again | never | changes are copied, and memory changes only after the batch is written | `store::shared::tests::a_batch_that_is_decided_again_is_written_once` |
//! | keys of card verification codes ([`crate::store::CvcKeys`]) | a file beside the data file | in the memory of all processes, which send them to each other (`app::processes::codes`); gone when none of them is left | `app::tests::shared_codes` |
//! | last uses of API keys, refused attempts, entries of reads, uses of keys (`app::access`, `app::audit`) | collected in memory and written together | each process writes its own; the last use may go back by a minute | - |
//! | failures of webhooks, progress of rotations and of the scrub, counted sessions | in memory, for status and metrics | those of the leader; a process that does not lead shows none | - |
//! | the table of card number ranges (`Vault::bins`) | a file of the host, loaded again by SIGHUP | a file of each host | - |
//! | rows that are not merged yet ([`crate::store::engine::local`]) | layers in memory over the data file | none: the database has them | - |
//!
//! An audit chain belongs to a shard ([`crate::store::Shards`]) and not to a process: a tenant's
//! entries stay in one chain, whichever process writes them, and the number of chains is known.
//!
//! [`Engine::is_shared`]: crate::store::engine::Engine::is_shared
//! [`Store::access_generation`]: crate::store::Store::access_generation
