//! A reader of CSV files by RFC 4180, in constant memory. A malformed record is returned as an
//! item, and reading continues with the next line.

use std::io::{self, BufRead};

use crate::bounds::{IMPORT_COLUMNS_MAX, IMPORT_ROW_BYTES_MAX};

/// A record, and the line where it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) fields: Result<Vec<Vec<u8>>, &'static str>,
}

#[derive(Debug)]
pub(super) struct CsvReader<R> {
    input: R,
    delimiter: u8,
    /// Lines that were read to their end.
    lines: u64,
    has_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Plain,
    Quoted,
    /// After a quotation mark in a quoted field: the field ends, or the mark is doubled.
    QuoteInQuoted,
    /// After the carriage return of a line end that follows a quoted field.
    Returned,
    /// In a malformed record, up to the end of its line.
    Bad,
}

const QUOTE_IN_PLAIN: &str = "A field that is not quoted has a quotation mark.";
const TEXT_BEHIND_QUOTE: &str = "There is text behind the closing quotation mark of a field.";
const OPEN_QUOTE: &str = "A quoted field does not end.";
const TOO_LONG: &str = "The row is too long, or a quoted field does not end.";
const TOO_MANY: &str = "The row has too many fields.";

#[derive(Default)]
struct Builder {
    fields: Vec<Vec<u8>>,
    field: Vec<u8>,
    is_quoted: bool,
    bytes: usize,
    bad: Option<&'static str>,
}

impl<R: BufRead> CsvReader<R> {
    pub(super) const fn new(input: R, delimiter: u8) -> Self {
        Self { input, delimiter, lines: 0, has_begun: false }
    }

    /// The next record that is not an empty line.
    pub(super) fn next_record(&mut self) -> io::Result<Option<Record>> {
        if !self.has_begun {
            self.has_begun = true;
            self.skip_byte_order_mark()?;
        }
        loop {
            let line = self.lines.saturating_add(1);
            let Some(fields) = self.record()? else { return Ok(None) };
            let is_empty =
                fields.as_ref().is_ok_and(|all| matches!(all.as_slice(), [one] if one.is_empty()));
            if !is_empty {
                return Ok(Some(Record { line, fields }));
            }
        }
    }

    fn skip_byte_order_mark(&mut self) -> io::Result<()> {
        if self.input.fill_buf()?.starts_with(b"\xef\xbb\xbf") {
            self.input.consume(3);
        }
        Ok(())
    }

    /// `None` at the end of the file.
    #[expect(clippy::type_complexity, reason = "a record of fields, or the reason why not")]
    fn record(&mut self) -> io::Result<Option<Result<Vec<Vec<u8>>, &'static str>>> {
        let mut it = Builder::default();
        let mut state = State::Start;
        let mut has_bytes = false;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                if !has_bytes {
                    return Ok(None);
                }
                if state == State::Quoted {
                    it.bad.get_or_insert(OPEN_QUOTE);
                }
                return Ok(Some(it.finish()));
            }
            let mut used = 0_usize;
            let mut is_done = false;
            for byte in buffer {
                used = used.saturating_add(1);
                has_bytes = true;
                if *byte == b'\n' {
                    self.lines = self.lines.saturating_add(1);
                }
                state = it.take(*byte, state, self.delimiter);
                is_done = *byte == b'\n' && state != State::Quoted;
                if is_done {
                    break;
                }
            }
            self.input.consume(used);
            if is_done {
                return Ok(Some(it.finish()));
            }
        }
    }
}

