//! The source files, and their text taken apart: code, comments and string literals.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub(super) struct Source {
    /// From the root of the package, with slashes.
    pub(super) path: String,
    pub(super) text: String,
}

/// A piece of text and the line on which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) line: usize,
    pub(super) text: String,
}

/// A Rust file without its unit tests, taken apart.
#[derive(Default)]
pub(super) struct Parts {
    /// Comments and literals are left out; the lines are those of the file.
    pub(super) code: String,
    /// A piece for each line, without the slashes.
    pub(super) comments: Vec<Piece>,
    pub(super) literals: Vec<Piece>,
}

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a directory, or the file itself, in the order of their paths. Build output is left
/// out.
pub(super) fn read_all(place: &str) -> Vec<Source> {
    let mut left: Vec<PathBuf> = vec![root().join(place)];
    let mut sources = Vec::new();
    while let Some(path) = left.pop() {
        // The fuzz targets are built in a directory of their own, beside their sources.
        if path.ends_with("tests/fuzz/target") {
            continue;
        }
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            let path = path.strip_prefix(root()).unwrap().display().to_string();
            sources.push(Source { path, text });
        }
    }
    sources.sort_by(|one, other| one.path.cmp(&other.path));
    sources
}

pub(super) fn read_rust(place: &str) -> Vec<Source> {
    let mut sources = read_all(place);
    sources.retain(|source| Path::new(&source.path).extension().is_some_and(|it| it == "rs"));
    sources
}

/// The Rust files of the program, without its tests, each taken apart. Read once for all checks.
pub(super) fn program() -> &'static [(Source, Parts)] {
    static PROGRAM: LazyLock<Vec<(Source, Parts)>> = LazyLock::new(|| {
        let mut sources = read_rust("src");
        sources.retain(|source| {
            !is_test(&source.path) && !room_of(&source.path).is_some_and(is_no_room)
        });
        let take_apart = |source: Source| {
            let parts = Parts::of(&source.text);
            (source, parts)
        };
        sources.into_iter().map(take_apart).collect()
    });
    &PROGRAM
}

/// Not a room: compiled for tests alone, which may all use it.
pub(super) const WAITING: &str = "waiting";
/// Not a room either: the fuzz targets, which look into all rooms.
pub(super) const FUZZ: &str = "fuzz";

pub(super) fn is_no_room(room: &str) -> bool {
    [FUZZ, WAITING].contains(&room)
}

/// The room that a file of `src` belongs to, `None` for other files.
pub(super) fn room_of(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("src/")?;
    let first = rest.split('/').next()?;
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

pub(super) fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

pub(super) fn is_part_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// True when the word stands in the line and is not part of a longer one.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    words_at(line, word).next().is_some()
}

/// The positions at which a word or a phrase stands, as bytes.
pub(super) fn words_at<'a>(line: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    line.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = line.get(..*at).unwrap_or_default();
        let after = line.get(at + word.len()..).unwrap_or_default();
        !before.ends_with(is_part_of_a_name) && !after.starts_with(is_part_of_a_name)
    })
}

impl Parts {
    pub(super) fn of(text: &str) -> Self {
        let end = text.find("\n#[cfg(test)]\nmod tests {").unwrap_or(text.len());
        let mut reader =
            Reader { chars: text[..end].chars().collect(), at: 0, line: 1, parts: Self::default() };
        while reader.at < reader.chars.len() {
            reader.step();
        }
        reader.parts
    }
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    line: usize,
    parts: Parts,
}

impl Reader {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn next(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        if c == '\n' {
            self.line += 1;
            self.parts.code.push('\n');
        }
        c
    }

    fn step(&mut self) {
        let follows_a_name = self.parts.code.ends_with(is_part_of_a_name);
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.literal(),
            ('r', '"' | '#') if !follows_a_name => self.raw_literal(1),
            ('b', 'r') if !follows_a_name && matches!(self.peek(2), '"' | '#') => {
                self.raw_literal(2);
            }
            ('\'', '\\') => self.character(),
            ('\'', _) if self.peek(2) == '\'' => self.character(),
            _ => {
                let c = self.next();
                if c != '\n' {
                    self.parts.code.push(c);
                }
            }
        }
    }

    fn comment(&mut self) {
        let line = self.line;
        let mut text = String::new();
        while self.at < self.chars.len() && self.peek(0) != '\n' {
            text.push(self.next());
        }
        let text = text.trim_start_matches('/').trim_start_matches('!').trim();
        self.parts.comments.push(Piece { line, text: String::from(text) });
    }

    fn block_comment(&mut self) {
        let (line, mut text) = (self.line, String::new());
        while self.at < self.chars.len() && !text.ends_with("*/") {
            text.push(self.next());
        }
        self.parts.comments.push(Piece { line, text });
    }

    fn literal(&mut self) {
        let (line, mut text) = (self.line, String::new());
        self.next();
        while self.at < self.chars.len() && self.peek(0) != '"' {
            match self.next() {
                // A line that goes on below: the spaces of the next one do not count.
                '\\' if self.peek(0) == '\n' => {
                    while self.peek(0).is_whitespace() {
                        self.next();
                    }
                }
                '\\' => {
                    self.next();
                    text.push(' ');
                }
                c => text.push(c),
            }
        }
        self.next();
        self.parts.code.push_str("\"\"");
        self.parts.literals.push(Piece { line, text });
    }

    fn raw_literal(&mut self, prefix: usize) {
        let hashes =
            (prefix..self.chars.len()).take_while(|ahead| self.peek(*ahead) == '#').count();
        if self.peek(prefix + hashes) != '"' {
            // A raw name such as `r#type`.
            let c = self.next();
            self.parts.code.push(c);
            return;
        }
        let (line, mut text) = (self.line, String::new());
        let end = format!("\"{}", "#".repeat(hashes));
        for _ in 0..=prefix + hashes {
            self.next();
        }
        while self.at < self.chars.len() && !text.ends_with(&end) {
            text.push(self.next());
        }
        text.truncate(text.len() - end.len());
        self.parts.code.push_str("\"\"");
        self.parts.literals.push(Piece { line, text });
    }

    fn character(&mut self) {
        self.next();
        if self.next() == '\\' {
            self.next();
        }
        while self.at < self.chars.len() && self.next() != '\'' {}
        self.parts.code.push_str("' '");
    }
}

#[test]
fn a_file_is_taken_apart() {
    let text = "//! Header.\nlet a = \"one // two \\\" \\\n    three\"; // four\nlet b = r#\"five\"#;\n\
                let c = '\"'; let d: &'static str = \"six\";\n#[cfg(test)]\nmod tests {\n// no\n}\n";
    let parts = Parts::of(text);
    let piece = |line, text: &str| Piece { line, text: String::from(text) };
    assert_eq!(parts.comments, [piece(1, "Header."), piece(3, "four")]);
    assert_eq!(parts.literals, [piece(2, "one // two   three"), piece(4, "five"), piece(5, "six")]);
    assert_eq!(
        parts.code,
        "\nlet a = \n\"\"; \nlet b = \"\";\nlet c = ' '; let d: &'static str = \"\";"
    );
}
