use super::*;

const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn a_line_is_a_hash_and_a_name_within_the_directory() {
    for (line, name) in [
        (format!("{HASH}  a.js"), Some("a.js")),
        (format!("{HASH}  ./a/b c.json"), Some("a/b c.json")),
        (format!("{HASH}  .hidden/a.js"), Some(".hidden/a.js")),
        (format!("{HASH}  ../a.js"), None),
        (format!("{HASH}  a/../../b.js"), None),
        (format!("{HASH}  /etc/passwd"), None),
        (format!("{HASH}  .//etc/passwd"), None),
        (format!("{HASH}  a/./b.js"), None),
        (format!("{HASH}  "), None),
        (format!("{HASH} a.js"), None),
        (format!("{HASH}0  a.js"), None),
        (format!("{}  a.js", "x".repeat(64)), None),
        (format!("{HASH}  {}", "x".repeat(CODE_PACKAGE_NAME_BYTES_MAX + 1)), None),
        (String::new(), None),
    ] {
        assert_eq!(parse_line(&line).map(|(name, _)| name), name, "{line}");
    }
}

#[test]
fn problems_name_the_line_or_the_file() {
    let text = format!("{HASH}  a.js\nwrong\n");
    assert_eq!(
        parse_lock(&text).unwrap_err().to_string(),
        "line 2 of packages.lock is not a hash and the name of a file"
    );
    let twice = format!("{HASH}  a.js\n{HASH}  ./a.js\n");
    assert_eq!(parse_lock(&twice).unwrap_err().to_string(), "packages.lock lists a.js twice");
    let lines = (0..=CODE_PACKAGE_FILES_MAX).map(|number| format!("{HASH}  {number}.js"));
    let many = lines.collect::<Vec<_>>().join("\n");
    assert!(matches!(parse_lock(&many), Err(PackageProblem::TooMany)));
}

#[test]
fn a_file_is_read_only_with_its_hash() {
    let directory = std::env::temp_dir().join(format!("strongroom-code-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, text: &[u8]| std::fs::write(directory.join(name), text).unwrap();
    let problem = || Packages::load(&directory).unwrap_err().to_string();
    assert!(problem().starts_with("packages.lock cannot be read"));
    write("empty.js", b"");
    write(LOCK_FILE, format!("{HASH}  empty.js\n").as_bytes());
    let packages = Packages::load(&directory).unwrap();
    assert_eq!((packages.file_count(), packages.file("empty.js")), (1, Some("")));
    assert_eq!(packages.file(LOCK_FILE), None);
    write("empty.js", b"x");
    assert_eq!(problem(), "empty.js is not the file that packages.lock lists");
    write("empty.js", b"\xff");
    assert_eq!(problem(), "empty.js is not UTF-8");
    write("empty.js", &vec![b'x'; CODE_PACKAGE_FILE_BYTES_MAX + 1]);
    assert_eq!(problem(), "empty.js is too large");
    std::fs::remove_file(directory.join("empty.js")).unwrap();
    assert!(problem().starts_with("empty.js cannot be read"));
    std::fs::remove_dir_all(&directory).unwrap();
}
