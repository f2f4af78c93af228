//! 3-D Secure messages of directory servers and access control servers.

use uuid::Uuid;

use crate::fuzz::check_sentence;
use crate::threeds::codes::{Category, Channel, YesNo};
use crate::threeds::message::{
    Areq, Ares, Creq, Cres, Erro, Message, Preq, Pres, RangesAnswer, Rejection, Rreq, Rres, parse,
    parse_pres, render, repeated,
};
use crate::threeds::ranges::DirectoryRanges;
use crate::threeds::receive::{check_ares, rres};
use crate::threeds::session::{AreqSummary, Authentication};

/// The first byte selects the message.
pub fn messages(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 9 {
        0 => check_answer(data),
        1 => {
            if let Some(rreq) = check_message::<Rreq>(data) {
                let answer = rres(&rreq);
                assert!(parse::<Rres>(render(&answer).expose()).is_ok());
            }
        }
        2 => check_ranges(data),
        3 => drop(check_message::<Erro>(data)),
        4 => drop(check_message::<Areq>(data)),
        5 => drop(check_message::<Preq>(data)),
        6 => drop(check_message::<Pres>(data)),
        7 => check_form(data),
        _ => check_repeated(data),
    }
}

/// Writing and reading an accepted message gives the same message.
fn check_message<M: Message + PartialEq + std::fmt::Debug>(data: &[u8]) -> Option<M> {
    match parse::<M>(data) {
        Ok(message) => {
            let again = parse::<M>(render(&message).expose());
            assert!(again.as_ref() == Ok(&message), "a message changed when it was written");
            Some(message)
        }
        Err(rejection) => {
            check_rejection(&rejection);
            None
        }
    }
}

/// A rejection is sent back, and contains only names of elements.
fn check_rejection(rejection: &Rejection) {
    check_sentence(&rejection.detail);
}

fn check_answer(data: &[u8]) {
    let Some(ares) = check_message::<Ares>(data) else { return };
    for (channel, category) in
        [(Channel::Browser, Category::Payment), (Channel::App, Category::NonPayment)]
    {
        let sent = AreqSummary {
            version: ares.version,
            channel,
            category,
            preference: None,
            decoupled: YesNo::No,
            sdk_transaction: ares.sdk_transaction,
        };
        let other = check_ares(Uuid::nil(), &sent, &ares);
        assert!(other.is_err() || ares.server_transaction.is_nil(), "an answer to another request");
        match check_ares(ares.server_transaction, &sent, &ares) {
            Ok(status) => {
                let Ok(copy) = parse::<Ares>(data) else { return };
                let found = Authentication::from_ares(copy, status, &sent);
                assert_eq!(found.acs_transaction, ares.acs_transaction);
            }
            Err(rejection) => check_rejection(&rejection),
        }
    }
}

fn check_ranges(data: &[u8]) {
    let plain = parse::<Pres>(data);
    match parse_pres(data) {
        Ok(RangesAnswer::Pres(pres)) => {
            // The plain reader counts the nesting of the whole message; the other reader counts the
            // nesting of each range.
            let is_deep = plain.as_ref().is_err_and(|it| it.detail == "not JSON");
            assert!(is_deep || plain.as_ref() == Ok(&pres), "two readers disagree on the ranges");
            let request = format!(
                r#"{{"messageType":"PReq","messageVersion":"{}","threeDSServerRefNumber":"a",
                "threeDSServerOperatorID":"b","threeDSServerTransID":"{}"}}"#,
                pres.version.as_str(),
                pres.server_transaction
            );
            let Ok(request) = parse::<Preq>(request.as_bytes()) else { return };
            match DirectoryRanges::NOTHING.take(&request, pres) {
                Ok(table) => {
                    for pair in table.ranges().windows(2) {
                        let [one, next] = pair else { continue };
                        assert!(one.start <= one.end && one.end < next.start, "ranges overlap");
                    }
                }
                Err(rejection) => check_rejection(&rejection),
            }
        }
        Ok(RangesAnswer::Erro(_)) => (),
        Err(rejection) => check_rejection(&rejection),
    }
}

fn check_form(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(cres) = Cres::from_form(text) {
        assert!(Cres::from_form(&cres.to_form()).as_ref() == Ok(&cres));
    }
    if let Ok(creq) = Creq::from_form(text) {
        assert!(Creq::from_form(&creq.to_form()).as_ref() == Ok(&creq));
    }
}

/// JSON without a repeated name stays the same, member for member, when the parser writes it.
fn check_repeated(data: &[u8]) {
    let found = repeated(data);
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    let written = value.to_string();
    assert_eq!(repeated(written.as_bytes()), None, "what was written has no name twice");
    if found.is_none() {
        assert_eq!(
            count_members(data),
            count_members(written.as_bytes()),
            "a repeated name was not found"
        );
    } else {
        assert!(
            count_members(data) > count_members(written.as_bytes()),
            "a name was found that is not repeated"
        );
    }
}

/// The number of members in JSON text: colons outside of strings.
fn count_members(text: &[u8]) -> usize {
    let (mut count, mut inside, mut escaped) = (0_usize, false, false);
    for byte in text {
        match (inside, escaped, byte) {
            (true, true, _) => escaped = false,
            (true, false, b'\\') => escaped = true,
            (_, false, b'"') => inside = !inside,
            (false, _, b':') => count = count.saturating_add(1),
            _ => (),
        }
    }
    count
}
