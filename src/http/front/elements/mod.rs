//! The script that the published Elements packages load. Its frames are those of the card fields:
//! one controller and one set of fields, for both kinds of pages.

use crate::http::front::asset::{Asset, AssetKind, Loader};
use crate::http::front::folder::Folder;

/// One script for all versions of the packages. For pages with a script tag it is also the loader.
pub(in crate::http) static FILES: Folder = Folder(&[(
    "index.js",
    Asset::new(AssetKind::Script(Loader::AnySite), || {
        concat!(include_str!("../fields/page_frames.js"), include_str!("elements.js"))
    }),
)]);
