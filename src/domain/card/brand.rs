//! The enumerations of card details: brand, funding, required authentication and segment.
//!
//! An unknown brand, funding or authentication is an absent value, not a variant.

/// The brands that the published interface lists for a card's primary details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Brand {
    AmericanExpress,
    DinersClub,
    Discover,
    Ebt,
    Elo,
    Hipercard,
    Jcb,
    Mastercard,
    Mir,
    PrivateLabel,
    Proprietary,
    UnionPay,
    Visa,
}

impl Brand {
    pub const ALL: [Self; 13] = [
        Self::AmericanExpress,
        Self::DinersClub,
        Self::Discover,
        Self::Ebt,
        Self::Elo,
        Self::Hipercard,
        Self::Jcb,
        Self::Mastercard,
        Self::Mir,
        Self::PrivateLabel,
        Self::Proprietary,
        Self::UnionPay,
        Self::Visa,
    ];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|brand| brand.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AmericanExpress => "american-express",
            Self::DinersClub => "diners-club",
            Self::Discover => "discover",
            Self::Ebt => "ebt",
            Self::Elo => "elo",
            Self::Hipercard => "hipercard",
            Self::Jcb => "jcb",
            Self::Mastercard => "mastercard",
            Self::Mir => "mir",
            Self::PrivateLabel => "private-label",
            Self::Proprietary => "proprietary",
            Self::UnionPay => "unionpay",
            Self::Visa => "visa",
        }
    }

    /// As BIN databases write it, and with them `enrichments.bin_details.card_brand`.
    pub const fn bin_details_name(self) -> &'static str {
        match self {
            Self::AmericanExpress => "AMEX",
            Self::DinersClub => "DINERS CLUB",
            Self::Discover => "DISCOVER",
            Self::Ebt => "EBT",
            Self::Elo => "ELO",
            Self::Hipercard => "HIPERCARD",
            Self::Jcb => "JCB",
            Self::Mastercard => "MASTERCARD",
            Self::Mir => "MIR",
            Self::PrivateLabel => "PRIVATE LABEL",
            Self::Proprietary => "PROPRIETARY",
            Self::UnionPay => "UNIONPAY",
            Self::Visa => "VISA",
        }
    }

    /// The groups of digits that a card of the brand prints its number in.
    pub const fn groups(self) -> &'static [usize] {
        match self {
            Self::AmericanExpress => &[4, 6, 5],
            Self::DinersClub => &[4, 6, 4],
            Self::Discover
            | Self::Ebt
            | Self::Elo
            | Self::Hipercard
            | Self::Jcb
            | Self::Mastercard
            | Self::Mir
            | Self::PrivateLabel
            | Self::Proprietary
            | Self::UnionPay
            | Self::Visa => &[4, 4, 4, 4, 3],
        }
    }

    /// The number of digits of the card verification code.
    pub const fn cvc_digits(self) -> usize {
        match self {
            Self::AmericanExpress => 4,
            Self::DinersClub
            | Self::Discover
            | Self::Ebt
            | Self::Elo
            | Self::Hipercard
            | Self::Jcb
            | Self::Mastercard
            | Self::Mir
            | Self::PrivateLabel
            | Self::Proprietary
            | Self::UnionPay
            | Self::Visa => 3,
        }
    }

    /// The name that people read.
    pub const fn display_name(self) -> &'static str {
        match self {
            Self::AmericanExpress => "American Express",
            Self::DinersClub => "Diners Club",
            Self::Discover => "Discover",
            Self::Ebt => "EBT",
            Self::Elo => "Elo",
            Self::Hipercard => "Hipercard",
            Self::Jcb => "JCB",
            Self::Mastercard => "Mastercard",
            Self::Mir => "Mir",
            Self::PrivateLabel => "Private Label",
            Self::Proprietary => "Proprietary",
            Self::UnionPay => "UnionPay",
            Self::Visa => "Visa",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Funding {
    Credit,
    Debit,
    Prepaid,
}

impl Funding {
    pub const ALL: [Self; 3] = [Self::Credit, Self::Debit, Self::Prepaid];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Credit => "credit",
            Self::Debit => "debit",
            Self::Prepaid => "prepaid",
        }
    }

    /// The name that people read.
    pub const fn display_name(self) -> &'static str {
        match self {
            Self::Credit => "Credit",
            Self::Debit => "Debit",
            Self::Prepaid => "Prepaid",
        }
    }

    /// BIN details know two types only; a prepaid card is a debit card with `prepaid` set.
    pub const fn bin_details_type(self) -> &'static str {
        match self {
            Self::Credit => "CREDIT",
            Self::Debit | Self::Prepaid => "DEBIT",
        }
    }
}

/// The authentication that the issuer requires before a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Authentication {
    /// Strong customer authentication, for example 3DS.
    ScaRequired,
}

impl Authentication {
    pub fn parse(text: &str) -> Option<Self> {
        (text == Self::ScaRequired.as_str()).then_some(Self::ScaRequired)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ScaRequired => "sca_required",
        }
    }

    /// The rule's name in `enrichments.bin_details.authentication`.
    pub const fn bin_details_name(self) -> &'static str {
        match self {
            Self::ScaRequired => "EU PSD2 - SCA",
        }
    }
}

/// The kind of customer that the card was issued to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Segment {
    Business,
    Commercial,
    Consumer,
    Government,
}

impl Segment {
    pub const ALL: [Self; 4] = [Self::Business, Self::Commercial, Self::Consumer, Self::Government];

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == text)
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Business => "Business",
            Self::Commercial => "Commercial",
            Self::Consumer => "Consumer",
            Self::Government => "Government",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_nothing_else_is() {
        for brand in Brand::ALL {
            assert_eq!(Brand::parse(brand.as_str()), Some(brand));
        }
        for funding in [Funding::Credit, Funding::Debit, Funding::Prepaid] {
            assert_eq!(Funding::parse(funding.as_str()), Some(funding));
        }
        assert_eq!(Authentication::parse("sca_required"), Some(Authentication::ScaRequired));
        for segment in ["Business", "Commercial", "Consumer", "Government"] {
            assert_eq!(Segment::parse(segment).map(Segment::as_str), Some(segment));
        }
        for text in ["", "VISA", "amex", "visa ", "Credit", "sca", "consumer"] {
            assert_eq!(Brand::parse(text), None);
            assert_eq!(Funding::parse(text), None);
            assert_eq!(Authentication::parse(text), None);
            assert_eq!(Segment::parse(text), None);
        }
    }
}
