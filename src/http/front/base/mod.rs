//! The style that all pages share.

use crate::http::front::asset::{Asset, AssetKind};

pub(in crate::http) static STYLE: Asset = Asset::new(AssetKind::Style, || include_str!("base.css"));
