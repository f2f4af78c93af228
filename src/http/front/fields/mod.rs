//! Hosted card fields: a script for the pages of shops, and the frames that it opens.
//!
//! The frames are pages of the vault inside the page of a shop, so the browser keeps the scripts of
//! the shop away from the values that are typed into them. One hidden frame, the controller, holds
//! the key, checks the shop's origin and sends the card to the vault.

mod brands;

use crate::app::digest_of;
use crate::domain::hex;
use crate::http::front::asset::{Asset, AssetKind, Loader, PagePolicy};
use crate::http::front::folder::{Folder, files};
use crate::threeds::base64;

/// The script that a shop's page includes.
pub(in crate::http) static SHOP_SCRIPT: Asset =
    Asset::new(AssetKind::Script(Loader::AnySite), || {
        concat!(include_str!("page_frames.js"), include_str!("v1.js"))
    });

/// Stands for [`integrity`] in the chapter about the fields.
pub(in crate::http) const INTEGRITY: &str = "FIELDS_INTEGRITY";

/// The attribute `integrity` for pages that include the script: a hash of the file as it is served.
pub(in crate::http) fn integrity() -> String {
    let hash: [u8; 32] = hex::decode(&digest_of(SHOP_SCRIPT.content())).unwrap_or_default();
    format!("sha256-{}", base64::encode(&hash))
}

pub(in crate::http) static CONTROLLER: Asset =
    Asset::new(AssetKind::Page(PagePolicy::FramedSender, &["/fields/"]), || {
        include_str!("controller.html")
    });

pub(in crate::http) static FIELD: Asset =
    Asset::new(AssetKind::Page(PagePolicy::Framed, &["/fields/"]), || include_str!("field.html"));

/// The brands of cards, from the table that the vault itself uses.
pub(in crate::http) static BRANDS: Asset = Asset::new(AssetKind::Json, brands::json);

/// The scripts and the style of the frames.
pub(in crate::http) static FILES: Folder = files! {
    scripts {
        "brand_marks.js"
        "card.js"
        "controller.js"
        "copy_button.js"
        "element_rules.js"
        "elements.js"
        "encryption.js"
        "field.js"
        "inputs.js"
        "labelled_input.js"
        "network_choice.js"
        "patterns.js"
        "rules.js"
        "text_input.js"
        "texts.js"
    }
    styles {
        "field.css"
    }
};
