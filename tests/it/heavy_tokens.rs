//! Tokens that need the most index entries that the interface allows.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};
use strongroom::testing::bounds::LOG_SEGMENT_BYTES;

use crate::harness::{Request, Vault, needs_data_file};
use crate::race::at_once;

/// A token with the most containers, metadata and search indexes, and paths of this length.
fn heavy(data: &str, path_chars: usize) -> Value {
    let path = |at: usize| format!("/{}{at}/", "c".repeat(path_chars - 3));
    let index = |at: usize| format!("{{{{ data | append: \"{at}\" }}}}");
    let metadata = (0..50).map(|at| (format!("K{at}"), json!("V"))).collect();
    json!({
        "type": "token", "data": data, "metadata": Value::Object(metadata),
        "containers": (0..10).map(path).collect::<Vec<_>>(),
        "search_indexes": (0..10).map(index).collect::<Vec<_>>(),
    })
}

#[test]
fn long_paths_with_much_metadata_are_refused_and_either_alone_is_not() {
    let vault = Vault::start();
    let id = vault.create(heavy("x", 77)).with_status(201).id();
    let refused = vault.create(heavy("x", 78)).problem(400);
    assert!(refused.json["errors"]["containers"].is_array(), "{}", refused.json);
    let longer = json!({"containers": heavy("x", 200)["containers"]});
    vault.patch(&id, longer.clone()).problem(400);
    let mut few = heavy("x", 200);
    few["metadata"] = json!({});
    vault.create(few).with_status(201);
    let call = json!({"a": heavy("x", 78)});
    let refused = vault.post("/tokenize", &vault.keys.private, call).problem(400);
    assert!(refused.json["errors"]["$.a.containers"].is_array(), "{}", refused.json);
}

/// Before, all that had queued behind a merge became one batch: of this flood more than a hundred
/// megabytes.
#[test]
fn a_flood_of_heavy_tokens_is_written_in_frames_of_bounded_size() {
    needs_data_file!("it looks at the log's files");
    let mut vault = Vault::start();
    let call = |at: usize| {
        let parts = (0..5).map(|part| heavy(&format!("{at} {part}"), 77));
        let body = Value::from(parts.collect::<Vec<_>>());
        Request::new("POST", "/tokenize").key(&vault.keys.private).json(body)
    };
    let calls: Vec<_> = (0..40).map(call).collect();
    let (longest, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let data = vault.data();
    let look = || {
        while !is_over.load(Ordering::SeqCst) {
            for file in fs::read_dir(&data).unwrap().flatten() {
                if file.file_name().to_string_lossy().starts_with("strongroom.log") {
                    // The file may be gone since.
                    let len = file.metadata().map_or(0, |it| it.len());
                    longest.fetch_max(len, Ordering::SeqCst);
                }
            }
            thread::yield_now();
        }
    };
    let answers = thread::scope(|scope| {
        scope.spawn(look);
        let answers = at_once(&vault, &calls);
        is_over.store(true, Ordering::SeqCst);
        answers
    });
    assert!(answers.iter().all(|answer| [200, 503].contains(&answer.status)));
    assert!(answers.iter().filter(|answer| answer.status == 200).count() > 10);
    let longest = longest.into_inner();
    assert!(longest <= LOG_SEGMENT_BYTES, "a file of the log has {longest} bytes");
    vault.stop_and_verify();
}
