//! The framing of HTTP/1 requests, checked before hyper sees them.
//!
//! Servers and proxies that read one request differently let a client smuggle a second request
//! inside the first. hyper accepts two such forms and has no setting against them: a line of a head
//! that ends in LF alone, and a head with both `Content-Length` and `Transfer-Encoding`. So this
//! follows the bytes on their way to hyper, far enough to know where each head and each body begins
//! and ends. It never makes a request acceptable.
//!
//! A head that is malformed or too large is withheld from hyper, whose own answers to it would have
//! no body and no trace id; the connection answers it instead. After an error inside a body, whose
//! request is already being answered, hyper sees no further bytes: the body is incomplete. The last
//! byte is one that hyper's decoder rejects wherever it checks bytes, which it does not in chunk
//! extensions.

use crate::server::bounds::Bounds;
use crate::server::problem::ServerProblem;

/// The longest `Content-Length` or `Transfer-Encoding` line that is accepted: the name, twenty
/// digits and some spaces.
const LINE_BYTES_KEPT: usize = 64;
/// The digits of a 64-bit chunk size.
const CHUNK_SIZE_DIGITS_MAX: usize = 16;
const _: () = assert!(CHUNK_SIZE_DIGITS_MAX < LINE_BYTES_KEPT);
/// hyper's parser has a table of this many header lines. The connection survives a head with fewer
/// lines than this and more than [`Bounds::headers_count_max`].
const HEADER_LINES_MAX: usize = 100;
const HTTP_10: &[u8] = b"HTTP/1.0";
const HTTP_11: &[u8] = b"HTTP/1.1";
/// No chunk size, line end or trailer may contain this byte.
const SPOILED: u8 = 0;

#[derive(Debug)]
pub(super) struct Framing {
    state: State,
    part: LinePart,
    /// The beginning of the current line, without its end.
    line: Vec<u8>,
    /// Bytes of the current line, and of its part, without the line's end.
    line_bytes: usize,
    part_bytes: usize,
    last: u8,
    /// Bytes and lines of the current head.
    head_bytes: usize,
    head_lines: usize,
    head_bytes_max: usize,
    is_http_10: bool,
    content_length: Option<u64>,
    coding: Option<Coding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before or in the first line of a head; empty lines do not count.
    Start,
    Head,
    /// Bytes of the body that are left.
    Body(u64),
    ChunkSize,
    /// Bytes of the chunk that are left.
    ChunkData(u64),
    /// The end of the line after a chunk's data.
    ChunkEnd,
    Trailers,
    /// The head is withheld from hyper.
    Refused(ServerProblem),
    /// A byte of the body was spoiled and hyper sees none after it, so it closes the connection
    /// after its answer.
    Spoiled,
}

/// The part of a head's line that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePart {
    Method,
    Target,
    Version,
    Name,
    Value,
}

/// The last transfer coding of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Chunked,
    Other,
}

impl Framing {
    pub(super) const fn new(bounds: &Bounds) -> Self {
        Self {
            state: State::Start,
            part: LinePart::Method,
            line: Vec::new(),
            line_bytes: 0,
            part_bytes: 0,
            last: 0,
            head_bytes: 0,
            head_lines: 0,
            head_bytes_max: bounds.header_bytes_max,
            is_http_10: false,
            content_length: None,
            coding: None,
        }
    }

    /// Follows these bytes, which hyper has not seen yet, and returns the number that it may see.
    pub(super) fn follow(&mut self, bytes: &mut [u8]) -> usize {
        let mut seen: usize = 0;
        let all = bytes.len();
        while let Some(first) = bytes.get_mut(seen) {
            let taken = match self.state {
                State::Refused(_) | State::Spoiled => return seen,
                State::Body(left) | State::ChunkData(left) => {
                    self.pass_over(left, all.saturating_sub(seen))
                }
                State::Start | State::Head => {
                    if let Err(problem) = self.read_head(*first) {
                        self.state = State::Refused(problem);
                        return seen;
                    }
                    let rest = bytes.get(seen.saturating_add(1)..).unwrap_or_default();
                    self.pass_over_part(rest).saturating_add(1)
                }
                State::ChunkSize | State::ChunkEnd | State::Trailers => {
                    self.read_body_line(first);
                    1
                }
            };
            seen = seen.saturating_add(taken);
        }
        seen
    }

    /// The reason why the rest of the connection is withheld from hyper.
    pub(super) const fn refusal(&self) -> Option<ServerProblem> {
        if let State::Refused(problem) = self.state { Some(problem) } else { None }
    }

    /// Returns whether the rest of the connection is withheld because a body is malformed.
    pub(super) fn is_spoiled(&self) -> bool {
        self.state == State::Spoiled
    }

