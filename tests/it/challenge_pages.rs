//! The pages of the built-in ACS: the purchase on them, their languages, and who sees them.

use serde_json::{Value, json};

use crate::harness::{Answer, Vault, post};
use crate::threeds::{ACS, authenticate, body, card, create, creq};

const NUMBER: &str = "4200000000000004";

/// A challenge that waits for its cardholder.
struct Challenged {
    session: String,
    asked: Answer,
}

impl Challenged {
    fn begin(vault: &Vault, body: Value) -> Self {
        let session = create(vault, &card(vault, NUMBER)).with_status(201).id();
        let asked = authenticate(vault, &session, body).with_status(200);
        assert_eq!(asked.json["authentication_status"], "challenge", "{}", asked.text());
        Self { session, asked }
    }

    fn creq(&self) -> String {
        creq(&self.session, &self.asked)
    }

    fn open(&self, vault: &Vault, languages: &str) -> Answer {
        send(vault, &format!("creq={}", self.creq()), languages)
    }
}

fn send(vault: &Vault, form: &str, languages: &str) -> Answer {
    let request = post(ACS)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Accept-Language", languages);
    vault.send(&request.body(String::from(form)))
}

fn shown(page: &Answer) -> String {
    page.text().replace(['\u{a0}', '\u{202f}'], " ")
}

#[track_caller]
fn check_language(page: &Answer, tag: &str) {
    assert!(page.text().contains(&format!("<html lang=\"{tag}\">")), "{}", page.text());
    assert_eq!(page.header("content-language"), Some(tag));
    assert_eq!(page.header("vary"), Some("accept-language"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
}

#[test]
fn a_challenge_shows_merchant_amount_and_last_four_in_the_cardholders_language() {
    let mut vault = Vault::start();
    let mut body = body();
    body["purchase_info"]["amount"] = json!("123456");
    body["merchant_info"]["name"] = json!("Books & More");
    let challenged = Challenged::begin(&vault, body);
    // The purchase is part of the challenge's stored state.
    vault.stop_and_restart();
    for (languages, tag, heading, amount, wrong) in [
        ("en-GB", "en", "Confirm your payment", "GBP 1,234.56", "Try again."),
        (
            "de-CH;q=0.8, fr;q=0.7",
            "de",
            "Zahlung best\u{e4}tigen",
            "1.234,56 GBP",
            "einen Versuch.",
        ),
        ("de;q=0.8, fr", "fr", "Confirmez votre paiement", "1 234,56 GBP", ""),
        ("ja, es-MX;q=0.1", "es", "Confirme su pago", "1.234,56 GBP", ""),
        ("ja", "en", "Confirm your payment", "GBP 1,234.56", ""),
    ] {
        let page = challenged.open(&vault, languages).with_status(200);
        check_language(&page, tag);
        let text = shown(&page);
        for part in [heading, amount, "<bdi>Books &amp; More</bdi>", "</span>0004</dd>"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        if !wrong.is_empty() {
            let form = format!("creq={}&code=0000", challenged.creq());
            let page = send(&vault, &form, languages).with_status(200);
            check_language(&page, tag);
            assert!(shown(&page).contains(amount) && shown(&page).contains(wrong), "{wrong}");
        }
    }
}

#[test]
fn a_challenge_shows_nothing_of_the_card_but_its_last_four_digits() {
    let vault = Vault::start();
    let challenged = Challenged::begin(&vault, body());
    let open = challenged.open(&vault, "en").with_status(200);
    let form = format!("creq={}&code=1234", challenged.creq());
    let over = send(&vault, &form, "en").with_status(200);
    for page in [&open, &over] {
        // Also the name and mail address of the cardholder stay with the shop.
        for secret in ["420000", "0000000004", "John Doe", "john@me.com"] {
            assert!(!page.text().contains(secret), "{secret} in {}", page.text());
        }
    }
    assert!(open.text().contains("Example 3DS Merchant"));
    // Nothing is shown of a challenge that is over.
    let again = challenged.open(&vault, "en").with_status(200);
    for page in [&over, &again] {
        for part in ["Example 3DS Merchant", "0004</dd>", "800.00"] {
            assert!(!page.text().contains(part), "{part} in {}", page.text());
        }
    }
}

#[test]
fn a_merchants_name_can_neither_be_markup_nor_turn_the_text_around_it() {
    let vault = Vault::start();
    let mut body = body();
    body["merchant_info"]["name"] = json!("<img src=x>\u{202e}\u{2066}\u{200b}\u{7}'&\"");
    let page = Challenged::begin(&vault, body).open(&vault, "en").with_status(200);
    let text = page.text();
    assert!(text.contains("<bdi>&lt;img src=x&gt;&#39;&amp;&quot;</bdi>"), "{text}");
    for letter in ['\u{202e}', '\u{2066}', '\u{200b}', '\u{7}'] {
        assert!(!text.contains(letter), "{letter:?}");
    }
}

#[test]
fn without_a_purchase_the_page_shows_the_requestor_and_no_amount() {
    let vault = Vault::start();
    let mut body = body();
    body["authentication_category"] = json!("non-payment");
    body["authentication_type"] = json!("add-card");
    let members = body.as_object_mut().unwrap();
    members.remove("purchase_info");
    members.remove("merchant_info");
    let page = Challenged::begin(&vault, body).open(&vault, "fr").with_status(200);
    let text = page.text();
    assert!(text.contains("Confirmez votre identit\u{e9}") && !text.contains("Montant"), "{text}");
    assert!(text.contains("<bdi>Example</bdi>") && text.contains("</span>0004</dd>"), "{text}");
}

#[test]
fn who_lacks_one_of_the_transaction_ids_sees_no_purchase() {
    let vault = Vault::start();
    let first = Challenged::begin(&vault, body());
    let second = Challenged::begin(&vault, body());
    let mixed = Challenged { asked: second.asked, ..first };
    let page = mixed.open(&vault, "de").with_status(404);
    check_language(&page, "de");
    assert!(page.text().contains("Das hat nicht funktioniert"), "{}", page.text());
    assert!(!page.text().contains("Example 3DS Merchant") && !page.text().contains("0004</dd>"));
}

#[test]
fn a_failure_and_the_way_on_are_told_in_the_cardholders_language() {
    let vault = Vault::start();
    for (languages, tag, heading, next) in [
        ("en", "en", "This did not work", "Continue"),
        ("de", "de", "Das hat nicht funktioniert", "Weiter"),
        ("fr", "fr", "Cela n\u{2019}a pas fonctionn\u{e9}", "Continuer"),
        ("es", "es", "No ha funcionado", "Continuar"),
    ] {
        let page = send(&vault, "creq=nothing", languages).with_status(400);
        check_language(&page, tag);
        assert!(page.text().contains(heading), "{}", page.text());
        // For developers.
        assert!(page.text().contains("This is not a request for a challenge."));
        let wrong_method = vault.send(&crate::harness::get(ACS).header("Accept-Language", tag));
        check_language(&wrong_method.with_status(405), tag);
        let form = format!("creq={}&action=cancel", Challenged::begin(&vault, body()).creq());
        let page = send(&vault, &form, languages).with_status(200);
        check_language(&page, tag);
        assert!(page.text().contains(&format!("<button>{next}</button>")), "{}", page.text());
    }
}
