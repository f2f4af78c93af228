//! The fuzz targets of the server: the facts of certificates, and the framing of HTTP/1.

use crate::server::bounds::Bounds;
use crate::server::framing::Framing;
use crate::server::problem::ServerProblem;
use crate::server::validity;

/// Any bytes as a certificate in DER.
pub(crate) fn certificates(data: &[u8]) {
    let expires = validity::expires(data);
    if let Some(subject) = validity::subject_names(data) {
        let units: usize = subject.units.iter().map(String::len).sum();
        assert!(units <= data.len(), "units from nowhere");
    }
    let Some(facts) = validity::facts(data) else { return };
    assert_eq!(expires, Some(facts.expires), "two readers found two dates");
    assert!(facts.issuer.len().saturating_add(facts.subject.len()) <= data.len());
    for name in &facts.names {
        // The names are printed on terminals.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*:".contains(&byte);
        assert!(name.bytes().all(is_plain), "a name that is no host");
    }
}

/// The bytes of a connection. Their division into pieces makes no difference, and the next parser
/// sees only the bytes before a refusal or a malformed body.
pub(crate) fn framing(data: &[u8]) {
    let whole = follow(data, data.len().max(1));
    for piece in [1, 3, 64] {
        assert_eq!(follow(data, piece), whole, "by pieces of {piece}");
    }
    let (shown, refusal, is_spoiled) = whole;
    assert!(shown.len() <= data.len());
    assert!(refusal.is_some() || is_spoiled || shown.len() == data.len());
    let changed = shown.iter().zip(data).filter(|(one, other)| one != other).count();
    assert!(changed <= 1, "more than one byte was spoiled");
    check_heads(&shown);
}

fn follow(data: &[u8], piece: usize) -> (Vec<u8>, Option<ServerProblem>, bool) {
    let mut framing = Framing::new(&Bounds { header_bytes_max: 600, ..Bounds::default() });
    let mut shown = Vec::new();
    for piece in data.to_vec().chunks_mut(piece) {
        let count = framing.follow(piece);
        shown.extend_from_slice(piece.get(..count).unwrap_or_default());
    }
    (shown, framing.refusal(), framing.is_spoiled())
}

/// The first complete head has lines that end in CRLF, and states its length once.
fn check_heads(shown: &[u8]) {
    let text = String::from_utf8_lossy(shown);
    let Some((head, _)) = text.trim_start_matches("\r\n").split_once("\r\n\r\n") else { return };
    let lines: Vec<&str> = head.split("\r\n").collect();
    assert!(lines.iter().all(|line| !line.contains(['\n', '\r', '\0'])), "a line in a line");
    let named = |name: &str| {
        let is_named = |line: &&&str| line.to_ascii_lowercase().starts_with(name);
        lines.iter().skip(1).filter(is_named).count()
    };
    let (lengths, codings) = (named("content-length:"), named("transfer-encoding:"));
    assert!(lengths == 0 || codings == 0, "a body with two lengths");
}