impl Builder {
    fn take(&mut self, byte: u8, state: State, delimiter: u8) -> State {
        self.bytes = self.bytes.saturating_add(1);
        if self.bytes > IMPORT_ROW_BYTES_MAX {
            return self.fail(TOO_LONG);
        }
        match (state, byte) {
            (State::Bad, _) => State::Bad,
            (State::Start, b'"') => {
                self.is_quoted = true;
                State::Quoted
            }
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) | (State::QuoteInQuoted, b'"') => self.push(byte, State::Quoted),
            (_, b'\n') => state,
            (State::Returned, _) => self.fail(TEXT_BEHIND_QUOTE),
            (_, _) if byte == delimiter => self.end_field(),
            (State::QuoteInQuoted, b'\r') => State::Returned,
            (State::QuoteInQuoted, _) => self.fail(TEXT_BEHIND_QUOTE),
            (State::Plain, b'"') => self.fail(QUOTE_IN_PLAIN),
            (State::Start | State::Plain, _) => self.push(byte, State::Plain),
        }
    }

    fn push(&mut self, byte: u8, state: State) -> State {
        self.field.push(byte);
        state
    }

    fn end_field(&mut self) -> State {
        if self.fields.len() >= IMPORT_COLUMNS_MAX {
            return self.fail(TOO_MANY);
        }
        self.is_quoted = false;
        self.fields.push(std::mem::take(&mut self.field));
        State::Start
    }

    /// Keeps the first mistake and drops the content of the record.
    fn fail(&mut self, why: &'static str) -> State {
        self.bad.get_or_insert(why);
        self.field = Vec::new();
        self.fields = Vec::new();
        State::Bad
    }

    fn finish(mut self) -> Result<Vec<Vec<u8>>, &'static str> {
        // The carriage return belongs to the line end.
        if !self.is_quoted && self.field.last() == Some(&b'\r') {
            self.field.pop();
        }
        self.end_field();
        self.bad.map_or(Ok(self.fields), Err)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], buffer: usize) -> Vec<Record> {
        let input = io::BufReader::with_capacity(buffer, text);
        let mut reader = CsvReader::new(input, b',');
        std::iter::from_fn(|| reader.next_record().unwrap()).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(u64, Result<&[&str], &'static str>)]) {
        let found = read(text.as_bytes(), 3);
        let fields = |all: &[&str]| all.iter().map(|it| it.as_bytes().to_vec()).collect();
        let record = |(line, it): &(u64, Result<&[&str], &'static str>)| Record {
            line: *line,
            fields: it.map(fields),
        };
        assert_eq!(found, expected.iter().map(record).collect::<Vec<_>>(), "{text:?}");
    }

    #[test]
    fn records_are_read_as_rfc_4180_writes_them() {
        check("", &[]);
        check("a,b\r\nc,d\r\n", &[(1, Ok(&["a", "b"])), (2, Ok(&["c", "d"]))]);
        check("a,b\nc,d", &[(1, Ok(&["a", "b"])), (2, Ok(&["c", "d"]))]);
        check("\u{feff}a,\n,\n", &[(1, Ok(&["a", ""])), (2, Ok(&["", ""]))]);
        check(
            "\"a,\"\"b\"\"\r\nc\",d\r\n\n\r\ne,f\n",
            &[(1, Ok(&["a,\"b\"\r\nc", "d"])), (5, Ok(&["e", "f"]))],
        );
        check("\"a\"\r\n\"b\"", &[(1, Ok(&["a"])), (2, Ok(&["b"]))]);
    }

    #[test]
    fn a_malformed_record_does_not_hide_the_next() {
        check("a\"b,c\nd\n", &[(1, Err(QUOTE_IN_PLAIN)), (2, Ok(&["d"]))]);
        check("\"a\"b,c\nd\n", &[(1, Err(TEXT_BEHIND_QUOTE)), (2, Ok(&["d"]))]);
        check("a\n\"b,c\nd\n", &[(1, Ok(&["a"])), (2, Err(OPEN_QUOTE))]);
        let long = format!("{}\nb\n", "x".repeat(IMPORT_ROW_BYTES_MAX + 1));
        check(&long, &[(1, Err(TOO_LONG)), (2, Ok(&["b"]))]);
        let wide = format!("{}\nb\n", ",".repeat(IMPORT_COLUMNS_MAX));
        check(&wide, &[(1, Err(TOO_MANY)), (2, Ok(&["b"]))]);
    }

    proptest! {
        #[test]
        fn quoted_fields_are_read_as_they_were_written(
            rows in prop::collection::vec(prop::collection::vec("[ -~\r\n\",;\u{e9}]{1,8}", 1..5), 1..6),
            buffer in 1_usize..64,
        ) {
            let quote = |field: &String| format!("\"{}\"", field.replace('"', "\"\""));
            let line = |row: &Vec<String>| row.iter().map(quote).collect::<Vec<_>>().join(",");
            let text = rows.iter().map(line).collect::<Vec<_>>().join("\r\n");
            let found: Vec<_> = read(text.as_bytes(), buffer).into_iter().map(|it| it.fields).collect();
            let bytes = |row: &Vec<String>| Ok(row.iter().map(|it| it.clone().into_bytes()).collect());
            prop_assert_eq!(found, rows.iter().map(bytes).collect::<Vec<_>>());
        }

        #[test]
        fn no_bytes_make_the_reader_fail_and_buffers_do_not_matter(
            bytes in prop::collection::vec(prop::sample::select(b"ab,\"\r\n\xff".to_vec()), 0..60),
        ) {
            prop_assert_eq!(read(&bytes, 1), read(&bytes, 64));
        }
    }
}
