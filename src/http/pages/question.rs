//! The pages of the built-in ACS that ask the cardholder.

use crate::app::ChallengeQuestion;
use crate::domain::html::escape;
use crate::http::pages::amount;
use crate::http::pages::html::{hidden, page};
use crate::http::pages::texts::Texts;
use crate::threeds::simulator::ShownPurchase;
use crate::threeds::simulator::acs::{CODE, WRONG_CODES_MAX};
use crate::threeds::simulator::cards::ChallengeKind;

/// The hidden fields that the pages carry from step to step.
#[derive(Debug)]
pub(super) struct CarriedFields<'a> {
    pub(super) creq: &'a str,
    pub(super) data: &'a str,
}

/// The page that asks for a one-time code, or for an approval in a banking app.
pub(super) fn question(
    nonce: &str,
    texts: &Texts,
    asked: &ChallengeQuestion,
    carried: &CarriedFields<'_>,
) -> String {
    let has_amount = asked.purchase.as_ref().is_none_or(|purchase| purchase.amount.is_some());
    let heading = if has_amount { texts.confirm_payment } else { texts.confirm_identity };
    let (kind, form) = match asked.means {
        ChallengeKind::Code => ("code", code_form(nonce, texts, asked.wrong_codes, carried)),
        ChallengeKind::OutOfBand => ("app", app_form(texts, asked.wrong_codes, carried)),
    };
    let body = format!(
        "<main class=\"{kind}\"><div class=\"about\"><p class=\"bank\">{}</p><h1>{heading}</h1>{}\
         </div><div class=\"answer\">{form}{}</div></main>",
        texts.bank,
        asked.purchase.as_ref().map(|purchase| details(texts, purchase)).unwrap_or_default(),
        cancel(texts, carried),
    );
    page(nonce, texts, heading, &body)
}

/// Merchant, amount and card. The merchant's name may be in a right-to-left script, so its element
/// is isolated from its neighbours.
fn details(texts: &Texts, purchase: &ShownPurchase) -> String {
    let row = |name: &str, value: String| format!("<div><dt>{name}</dt><dd>{value}</dd></div>");
    let merchant = format!("<bdi>{}</bdi>", escape(&purchase.merchant));
    let amount = purchase.amount.as_ref().map(|sum| amount::written(sum, texts.language));
    let amount = amount.map(|amount| row(texts.amount, escape(&amount))).unwrap_or_default();
    let card = format!(
        "<span aria-hidden=\"true\">\u{2022}\u{2022}\u{2022}\u{2022} </span><span class=\"unseen\">{} </span>{}",
        texts.card_ending_in,
        purchase.last_four.as_str()
    );
    format!("<dl>{}{amount}{}</dl>", row(texts.merchant, merchant), row(texts.card, card))
}

fn code_form(nonce: &str, texts: &Texts, wrong_codes: u8, carried: &CarriedFields<'_>) -> String {
    let (wrong, state) = if wrong_codes == 0 {
        (String::new(), "")
    } else {
        let is_last = WRONG_CODES_MAX.saturating_sub(wrong_codes) == 1;
        let text = if is_last { texts.wrong_code_last_try } else { texts.wrong_code };
        (alert(text), " aria-invalid=\"true\" aria-describedby=\"wrong\"")
    };
    format!(
        "<p>{}</p><p class=\"note\">{} <b>{CODE}</b>.</p>{wrong}<form method=\"post\" \
         action=\"/3ds/sim/acs/challenge\">{}<label for=\"code\">{}</label><input id=\"code\" \
         name=\"code\" inputmode=\"numeric\" autocomplete=\"one-time-code\" maxlength=\"12\" \
         required{state}><button name=\"action\" value=\"answer\">{}</button></form><script \
         nonce=\"{nonce}\">{}</script>",
        texts.enter_code,
        texts.test_code,
        fields(carried),
        texts.code,
        texts.confirm,
        include_str!("focus.js"),
    )
}

fn app_form(texts: &Texts, wrong_codes: u8, carried: &CarriedFields<'_>) -> String {
    let wrong = if wrong_codes == 0 { String::new() } else { alert(texts.not_approved) };
    format!(
        "<p>{}</p><p class=\"note\">{}</p>{wrong}<form method=\"post\" \
         action=\"/3ds/sim/acs/challenge\">{}<button name=\"action\" value=\"approve\">{}</button>\
         </form>",
        texts.approve_in_app,
        texts.test_app,
        fields(carried),
        texts.approved,
    )
}

fn alert(text: &str) -> String {
    format!("<p id=\"wrong\" class=\"wrong\" role=\"alert\">{text}</p>")
}

/// A separate form, since the code may be missing.
fn cancel(texts: &Texts, carried: &CarriedFields<'_>) -> String {
    format!(
        "<form method=\"post\" action=\"/3ds/sim/acs/challenge\">{}<button class=\"quiet\" \
         name=\"action\" value=\"cancel\">{}</button></form>",
        fields(carried),
        texts.cancel
    )
}

fn fields(carried: &CarriedFields<'_>) -> String {
    let data = if carried.data.is_empty() {
        String::new()
    } else {
        hidden("threeDSSessionData", carried.data)
    };
    format!("{}{data}", hidden("creq", carried.creq))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::pages::language::Language;
    use crate::threeds::message::Numeric;

    fn asked(means: ChallengeKind, wrong_codes: u8, merchant: &str) -> ChallengeQuestion {
        let purchase = ShownPurchase {
            merchant: String::from(merchant),
            amount: None,
            last_four: Numeric::parse("0004").unwrap(),
        };
        ChallengeQuestion { means, wrong_codes, purchase: Some(purchase) }
    }

    #[test]
    fn what_others_send_cannot_become_markup() {
        let carried = CarriedFields { creq: "\"><script>", data: "'&" };
        for means in [ChallengeKind::Code, ChallengeKind::OutOfBand] {
            let asked = asked(means, 1, "<b>&\"'</b>");
            let page = question("n", Language::French.texts(), &asked, &carried);
            assert!(!page.contains("\"><script>"), "{page}");
            assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\""));
            assert!(page.contains("value=\"&#39;&amp;\""));
            assert!(page.contains("<bdi>&lt;b&gt;&amp;&quot;&#39;&lt;/b&gt;</bdi>"), "{page}");
        }
    }

    #[test]
    fn the_page_says_how_often_a_code_may_be_wrong() {
        let carried = CarriedFields { creq: "c", data: "" };
        for language in Language::ALL {
            let texts = language.texts();
            for (wrong_codes, alert) in
                [(0, None), (1, Some(texts.wrong_code)), (2, Some(texts.wrong_code_last_try))]
            {
                let asked = asked(ChallengeKind::Code, wrong_codes, "Shop");
                let page = question("n", texts, &asked, &carried);
                assert_eq!(page.contains("role=\"alert\""), alert.is_some());
                assert_eq!(page.contains("aria-invalid=\"true\""), alert.is_some());
                assert!(page.contains(alert.unwrap_or_default()), "{page}");
                assert!(page.contains(&format!("<html lang=\"{}\">", language.tag())));
            }
        }
    }

    #[test]
    fn a_challenge_without_a_known_purchase_is_asked_all_the_same() {
        let asked = ChallengeQuestion { purchase: None, ..asked(ChallengeKind::Code, 0, "Shop") };
        let carried = CarriedFields { creq: "c", data: "" };
        let page = question("n", Language::English.texts(), &asked, &carried);
        assert!(page.contains("Confirm your payment") && !page.contains("<dl>"), "{page}");
    }
}
