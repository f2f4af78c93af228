//! Shamir's secret sharing of a master key: any `needed` of `total` shares restore it, fewer reveal
//! nothing about it.
//!
//! Each byte of the key is the value at 0 of a random polynomial of degree `needed` - 1 over the
//! field of 256 elements (the polynomial of AES, 0x11b); a share holds its values at the share's
//! number.
//!
//! A share is written in groups of five letters and digits, in Crockford's base 32. The alphabet
//! lacks I, L, O and U; a reader takes I and L for 1, O for 0, and refuses U. Byte for byte a share
//! is:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format, 1 |
//! | 4 | set, random: shares of different sets cannot be combined |
//! | 1 | number of shares that are needed |
//! | 1 | number of shares in the set |
//! | 1 | number of this share, from 1 |
//! | 32 | values |
//! | 4 | check: the first bytes of SHA-256 of all fields before it |
//!
//! The check finds typing mistakes. It has no key, so the keeper of a share can make another share
//! that passes it. The vault therefore stores a hash of each share (see [`Share::hash`]), which
//! identifies a share that was changed. This module does not check that the combined key is the
//! right one; its caller compares it with the vault's check value. Test vectors, from a second
//! implementation: `tests/vectors/shares.json`.

mod field;
#[cfg(test)]
mod tests;

use std::fmt;

use ring::digest::{Context, SHA256, digest};

use crate::crypto::first;
use crate::crypto::random::Random;
use crate::crypto::shares::field::{inverse, times};
use crate::secret::Secret;

const FORMAT: u8 = 1;
/// The prefix of the bytes that [`Share::hash`] hashes.
const HASH_LABEL: &[u8] = b"strongroom share 1";
const HEAD_BYTES: usize = 8;
const KEY_BYTES: usize = 32;
const CHECK_BYTES: usize = 4;
const SHARE_BYTES: usize = HEAD_BYTES + KEY_BYTES + CHECK_BYTES;
const GROUP: usize = 5;
/// Digits have 5 bits; the last one holds the remaining 2.
const DIGITS: usize = SHARE_BYTES * 8 / 5 + 1;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The number of shares in a set, and the number of them that restore the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    needed: u8,
    total: u8,
}

pub struct Share {
    set: [u8; 4],
    scheme: Scheme,
    number: u8,
    values: Secret<[u8; KEY_BYTES]>,
}

/// Never quotes a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidShare {
    /// A share was mistyped or cut short, or surplus shares do not agree with the needed ones.
    Damaged,
    /// The shares belong to several sets.
    OtherSet,
    /// The share of this number was given twice.
    Repeated(u8),
    /// This number of further shares is needed.
    TooFew(u8),
}

impl Scheme {
    /// Returns `None` for fewer than two needed shares, since a single sufficient share is a copy
    /// of the key, and for more needed shares than there are.
    pub const fn new(needed: u8, total: u8) -> Option<Self> {
        if needed >= 2 && needed <= total { Some(Self { needed, total }) } else { None }
    }

    /// Parses a text such as `3-of-5`.
    pub fn parse(text: &str) -> Option<Self> {
        let (needed, total) = text.split_once("-of-")?;
        Self::new(needed.parse().ok()?, total.parse().ok()?)
    }

    pub const fn needed(self) -> u8 {
        self.needed
    }

    pub const fn total(self) -> u8 {
        self.total
    }
}

impl Share {
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub const fn number(&self) -> u8 {
        self.number
    }

    /// The hexadecimal name of the set, for display.
    pub fn set(&self) -> String {
        crate::domain::hex::encode(&self.set)
    }

    pub const fn set_bytes(&self) -> [u8; 4] {
        self.set
    }

