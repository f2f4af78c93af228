//! Bounds of the cryptography of programs. A program computes in a worker of its own, whose time and
//! memory are bounded; these bound a single operation, which the engine cannot interrupt.

/// The bytes that a program derives from a password at once.
pub const PROGRAM_DERIVED_BYTES_MAX: usize = 65_536;

/// The modulus of a key that a program brings. Larger ones are not in use and take seconds.
pub const PROGRAM_RSA_BITS_MAX: usize = 8_192;

/// The modulus of a key that a program makes: 4096 bits already take most of its time.
pub const PROGRAM_RSA_MADE_BITS_MAX: usize = 4_096;