    /// Returns whether the peer has sent a part of a message and will probably send the rest.
    pub(super) fn is_inside_message(&self) -> bool {
        self.state != State::Start || self.head_bytes > 0
    }

    fn pass_over(&mut self, left: u64, there: usize) -> usize {
        // A body longer than the address space is skipped in steps of the available bytes.
        let taken = usize::try_from(left).map_or(there, |left| left.min(there));
        let left = u64::try_from(taken).ok().and_then(|taken| left.checked_sub(taken));
        self.state = match (self.state, left) {
            (_, None) => State::Refused(ServerProblem::UnreadableRequest),
            (State::ChunkData(_), Some(0)) => State::ChunkEnd,
            (State::ChunkData(_), Some(left)) => State::ChunkData(left),
            (_, Some(0)) => State::Start,
            (_, Some(left)) => State::Body(left),
        };
        taken
    }

    fn read_head(&mut self, byte: u8) -> Result<(), ServerProblem> {
        self.head_bytes = self.head_bytes.saturating_add(1);
        if self.head_bytes > self.head_bytes_max {
            let is_line = self.state == State::Start;
            let too_large = ServerProblem::HeadersTooLarge;
            return Err(if is_line { ServerProblem::UriTooLong } else { too_large });
        }
        let last = std::mem::replace(&mut self.last, byte);
        let is_legal = match (last, byte) {
            (b'\r', b'\n') => {
                self.state = self.end_head_line()?;
                self.begin_line();
                true
            }
            (b'\r', _) | (_, b'\n') => false,
            (_, b'\r') => self.may_end_line(),
            (_, byte) => {
                if self.state == State::Head && self.line_bytes == 0 {
                    self.head_lines = self.head_lines.saturating_add(1);
                    if self.head_lines > HEADER_LINES_MAX {
                        return Err(ServerProblem::HeadersTooLarge);
                    }
                }
                self.read_head_byte(byte)
            }
        };
        if is_legal { Ok(()) } else { Err(ServerProblem::UnreadableRequest) }
    }

    /// Skips the bytes that only continue the current part of the line, and returns their number.
    /// The byte after them ends the part or is illegal: [`Framing::read_head`] decides. Reading
    /// byte by byte took two and a half times the instructions.
    fn pass_over_part(&mut self, bytes: &[u8]) -> usize {
        // The first byte of a line counts the line, and only an LF may follow a CR.
        if self.line_bytes == 0 || self.last == b'\r' {
            return 0;
        }
        let room = self.head_bytes_max.saturating_sub(self.head_bytes);
        let bytes = bytes.get(..room).unwrap_or(bytes);
        let end = match self.part {
            LinePart::Method | LinePart::Name => bytes.iter().position(|byte| !is_token(*byte)),
            LinePart::Target => bytes.iter().position(|byte| !is_target(*byte)),
            LinePart::Value => bytes.iter().position(|byte| !is_value(*byte)),
            LinePart::Version => {
                let expected = HTTP_11.strip_prefix(&*self.line).unwrap_or_default();
                let same = bytes.iter().zip(expected).take_while(|(byte, other)| byte == other);
                Some(same.count())
            }
        };
        let passed = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        let Some(last) = passed.last() else { return 0 };
        self.last = *last;
        self.head_bytes = self.head_bytes.saturating_add(passed.len());
        self.line_bytes = self.line_bytes.saturating_add(passed.len());
        self.part_bytes = self.part_bytes.saturating_add(passed.len());
        // The target is not kept: its line is cleared before the version.
        if self.part != LinePart::Target {
            let room = LINE_BYTES_KEPT.saturating_sub(self.line.len());
            self.line.extend_from_slice(passed.get(..room).unwrap_or(passed));
        }
        passed.len()
    }

    /// hyper's parser would answer a line that ends too early already at its CR.
    fn may_end_line(&self) -> bool {
        match self.part {
            LinePart::Method | LinePart::Name => self.line_bytes == 0,
            LinePart::Target => false,
            LinePart::Version => self.part_bytes == HTTP_11.len(),
            LinePart::Value => true,
        }
    }

    /// Returns whether the byte may stand here.
    //= RFC 9112, 3 and 5: method SP target SP version; name, colon, value.
    fn read_head_byte(&mut self, byte: u8) -> bool {
        let is_first = self.part_bytes == 0;
        self.keep(byte);
        match (self.part, byte) {
            (LinePart::Method, b' ') => self.begin_part(LinePart::Target) && !is_first,
            (LinePart::Target, b' ') => {
                self.line.clear();
                self.begin_part(LinePart::Version) && !is_first
            }
            (LinePart::Name, b':') => self.begin_part(LinePart::Value) && !is_first,
            (LinePart::Method | LinePart::Name, _) => is_token(byte),
            (LinePart::Target, _) => is_target(byte),
            (LinePart::Version, _) => HTTP_11.starts_with(&self.line) || self.line == HTTP_10,
            (LinePart::Value, _) => is_value(byte),
        }
    }

