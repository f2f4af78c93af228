//! Mistakes in a BIN file. A mistake has a line number and a reason, never the line's text.

use std::fmt;

use crate::bounds::{
    BIN_ADDITIONAL_MAX, BIN_LINE_BYTES_MAX, BIN_RANGES_MAX, BIN_TEXT_BYTES_MAX, BIN_TEXTS_MAX,
};

/// One mistake of the file. Lines are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinFileError {
    pub line: u32,
    pub why: BinMistake,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinMistake {
    AdditionalWithoutRange,
    Authentication,
    Brand,
    ControlCharacter,
    Country,
    DifferentLengths,
    DuplicateRange,
    FieldCount { columns: usize, fields: usize },
    Funding,
    LineTooLong,
    MissingColumn,
    NoHeader,
    NotAPrefix,
    PrimaryColumn,
    Quotes,
    RangeBackwards,
    RepeatedColumn,
    Role,
    Segment,
    TextTooLong,
    TooManyAdditional,
    TooManyRanges,
    TooManyTexts,
    UnknownColumn,
}

impl BinMistake {
    /// True if every further line would repeat it.
    pub(super) const fn ends_reading(self) -> bool {
        matches!(self, Self::TooManyRanges | Self::TooManyTexts)
    }
}

impl fmt::Display for BinFileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl std::error::Error for BinFileError {}

impl fmt::Display for BinMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::AdditionalWithoutRange => "no primary row has the range of this additional row",
            Self::Authentication => "authentication must be sca_required or empty",
            Self::Brand => "this kind of row cannot have this brand",
            Self::ControlCharacter => "the line holds a control character",
            Self::Country => "country must be an ISO 3166-1 alpha-2 code or empty",
            Self::DifferentLengths => "first and last have different numbers of digits",
            Self::DuplicateRange => "an earlier primary row has the same range",
            Self::FieldCount { columns, fields } => {
                return write!(f, "{fields} fields where the header has {columns} columns");
            }
            Self::Funding => "funding must be credit, debit, prepaid or empty",
            Self::LineTooLong => {
                return write!(f, "the line is longer than {BIN_LINE_BYTES_MAX} bytes");
            }
            Self::MissingColumn => "the header lacks the column first or the column brand",
            Self::NoHeader => "the file has no header line",
            Self::NotAPrefix => "first or last is not 1 to 19 digits",
            Self::PrimaryColumn => "segment and product belong to primary rows",
            Self::Quotes => "a double quote is not where a field begins or ends",
            Self::RangeBackwards => "last is below first",
            Self::RepeatedColumn => "the header names a column twice",
            Self::Role => "role must be primary, additional or empty",
            Self::Segment => "segment must be Business, Commercial, Consumer, Government or empty",
            Self::TextTooLong => {
                return write!(f, "a text is longer than {BIN_TEXT_BYTES_MAX} bytes");
            }
            Self::TooManyAdditional => {
                return write!(f, "the range has more than {BIN_ADDITIONAL_MAX} additional rows");
            }
            Self::TooManyRanges => {
                return write!(f, "the file has more than {BIN_RANGES_MAX} rows");
            }
            Self::TooManyTexts => {
                return write!(f, "the file has more than {BIN_TEXTS_MAX} different texts");
            }
            Self::UnknownColumn => "the header names a column that does not exist",
        };
        f.write_str(text)
    }
}
