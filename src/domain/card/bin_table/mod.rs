//! The operator's BIN file: issuer, funding and required authentication of ranges of card numbers.
//!
//! The file is CSV (RFC 4180 without line breaks inside quotes), UTF-8, one range a line. Empty
//! lines and lines that begin with `#` are skipped. The first line names the columns, in any order;
//! columns that are left out are empty:
//!
//! | column         | value                                                                       |
//! |----------------|-----------------------------------------------------------------------------|
//! | first          | first prefix of the range, 1 to 19 digits; required                         |
//! | last           | last prefix, as many digits as `first`; empty: the prefix `first` alone     |
//! | role           | `primary` or empty; `additional` for a further brand of a co-badged range   |
//! | brand          | a brand of the interface; any lower-case name if additional; required       |
//! | funding        | `credit`, `debit`, `prepaid` or empty                                       |
//! | authentication | `sca_required` or empty                                                     |
//! | issuer         | the bank's name or empty                                                    |
//! | country        | the issuer's country, ISO 3166-1 alpha-2, or empty                          |
//! | segment        | `Business`, `Commercial`, `Consumer`, `Government` or empty; primary only   |
//! | product        | the scheme's product code or empty; primary only                            |
//!
//! Ranges may overlap: the narrowest one that holds a number decides, and of two equally wide ones
//! the later line. An additional row has exactly the range of a primary row, which may stand before
//! or after it. Two primary rows of the same range are a mistake.
//!
//! Overlaps are resolved while loading, into pieces that do not overlap: a look-up is one binary
//! search. This module never reads a file; lines come from the caller.

mod file;
mod line;
mod mistake;
mod pieces;
#[cfg(test)]
mod tests;

use std::num::NonZeroU32;
use std::sync::Arc;

pub use file::BinFile;

use crate::domain::card::bin_table::pieces::Pieces;
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;
use crate::domain::card::span::key;

/// Read-only after loading. The default is the empty table of a server without a file.
#[derive(Debug, Default)]
pub struct BinTable {
    pieces: Pieces,
    rows: Vec<Row>,
    additional: Vec<AdditionalRow>,
    texts: Vec<Arc<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinDetails {
    pub brand: Brand,
    pub funding: Option<Funding>,
    pub authentication: Option<Authentication>,
    pub issuer: Option<Arc<str>>,
    pub country: Option<Country>,
    pub segment: Option<Segment>,
    pub product: Option<Arc<str>>,
    pub additional: Vec<AdditionalDetails>,
}

/// A further brand of the same range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdditionalDetails {
    pub brand: Arc<str>,
    pub funding: Option<Funding>,
    pub authentication: Option<Authentication>,
    pub issuer: Option<Arc<str>>,
    pub country: Option<Country>,
}

impl BinTable {
    /// Returns every mistake of the text, up to a bound, if it has any.
    #[cfg(any(fuzzing, test))]
    pub fn parse(text: &str) -> Result<Self, Vec<mistake::BinFileError>> {
        let mut file = BinFile::default();
        for line in text.lines() {
            file.line(line);
        }
        file.finish()
    }

    /// The details of the narrowest range that holds `number`.
    pub fn find(&self, number: &str) -> Option<BinDetails> {
        let row = self.rows.get(self.pieces.row_at(key(number)?)?)?;
        Some(BinDetails {
            brand: row.brand,
            funding: row.funding,
            authentication: row.authentication,
            issuer: self.text(row.issuer),
            country: row.country,
            segment: row.segment,
            product: self.text(row.product),
            additional: self.additional_of(row).filter_map(|row| self.additional(row)).collect(),
        })
    }

    /// The last of the numbers, filled up to 19 digits, that have the details of `number`.
    pub(super) fn end_of(&self, number: u64) -> u64 {
        self.pieces.end_at(number)
    }

    pub const fn ranges(&self) -> usize {
        self.rows.len()
    }

    fn additional_of(&self, row: &Row) -> impl Iterator<Item = &AdditionalRow> {
        // An index that does not fit would be past the end of the list.
        let first = usize::try_from(row.additional.first).unwrap_or(usize::MAX);
        self.additional.iter().skip(first).take(usize::from(row.additional.count))
    }

    fn additional(&self, row: &AdditionalRow) -> Option<AdditionalDetails> {
        Some(AdditionalDetails {
            brand: self.text(Some(row.brand))?,
            funding: row.funding,
            authentication: row.authentication,
            issuer: self.text(row.issuer),
            country: row.country,
        })
    }

    fn text(&self, id: Option<TextId>) -> Option<Arc<str>> {
        let place = usize::try_from(id?.0.get()).ok()?.checked_sub(1)?;
        self.texts.get(place).map(Arc::clone)
    }
}

/// A text of the file, stored once: its index, from 1, so that `Option` of it takes no extra
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TextId(NonZeroU32);

/// A slice of the list of additional rows.
#[derive(Debug, Default, Clone, Copy)]
struct AdditionalRows {
    first: u32,
    count: u8,
}

#[derive(Debug)]
struct Row {
    brand: Brand,
    funding: Option<Funding>,
    authentication: Option<Authentication>,
    segment: Option<Segment>,
    country: Option<Country>,
    issuer: Option<TextId>,
    product: Option<TextId>,
    additional: AdditionalRows,
}

#[derive(Debug)]
struct AdditionalRow {
    brand: TextId,
    funding: Option<Funding>,
    authentication: Option<Authentication>,
    country: Option<Country>,
    issuer: Option<TextId>,
}
