//! Parses the operator's BIN file line by line and reports every mistake with its line number.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use crate::bounds::{
    BIN_ADDITIONAL_MAX, BIN_FILE_MISTAKES_MAX, BIN_LINE_BYTES_MAX, BIN_RANGES_MAX,
    BIN_TEXT_BYTES_MAX, BIN_TEXTS_MAX,
};
use crate::domain::card::bin_table::line::{Column, Fields, header, split};
use crate::domain::card::bin_table::mistake::{BinFileError, BinMistake};
use crate::domain::card::bin_table::pieces::Pieces;
use crate::domain::card::bin_table::{AdditionalRow, AdditionalRows, BinTable, Row, TextId};
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;
use crate::domain::card::span::{Span, SpanMistake};

/// A parser of a BIN file. It takes the lines in order, then `finish`.
#[derive(Debug, Default)]
pub struct BinFile {
    line: u32,
    limits: Limits,
    reading: Reading,
    primary: Vec<Placed<Row>>,
    additional: Vec<Placed<AdditionalRow>>,
    texts: HashMap<Box<str>, TextId>,
    mistakes: Vec<BinFileError>,
}

/// Limits as fields, so that a test can reach them without millions of rows.
#[derive(Debug)]
pub(super) struct Limits {
    pub(super) ranges: usize,
    pub(super) texts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { ranges: BIN_RANGES_MAX, texts: BIN_TEXTS_MAX }
    }
}

#[derive(Debug, Default)]
enum Reading {
    #[default]
    Header,
    Rows(Vec<Column>),
    /// Set after a mistake that every further line would repeat.
    Stopped,
}

impl BinFile {
    #[cfg(test)]
    pub(super) fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Parses the next line, with or without its line break. Ignores it once the bound of mistakes
    /// is reached.
    pub fn line(&mut self, line: &str) {
        self.line = self.line.saturating_add(1);
        if self.is_done() {
            return;
        }
        let line = line.trim_end_matches(['\n', '\r']);
        // Spreadsheets put a byte order mark in front of UTF-8.
        let line = if self.line == 1 { line.trim_start_matches('\u{feff}') } else { line };
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if let Err(why) = self.read(line) {
            self.mistake(self.line, why);
            if matches!(self.reading, Reading::Header) || why.ends_reading() {
                self.reading = Reading::Stopped;
            }
        }
    }

    /// True if further lines are ignored.
    pub const fn is_done(&self) -> bool {
        matches!(self.reading, Reading::Stopped) || self.is_full()
    }

    pub fn finish(mut self) -> Result<BinTable, Vec<BinFileError>> {
        if matches!(self.reading, Reading::Header) {
            self.mistake(self.line.max(1), BinMistake::NoHeader);
        }
        self.primary.sort_unstable_by_key(|row| (row.span.first, row.span.last, row.line));
        self.additional.sort_unstable_by_key(|row| (row.span.first, row.span.last, row.line));
        self.find_duplicates();
        self.join_additional();
        if !self.mistakes.is_empty() {
            self.mistakes.sort_by_key(|mistake| mistake.line);
            return Err(self.mistakes);
        }
        let mut texts: Vec<(TextId, Arc<str>)> =
            self.texts.into_iter().map(|(text, id)| (id, Arc::from(text))).collect();
        texts.sort_unstable_by_key(|(id, _)| *id);
        Ok(BinTable {
            pieces: Pieces::of(self.primary.iter().map(|row| (row.span, row.line))),
            rows: self.primary.into_iter().map(|row| row.row).collect(),
            additional: self.additional.into_iter().map(|row| row.row).collect(),
            texts: texts.into_iter().map(|(_, text)| text).collect(),
        })
    }

