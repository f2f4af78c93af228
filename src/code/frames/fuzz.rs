//! Messages of workers, and the outcomes in them.

use super::{FromWorker, HEAD_BYTES, ToWorker, content_length};
use crate::code::outcome;

/// A message that was read is written as the same bytes: no two frames mean the same, and nothing
/// in a frame is ignored.
pub(crate) fn messages(data: &[u8]) {
    if let Some((head, rest)) = data.split_first_chunk::<HEAD_BYTES>()
        && let Some(length) = content_length(*head)
    {
        read(rest.get(..length).unwrap_or(rest));
    }
    read(data);
    drop(outcome::read(data));
}

fn read(content: &[u8]) {
    let written = [
        FromWorker::decode(content).map(|message| message.encode()),
        ToWorker::decode(content).map(|message| message.encode()),
    ];
    for frame in written.into_iter().flatten().flatten() {
        assert!(frame.get(HEAD_BYTES..) == Some(content), "a message is written as another one");
    }
}
