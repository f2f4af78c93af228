//! The name that a mistyped word probably means.

/// Longer words are no names, and comparing them takes time.
const WORD_CHARS_MAX: usize = 40;

/// The candidate with the smallest edit distance, if it is close enough; of several, the first. A
/// prefix of exactly one candidate means that candidate.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = word.chars().take(WORD_CHARS_MAX.saturating_add(1)).collect();
    if typed.is_empty() || typed.len() > WORD_CHARS_MAX {
        return None;
    }
    let mut begun = Vec::new();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if typed.len() > 2 && candidate.starts_with(word) {
            begun.push(candidate);
        }
        let name: Vec<char> = candidate.chars().collect();
        let longer = typed.len().max(name.len());
        // A third of the letters may be wrong, at least one and at most four.
        let most = longer.div_euclid(3).clamp(1, 4);
        let distance = distance(&typed, &name);
        let is_meant = distance <= most && distance < longer;
        if is_meant && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    match (best, begun.as_slice()) {
        (Some((_, candidate)), _) => Some(candidate),
        (None, [only]) => Some(only),
        (None, _) => None,
    }
}

/// The number of letters to insert, delete, replace or swap with their neighbour.
fn distance(typed: &[char], name: &[char]) -> usize {
    let at = |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX);
    let mut second_above: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=name.len()).collect();
    let mut last_typed = None;
    for (number, letter) in typed.iter().enumerate() {
        let mut row = vec![number.saturating_add(1)];
        let mut last_name = None;
        for (place, other) in name.iter().enumerate() {
            let replaced = at(&above, place).saturating_add(usize::from(letter != other));
            let deleted = at(&above, place.saturating_add(1)).saturating_add(1);
            let inserted = at(&row, place).saturating_add(1);
            let swapped = if last_typed == Some(other) && last_name == Some(letter) {
                place.checked_sub(1).map_or(usize::MAX, |place| at(&second_above, place))
            } else {
                usize::MAX
            };
            row.push(replaced.min(deleted).min(inserted).min(swapped.saturating_add(1)));
            last_name = Some(other);
        }
        second_above = std::mem::replace(&mut above, row);
        last_typed = Some(letter);
    }
    above.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        let candidates = ["application", "audit", "key", "key-create", "list", "tenant", "verify"];
        assert_eq!(nearest(word, candidates), expected, "{word}");
    }

    #[test]
    fn a_mistyped_word_means_the_nearest_name() {
        check("tenant", Some("tenant"));
        check("tenatn", Some("tenant"));
        check("tennant", Some("tenant"));
        check("tenants", Some("tenant"));
        check("aplication", Some("application"));
        check("app", Some("application"));
        check("lsit", Some("list"));
        check("kye", Some("key"));
        check("verfy", Some("verify"));
    }

    #[test]
    fn a_word_that_is_far_from_every_name_means_none() {
        for word in ["", "x", "zz", "4242424242424242", "secret", &"a".repeat(1_000)] {
            check(word, None);
        }
    }

    #[test]
    fn distances_are_those_of_the_literature() {
        for (typed, name, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
            ("ca", "abc", 3),
        ] {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(distance(&letters(typed), &letters(name)), expected, "{typed} {name}");
            assert_eq!(distance(&letters(name), &letters(typed)), expected, "{name} {typed}");
        }
    }
}
