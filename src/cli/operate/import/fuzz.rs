//! The fuzz target of imports: files of other vaults, as CSV and as JSON lines.

use argh::FromArgs as _;

use super::csv::{CsvReader, Record};
use super::shape::Shape;
use crate::bounds::{IMPORT_COLUMNS_MAX, IMPORT_ROW_BYTES_MAX};
use crate::cli::operate::import::ImportCommand;
use crate::fuzz::check_sentence;

/// The first byte chooses the delimiter of CSV, or JSON lines.
pub(crate) fn files(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 3 {
        0 => check_csv(data, b','),
        1 => check_csv(data, b';'),
        _ => check_lines(data),
    }
}

fn shape(format: &str) -> Option<Shape> {
    let arguments =
        ["--tenant", "x", "--format", format, "--map", "pan=data.number", "--type", "card", "f"];
    let command = ImportCommand::from_args(&["import"], &arguments).ok()?;
    Shape::parse(&command).ok()
}

fn check_csv(data: &[u8], delimiter: u8) {
    let records = read(data, data.len().max(1), delimiter);
    assert_eq!(read(data, 1, delimiter), records, "the size of the buffer matters");
    let mut line = 0;
    for record in &records {
        assert!(record.line > line, "two records of one line");
        line = record.line;
        if let Ok(fields) = &record.fields {
            assert!(fields.len() <= IMPORT_COLUMNS_MAX);
            let bytes: usize = fields.iter().map(Vec::len).sum();
            assert!(bytes <= IMPORT_ROW_BYTES_MAX.min(data.len()));
            check_written(fields, delimiter);
        }
    }
    let Some(shape) = shape("csv") else { return };
    let mut records = records.into_iter().filter_map(|record| record.fields.ok());
    let Some(Ok(places)) = records.next().map(|names| shape.header(&names)) else { return };
    for fields in records {
        match shape.of_record(&places, fields) {
            Ok(body) => check_body(&body),
            Err((_, why)) => check_sentence(why),
        }
    }
}

fn read(data: &[u8], buffer: usize, delimiter: u8) -> Vec<Record> {
    let input = std::io::BufReader::with_capacity(buffer.max(3), data);
    let mut reader = CsvReader::new(input, delimiter);
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        records.push(record);
    }
    records
}

/// A record that is written with every field quoted must be read as the same record.
fn check_written(fields: &[Vec<u8>], delimiter: u8) {
    let mut text = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            text.push(delimiter);
        }
        text.push(b'"');
        for byte in field {
            text.push(*byte);
            if *byte == b'"' {
                text.push(b'"');
            }
        }
        text.push(b'"');
    }
    let is_empty = matches!(fields, [one] if one.is_empty());
    let again = read(&text, 64, delimiter);
    let found = again.first().and_then(|record| record.fields.as_ref().ok());
    assert!(is_empty || found.is_some_and(|found| found == fields), "a record changed");
}

fn check_lines(data: &[u8]) {
    let Some(shape) = shape("jsonl") else { return };
    for line in data.split(|byte| *byte == b'\n').take(64) {
        let Ok(value) = serde_json::from_slice(line) else { continue };
        match shape.of_line(value) {
            // A line may lack its type, which the vault refuses like every other mistake.
            Ok(body) => assert!(body.is_object(), "a row that is no body of a token"),
            Err((_, why)) => check_sentence(why),
        }
    }
}

fn check_body(body: &serde_json::Value) {
    assert!(body.is_object(), "a row that is no body of a token");
    assert!(body.get("type").is_some(), "the type of every token is missing");
}
