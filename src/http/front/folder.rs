//! The files of a page below a common path.

use crate::http::front::asset::{Asset, AssetKind, Loader};

/// Files by their names below a path.
#[derive(Debug)]
pub(in crate::http) struct Folder(pub(in crate::http) &'static [(&'static str, Asset)]);

impl Folder {
    pub(in crate::http) fn find(&self, name: &str) -> Option<&'static Asset> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, asset)| asset)
    }
}

/// Scripts and styles in the folder of the `mod.rs` that names them, and pictures in a folder beside
/// it, for pages of this server only.
macro_rules! files {
    (
        scripts { $($script:literal)* } styles { $($style:literal)* }
        $(images of $folder:literal { $($image:literal)* })?
    ) => {
        $crate::http::front::Folder(&[
            $(($script, $crate::http::front::folder::script(|| include_str!($script))),)*
            $(($style, $crate::http::front::folder::style(|| include_str!($style))),)*
            $($((
                $image,
                $crate::http::front::folder::image(|| include_str!(concat!($folder, $image))),
            ),)*)?
        ])
    };
}

pub(in crate::http) use files;

pub(in crate::http) const fn script(content: fn() -> &'static str) -> Asset {
    Asset::new(AssetKind::Script(Loader::SameOrigin), content)
}

pub(in crate::http) const fn image(content: fn() -> &'static str) -> Asset {
    Asset::new(AssetKind::Image, content)
}

pub(in crate::http) const fn style(content: fn() -> &'static str) -> Asset {
    Asset::new(AssetKind::Style, content)
}