    fn read(&mut self, line: &str) -> Result<(), BinMistake> {
        if line.len() > BIN_LINE_BYTES_MAX {
            return Err(BinMistake::LineTooLong);
        }
        if line.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(BinMistake::ControlCharacter);
        }
        let mut fields: Vec<Cow<'_, str>> = Vec::with_capacity(Column::ALL.len());
        split(line, &mut fields)?;
        let fields = match &self.reading {
            Reading::Rows(columns) => Fields::of(columns, &fields)?,
            Reading::Header => {
                self.reading = Reading::Rows(header(&fields)?);
                return Ok(());
            }
            Reading::Stopped => return Ok(()),
        };
        if self.primary.len().saturating_add(self.additional.len()) >= self.limits.ranges {
            return Err(BinMistake::TooManyRanges);
        }
        match fields.get(Column::Role) {
            "" | "primary" => self.read_primary(fields),
            "additional" => self.read_additional(fields),
            _ => Err(BinMistake::Role),
        }
    }

    fn read_primary(&mut self, fields: Fields<'_>) -> Result<(), BinMistake> {
        let row = Row {
            brand: Brand::parse(fields.get(Column::Brand)).ok_or(BinMistake::Brand)?,
            funding: fields.word(Column::Funding, Funding::parse, BinMistake::Funding)?,
            authentication: fields.word(
                Column::Authentication,
                Authentication::parse,
                BinMistake::Authentication,
            )?,
            segment: fields.word(Column::Segment, Segment::parse, BinMistake::Segment)?,
            country: fields.word(Column::Country, Country::parse, BinMistake::Country)?,
            issuer: self.text(fields.get(Column::Issuer))?,
            product: self.text(fields.get(Column::Product))?,
            additional: AdditionalRows::default(),
        };
        let span = span(fields)?;
        self.primary.push(Placed { span, line: self.line, row });
        Ok(())
    }

    fn read_additional(&mut self, fields: Fields<'_>) -> Result<(), BinMistake> {
        if !fields.get(Column::Segment).is_empty() || !fields.get(Column::Product).is_empty() {
            return Err(BinMistake::PrimaryColumn);
        }
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if !fields.get(Column::Brand).bytes().all(is_name) {
            return Err(BinMistake::Brand);
        }
        let row = AdditionalRow {
            brand: self.text(fields.get(Column::Brand))?.ok_or(BinMistake::Brand)?,
            funding: fields.word(Column::Funding, Funding::parse, BinMistake::Funding)?,
            authentication: fields.word(
                Column::Authentication,
                Authentication::parse,
                BinMistake::Authentication,
            )?,
            country: fields.word(Column::Country, Country::parse, BinMistake::Country)?,
            issuer: self.text(fields.get(Column::Issuer))?,
        };
        let span = span(fields)?;
        self.additional.push(Placed { span, line: self.line, row });
        Ok(())
    }

    /// Equal texts share one entry.
    fn text(&mut self, text: &str) -> Result<Option<TextId>, BinMistake> {
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(id) = self.texts.get(text) {
            return Ok(Some(*id));
        }
        if text.len() > BIN_TEXT_BYTES_MAX {
            return Err(BinMistake::TextTooLong);
        }
        let place = self.texts.len().saturating_add(1);
        if place > self.limits.texts {
            return Err(BinMistake::TooManyTexts);
        }
        let id = u32::try_from(place).ok().and_then(NonZeroU32::new).map(TextId);
        let id = id.ok_or(BinMistake::TooManyTexts)?;
        self.texts.insert(Box::from(text), id);
        Ok(Some(id))
    }

    /// Equal ranges are neighbours, since the rows are sorted.
    fn find_duplicates(&mut self) {
        let mut lines = Vec::new();
        for pair in self.primary.windows(2) {
            if let [earlier, later] = pair
                && earlier.span == later.span
            {
                lines.push(later.line);
            }
        }
        for line in lines {
            self.mistake(line, BinMistake::DuplicateRange);
        }
    }

    /// Gives every primary row its additional rows; both lists are in the same order.
    fn join_additional(&mut self) {
        let mut mistakes = Vec::new();
        let mut next = 0usize;
        let mut primary = self.primary.iter_mut().peekable();
        while let Some(first) = self.additional.get(next) {
            let same = |row: &&Placed<AdditionalRow>| row.span == first.span;
            let count = self.additional.iter().skip(next).take_while(same).count();
            let rows = u32::try_from(next).ok().zip(u8::try_from(count).ok());
            let rows = rows.filter(|_| count <= BIN_ADDITIONAL_MAX);
            let before = (first.span.first, first.span.last);
            while primary.next_if(|row| (row.span.first, row.span.last) < before).is_some() {}
            match (primary.peek_mut().filter(|row| row.span == first.span), rows) {
                (Some(row), Some((first, count))) => {
                    row.row.additional = AdditionalRows { first, count };
                }
                (Some(_), None) => mistakes.push((first.line, BinMistake::TooManyAdditional)),
                (None, _) => mistakes.push((first.line, BinMistake::AdditionalWithoutRange)),
            }
            next = next.saturating_add(count);
        }
        for (line, why) in mistakes {
            self.mistake(line, why);
        }
    }

    const fn is_full(&self) -> bool {
        self.mistakes.len() >= BIN_FILE_MISTAKES_MAX
    }

    fn mistake(&mut self, line: u32, why: BinMistake) {
        if !self.is_full() {
            self.mistakes.push(BinFileError { line, why });
        }
    }
}

#[derive(Debug)]
struct Placed<R> {
    span: Span,
    line: u32,
    row: R,
}

fn span(fields: Fields<'_>) -> Result<Span, BinMistake> {
    Span::parse(fields.get(Column::First), fields.get(Column::Last)).map_err(|why| match why {
        SpanMistake::Backwards => BinMistake::RangeBackwards,
        SpanMistake::DifferentLengths => BinMistake::DifferentLengths,
        SpanMistake::NotAPrefix => BinMistake::NotAPrefix,
    })
}
