//! The phases of a rotation, from the creation of the new key to the removal of the old one.
//!
//! A request keeps the keys of the phase in which it began. A phase begins only after all requests
//! that began before the current phase have ended. Requests of at most two adjacent phases
//! therefore run at the same time, and the phases are chosen so that adjacent ones are compatible:
//!
//! | phase | sealed under | entries found under | entries written under |
//! |---|---|---|---|
//! | announced | old | old | old |
//! | both | new | old | old and new |
//! | flipped | new | new | old and new |
//! | clearing | new | new | new |
//! | settled | new | new | new |
//!
//! Nothing is sealed under the new key until every request has it. In the phase `both`, every
//! record is sealed again and gets its entries under the new key. Entries under the new key are
//! read only when they are complete. Entries under the old key are removed only when no request
//! reads or writes them.

use crate::domain::words::words;

words! {
    pub enum Phase:
        /// The code in the data file. A scope in the phase `Settled` has no row there.
        code -> u8 [from_code]
    {
        Announced = "announced", 1;
        Both = "re-encrypting", 2;
        Flipped = "flipped", 3;
        Clearing = "clearing", 4;
        /// No rotation is under way.
        Settled = "settled", 5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_phase_has_the_code_and_the_name_that_it_always_had() {
        let phases = [
            (Phase::Announced, 1, "announced"),
            (Phase::Both, 2, "re-encrypting"),
            (Phase::Flipped, 3, "flipped"),
            (Phase::Clearing, 4, "clearing"),
            (Phase::Settled, 5, "settled"),
        ];
        for (phase, code, name) in phases {
            assert_eq!((phase.code(), phase.as_str()), (code, name));
            assert_eq!(Phase::from_code(code), Some(phase));
        }
        assert_eq!([0, 6, u8::MAX].map(Phase::from_code), [None; 3]);
    }
}
