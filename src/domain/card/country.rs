//! Countries by their ISO 3166-1 alpha-2 code.

use std::sync::LazyLock;

/// A country of the embedded table. Two bytes, so that a million BIN ranges can hold one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Country(u16);

impl Country {
    /// Upper case only, as the standard writes it.
    pub fn parse(alpha2: &str) -> Option<Self> {
        let at = TABLE.binary_search_by(|row| row.alpha2.cmp(alpha2)).ok()?;
        u16::try_from(at).ok().map(Self)
    }

    pub fn alpha2(self) -> &'static str {
        self.row().alpha2
    }

    /// Three digits, with leading zeros.
    pub fn numeric(self) -> &'static str {
        self.row().numeric
    }

    pub fn name(self) -> &'static str {
        self.row().name
    }

    fn row(self) -> Row {
        // Only `parse` makes a country, so the index is always valid.
        TABLE.get(usize::from(self.0)).copied().unwrap_or_default()
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Row {
    alpha2: &'static str,
    numeric: &'static str,
    name: &'static str,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| lines().filter_map(row).collect());

fn lines() -> impl Iterator<Item = &'static str> {
    include_str!("countries.csv").lines().filter(|line| !line.starts_with('#'))
}

fn row(line: &'static str) -> Option<Row> {
    let (alpha2, rest) = line.split_once(',')?;
    let (numeric, name) = rest.split_once(',')?;
    Some(Row { alpha2, numeric, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read_in_order_and_found() {
        assert_eq!(TABLE.len(), lines().count());
        assert_eq!(TABLE.len(), 249);
        assert!(TABLE.windows(2).all(|pair| pair[0].alpha2 < pair[1].alpha2));
        for row in TABLE.iter() {
            assert!(row.alpha2.len() == 2 && row.alpha2.bytes().all(|b| b.is_ascii_uppercase()));
            assert!(row.numeric.len() == 3 && row.numeric.bytes().all(|b| b.is_ascii_digit()));
            assert_eq!(Country::parse(row.alpha2).map(Country::name), Some(row.name));
        }
    }

    #[test]
    fn numeric_codes_are_unique() {
        let mut codes: Vec<_> = TABLE.iter().map(|row| row.numeric).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), TABLE.len());
    }

    #[test]
    fn a_code_that_is_not_a_country_is_none() {
        for text in ["", "us", "USA", "XX", "U", "840"] {
            assert_eq!(Country::parse(text), None);
        }
        assert_eq!(Country::parse("US").map(Country::numeric), Some("840"));
    }
}
