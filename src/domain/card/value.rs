//! Card details as JSON, under the names of the published interface.

use serde_json::{Map, Value, json};

use crate::bounds::CARD_NUMBER_DIGITS_MAX;
use crate::domain::card::CardDetails;
use crate::domain::card::bin_table::{AdditionalDetails, BinTable};
use crate::domain::card::brand::{Authentication, Brand, Funding, Segment};
use crate::domain::card::country::Country;
use crate::domain::card::iin::{brand_of, end_of};
use crate::domain::card::span::Span;

impl CardDetails {
    /// The `card` object. As published, brand, funding and authentication are always present,
    /// `null` if unknown. Every other absent value is left out.
    pub fn to_value(&self) -> Value {
        let mut card = Map::new();
        set(&mut card, "bin", Some(self.bin.as_str()));
        set(&mut card, "last4", Some(self.last4.as_str()));
        set(&mut card, "expiration_month", self.expiration_month);
        set(&mut card, "expiration_year", self.expiration_year);
        card.insert("brand".into(), self.brand.map(Brand::as_str).into());
        card.insert("funding".into(), self.funding.map(Funding::as_str).into());
        card.insert(
            "authentication".into(),
            self.authentication.map(Authentication::as_str).into(),
        );
        set(&mut card, "issuer", issuer(self.issuer.as_deref(), self.issuer_country));
        set(&mut card, "issuer_country", self.issuer_country.map(country));
        set(&mut card, "segment", self.segment.map(Segment::as_str));
        set(&mut card, "product", self.product.as_deref().map(|code| json!({ "code": code })));
        if !self.additional.is_empty() {
            let additional = self.additional.iter().map(additional_value).collect();
            card.insert("additional".into(), Value::Array(additional));
        }
        let mut card = Value::Object(card);
        // Answers write the members in this order, too.
        card.sort_all_objects();
        card
    }

    /// The `enrichments` object that detokenization expressions see. `bin_details` is absent for a
    /// number whose brand is not known.
    pub fn enrichments(&self) -> Value {
        let mut enrichments = Map::new();
        enrichments.insert(
            "card_details".into(),
            json!({ "bin": self.bin.as_str(), "last4": self.last4.as_str() }),
        );
        set(&mut enrichments, "bin_details", self.bin_details());
        Value::Object(enrichments)
    }

    fn bin_details(&self) -> Option<Value> {
        let brand = self.brand?;
        let mut details = Map::new();
        set(&mut details, "card_brand", Some(brand.bin_details_name()));
        set(&mut details, "type", self.funding.map(Funding::bin_details_type));
        set(&mut details, "prepaid", self.funding.map(|funding| funding == Funding::Prepaid));
        set(&mut details, "card_segment_type", self.segment.map(Segment::as_str));
        let bank = self.issuer.as_deref().map(|name| json!({ "name": name, "clean_name": name }));
        set(&mut details, "bank", bank);
        set(&mut details, "product", self.product.as_deref().map(|code| json!({ "code": code })));
        set(&mut details, "country", self.issuer_country.map(country));
        set(&mut details, "bin_length", Some(self.bin.as_str().len()));
        let authentication = self
            .authentication
            .map(|required| json!([{ "authentication_name": required.bin_details_name() }]));
        set(&mut details, "authentication", authentication);
        if !self.additional.is_empty() {
            let brands = self.additional.iter().map(additional_brand).collect();
            details.insert("additional_card_brands".into(), Value::Array(brands));
        }
        Some(Value::Object(details))
    }
}

/// The number of digits that identify an issuer. More digits than PCI DSS allows to be shown belong
/// in a token.
const BIN_DIGITS: std::ops::RangeInclusive<usize> = 6..=11;
/// The lengths of card numbers, the common ones first: a brand's ranges hold for its own lengths.
const NUMBER_DIGITS: [usize; 7] = [16, 15, 14, 19, 18, 17, 13];

/// The details of the cards that begin with these digits, in the display case of the published
/// interface. Unknown details are left out. `None` if the text is no BIN.
pub fn details_of_bin(bin: &str, table: &BinTable) -> Option<Value> {
    if !BIN_DIGITS.contains(&bin.len()) || !bin.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let first = |digits: usize| format!("{bin:0<digits$}");
    let of_bin = Span::parse(bin, "").ok()?;
    let mut details = Map::new();
    let mut additional = Vec::new();
    let mut last = of_bin.last.min(table.end_of(of_bin.first));
    if let Some(known) = table.find(&first(16)) {
        set(&mut details, "brand", Some(known.brand.display_name()));
        set(&mut details, "funding", known.funding.map(Funding::display_name));
        set(&mut details, "issuer", issuer(known.issuer.as_deref(), known.country));
        set(&mut details, "segment", known.segment.map(Segment::as_str));
        additional = known.additional.iter().map(additional_value).collect();
    } else {
        let mut lengths = NUMBER_DIGITS.into_iter().map(first);
        let known = lengths.find_map(|number| Some((brand_of(&number)?, end_of(&number)?)));
        set(&mut details, "brand", known.map(|(brand, _)| brand.display_name()));
        last = known.map_or(last, |(_, end)| last.min(end));
    }
    // Programs for phones use the details only for numbers inside of a range of the answer, and
    // those of a further brand only inside of a range of its own.
    let is_known = details.contains_key("brand");
    let ranges = || {
        let range = is_known.then(|| bin_range(Span { last, ..of_bin }, bin.len()));
        Value::Array(range.into_iter().collect())
    };
    for further in additional.iter_mut().filter_map(Value::as_object_mut) {
        further.insert("binRange".into(), ranges());
    }
    details.insert("binRange".into(), ranges());
    details.insert("additional".into(), Value::Array(additional));
    Some(Value::Object(details))
}

