//! Lists of tokens: by cursor, and by page number for the deprecated operations.

pub(in crate::app) mod cursor;
pub(in crate::app) mod entry;
pub(in crate::app) mod newest;
pub(in crate::app) mod numbered;
pub(in crate::app) mod scan;
