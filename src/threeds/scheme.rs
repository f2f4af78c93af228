//! The schemes whose cards can be authenticated: names, directory servers, and electronic commerce
//! indicators.

use crate::domain::card::brand::Brand;
use crate::domain::words::words;
use crate::threeds::codes::{Category, Channel, TransactionStatus};

words! {
    /// The words are the names in records and settings.
    pub enum Scheme:
        /// The name in sessions.
        display_name -> &'static str,
        /// The registered application provider id of the scheme, by which SDKs know its directory
        /// server.
        directory_server -> &'static str
    {
        AmericanExpress = "american-express", "American Express", "A000000025";
        DinersClub = "diners-club", "Diners Club", "A000000152";
        Discover = "discover", "Discover", "A000000324";
        Jcb = "jcb", "JCB", "A000000065";
        Mastercard = "mastercard", "Mastercard", "A000000004";
        UnionPay = "unionpay", "UnionPay", "A000000333";
        Visa = "visa", "Visa", "A000000003";
    }
}

impl Scheme {
    /// A scheme has the word of its brand.
    pub fn of_brand(brand: Brand) -> Option<Self> {
        Self::parse(brand.as_str())
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
            (_, Category::NonPayment) => None,
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
