//! The thread that writes lines. It takes all queued lines and writes them at once. It is the only
//! part of the log that may block.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use crate::bounds;

use super::line::{write_event, write_request};
use super::{Event, Now, QueueEntry, Value};

pub(super) fn start(
    mut output: impl Write + Send + 'static,
    queue: Receiver<QueueEntry>,
    dropped: Arc<AtomicU64>,
    now: Now,
) -> std::io::Result<()> {
    std::thread::Builder::new().name(String::from("log")).spawn(move || {
        let mut lines = String::with_capacity(bounds::LOG_BATCH_BYTES);
        while let Ok(first) = queue.recv() {
            let mut waiting = Vec::new();
            take(first, &mut lines, &mut waiting);
            while lines.len() < bounds::LOG_BATCH_BYTES
                && let Ok(next) = queue.try_recv()
            {
                take(next, &mut lines, &mut waiting);
            }
            let lost = dropped.swap(0, Ordering::Relaxed);
            if lost > 0 {
                let event = Event::warn("lines_dropped").with("count", Value::Count(lost));
                write_event(&mut lines, now(), &event);
            }
            // The reader of the log may be gone. The server continues without its log.
            drop(output.write_all(lines.as_bytes()).and_then(|()| output.flush()));
            lines.clear();
            for flushed in waiting {
                // The caller of the flush may have stopped waiting.
                flushed.try_send(()).ok();
            }
        }
    })?;
    Ok(())
}

fn take(entry: QueueEntry, lines: &mut String, waiting: &mut Vec<SyncSender<()>>) {
    match entry {
        QueueEntry::Event(at, event) => write_event(lines, at, &event),
        QueueEntry::Flush(flushed) => waiting.push(flushed),
        QueueEntry::Request(at, line) => write_request(lines, at, &line),
    }
}
