//! The real binary, from outside: over TLS, over its command line, and by killing it.
//!
//! But for one that searches the memory of the program for card numbers, no test here reaches into it;
//! what the library lends are its public constants,
//! its table of routes, and its store to plant damage in a stopped vault.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod access;
mod access_examples;
mod application_set;
mod applications;
mod archive;
mod audit;
mod audit_follow;
mod audit_origin;
mod audit_readings;
mod backup;
mod backup_load;
mod bodies;
mod bulk;
mod card_fields;
mod challenge_pages;
mod chapter_examples;
mod check;
mod cli;
mod cli_manners;
mod client_keys;
mod clock;
mod commands_on_databases;
mod compact;
mod console;
mod console_sign_on;
mod cors;
mod crash;
mod cvc;
mod cvc_ends;
mod damaged_log;
mod damaged_records;
mod deprecations;
mod directory_servers;
mod disk;
mod early_hangup;
mod erasure;
mod export;
mod exposure;
mod flipped_bits;
mod floods;
mod formulas;
mod front;
mod harness;
mod hostile_connections;
mod hostile_destinations;
mod hostile_expressions;
mod hostile_http1;
mod hostile_http2;
mod idempotency;
mod import;
mod intents;
mod keys;
mod leaks;
mod lifetimes;
mod limits;
mod lists;
mod master_key_command;
mod member_order;
mod memory;
mod object_storage;
mod openapi;
mod openapi_examples;
mod opened;
mod operator;
mod oracles;
mod outbound;
mod packaging;
mod patch;
mod plain_http;
mod problems;
mod programs;
mod progress;
mod proxies;
mod proxy;
mod proxy_failures;
mod proxy_oracles;
mod proxy_rights;
mod psp;
mod quickstarts;
mod quotas;
mod race;
mod random_damage;
mod recovery;
mod reference_examples;
mod replaced_directory;
mod replays;
mod report;
mod reverse_proxies;
mod rotated_master;
mod rules;
mod sealed_shares;
mod security_text;
mod service;
mod sessions;
mod several_processes;
mod shared_state;
mod shares;
mod slow;
mod small_reads;
mod standby;
mod strict;
mod systemd;
mod taken_files;
mod tamper;
mod tenant_delete;
mod terminal;
mod threeds;
mod tidy;
mod tokens;
mod types;
mod watch;
mod watch_progress;
mod watch_rules;
mod webhooks;
