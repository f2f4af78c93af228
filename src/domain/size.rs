//! Sizes in bytes as operators write and read them.

const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];

/// A whole number with one of `KiB`, `MiB`, `GiB`, `TiB`.
pub fn parse(text: &str) -> Option<u64> {
    let (digits, bits) =
        UNITS.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)))?;
    let digits = digits.trim_end();
    let number = digits.parse::<u64>().ok();
    let number = number.filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.checked_mul(1_u64.checked_shl(bits)?)
}

/// Renders a size in its largest unit with one decimal, such as `12.3 MiB`.
pub fn render(bytes: u64) -> String {
    let unit = UNITS.iter().find_map(|(unit, bits)| {
        let one = 1_u64.checked_shl(*bits)?;
        let tenths = u128::from(bytes).saturating_mul(10).checked_div(u128::from(one))?;
        (bytes >= one).then_some((unit, tenths))
    });
    match unit {
        Some((unit, tenths)) => {
            format!("{}.{} {unit}", tenths.div_euclid(10), tenths.rem_euclid(10))
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_with_a_unit() {
        for (text, bytes) in [
            ("512KiB", 512 << 10),
            ("64MiB", 64 << 20),
            ("10GiB", 10 << 30),
            ("1TiB", 1 << 40),
            ("256 MiB", 256 << 20),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for text in ["", "MiB", "64", "64MB", "64M", "64mib", "-1MiB", "1.5GiB", "99999999TiB"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_its_largest_unit() {
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (12_897_485, "12.3 MiB"),
            (1 << 40, "1.0 TiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(render(bytes), text);
        }
    }
}
