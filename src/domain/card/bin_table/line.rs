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
    pub enum Column {
        Authentication = "authentication";
        Brand = "brand";
        Country = "country";
        First = "first";
        Funding = "funding";
        Issuer = "issuer";
        Last = "last";
        Product = "product";
        Role = "role";
        Segment = "segment";
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

/// The fields of one row by name; empty where the file has no such column.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) authentication: &'a str,
    pub(super) brand: &'a str,
    pub(super) country: &'a str,
    pub(super) first: &'a str,
    pub(super) funding: &'a str,
    pub(super) issuer: &'a str,
    pub(super) last: &'a str,
    pub(super) product: &'a str,
    pub(super) role: &'a str,
    pub(super) segment: &'a str,
}

impl<'a> Fields<'a> {
    pub(super) fn of(columns: &[Column], fields: &'a [Cow<'_, str>]) -> Result<Self, BinMistake> {
        if columns.len() != fields.len() {
            return Err(BinMistake::FieldCount { columns: columns.len(), fields: fields.len() });
        }
        let mut named = Self::default();
        for (column, field) in columns.iter().zip(fields) {
            let place = match column {
                Column::Authentication => &mut named.authentication,
                Column::Brand => &mut named.brand,
                Column::Country => &mut named.country,
                Column::First => &mut named.first,
                Column::Funding => &mut named.funding,
                Column::Issuer => &mut named.issuer,
                Column::Last => &mut named.last,
                Column::Product => &mut named.product,
                Column::Role => &mut named.role,
                Column::Segment => &mut named.segment,
            };
            *place = field.as_ref();
        }
        Ok(named)
    }
}
