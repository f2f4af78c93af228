//! The files of a page below a common path.

use crate::http::front::asset::{Asset, AssetKind, Loader};

/// Files by their names below a path. A name may begin with [`VERSION`].
#[derive(Debug)]
pub(in crate::http) struct Folder(pub(in crate::http) &'static [(&'static str, Asset)]);

impl Folder {
    pub(in crate::http) fn find(&self, name: &str) -> Option<&'static Asset> {
        self.0.iter().find(|(known, _)| is_called(known, name)).map(|(_, asset)| asset)
    }
}

/// Stands for the version of a published package, `1.x.y` or `2.x.y`, in front of a file's name: one
/// file serves all of them.
pub(in crate::http) const VERSION: &str = "{version}";

fn is_called(known: &str, name: &str) -> bool {
    let Some(file) = known.strip_prefix(VERSION) else { return known == name };
    let version = name.strip_suffix(file).unwrap_or_default();
    let is_number =
        |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
    let parts: Vec<&str> = version.split('.').collect();
    matches!(parts.as_slice(), ["1" | "2", minor, patch] if is_number(minor) && is_number(patch))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_all_versions_is_found_by_each_of_them() {
        let known = "{version}/client/index.js";
        for version in ["1.0.0", "1.7.2", "2.17.0", "2.1.9999"] {
            assert!(is_called(known, &format!("{version}/client/index.js")), "{version}");
        }
        let others = [
            "",
            "2",
            "2.1",
            "2.1.",
            "2..1",
            "2.1.0.0",
            "3.0.0",
            "0.1.0",
            "12.0.0",
            "2.1.0-beta",
            "2.1.x",
            "../2.1.0",
            "2.1.0/2.1.0",
            "latest",
            "{version}",
            "2.1.00000",
            "+2.1.0",
        ];
        for version in others {
            assert!(!is_called(known, &format!("{version}/client/index.js")), "{version}");
        }
        assert!(!is_called(known, "2.1.0/client/other.js"));
        assert!(is_called("field.js", "field.js") && !is_called("field.js", "2.1.0"));
    }
}