    fn begin_part(&mut self, part: LinePart) -> bool {
        self.part = part;
        self.part_bytes = 0;
        true
    }

    fn begin_line(&mut self) {
        let is_header = self.state == State::Head;
        self.part = if is_header { LinePart::Name } else { LinePart::Method };
        self.line.clear();
        self.line_bytes = 0;
        self.part_bytes = 0;
    }

    fn keep(&mut self, byte: u8) {
        self.line_bytes = self.line_bytes.saturating_add(1);
        self.part_bytes = self.part_bytes.saturating_add(1);
        if self.line.len() < LINE_BYTES_KEPT {
            self.line.push(byte);
        }
    }

    /// The state after the line of a head that has just ended.
    fn end_head_line(&mut self) -> Result<State, ServerProblem> {
        let is_empty = self.line_bytes == 0;
        let next = match (self.state == State::Start, is_empty) {
            (true, true) => Some(State::Start),
            (true, false) => {
                self.is_http_10 = self.line == HTTP_10;
                Some(State::Head)
            }
            (false, true) => self.end_head(),
            (false, false) => self.read_header().map(|()| State::Head),
        };
        next.ok_or(ServerProblem::UnreadableRequest)
    }

    //= RFC 9112, 6.1 and 6.3: a request with both a length and a coding, with a coding that does
    //= not end in chunked, or with a coding in HTTP/1.0, is refused.
    fn end_head(&mut self) -> Option<State> {
        self.head_bytes = 0;
        self.head_lines = 0;
        match (self.content_length.take(), self.coding.take()) {
            (None, Some(Coding::Chunked)) if !self.is_http_10 => Some(State::ChunkSize),
            (_, Some(_)) => None,
            (Some(0) | None, None) => Some(State::Start),
            (Some(length), None) => Some(State::Body(length)),
        }
    }

    fn read_header(&mut self) -> Option<()> {
        let Some(colon) = self.line.iter().position(|byte| *byte == b':') else {
            // A name that is longer than the kept part is not one of the two.
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
            let is_same = self.content_length.is_none_or(|known| known == length);
            self.content_length = Some(length);
            return is_same.then_some(());
        }
        if is_coding {
            let last = value.rsplit(|byte| *byte == b',').next()?.trim_ascii();
            let is_chunked = last.eq_ignore_ascii_case(b"chunked");
            self.coding = Some(if is_chunked { Coding::Chunked } else { Coding::Other });
        }
        Some(())
    }

    /// A line between chunks or after them.
    fn read_body_line(&mut self, byte: &mut u8) {
        let last = std::mem::replace(&mut self.last, *byte);
        if *byte != b'\n' {
            if *byte != b'\r' {
                self.keep(*byte);
            }
            return;
        }
        let next = if last == b'\r' { self.end_body_line() } else { None };
        self.state = next.unwrap_or_else(|| {
            *byte = SPOILED;
            State::Spoiled
        });
        self.begin_line();
    }

    fn end_body_line(&self) -> Option<State> {
        let is_empty = self.line_bytes == 0;
        match self.state {
            State::Trailers if is_empty => Some(State::Start),
            State::Trailers => Some(State::Trailers),
            State::ChunkEnd => is_empty.then_some(State::ChunkSize),
            State::ChunkSize => {
                let size = self.line.split(|byte| b"; \t".contains(byte)).next()?;
                // Only the beginning of a longer line is kept, but hyper reads all of it.
                let is_known = size.len() <= CHUNK_SIZE_DIGITS_MAX;
                let is_hex = !size.is_empty() && size.iter().all(u8::is_ascii_hexdigit);
                let size = std::str::from_utf8(size).ok().filter(|_| is_known && is_hex)?;
                match u64::from_str_radix(size, 16).ok()? {
                    0 => Some(State::Trailers),
                    size => Some(State::ChunkData(size)),
                }
            }
            State::Start
            | State::Head
            | State::Body(_)
            | State::ChunkData(_)
            | State::Refused(_)
            | State::Spoiled => None,
        }
    }
}

/// The bytes of a request's target. hyper refuses bytes that no URI has.
const fn is_target(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}

const fn is_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

/// The characters of methods and header names.
//= RFC 9110, 5.6.2: token.
const fn is_token(byte: u8) -> bool {
    // The compiler turns a pattern into a table of bits, which is faster than a search in a list.
    matches!(
        byte,
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*'
            | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
    )
}

#[cfg(test)]
mod tests;
