//! The enumerations of card details: brand, funding, required authentication and segment.
//!
//! An unknown brand, funding or authentication is an absent value, not a variant.

use crate::domain::words::words;

/// The groups of digits in which most cards print their numbers.
const FOURS: &[usize] = &[4, 4, 4, 4, 3];

words! {
    /// The brands that the published interface lists for a card's primary details.
    pub enum Brand:
        /// As BIN databases write it, and with them `enrichments.bin_details.card_brand`.
        bin_details_name -> &'static str,
        /// The name that people read.
        display_name -> &'static str,
        /// The number of digits of the card verification code.
        cvc_digits -> usize,
        /// The groups of digits that a card of the brand prints its number in.
        groups -> &'static [usize]
    {
        AmericanExpress = "american-express", "AMEX", "American Express", 4, &[4, 6, 5];
        DinersClub = "diners-club", "DINERS CLUB", "Diners Club", 3, &[4, 6, 4];
        Discover = "discover", "DISCOVER", "Discover", 3, FOURS;
        Ebt = "ebt", "EBT", "EBT", 3, FOURS;
        Elo = "elo", "ELO", "Elo", 3, FOURS;
        Hipercard = "hipercard", "HIPERCARD", "Hipercard", 3, FOURS;
        Jcb = "jcb", "JCB", "JCB", 3, FOURS;
        Mastercard = "mastercard", "MASTERCARD", "Mastercard", 3, FOURS;
        Mir = "mir", "MIR", "Mir", 3, FOURS;
        PrivateLabel = "private-label", "PRIVATE LABEL", "Private Label", 3, FOURS;
        Proprietary = "proprietary", "PROPRIETARY", "Proprietary", 3, FOURS;
        UnionPay = "unionpay", "UNIONPAY", "UnionPay", 3, FOURS;
        Visa = "visa", "VISA", "Visa", 3, FOURS;
    }
}

words! {
    pub enum Funding:
        /// The name that people read.
        display_name -> &'static str,
        /// BIN details know two types only; a prepaid card is a debit card with `prepaid` set.
        bin_details_type -> &'static str
    {
        Credit = "credit", "Credit", "CREDIT";
        Debit = "debit", "Debit", "DEBIT";
        Prepaid = "prepaid", "Prepaid", "DEBIT";
    }
}

words! {
    /// The authentication that the issuer requires before a payment.
    pub enum Authentication:
        /// The rule's name in `enrichments.bin_details.authentication`.
        bin_details_name -> &'static str
    {
        /// Strong customer authentication, for example 3DS.
        ScaRequired = "sca_required", "EU PSD2 - SCA";
    }
}

words! {
    /// The kind of customer that the card was issued to.
    pub enum Segment {
        Business = "Business";
        Commercial = "Commercial";
        Consumer = "Consumer";
        Government = "Government";
    }
}
