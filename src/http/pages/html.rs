//! The texts of the pages.

use crate::domain::html::escape;
use crate::domain::id::SessionId;
use crate::threeds::codes::TransactionStatus;
use crate::threeds::simulator::acs::{CODE, WRONG_CODES_MAX};

/// The window that a page posts its last message to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageTarget {
    Opener,
    Parent,
}

/// The hidden fields that the ACS's pages carry from step to step, and the count of wrong codes.
#[derive(Debug)]
pub(super) struct ChallengeForm<'a> {
    pub(super) creq: &'a str,
    pub(super) data: &'a str,
    pub(super) wrong_codes: u8,
}

/// The SDK's frame for fingerprinting. A message names the ACS's URL; another reports the end.
pub(super) fn method(nonce: &str) -> String {
    script_page(nonce, include_str!("method.js"))
}

/// The SDK's frame for a challenge.
pub(super) fn challenge(nonce: &str) -> String {
    script_page(nonce, include_str!("challenge.js"))
}

pub(super) fn method_done(nonce: &str, session: SessionId) -> String {
    let message = format!(r#"{{"type":"method","isCompleted":true,"id":"{session}"}}"#);
    script_page(nonce, &format!("window.parent.postMessage({message}, '*');"))
}

/// Without a status the challenge is reported as not completed.
pub(super) fn challenge_done(
    nonce: &str,
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
    script_page(nonce, &script)
}

pub(super) fn close(nonce: &str) -> String {
    script_page(nonce, "window.close();")
}

/// A form that submits itself, with a button for browsers without scripts.
pub(super) fn send_on(nonce: &str, action: &str, fields: &[(&str, &str)]) -> String {
    let inputs: String = fields
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| hidden(name, value))
        .collect();
    page(
        nonce,
        &format!(
            "<form id=\"on\" method=\"post\" action=\"{}\">{inputs}<noscript><button>Continue\
             </button></noscript></form><script nonce=\"{nonce}\">document.getElementById('on')\
             .submit();</script>",
            escape(action)
        ),
    )
}

/// The question for a one-time code.
pub(super) fn code(nonce: &str, form: &ChallengeForm<'_>) -> String {
    let left = WRONG_CODES_MAX.saturating_sub(form.wrong_codes);
    let wrong = if form.wrong_codes == 0 {
        String::new()
    } else {
        let times = if left == 1 { "once more" } else { "again" };
        format!("<p class=\"wrong\" role=\"alert\">That code is not right. Try {times}.</p>")
    };
    page(
        nonce,
        &format!(
            "<main><p class=\"bank\">Test bank</p><h1>Confirm your payment</h1><p>Enter the \
             one-time code that we sent you.</p><p class=\"note\">This is a test: the code is \
             <b>{CODE}</b>.</p>{wrong}<form method=\"post\" action=\"/3ds/sim/acs/challenge\">{}\
             <label for=\"code\">One-time code</label><input id=\"code\" name=\"code\" \
             inputmode=\"numeric\" autocomplete=\"one-time-code\" maxlength=\"12\" required \
             autofocus><button name=\"action\" value=\"answer\">Confirm</button></form>{}</main>",
            carried(form),
            cancel(form)
        ),
    )
}

/// The question that the cardholder answers in a banking app.
pub(super) fn out_of_band(nonce: &str, form: &ChallengeForm<'_>) -> String {
    let wrong = if form.wrong_codes == 0 {
        ""
    } else {
        "<p class=\"wrong\" role=\"alert\">We have not seen your approval yet.</p>"
    };
    page(
        nonce,
        &format!(
            "<main><p class=\"bank\">Test bank</p><h1>Confirm your payment</h1><p>Approve this \
             payment in your banking app, then come back here.</p><p class=\"note\">This is a \
             test: there is no app, so just continue.</p>{wrong}<form method=\"post\" \
             action=\"/3ds/sim/acs/challenge\">{}<button name=\"action\" value=\"approve\">I have \
             approved it</button></form>{}</main>",
            carried(form),
            cancel(form)
        ),
    )
}

pub(super) fn failure(nonce: &str, detail: &str) -> String {
    page(nonce, &format!("<main><h1>This did not work</h1><p>{}</p></main>", escape(detail)))
}

fn cancel(form: &ChallengeForm<'_>) -> String {
    format!(
        "<form method=\"post\" action=\"/3ds/sim/acs/challenge\">{}<button class=\"quiet\" \
         name=\"action\" value=\"cancel\">Cancel</button></form>",
        carried(form)
    )
}

fn carried(form: &ChallengeForm<'_>) -> String {
    let data =
        if form.data.is_empty() { String::new() } else { hidden("threeDSSessionData", form.data) };
    format!("{}{data}", hidden("creq", form.creq))
}

fn hidden(name: &str, value: &str) -> String {
    format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", escape(name), escape(value))
}

fn script_page(nonce: &str, script: &str) -> String {
    page(nonce, &format!("<script nonce=\"{nonce}\">{script}</script>"))
}

fn page(nonce: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>3-D Secure</title><style nonce=\"{nonce}\">{}\
         </style></head><body>{body}</body></html>\n",
        include_str!("pages.css")
    )
}

/// The status in the words of the SDK's result.
const fn word(status: TransactionStatus) -> &'static str {
    match status {
        TransactionStatus::Successful => "successful",
        TransactionStatus::Attempted
        | TransactionStatus::Challenge
        | TransactionStatus::DecoupledChallenge
        | TransactionStatus::Failed
        | TransactionStatus::Informational
        | TransactionStatus::Rejected
        | TransactionStatus::Unavailable => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_send_cannot_become_markup() {
        let form = ChallengeForm { creq: "\"><script>", data: "'&", wrong_codes: 1 };
        for page in [code("n", &form), out_of_band("n", &form)] {
            assert!(!page.contains("\"><script>"), "{page}");
            assert!(page.contains("value=\"&quot;&gt;&lt;script&gt;\""));
            assert!(page.contains("value=\"&#39;&amp;\""));
        }
        assert!(send_on("n", "/a\"b", &[("x", "<")]).contains("action=\"/a&quot;b\""));
    }

    #[test]
    fn the_end_of_a_challenge_is_told_in_the_sdks_words() {
        let session = SessionId::new(uuid::Uuid::nil());
        let told = |status| challenge_done("n", session, status, MessageTarget::Parent);
        assert!(
            told(Some(TransactionStatus::Successful))
                .contains(r#""authenticationStatus":"successful""#)
        );
        assert!(
            told(Some(TransactionStatus::Failed)).contains(r#""authenticationStatus":"failed""#)
        );
        assert!(told(None).contains(r#""isCompleted":false"#));
        let popup = challenge_done("n", session, None, MessageTarget::Opener);
        assert!(popup.contains("window.opener") && popup.contains("window.close()"));
    }
}