/// The first and the last number of the range, without the digits behind `least` that every number
/// may have.
fn bin_range(span: Span, least: usize) -> Value {
    let filled = |number: u64| format!("{number:0CARD_NUMBER_DIGITS_MAX$}");
    let (mut lowest, mut highest) = (filled(span.first), filled(span.last));
    while lowest.len() > least && lowest.ends_with('0') && highest.ends_with('9') {
        lowest.pop();
        highest.pop();
    }
    json!({ "binMin": lowest, "binMax": highest })
}

/// Absent values are left out.
fn set(object: &mut Map<String, Value>, name: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object.insert(name.to_owned(), value.into());
    }
}

fn additional_value(additional: &AdditionalDetails) -> Value {
    let mut object = Map::new();
    set(&mut object, "brand", Some(&*additional.brand));
    set(&mut object, "funding", additional.funding.map(Funding::as_str));
    set(&mut object, "authentication", additional.authentication.map(Authentication::as_str));
    set(&mut object, "issuer", issuer(additional.issuer.as_deref(), additional.country));
    Value::Object(object)
}

fn additional_brand(additional: &AdditionalDetails) -> Value {
    let mut object = Map::new();
    let brand = additional.brand.replace('-', " ").to_ascii_uppercase();
    set(&mut object, "card_brand", Some(brand));
    set(&mut object, "card_brand_bank_name", additional.issuer.as_deref());
    Value::Object(object)
}

fn issuer(name: Option<&str>, country: Option<Country>) -> Option<Value> {
    if name.is_none() && country.is_none() {
        return None;
    }
    let mut issuer = Map::new();
    set(&mut issuer, "country", country.map(Country::alpha2));
    set(&mut issuer, "name", name);
    Some(Value::Object(issuer))
}

fn country(country: Country) -> Value {
    json!({ "alpha2": country.alpha2(), "name": country.name(), "numeric": country.numeric() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bin: &str, table: &BinTable, expected: Option<&Value>) {
        assert_eq!(details_of_bin(bin, table).as_ref(), expected, "{bin}");
    }

    #[test]
    fn a_bin_names_brand_and_issuer() {
        let none = BinTable::default();
        let brand = |name: &str, bin: &str| json!({ "brand": name, "binRange": [{ "binMin": bin, "binMax": bin }], "additional": [] });
        check("424242", &none, Some(&brand("Visa", "424242")));
        check("37828224", &none, Some(&brand("American Express", "37828224")));
        check("300000", &none, Some(&brand("Diners Club", "300000")));
        check("000000", &none, Some(&json!({ "binRange": [], "additional": [] })));
        for no_bin in ["", "42424", "424242424242", "42424x", " 424242", "\u{664}24242"] {
            check(no_bin, &none, None);
        }
        let file = "first,last,brand,funding,issuer,country,segment\n\
                    424242,,visa,prepaid,Bank,FR,Consumer\n";
        let known = json!({
            "brand": "Visa", "funding": "Prepaid", "issuer": { "country": "FR", "name": "Bank" },
            "segment": "Consumer", "binRange": [{ "binMin": "42424242", "binMax": "42424242" }],
            "additional": [],
        });
        check("42424242", &BinTable::parse(file).unwrap(), Some(&known));
    }

    #[test]
    fn the_range_of_an_answer_ends_where_other_details_begin() {
        let file = "first,last,role,brand\n\
                    42424200,42424249,,visa\n\
                    42424200,42424249,additional,cartes-bancaires\n\
                    424242501,,,visa\n";
        let table = BinTable::parse(file).unwrap();
        let range = |first: &str, last: &str| json!([{ "binMin": first, "binMax": last }]);
        let answer = details_of_bin("424242", &table).unwrap();
        assert_eq!(answer["binRange"], range("4242420", "4242424"));
        assert_eq!(answer["additional"][0]["binRange"], range("4242420", "4242424"));
        let answer = details_of_bin("42424250", &table).unwrap();
        assert_eq!(answer["binRange"], range("424242500", "424242500"));
        // The ranges of a brand end as those of the file do.
        for bin in ["424242", "600000", "622126", "650000", "300000", "500000", "000000"] {
            let answer = details_of_bin(bin, &BinTable::default()).unwrap();
            let Some(range) = answer["binRange"].get(0) else { continue };
            let end = format!("{:9<16}", range["binMax"].as_str().unwrap());
            let of_end = brand_of(&end).map(Brand::display_name);
            assert_eq!(of_end, answer["brand"].as_str(), "{bin}");
        }
    }
}
