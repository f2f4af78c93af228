//! Card details on the wire.

use crate::domain::card::CardDetails;
use crate::domain::card::bin_table::AdditionalDetails;
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;
use crate::http::wire::Object;

/// Writes the `card` object under this name. As published, brand, funding and authentication are
/// always present, `null` if unknown. Every other absent value is left out.
pub(crate) fn write(object: &mut Object, name: &str, card: &CardDetails) {
    object.object(name, |object| {
        if !card.additional.is_empty() {
            object.objects("additional", &card.additional, write_additional);
        }
        object.nullable_text("authentication", card.authentication.map(Authentication::as_str));
        object.text("bin", &card.bin);
        object.nullable_text("brand", card.brand.map(Brand::as_str));
        object.optional_number("expiration_month", card.expiration_month);
        object.optional_number("expiration_year", card.expiration_year);
        object.nullable_text("funding", card.funding.map(Funding::as_str));
        write_issuer(object, card.issuer.as_deref(), card.issuer_country);
        if let Some(country) = card.issuer_country {
            object.object("issuer_country", |object| {
                object.text("alpha2", country.alpha2());
                object.text("name", country.name());
                object.text("numeric", country.numeric());
            });
        }
        object.text("last4", &card.last4);
        if let Some(code) = card.product.as_deref() {
            object.object("product", |object| object.text("code", code));
        }
        object.optional_text("segment", card.segment.map(Segment::as_str));
    });
}

fn write_additional(object: &mut Object, additional: &AdditionalDetails) {
    let authentication = additional.authentication.map(Authentication::as_str);
    object.optional_text("authentication", authentication);
    object.text("brand", &additional.brand);
    object.optional_text("funding", additional.funding.map(Funding::as_str));
    write_issuer(object, additional.issuer.as_deref(), additional.country);
}

fn write_issuer(object: &mut Object, name: Option<&str>, country: Option<Country>) {
    if name.is_none() && country.is_none() {
        return;
    }
    object.object("issuer", |object| {
        object.optional_text("country", country.map(Country::alpha2));
        object.optional_text("name", name);
    });
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
