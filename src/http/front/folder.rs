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

/// A segment of the path of files that are the same for all versions of a published package.
pub(in crate::http) const VERSION: &str = "{version}";

/// The name of a file below `folder`, whose path may have a version.
pub(in crate::http) fn name_below<'p>(folder: &str, path: &'p str) -> Option<&'p str> {
    let Some((before, after)) = folder.split_once(VERSION) else {
        return path.strip_prefix(folder);
    };
    let (version, name) = path.strip_prefix(before)?.split_once(after)?;
    is_version(version).then_some(name)
}

/// `1.x.y`, `2.x.y` and so on, or `latest`. A version that the vault does not serve has the same file,
/// which says so: browsers run no script of a 404 answer, and a page would show no reason.
fn is_version(text: &str) -> bool {
    let is_number =
        |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|it| it.is_ascii_digit());
    let parts: Vec<&str> = text.split('.').collect();
    match parts.as_slice() {
        [major, minor, patch] => {
            is_number(minor) && is_number(patch) && is_number(major) && !major.starts_with('0')
        }
        parts => parts == ["latest"],
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

#[cfg(test)]
mod tests {
    use super::*;

    fn below_client(path: &str) -> Option<&str> {
        name_below("/web-elements/{version}/client/", path)
    }

    #[test]
    fn a_file_of_all_versions_is_found_by_each_of_them() {
        for version in ["1.0.0", "1.7.2", "2.17.0", "2.1.9999", "3.1.0", "12.0.0", "latest"] {
            let path = format!("/web-elements/{version}/client/index.js");
            assert_eq!(below_client(&path), Some("index.js"), "{version}");
        }
        let others = [
            "",
            "2",
            "2.1",
            "2.1.",
            "2..1",
            "2.1.0.0",
            "0.1.0",
            "03.1.0",
            "20261.0.0",
            "2.1.0-beta",
            "2.1.x",
            "../2.1.0",
            "2.1.0/2.1.0",
            "{version}",
            "2.1.00000",
            "+2.1.0",
            "latest.1",
        ];
        for version in others {
            let path = format!("/web-elements/{version}/client/index.js");
            assert_eq!(below_client(&path), None, "{version}");
        }
        assert_eq!(below_client("/web-elements/2.1.0/index.js"), None);
        assert_eq!(name_below("/fields/v1/", "/fields/v1/field.js"), Some("field.js"));
        assert_eq!(name_below("/fields/v1/", "/fields/v2/field.js"), None);
    }
}
