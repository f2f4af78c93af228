//! What hyper's HTTP/1 parser lets through and this server does not: a line of a head that ends in
//! LF alone, and a head with both `Content-Length` and `Transfer-Encoding`.
//!
//! Servers and proxies read such requests differently, which is how one request is smuggled inside
//! another. hyper has no setting for either. So this follows the bytes on their way to hyper, far
//! enough to know where each head begins and ends, and spoils the byte that is wrong: hyper then
//! answers 400 as it does to anything that is not HTTP. It never makes a request acceptable.

/// Longest line that can be a `Content-Length` or a `Transfer-Encoding` which is taken: both names,
/// with room for spaces and twenty digits.
const LINE_BYTES_KEPT: usize = 64;
/// Digits of a chunk's size: all that a 64-bit number has, without any leading zeros.
const CHUNK_SIZE_DIGITS_MAX: usize = 16;
const _: () = assert!(CHUNK_SIZE_DIGITS_MAX < LINE_BYTES_KEPT);
/// No header value may hold it.
const SPOILED: u8 = 0;

#[derive(Debug)]
pub(super) struct Framing {
    state: State,
    /// The beginning of the line that is read, without its end.
    line: Vec<u8>,
    line_bytes: usize,
    last: u8,
    content_length: Option<u64>,
    chunked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first line of a head; empty lines do not count.
    Start,
    Head,
    /// Of a body or a chunk: so many bytes are passed over.
    Body(u64),
    ChunkSize,
    ChunkData(u64),
    /// The end of the line after a chunk's data.
    ChunkEnd,
    Trailers,
    /// Something was spoiled, or is no HTTP: hyper closes the connection.
    Refused,
}

impl Framing {
    pub(super) const fn new() -> Self {
        Self {
            state: State::Start,
            line: Vec::new(),
            line_bytes: 0,
            last: 0,
            content_length: None,
            chunked: false,
        }
    }

