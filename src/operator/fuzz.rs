//! The fuzz target of the operator's socket: a command, and the answer to one.

use crate::bounds::OPERATOR_COMMAND_BYTES_MAX;
use crate::operator::command::{Command, CommandAnswer};

/// Bytes as a command and as an answer. Writing and reading a parsed one gives the same value.
pub(crate) fn commands(data: &[u8]) {
    if u64::try_from(data.len()).is_ok_and(|length| length > OPERATOR_COMMAND_BYTES_MAX) {
        return;
    }
    if let Ok(command) = serde_json::from_slice::<Command>(data) {
        let written = serde_json::to_vec(&command).unwrap_or_default();
        let again = serde_json::from_slice::<Command>(&written).ok();
        let again = again.and_then(|again| serde_json::to_vec(&again).ok());
        assert!(again.as_ref() == Some(&written), "a command changed when it was written");
    }
    if let Ok(answer) = serde_json::from_slice::<CommandAnswer>(data) {
        let written = serde_json::to_vec(&answer).unwrap_or_default();
        let again = serde_json::from_slice::<CommandAnswer>(&written).ok();
        let again = again.and_then(|again| serde_json::to_vec(&again).ok());
        assert!(again.as_ref() == Some(&written), "an answer changed when it was written");
    }
}
