//! Card details on the wire.

use crate::domain::card::CardDetails;
use crate::domain::card::bin_table::AdditionalDetails;
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;
use crate::http::Schema;
use crate::http::wire::Object;
use crate::http::wire::answer::{Answer as _, answer};

answer! {
    /// As published, brand, funding and authentication are always present, `null` if unknown. Every
    /// other absent value is left out.
    pub(crate) CardAnswer<'a>(it: &'a CardDetails):
        "Details of a card that need no right to see its number. Brand, funding and authentication \
         are null if they are not known."
    {
        may_have additional: list(Additional) = (!it.additional.is_empty()).then_some(&it.additional);
        has authentication: nullable(authentication().or_null())
            = it.authentication.map(Authentication::as_str);
        has bin: text = it.bin.as_str();
        has brand: nullable(Schema::word(Brand::ALL.map(Brand::as_str)).or_null())
            = it.brand.map(Brand::as_str);
        may_have expiration_month: number.between(1, 12) = it.expiration_month;
        may_have expiration_year: number(Schema::integer()) = it.expiration_year;
        has funding: nullable(funding().or_null()) = it.funding.map(Funding::as_str);
        may_have issuer: object(Issuer) = issuer(it.issuer.as_deref(), it.issuer_country);
        may_have issuer_country: object(IssuerCountry) = it.issuer_country;
        has last4: text = it.last4.as_str();
        may_have product: object(Product) = it.product.as_deref();
        may_have segment: word(Segment::ALL.map(Segment::as_str)) = it.segment.map(Segment::as_str);
    }

    Additional<'a>(it: &'a AdditionalDetails) {
        may_have authentication: text(authentication())
            = it.authentication.map(Authentication::as_str);
        has brand: text = &it.brand;
        may_have funding: text(funding()) = it.funding.map(Funding::as_str);
        may_have issuer: object(Issuer) = issuer(it.issuer.as_deref(), it.country);
    }

    Issuer<'a>(it: (Option<&'a str>, Option<Country>)) {
        may_have country: text = it.1.map(Country::alpha2);
        may_have name: text = it.0;
    }

    IssuerCountry<'a>(it: Country) {
        has alpha2: text = it.alpha2();
        has name: text = it.name();
        has numeric: text = it.numeric();
    }

    Product<'a>(it: &'a str) {
        has code: text = it;
    }
}

fn authentication() -> Schema {
    Schema::word(Authentication::ALL.map(Authentication::as_str))
}

fn funding() -> Schema {
    Schema::word(Funding::ALL.map(Funding::as_str))
}

fn issuer(name: Option<&str>, country: Option<Country>) -> Option<(Option<&str>, Option<Country>)> {
    (name.is_some() || country.is_some()).then_some((name, country))
}

/// Writes the `card` object under this name.
pub(crate) fn write(object: &mut Object, name: &str, card: &CardDetails) {
    object.object(name, |object| CardAnswer::fill(object, card));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::card::bin_table::BinTable;

    const FILE: &str = "\
first,last,role,brand,funding,authentication,issuer,country,segment,product
453211,,,visa,debit,sca_required,\"Caisse, Nord\",FR,Consumer,F
453211,,additional,cartes-bancaires,debit,sca_required,\"Caisse, Nord\",FR,,
424242,,,mastercard,prepaid,,Elsewhere,DE,Commercial,
70,,,private-label,prepaid,,,,,
";

    /// Expressions see the same object as a value, with its members sorted by name.
    #[test]
    fn the_text_is_that_of_the_value_that_expressions_see() {
        let table = BinTable::parse(FILE).unwrap();
        for (number, month) in [
            ("4532110000000004", Some(12)),
            ("5105105105105100", None),
            ("7000000000000005", Some(1)),
            ("9000000000000001", None),
            ("4242424242424242", Some(12)),
            ("4150580996517927", Some(12)),
        ] {
            let year = month.map(|_| 2030);
            let card = CardDetails::of(number, month, year, &table).unwrap();
            let mut object = Object::new();
            write(&mut object, "card", &card);
            let text = String::from_utf8(object.close().expose().clone()).unwrap();
            assert_eq!(text, json!({ "card": card.to_value() }).to_string());
        }
    }
}
