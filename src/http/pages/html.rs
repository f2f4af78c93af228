//! The pages as HTML.

use crate::domain::html::escape;
use crate::domain::id::SessionId;
use crate::http::pages::texts::Texts;
use crate::threeds::codes::TransactionStatus;

/// The title of pages that only run a script or forward a form.
const PROTOCOL: &str = "3-D Secure";

/// The window that receives the last message of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageTarget {
    Opener,
    Parent,
}

/// The SDK's frame for fingerprinting. One message contains the ACS's URL; another reports the end.
pub(super) fn method(nonce: &str, texts: &Texts) -> String {
    script_page(nonce, texts, include_str!("method.js"))
}

/// The SDK's frame for a challenge. Its script titles the ACS's frame with the title of this page.
pub(super) fn challenge(nonce: &str, texts: &Texts) -> String {
    let script = script(nonce, include_str!("challenge.js"));
    page(nonce, texts, texts.confirm_payment, &script)
}

pub(super) fn method_done(nonce: &str, texts: &Texts, session: SessionId) -> String {
    let message = format!(r#"{{"type":"method","isCompleted":true,"id":"{session}"}}"#);
    script_page(nonce, texts, &format!("window.parent.postMessage({message}, '*');"))
}

/// Without a status the challenge is reported as not completed.
pub(super) fn challenge_done(
    nonce: &str,
    texts: &Texts,
    session: SessionId,
    status: Option<TransactionStatus>,
    target: MessageTarget,
) -> String {
    let outcome = status.map_or_else(
        || String::from(r#""isCompleted":false"#),
        |status| format!(r#""isCompleted":true,"authenticationStatus":"{}""#, word(status)),
    );
    let message = format!(r#"{{"type":"challenge","id":"{session}",{outcome}}}"#);
    let script = match target {
        MessageTarget::Parent => format!("window.parent.postMessage({message}, '*');"),
        MessageTarget::Opener => {
            format!("(window.opener || window.parent).postMessage({message}, '*'); window.close();")
        }
    };
    script_page(nonce, texts, &script)
}

pub(super) fn close(nonce: &str, texts: &Texts) -> String {
    script_page(nonce, texts, "window.close();")
}

/// A form that submits itself, with a button for browsers without scripts.
pub(super) fn send_on(nonce: &str, texts: &Texts, action: &str, fields: &[(&str, &str)]) -> String {
    let inputs: String = fields
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| hidden(name, value))
        .collect();
    let form = format!(
        "<form id=\"on\" method=\"post\" action=\"{}\">{inputs}<noscript><button>{}</button>\
         </noscript></form>",
        escape(action),
        texts.next
    );
    let script = script(nonce, "document.getElementById('on').submit();");
    page(nonce, texts, PROTOCOL, &format!("{form}{script}"))
}

/// The detail is for developers, in English as in the rest of the interface.
pub(super) fn failure(nonce: &str, texts: &Texts, status: u16, detail: &str) -> String {
    let heading = texts.failure.heading;
    let body = format!(
        "<main class=\"failure\"><h1>{heading}</h1><p>{}</p><p class=\"detail\" lang=\"en\">{}</p>\
         </main>",
        texts.failure.sentence(status),
        escape(detail)
    );
    page(nonce, texts, heading, &body)
}

pub(super) fn hidden(name: &str, value: &str) -> String {
    format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", escape(name), escape(value))
}

fn script_page(nonce: &str, texts: &Texts, content: &str) -> String {
    page(nonce, texts, PROTOCOL, &script(nonce, content))
}

fn script(nonce: &str, content: &str) -> String {
    format!("<script nonce=\"{nonce}\">{content}</script>")
}

pub(super) fn page(nonce: &str, texts: &Texts, title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\"><meta \
         name=\"viewport\" content=\"width=device-width,initial-scale=1\"><meta \
         name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style \
         nonce=\"{nonce}\">{}</style></head><body>{body}</body></html>\n",
        texts.language.tag(),
        include_str!("pages.css")
    )
}

/// The word for the status in the SDK's result.
const fn word(status: TransactionStatus) -> &'static str {
    if matches!(status, TransactionStatus::Successful) { "successful" } else { "failed" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::pages::language::Language;

    #[test]
    fn what_others_send_cannot_become_markup() {
        let page = send_on("n", Language::German.texts(), "/a\"b", &[("x", "<")]);
        assert!(page.contains("action=\"/a&quot;b\"") && page.contains("value=\"&lt;\""), "{page}");
        assert!(page.contains("<button>Weiter</button>"), "{page}");
    }

    #[test]
    fn a_failure_is_told_in_the_readers_language_and_to_developers_in_english() {
        let page = failure("n", Language::Spanish.texts(), 404, "There is no <session>.");
        assert!(page.contains("<html lang=\"es\">") && page.contains("No ha funcionado"), "{page}");
        assert!(page.contains("lang=\"en\">There is no &lt;session&gt;.</p>"), "{page}");
    }

    #[test]
    fn the_end_of_a_challenge_is_told_in_the_sdks_words() {
        let session = SessionId::new(uuid::Uuid::nil());
        let texts = Language::English.texts();
        let told = |status| challenge_done("n", texts, session, status, MessageTarget::Parent);
        for (status, member) in [
            (Some(TransactionStatus::Successful), r#""authenticationStatus":"successful""#),
            (Some(TransactionStatus::Failed), r#""authenticationStatus":"failed""#),
            (None, r#""isCompleted":false"#),
        ] {
            assert!(told(status).contains(member), "{member}");
        }
        let popup = challenge_done("n", texts, session, None, MessageTarget::Opener);
        assert!(popup.contains("window.opener") && popup.contains("window.close()"));
    }
}
