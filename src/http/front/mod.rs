//! The pages for people, their scripts and styles, and the documents that they show. All of them
//! are embedded in the program.
//!
//! A page has no inline script and no inline style, sets no cookie and loads nothing from another
//! server. Each has a folder with its HTML, script and style, and a `mod.rs` that makes them
//! assets.

pub(in crate::http) mod asset;
pub(in crate::http) mod base;
pub(in crate::http) mod console;
pub(in crate::http) mod elements;
pub(in crate::http) mod examples;
pub(in crate::http) mod fields;
pub(in crate::http) mod folder;
pub(in crate::http) mod guide;
pub(in crate::http) mod reference;

pub(in crate::http) use asset::Asset;
pub(in crate::http) use folder::Folder;