    /// Identifies this share without revealing anything about the key: SHA-256 over
    /// `strongroom share 1` and the share without its check. The values of a share are 32 uniformly
    /// random bytes, so an exhaustive search for them is infeasible.
    pub fn hash(&self) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        context.update(HASH_LABEL);
        context.update(&self.head());
        context.update(self.values.expose());
        first(context.finish())
    }

    /// Returns `None` if a digit is outside the alphabet, which does not happen for 5 bits.
    pub fn text(&self) -> Option<Secret<String>> {
        let bytes = self.bytes();
        let mut text = Secret::new(String::with_capacity(DIGITS + DIGITS / GROUP));
        for at in 0..DIGITS {
            if at > 0 && at.is_multiple_of(GROUP) {
                text.expose_mut().push('-');
            }
            let digit = (0..5).fold(0_usize, |digit, bit| {
                digit << 1 | usize::from(bit_of(bytes.expose(), at * 5 + bit))
            });
            text.expose_mut().push(char::from(*ALPHABET.get(digit)?));
        }
        Some(text)
    }

    /// Ignores white space, hyphens and the case of letters.
    pub fn parse(text: &str) -> Result<Self, InvalidShare> {
        let mut bytes = Secret::new([0; SHARE_BYTES]);
        let mut count = 0_usize;
        for letter in text.chars().filter(|it| !it.is_ascii_whitespace() && *it != '-') {
            let digit = digit_of(letter).ok_or(InvalidShare::Damaged)?;
            for bit in 0..5 {
                let is_set = digit >> (4 - bit) & 1;
                let at = count * 5 + bit;
                match bytes.expose_mut().get_mut(at / 8) {
                    Some(byte) => *byte |= is_set << (7 - at % 8),
                    // The unused bits of the last digit must be zero.
                    None if is_set == 0 && count + 1 == DIGITS => (),
                    None => return Err(InvalidShare::Damaged),
                }
            }
            count += 1;
        }
        let share = (count == DIGITS).then(|| Self::of_bytes(&bytes)).flatten();
        share.ok_or(InvalidShare::Damaged)
    }

    fn of_bytes(bytes: &Secret<[u8; SHARE_BYTES]>) -> Option<Self> {
        let (content, check) = bytes.expose().split_last_chunk::<CHECK_BYTES>()?;
        let (head, values) = content.split_first_chunk::<HEAD_BYTES>()?;
        let [FORMAT, set @ .., needed, total, number] = *head else { return None };
        let scheme = Scheme::new(needed, total)?;
        let values = Secret::new(values.try_into().ok()?);
        let is_whole = *check == check_of(content) && (1..=total).contains(&number);
        is_whole.then_some(Self { set, scheme, number, values })
    }

    const fn head(&self) -> [u8; HEAD_BYTES] {
        let (Scheme { needed, total }, [a, b, c, d]) = (self.scheme, self.set);
        [FORMAT, a, b, c, d, needed, total, self.number]
    }

    fn bytes(&self) -> Secret<[u8; SHARE_BYTES]> {
        let mut content = Secret::new([0; SHARE_BYTES - CHECK_BYTES]);
        let parts = self.head().into_iter().chain(self.values.expose().iter().copied());
        for (to, from) in content.expose_mut().iter_mut().zip(parts) {
            *to = from;
        }
        let mut bytes = Secret::new([0; SHARE_BYTES]);
        let parts = content.expose().iter().copied().chain(check_of(content.expose()));
        for (to, from) in bytes.expose_mut().iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }
}

pub(super) fn split(key: &Secret<[u8; KEY_BYTES]>, scheme: Scheme, random: &Random) -> Vec<Share> {
    let higher: Vec<Secret<[u8; KEY_BYTES]>> =
        (1..scheme.needed).map(|_| Secret::new(random.bytes())).collect();
    split_along(key, scheme, random.bytes(), &higher)
}

/// Makes the shares for given polynomials. `higher` are the coefficients from degree 1 on.
fn split_along(
    key: &Secret<[u8; KEY_BYTES]>,
    scheme: Scheme,
    set: [u8; 4],
    higher: &[Secret<[u8; KEY_BYTES]>],
) -> Vec<Share> {
    let share = |number: u8| {
        let mut values = Secret::new([0; KEY_BYTES]);
        for coefficients in higher.iter().rev().chain([key]) {
            for (value, next) in values.expose_mut().iter_mut().zip(coefficients.expose()) {
                *value = times(*value, number) ^ next;
            }
        }
        Share { set, scheme, number, values }
    };
    (1..=scheme.total).map(share).collect()
}

/// Restores the key. Shares beyond the needed number must agree with the others.
pub(super) fn combine(shares: &[Share]) -> Result<Secret<[u8; KEY_BYTES]>, InvalidShare> {
    let Some(first) = shares.first() else { return Err(InvalidShare::TooFew(2)) };
    for (at, share) in shares.iter().enumerate() {
        if (share.set, share.scheme) != (first.set, first.scheme) {
            return Err(InvalidShare::OtherSet);
        }
        if shares.iter().take(at).any(|before| before.number == share.number) {
            return Err(InvalidShare::Repeated(share.number));
        }
    }
    let given = u8::try_from(shares.len()).unwrap_or(u8::MAX);
    let missing = first.scheme.needed.saturating_sub(given);
    if missing > 0 {
        return Err(InvalidShare::TooFew(missing));
    }
    let (enough, further) = shares.split_at(usize::from(first.scheme.needed));
    let agrees = |share: &Share| at(enough, share.number).expose() == share.values.expose();
    if !further.iter().all(agrees) {
        return Err(InvalidShare::Damaged);
    }
    Ok(at(enough, 0))
}

/// Evaluates the polynomials through these shares at `place`, by Lagrange interpolation.
fn at(shares: &[Share], place: u8) -> Secret<[u8; KEY_BYTES]> {
    let mut sum = Secret::new([0; KEY_BYTES]);
    for share in shares {
        let others = shares.iter().filter(|other| other.number != share.number);
        let weight = others.fold(1, |weight, other| {
            let over = times(weight, other.number ^ place);
            times(over, inverse(other.number ^ share.number))
        });
        for (to, value) in sum.expose_mut().iter_mut().zip(share.values.expose()) {
            *to ^= times(*value, weight);
        }
    }
    sum
}

fn check_of(content: &[u8]) -> [u8; CHECK_BYTES] {
    first(digest(&SHA256, content))
}

fn bit_of(bytes: &[u8], at: usize) -> bool {
    bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
}

fn digit_of(letter: char) -> Option<u8> {
    let letter = match letter.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    let at = ALPHABET.iter().position(|own| char::from(*own) == letter)?;
    u8::try_from(at).ok()
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Share({} of set {})", self.number, self.set())
    }
}

impl fmt::Display for InvalidShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => f.write_str("it is mistyped, cut short or damaged"),
            Self::OtherSet => f.write_str("it belongs to another set than most of the others"),
            Self::Repeated(number) => write!(f, "share {number} is given twice"),
            Self::TooFew(missing) => write!(f, "{missing} more of them are needed"),
        }
    }
}
