//! HTTP without TLS on a TLS port. TLS would answer with an alert, which clients report as an empty
//! or unreadable answer, so it is answered in plain text instead.

use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::server::stream::drain;

/// The methods that clients send, and the preface of HTTP/2.
const BEGINNINGS: [&[u8]; 10] = [
    b"CONNECT ",
    b"DELETE ",
    b"GET ",
    b"HEAD ",
    b"OPTIONS ",
    b"PATCH ",
    b"POST ",
    b"PRI ",
    b"PUT ",
    b"TRACE ",
];

const LONGEST: usize = 8;

const ANSWER: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    content-type: text/plain\r\n\
    content-length: 132\r\n\
    connection: close\r\n\
    \r\n\
    This port speaks HTTPS: use https:// in the address.\n\
    The request came in clear. If it had an API key, replace the key by a new one.\n";

/// True if the connection begins with an HTTP request. The bytes stay in the socket. A TLS record
/// begins with a byte that is not a letter.
pub(super) async fn is_plain_request(socket: &TcpStream) -> bool {
    let mut first = [0; LONGEST];
    let read = socket.peek(&mut first).await.unwrap_or(0);
    looks_like_http(first.get(..read).unwrap_or_default())
}

/// The beginning of a method is enough, since the rest may not have arrived yet.
fn looks_like_http(first: &[u8]) -> bool {
    !first.is_empty() && BEGINNINGS.iter().any(|it| first.starts_with(it) || it.starts_with(first))
}

/// Answers and closes. The caller sets a deadline. The request is read only after the answer, and
/// is dropped.
pub(super) async fn refuse(mut socket: TcpStream) {
    if socket.write_all(ANSWER).await.is_ok() && socket.shutdown().await.is_ok() {
        drain(&mut socket).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_told_from_tls_and_noise_by_its_first_bytes() {
        for first in
            [&b"GET / HTT"[..], b"GET /", b"G", b"POST /to", b"PRI * HT", b"OPTIONS ", b"CONNECT "]
        {
            assert!(looks_like_http(first), "{first:?}");
        }
        for first in
            [&b""[..], b"\x16\x03\x01", b"\x80.\x01", b"get /", b"GETS ", b"SSH-2.0-", b"\r\nGET /"]
        {
            assert!(!looks_like_http(first), "{first:?}");
        }
    }

    #[test]
    fn the_answer_has_the_length_that_it_states() {
        let text = std::str::from_utf8(ANSWER).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{}", body.len());
        assert!(BEGINNINGS.iter().all(|it| it.len() <= LONGEST));
    }
}
