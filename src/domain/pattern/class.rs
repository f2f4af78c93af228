//! Sets of characters.

/// The characters that one step matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) negated: bool,
    pub(super) items: Vec<Item>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    Range(char, char),
    Shorthand { kind: Shorthand, negated: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shorthand {
    Digit,
    Space,
    Word,
}

impl Class {
    pub(super) fn character(c: char) -> Self {
        Self { negated: false, items: vec![Item::Range(c, c)] }
    }

    pub(super) fn all_but(characters: &[char]) -> Self {
        let items = characters.iter().map(|c| Item::Range(*c, *c)).collect();
        Self { negated: true, items }
    }

    pub(super) fn contains(&self, c: char, ignores_case: bool) -> bool {
        let has = |c: char| self.items.iter().any(|item| item.contains(c));
        let found = has(c)
            || (ignores_case && (has(c.to_ascii_lowercase()) || has(c.to_ascii_uppercase())));
        found != self.negated
    }
}

impl Item {
    fn contains(self, c: char) -> bool {
        match self {
            Self::Range(first, last) => (first..=last).contains(&c),
            Self::Shorthand { kind, negated } => kind.contains(c) != negated,
        }
    }
}

impl Shorthand {
    pub(super) const fn contains(self, c: char) -> bool {
        match self {
            Self::Digit => c.is_ascii_digit(),
            Self::Space => matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c'),
            Self::Word => c.is_ascii_alphanumeric() || c == '_',
        }
    }
}
