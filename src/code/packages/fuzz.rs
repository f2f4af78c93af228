//! Files that list packages.

use super::parse_lock;

/// No name leaves the directory, and no error quotes more than a name.
pub(crate) fn locks(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match parse_lock(text) {
        Ok(files) => {
            for name in files.keys() {
                let path = std::path::Path::new(name);
                assert!(path.is_relative(), "a name is a path of the machine");
                let is_normal = |it| matches!(it, std::path::Component::Normal(_));
                assert!(path.components().all(is_normal), "a name leaves the directory");
            }
        }
        Err(problem) => assert!(problem.to_string().len() < 1_024, "an error quotes its input"),
    }
}
