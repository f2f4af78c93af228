//! Shares of a master key, after Shamir: any `needed` of `total` give it back, fewer tell nothing.
//!
//! Each byte of the key is the value at 0 of a random polynomial of degree `needed` - 1 over the
//! field of 256 elements (the polynomial of AES, 0x11b); a share holds its values at the share's
//! number. The field is computed without tables and without branches on secrets.
//!
//! A share is, byte for byte, written in groups of five letters and digits (base 32 after Crockford:
//! no I, L, O and U, which read as 1, 1, 0 and not at all):
//!
//! | bytes | what |
//! |---|---|
//! | 1 | format, 1 |
//! | 4 | set, random: shares of different sets do not fit together |
//! | 1 | how many are needed |
//! | 1 | how many there are |
//! | 1 | this one's number, from 1 |
//! | 32 | values |
//! | 4 | check: the first bytes of SHA-256 of all that stands before |
//!
//! Whether the key is the right one is for its user to see, by the vault's own check value.

use std::fmt;

use ring::digest::{SHA256, digest};

use crate::crypto::random::Random;
use crate::secret::Secret;

const FORMAT: u8 = 1;
const HEAD_BYTES: usize = 8;
const KEY_BYTES: usize = 32;
const CHECK_BYTES: usize = 4;
const SHARE_BYTES: usize = HEAD_BYTES + KEY_BYTES + CHECK_BYTES;
const GROUP: usize = 5;
/// Digits of 5 bits; the last holds the two that are left over.
const DIGITS: usize = SHARE_BYTES * 8 / 5 + 1;
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How many shares there are, and how many of them are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scheme {
    needed: u8,
    total: u8,
}

/// One share of a key.
pub struct Share {
    set: [u8; 4],
    scheme: Scheme,
    number: u8,
    values: Secret<[u8; KEY_BYTES]>,
}

/// Why shares give no key. Never what stands in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidShare {
    /// It was mistyped or is cut short.
    Damaged,
    /// It belongs to another set than the first.
    OtherSet,
    /// The same one twice.
    Repeated(u8),
    /// So many more are needed.
    TooFew(u8),
}

impl Scheme {
    /// At least two are needed: one that is enough alone is a copy of the key.
    pub const fn new(needed: u8, total: u8) -> Option<Self> {
        if needed >= 2 && needed <= total { Some(Self { needed, total }) } else { None }
    }

    /// As in `3-of-5`.
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

    /// Names the set, for people to tell sets apart.
    pub fn set(&self) -> String {
        crate::domain::hex::encode(&self.set)
    }

    pub fn text(&self) -> Secret<String> {
        let bytes = self.bytes();
        let mut text = String::with_capacity(DIGITS + DIGITS / GROUP);
        for at in 0..DIGITS {
            if at > 0 && at.is_multiple_of(GROUP) {
                text.push('-');
            }
            let digit = (0..5).fold(0_usize, |digit, bit| {
                digit << 1 | usize::from(bit_of(bytes.expose(), at * 5 + bit))
            });
            text.push(char::from(ALPHABET.get(digit).copied().unwrap_or(b'0')));
        }
        Secret::new(text)
    }

    /// Spaces, hyphens and line ends are passed over, and either case of letters is read.
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
                    // What is left over of the last digit.
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

    fn bytes(&self) -> Secret<[u8; SHARE_BYTES]> {
        let Scheme { needed, total } = self.scheme;
        let head = [FORMAT].into_iter().chain(self.set).chain([needed, total, self.number]);
        let mut bytes = Secret::new([0; SHARE_BYTES]);
        let content = head.chain(self.values.expose().iter().copied());
        for (to, from) in bytes.expose_mut().iter_mut().zip(content) {
            *to = from;
        }
        let check = check_of(bytes.expose().get(..SHARE_BYTES - CHECK_BYTES).unwrap_or(&[]));
        for (to, from) in bytes.expose_mut().iter_mut().skip(SHARE_BYTES - CHECK_BYTES).zip(check) {
            *to = from;
        }
        bytes
    }
}

