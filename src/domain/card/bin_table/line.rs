//! One line of CSV: its fields and their columns.

use std::borrow::Cow;

use crate::domain::card::bin_table::mistake::BinMistake;
use crate::domain::words::words;

/// Splits a line at its commas. A field in double quotes may hold commas, and a quote written
/// twice. Spaces around a field without quotes are not part of it.
pub(super) fn split<'a>(line: &'a str, fields: &mut Vec<Cow<'a, str>>) -> Result<(), BinMistake> {
    fields.clear();
    if !line.contains('"') {
        fields.extend(line.split(',').map(|field| Cow::Borrowed(field.trim_matches(' '))));
        return Ok(());
    }
    let mut rest = line;
    loop {
        let (field, after) = match rest.trim_start_matches(' ').strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => plain_field(rest)?,
        };
        fields.push(field);
        match after {
            Some(after) => rest = after,
            None => return Ok(()),
        }
    }
}

/// A field, and the text after its comma, if there is one.
type Split<'a> = (Cow<'a, str>, Option<&'a str>);

fn plain_field(rest: &str) -> Result<Split<'_>, BinMistake> {
    let (field, after) = match rest.split_once(',') {
        Some((field, after)) => (field, Some(after)),
        None => (rest, None),
    };
    if field.contains('"') {
        return Err(BinMistake::Quotes);
    }
    Ok((Cow::Borrowed(field.trim_matches(' ')), after))
}

/// `rest` begins after the opening quote.
fn quoted_field(rest: &str) -> Result<Split<'_>, BinMistake> {
    let mut field = Cow::Borrowed("");
    let mut rest = rest;
    loop {
        let (text, after) = rest.split_once('"').ok_or(BinMistake::Quotes)?;
        append(&mut field, text);
        if let Some(after) = after.strip_prefix('"') {
            append(&mut field, "\"");
            rest = after;
            continue;
        }
        let after = after.trim_start_matches(' ');
        return match after.strip_prefix(',') {
            Some(after) => Ok((field, Some(after))),
            None if after.is_empty() => Ok((field, None)),
            None => Err(BinMistake::Quotes),
        };
    }
}

/// Borrows the text: most quoted fields are one piece.
fn append<'a>(field: &mut Cow<'a, str>, text: &'a str) {
    if field.is_empty() {
        *field = Cow::Borrowed(text);
    } else {
        field.to_mut().push_str(text);
    }
}

words! {
    pub enum Column: place -> usize {
        Authentication = "authentication", 0;
        Brand = "brand", 1;
        Country = "country", 2;
        First = "first", 3;
        Funding = "funding", 4;
        Issuer = "issuer", 5;
        Last = "last", 6;
        Product = "product", 7;
        Role = "role", 8;
        Segment = "segment", 9;
    }
}

/// The first line: each known column at most once, `first` and `brand` among them.
pub(super) fn header(fields: &[Cow<'_, str>]) -> Result<Vec<Column>, BinMistake> {
    let mut columns = Vec::with_capacity(fields.len());
    for name in fields {
        let column = Column::parse(name).ok_or(BinMistake::UnknownColumn)?;
        if columns.contains(&column) {
            return Err(BinMistake::RepeatedColumn);
        }
        columns.push(column);
    }
    if columns.contains(&Column::First) && columns.contains(&Column::Brand) {
        Ok(columns)
    } else {
        Err(BinMistake::MissingColumn)
    }
}

/// The fields of one row by the places of their columns; empty where the file has no such column.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Fields<'a>([&'a str; Column::ALL.len()]);

impl<'a> Fields<'a> {
    pub(super) fn of(columns: &[Column], fields: &'a [Cow<'_, str>]) -> Result<Self, BinMistake> {
        if columns.len() != fields.len() {
            return Err(BinMistake::FieldCount { columns: columns.len(), fields: fields.len() });
        }
        let mut named = Self::default();
        for (column, field) in columns.iter().zip(fields) {
            if let Some(place) = named.0.get_mut(column.place()) {
                *place = field.as_ref();
            }
        }
        Ok(named)
    }

    pub(super) fn get(&self, column: Column) -> &'a str {
        self.0.get(column.place()).copied().unwrap_or_default()
    }

    /// A word of a fixed list, or an empty field.
    pub(super) fn word<T>(
        &self,
        column: Column,
        parse: fn(&str) -> Option<T>,
        mistake: BinMistake,
    ) -> Result<Option<T>, BinMistake> {
        let text = self.get(column);
        if text.is_empty() { Ok(None) } else { parse(text).map(Some).ok_or(mistake) }
    }
}
