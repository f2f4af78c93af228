//! The schemes whose cards can be authenticated: names, directory servers, and electronic commerce
//! indicators.

use crate::domain::card::brand::Brand;
use crate::threeds::codes::{Category, Channel, TransactionStatus};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    AmericanExpress,
    DinersClub,
    Discover,
    Jcb,
    Mastercard,
    UnionPay,
    Visa,
}

impl Scheme {
    pub const ALL: [Self; 7] = [
        Self::AmericanExpress,
        Self::DinersClub,
        Self::Discover,
        Self::Jcb,
        Self::Mastercard,
        Self::UnionPay,
        Self::Visa,
    ];

    pub const fn of_brand(brand: Brand) -> Option<Self> {
        match brand {
            Brand::AmericanExpress => Some(Self::AmericanExpress),
            Brand::DinersClub => Some(Self::DinersClub),
            Brand::Discover => Some(Self::Discover),
            Brand::Jcb => Some(Self::Jcb),
            Brand::Mastercard => Some(Self::Mastercard),
            Brand::UnionPay => Some(Self::UnionPay),
            Brand::Visa => Some(Self::Visa),
            Brand::Ebt
            | Brand::Elo
            | Brand::Hipercard
            | Brand::Mir
            | Brand::PrivateLabel
            | Brand::Proprietary => None,
        }
    }

    /// The name in records and settings.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AmericanExpress => "american-express",
            Self::DinersClub => "diners-club",
            Self::Discover => "discover",
            Self::Jcb => "jcb",
            Self::Mastercard => "mastercard",
            Self::UnionPay => "unionpay",
            Self::Visa => "visa",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == text)
    }

    /// The name in sessions.
    pub const fn display_name(self) -> &'static str {
        match self {
            Self::AmericanExpress => "American Express",
            Self::DinersClub => "Diners Club",
            Self::Discover => "Discover",
            Self::Jcb => "JCB",
            Self::Mastercard => "Mastercard",
            Self::UnionPay => "UnionPay",
            Self::Visa => "Visa",
        }
    }

    /// The registered application provider id of the scheme, by which SDKs know its directory
    /// server.
    pub const fn directory_server(self) -> &'static str {
        match self {
            Self::AmericanExpress => "A000000025",
            Self::DinersClub => "A000000152",
            Self::Discover => "A000000324",
            Self::Jcb => "A000000065",
            Self::Mastercard => "A000000004",
            Self::UnionPay => "A000000333",
            Self::Visa => "A000000003",
        }
    }

    /// The electronic commerce indicator of an outcome. Mastercard's values differ from those of
    /// the other schemes.
    pub fn eci(
        self,
        status: TransactionStatus,
        category: Category,
        channel: Channel,
    ) -> Option<&'static str> {
        match (self, category) {
            (Self::Mastercard, Category::Payment) => mastercard(status, channel),
            (Self::Mastercard, Category::NonPayment) => match status {
                TransactionStatus::Successful | TransactionStatus::Attempted => Some("N2"),
                TransactionStatus::Failed
                | TransactionStatus::Unavailable
                | TransactionStatus::Rejected => Some("N0"),
                TransactionStatus::Challenge
                | TransactionStatus::DecoupledChallenge
                | TransactionStatus::Informational => None,
            },
            (_, Category::Payment) => others(status),
            // For non-payment authentications Visa sets an indicator only if the merchant asked
            // without the cardholder; the other schemes never do.
            (Self::Visa, Category::NonPayment) if channel == Channel::Merchant => others(status),
            (
                Self::AmericanExpress
                | Self::DinersClub
                | Self::Discover
                | Self::Jcb
                | Self::UnionPay
                | Self::Visa,
                Category::NonPayment,
            ) => None,
        }
    }
}

fn mastercard(status: TransactionStatus, channel: Channel) -> Option<&'static str> {
    match status {
        TransactionStatus::Successful if channel == Channel::Merchant => Some("07"),
        TransactionStatus::Successful => Some("02"),
        TransactionStatus::Attempted => Some("01"),
        TransactionStatus::Failed
        | TransactionStatus::Unavailable
        | TransactionStatus::Rejected => Some("00"),
        TransactionStatus::Informational => Some("04"),
        TransactionStatus::Challenge | TransactionStatus::DecoupledChallenge => None,
    }
}

const fn others(status: TransactionStatus) -> Option<&'static str> {
    match status {
        TransactionStatus::Successful => Some("05"),
        TransactionStatus::Attempted => Some("06"),
        TransactionStatus::Failed
        | TransactionStatus::Unavailable
        | TransactionStatus::Rejected
        | TransactionStatus::Informational => Some("07"),
        TransactionStatus::Challenge | TransactionStatus::DecoupledChallenge => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_read_back_and_belongs_to_its_brand() {
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::parse(scheme.as_str()), Some(scheme));
            let brand = Brand::parse(scheme.as_str()).unwrap();
            assert_eq!(Scheme::of_brand(brand), Some(scheme));
        }
        assert_eq!(Scheme::of_brand(Brand::Ebt), None);
    }

    #[test]
    fn indicators_follow_the_schemes_tables() {
        use Category::{NonPayment, Payment};
        use Channel::{Browser, Merchant};
        let eci = |scheme: Scheme, status, category, channel| scheme.eci(status, category, channel);
        for (scheme, expected) in [
            (Scheme::Visa, ["05", "06", "07", "07", "07"]),
            (Scheme::Mastercard, ["02", "01", "00", "00", "00"]),
            (Scheme::AmericanExpress, ["05", "06", "07", "07", "07"]),
        ] {
            let statuses = [
                TransactionStatus::Successful,
                TransactionStatus::Attempted,
                TransactionStatus::Failed,
                TransactionStatus::Unavailable,
                TransactionStatus::Rejected,
            ];
            for (status, expected) in statuses.into_iter().zip(expected) {
                assert_eq!(eci(scheme, status, Payment, Browser), Some(expected));
            }
            assert_eq!(eci(scheme, TransactionStatus::Challenge, Payment, Browser), None);
        }
        assert_eq!(
            eci(Scheme::Mastercard, TransactionStatus::Successful, NonPayment, Browser),
            Some("N2")
        );
        assert_eq!(eci(Scheme::Visa, TransactionStatus::Successful, NonPayment, Browser), None);
        assert_eq!(
            eci(Scheme::Visa, TransactionStatus::Successful, NonPayment, Merchant),
            Some("05")
        );
    }
}