    /// Follows these bytes, which hyper has not seen yet.
    pub(super) fn follow(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let taken = match self.state {
                State::Refused => return,
                State::Body(left) | State::ChunkData(left) => self.pass_over(left, bytes.len()),
                State::Start
                | State::Head
                | State::ChunkSize
                | State::ChunkEnd
                | State::Trailers => {
                    if let Some(byte) = bytes.first_mut() {
                        self.read(byte);
                    }
                    1
                }
            };
            bytes = bytes.get_mut(taken..).unwrap_or_default();
        }
    }

    fn pass_over(&mut self, left: u64, there: usize) -> usize {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(there);
        let left = left.saturating_sub(u64::try_from(taken).unwrap_or(u64::MAX));
        self.state = match (self.state, left) {
            (State::ChunkData(_), 0) => State::ChunkEnd,
            (State::ChunkData(_), left) => State::ChunkData(left),
            (_, 0) => State::Start,
            (_, left) => State::Body(left),
        };
        taken
    }

    fn read(&mut self, byte: &mut u8) {
        let last = std::mem::replace(&mut self.last, *byte);
        if *byte != b'\n' {
            if *byte != b'\r' {
                self.line_bytes = self.line_bytes.saturating_add(1);
                if self.line.len() < LINE_BYTES_KEPT {
                    self.line.push(*byte);
                }
            }
            return;
        }
        let next = if last == b'\r' { self.end_line() } else { None };
        self.state = next.unwrap_or_else(|| {
            *byte = SPOILED;
            State::Refused
        });
        self.line.clear();
        self.line_bytes = 0;
    }

    /// The state after the line that has just ended; `None` refuses the request.
    fn end_line(&mut self) -> Option<State> {
        let is_empty = self.line_bytes == 0;
        match self.state {
            State::Start | State::Trailers if is_empty => Some(State::Start),
            State::Head if is_empty => self.end_head(),
            State::Start => Some(State::Head),
            State::Head => self.note_header().map(|()| State::Head),
            State::ChunkSize => {
                let size = self.line.split(|byte| b"; \t".contains(byte)).next()?;
                // Of a longer line only the beginning is known, and hyper reads all of it.
                let is_known = size.len() <= CHUNK_SIZE_DIGITS_MAX;
                let is_hex = !size.is_empty() && size.iter().all(u8::is_ascii_hexdigit);
                let size = std::str::from_utf8(size).ok().filter(|_| is_known && is_hex)?;
                match u64::from_str_radix(size, 16).ok()? {
                    0 => Some(State::Trailers),
                    size => Some(State::ChunkData(size)),
                }
            }
            State::ChunkEnd => is_empty.then_some(State::ChunkSize),
            State::Trailers => Some(State::Trailers),
            State::Body(_) | State::ChunkData(_) | State::Refused => None,
        }
    }

    fn end_head(&mut self) -> Option<State> {
        match (self.content_length.take(), std::mem::take(&mut self.chunked)) {
            (Some(_), true) => None,
            (None, true) => Some(State::ChunkSize),
            (Some(0) | None, false) => Some(State::Start),
            (Some(length), false) => Some(State::Body(length)),
        }
    }

    fn note_header(&mut self) -> Option<()> {
        let Some(colon) = self.line.iter().position(|byte| *byte == b':') else {
            return Some(());
        };
        let (name, value) = self.line.split_at_checked(colon)?;
        let value = value.get(1..)?.trim_ascii();
        let is_length = name.eq_ignore_ascii_case(b"content-length");
        let is_coding = name.eq_ignore_ascii_case(b"transfer-encoding");
        if (is_length || is_coding) && self.line_bytes > LINE_BYTES_KEPT {
            return None;
        }
        if is_length {
            let is_number = value.iter().all(u8::is_ascii_digit);
            let digits = std::str::from_utf8(value).ok().filter(|_| is_number)?;
            let length = digits.parse().ok()?;
            let same = self.content_length.is_none_or(|known| known == length);
            self.content_length = same.then_some(length);
            return same.then_some(());
        }
        // Any coding frames the body by chunks: hyper refuses those that do not end in `chunked`,
        // and the server those that are not `chunked` alone.
        self.chunked = self.chunked || is_coding;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn follow(text: &str, piece: usize) -> String {
        let mut framing = Framing::new();
        let mut bytes = text.as_bytes().to_vec();
        for piece in bytes.chunks_mut(piece) {
            framing.follow(piece);
        }
        String::from_utf8(bytes).unwrap()
    }

    /// Whatever the pieces in which it comes.
    #[track_caller]
    fn check(text: &str, expected: Option<usize>) {
        for piece in [1, 2, 7, text.len()] {
            let followed = follow(text, piece);
            assert_eq!(followed.find('\0'), expected, "{text:?} in pieces of {piece}");
            assert_eq!(followed.replace('\0', "\n"), text);
        }
    }

    #[test]
    fn lines_that_end_as_they_should_are_left_alone() {
        check("GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n", None);
        check("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\na\nGET / HTTP/1.1\r\n\r\n", None);
        check(
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\n\n\n\n\r\n0\r\nA: b\r\n\r\n\
             GET / HTTP/1.1\r\n\r\n",
            None,
        );
    }

    #[test]
    fn a_line_that_ends_in_lf_alone_is_spoiled_wherever_a_head_stands() {
        check("GET / HTTP/1.1\nHost: a\r\n\r\n", Some(14));
        check("GET / HTTP/1.1\r\nHost: a\n\r\n", Some(23));
        check("GET / HTTP/1.1\r\nHost: a\r\n\n", Some(25));
        check("\nGET / HTTP/1.1\r\n\r\n", Some(0));
        let first = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\na\n";
        check(&format!("{first}GET / HTTP/1.1\n\r\n"), Some(first.len() + 14));
        let first = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
        check(&format!("{first}GET / HTTP/1.1\n\r\n"), Some(first.len() + 14));
    }

    #[test]
    fn a_chunk_size_that_is_not_a_plain_hexadecimal_number_is_spoiled() {
        let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        for size in ["+5", "0x5", "", "-1", &format!("{}5", "0".repeat(70)), &"0".repeat(17)] {
            check(&format!("{head}{size}\r\nhello"), Some(head.len() + size.len() + 1));
        }
        check(&format!("{head}00000005\r\nhello\r\n0\r\n\r\n"), None);
        check("POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n", Some(36));
    }

    #[test]
    fn a_head_that_frames_its_body_in_two_ways_is_spoiled_at_its_end() {
        let [length, coding] = ["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"];
        for (one, two) in [(length, coding), (coding, length)] {
            let head = format!("POST / HTTP/1.1\r\n{one}{two}\r\n");
            check(&head, Some(head.len() - 1));
        }
        check("POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", Some(54));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_and_at_most_one_is_changed(
            bytes: Vec<u8>, text in "[ -~\r\n]{0,200}", piece in 1_usize..50,
        ) {
            for bytes in [bytes, text.into_bytes()] {
                let mut followed = bytes.clone();
                let mut framing = Framing::new();
                for piece in followed.chunks_mut(piece) {
                    framing.follow(piece);
                }
                let changed = bytes.iter().zip(&followed).filter(|(one, two)| one != two).count();
                prop_assert!(changed <= 1);
            }
        }
    }
}
