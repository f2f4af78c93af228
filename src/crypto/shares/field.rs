//! Arithmetic in the field of 256 elements (the polynomial of AES, 0x11b), without tables and
//! without branches on secrets, so that its timing does not depend on them.

pub(super) const fn times(mut one: u8, mut other: u8) -> u8 {
    let mut product = 0;
    let mut bit = 0;
    while bit < 8 {
        // The mask is 0xff or 0, in place of a branch.
        product ^= one & (other & 1).wrapping_neg();
        one = one << 1 ^ (0x1b & (one >> 7).wrapping_neg());
        other >>= 1;
        bit += 1;
    }
    product
}

/// The inverse of `x` is `x` to the power of 254, because `x` to the power of 255 is 1.
pub(super) const fn inverse(element: u8) -> u8 {
    let mut power = element;
    let mut step = 0;
    while step < 6 {
        power = times(times(power, power), element);
        step += 1;
    }
    times(power, power)
}