/// A new set of shares.
pub(super) fn split(key: &Secret<[u8; KEY_BYTES]>, scheme: Scheme, random: &Random) -> Vec<Share> {
    let set = random.bytes();
    let higher: Vec<Secret<[u8; KEY_BYTES]>> =
        (1..scheme.needed).map(|_| Secret::new(random.bytes())).collect();
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

/// The key of these shares; more than are needed must agree as well.
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

/// What the polynomials through these shares are at this place, after Lagrange.
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

/// In the field of 256 elements.
const fn times(mut one: u8, mut other: u8) -> u8 {
    let mut product = 0;
    let mut bit = 0;
    while bit < 8 {
        // A mask of all bits or of none, in place of a branch.
        product ^= one & (other & 1).wrapping_neg();
        one = one << 1 ^ (0x1b & (one >> 7).wrapping_neg());
        other >>= 1;
        bit += 1;
    }
    product
}

/// The power of 254, since every power of 255 is 1.
const fn inverse(element: u8) -> u8 {
    let mut power = element;
    let mut step = 0;
    while step < 6 {
        power = times(times(power, power), element);
        step += 1;
    }
    times(power, power)
}

fn check_of(content: &[u8]) -> [u8; CHECK_BYTES] {
    let mut check = [0; CHECK_BYTES];
    for (to, from) in check.iter_mut().zip(digest(&SHA256, content).as_ref()) {
        *to = *from;
    }
    check
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
            Self::OtherSet => f.write_str("it belongs to another set than the first one"),
            Self::Repeated(number) => write!(f, "share {number} is given twice"),
            Self::TooFew(missing) => write!(f, "{missing} more of them are needed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scheme() -> impl Strategy<Value = Scheme> {
        (2_u8..7).prop_flat_map(|total| {
            (2..=total).prop_map(move |needed| Scheme::new(needed, total).unwrap())
        })
    }

    fn again(share: &Share) -> Share {
        Share::parse(share.text().expose()).unwrap()
    }

    #[test]
    fn the_field_is_that_of_aes() {
        assert_eq!(times(0x57, 0x83), 0xc1);
        for element in 1..=255 {
            assert_eq!(times(element, inverse(element)), 1);
        }
    }

    #[test]
    fn a_share_is_groups_that_a_person_can_type() {
        let shares = split(&Secret::new([7; 32]), Scheme::parse("3-of-5").unwrap(), &Random::new());
        let text = shares[1].text();
        assert!(text.expose().split('-').rev().skip(1).all(|group| group.len() == GROUP));
        let typed = text.expose().to_lowercase().replace('-', " ").replace('0', "o");
        let read = Share::parse(&format!(" {typed}\r\n")).unwrap();
        assert_eq!(read.text().expose(), text.expose());
        assert_eq!((read.number(), read.scheme().needed(), read.scheme().total()), (2, 3, 5));
    }

    #[test]
    fn schemes_make_sense() {
        for text in ["1-of-5", "0-of-0", "6-of-5", "3-of-256", "3of5", "", "-of-"] {
            assert_eq!(Scheme::parse(text), None, "{text}");
        }
        assert!(Scheme::parse("255-of-255").is_some());
    }

    #[test]
    fn shares_that_do_not_belong_together_are_refused() {
        let random = Random::new();
        let two = Scheme::parse("2-of-3").unwrap();
        let key = Secret::new([7; 32]);
        let (one, other) = (split(&key, two, &random), split(&key, two, &random));
        let [first, second, third] = one.as_slice() else { panic!() };
        assert_eq!(combine(&[]).unwrap_err(), InvalidShare::TooFew(2));
        assert_eq!(combine(&[again(first)]).unwrap_err(), InvalidShare::TooFew(1));
        let twice = combine(&[again(second), again(second)]);
        assert_eq!(twice.unwrap_err(), InvalidShare::Repeated(2));
        let mixed = combine(&[again(first), again(&other[1])]);
        assert_eq!(mixed.unwrap_err(), InvalidShare::OtherSet);
        // Whole by its check, but not of the same polynomials.
        let forged = Share { values: Secret::new([9; 32]), ..again(third) };
        let forged = combine(&[again(first), again(second), forged]);
        assert_eq!(forged.unwrap_err(), InvalidShare::Damaged);
    }

    proptest! {
        #[test]
        fn any_that_are_enough_give_the_key(
            key: [u8; 32], scheme in scheme(), order in prop::collection::vec(any::<u32>(), 7),
            more in 0_usize..3,
        ) {
            let mut shares = split(&Secret::new(key), scheme, &Random::new());
            shares.sort_by_key(|share| order[usize::from(share.number)]);
            shares.truncate(usize::from(scheme.needed) + more);
            let read: Vec<_> = shares.iter().map(again).collect();
            let given = combine(&read).unwrap();
            prop_assert_eq!(given.expose(), &key);
        }

        /// With one less, every key is as likely: there are shares that lead to any other.
        #[test]
        fn one_less_than_enough_fits_every_key(key: [u8; 32], other: [u8; 32]) {
            let three = Scheme::parse("3-of-3").unwrap();
            let mut shares = split(&Secret::new(key), three, &Random::new());
            shares.truncate(2);
            // The third share that makes these two lead to the other key instead.
            let zero = Share { number: 0, values: Secret::new(other), ..again(&shares[0]) };
            let values = at(&[again(&shares[0]), again(&shares[1]), zero], 3);
            shares.push(Share { number: 3, values, ..again(&shares[0]) });
            let given = combine(&shares).unwrap();
            prop_assert_eq!(given.expose(), &other);
        }

        #[test]
        fn no_mistyped_share_is_read(at: prop::sample::Index, digit in 0_usize..32) {
            let two = Scheme::parse("2-of-2").unwrap();
            let shares = split(&Secret::new([7; 32]), two, &Random::new());
            let text = shares[0].text();
            let mut typed: Vec<char> = text.expose().replace('-', "").chars().collect();
            let at = at.index(typed.len());
            let wrong = char::from(ALPHABET[digit]);
            prop_assume!(typed[at] != wrong);
            typed[at] = wrong;
            let typed: String = typed.into_iter().collect();
            prop_assert_eq!(Share::parse(&typed).unwrap_err(), InvalidShare::Damaged);
        }

        #[test]
        fn no_text_makes_reading_panic(text: String) {
            prop_assert!(Share::parse(&text).is_err());
        }
    }
}
