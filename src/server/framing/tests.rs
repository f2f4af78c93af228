use proptest::prelude::*;

use super::*;

const HEAD_BYTES_MAX: usize = 1_000;

fn framing() -> Framing {
    Framing::new(&Bounds { header_bytes_max: HEAD_BYTES_MAX, ..Bounds::default() })
}

/// The bytes that hyper sees, and the reason why it sees no more.
fn follow(bytes: &[u8], piece: usize) -> (Vec<u8>, Option<ServerProblem>) {
    let mut framing = framing();
    let mut shown = Vec::new();
    for piece in bytes.to_vec().chunks_mut(piece) {
        let count = framing.follow(piece);
        shown.extend_from_slice(&piece[..count]);
    }
    (shown, framing.refusal())
}

const PIECES: [usize; 4] = [1, 2, 7, 4_096];

/// All bytes reach hyper unchanged, whatever the pieces in which they arrive.
#[track_caller]
fn check_passed(text: &str) {
    for piece in PIECES {
        let (shown, refusal) = follow(text.as_bytes(), piece);
        assert_eq!((shown.as_slice(), refusal), (text.as_bytes(), None), "{text:?} by {piece}");
    }
}

/// Only the first `shown` bytes reach hyper.
#[track_caller]
fn check_refused(text: &str, shown: usize, problem: ServerProblem) {
    for piece in PIECES {
        let (seen, refusal) = follow(text.as_bytes(), piece);
        assert_eq!(refusal, Some(problem), "{text:?} by {piece}");
        assert_eq!(seen, &text.as_bytes()[..shown], "{text:?} by {piece}");
    }
}

#[track_caller]
fn check_malformed(text: &str, shown: usize) {
    check_refused(text, shown, ServerProblem::UnreadableRequest);
}

/// hyper sees the text up to one byte, which is spoiled, and nothing after it.
#[track_caller]
fn check_spoiled(text: &str, at: usize) {
    let mut expected = text.as_bytes()[..=at].to_vec();
    expected[at] = SPOILED;
    for piece in PIECES {
        assert_eq!(follow(text.as_bytes(), piece), (expected.clone(), None), "{text:?} by {piece}");
    }
}

#[test]
fn lines_that_end_as_they_should_are_left_alone() {
    check_passed("GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    check_passed("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\na\nGET / HTTP/1.1\r\n\r\n");
    check_passed(
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3;x=y\r\n\n\n\n\r\n0\r\nA: b\r\n\r\n\
         GET / HTTP/1.1\r\n\r\n",
    );
    check_passed("GET http://a/?b HTTP/1.0\r\nx:\r\ny: \t z \r\nz: \u{e4}\r\n\r\n");
}

#[test]
fn a_line_that_ends_in_lf_alone_is_refused_in_a_head_and_spoiled_in_a_body() {
    check_malformed("GET / HTTP/1.1\nHost: a\r\n\r\n", 14);
    check_malformed("GET / HTTP/1.1\r\nHost: a\n\r\n", 23);
    check_malformed("GET / HTTP/1.1\r\nHost: a\r\n\n", 25);
    check_malformed("\nGET / HTTP/1.1\r\n\r\n", 0);
    let first = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\na\n";
    check_malformed(&format!("{first}GET / HTTP/1.1\n\r\n"), first.len() + 14);
    let chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
    let first = format!("{chunked}1\r\na\r\n0\r\n\r\n");
    check_malformed(&format!("{first}GET / HTTP/1.1\n\r\n"), first.len() + 14);
    check_spoiled(&format!("{chunked}1\na\r\n0\r\n\r\n"), chunked.len() + 1);
    check_spoiled(&format!("{chunked}0\r\nA: b\n\r\n"), chunked.len() + 7);
    // hyper would treat the spoiled byte as part of the extension, so the following bytes are
    // withheld.
    check_spoiled(&format!("{chunked}1;a\nb\r\na\r\n0\r\n\r\n{first}"), chunked.len() + 3);
}

#[test]
fn a_head_that_is_not_http_is_refused_at_the_first_byte_that_shows_it() {
    for (text, shown) in [
        ("\0\0\r\n", 0),
        ("no http at all\r\n", 8),
        ("nonsense\r\n", 8),
        (" / HTTP/1.1\r\n", 0),
        ("GET  HTTP/1.1\r\n", 4),
        ("GET / HTTP/1.1 \r\n", 14),
        ("GET / HTTP/1.2\r\n", 13),
        ("PRI * HTTP/2.0\r\n", 11),
        ("GET /\r\n", 5),
        ("GET / HTTP/1\r\n", 12),
        ("GET / HTTP/1.1\rx", 15),
        ("GET / HTTP/1.1\r\nno colon\r\n", 18),
        ("GET / HTTP/1.1\r\nnone\r\n", 20),
        ("GET / HTTP/1.1\r\n: x\r\n", 16),
        ("GET / HTTP/1.1\r\na : x\r\n", 17),
        ("GET / HTTP/1.1\r\na: x\r\n folded\r\n", 22),
        ("GET / HTTP/1.1\r\na: \0\r\n", 19),
    ] {
        check_malformed(text, shown);
    }
}

#[test]
fn a_head_that_is_too_large_is_refused_at_the_first_byte_too_many() {
    let long = "x".repeat(HEAD_BYTES_MAX);
    let line = format!("GET /{long} HTTP/1.1\r\n\r\n");
    check_refused(&line, HEAD_BYTES_MAX, ServerProblem::UriTooLong);
    let header = format!("GET / HTTP/1.1\r\nx: {long}\r\n\r\n");
    check_refused(&header, HEAD_BYTES_MAX, ServerProblem::HeadersTooLarge);
    check_refused(&"\r\n".repeat(HEAD_BYTES_MAX), HEAD_BYTES_MAX, ServerProblem::UriTooLong);
    let many = format!("GET / HTTP/1.1\r\n{}", "x:\r\n".repeat(HEADER_LINES_MAX));
    check_passed(&format!("{many}\r\n{many}\r\n"));
    check_refused(&format!("{many}x:\r\n"), many.len(), ServerProblem::HeadersTooLarge);
}

#[test]
fn a_number_that_is_not_plain_is_refused_as_a_length_and_spoiled_as_a_chunk_size() {
    let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for size in ["+5", "0x5", "", "-1", &format!("{}5", "0".repeat(70)), &"0".repeat(17)] {
        check_spoiled(&format!("{head}{size}\r\nhello"), head.len() + size.len() + 1);
    }
    check_passed(&format!("{head}00000005\r\nhello\r\n0\r\n\r\n"));
    check_malformed("POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\n", 36);
}

#[test]
fn a_head_that_frames_its_body_in_two_ways_or_none_is_refused_at_its_end() {
    let [length, coding] = ["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"];
    for (one, two) in [(length, coding), (coding, length)] {
        let head = format!("POST / HTTP/1.1\r\n{one}{two}\r\n");
        check_malformed(&head, head.len() - 1);
    }
    check_malformed("POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 54);
    for head in [
        "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
    ] {
        check_malformed(head, head.len() - 1);
    }
    check_passed("POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn a_peer_is_inside_a_message_from_its_first_byte_to_its_last() {
    let mut framing = framing();
    assert!(!framing.is_inside_message());
    for byte in &mut b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n".to_vec() {
        framing.follow(std::slice::from_mut(byte));
        assert!(framing.is_inside_message());
    }
    framing.follow(&mut [b'x']);
    assert!(!framing.is_inside_message());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_and_at_most_one_is_changed(
        bytes: Vec<u8>, text in "[ -~\r\n]{0,200}", piece in 1_usize..50,
    ) {
        for bytes in [bytes, text.into_bytes()] {
            let (shown, _) = follow(&bytes, piece);
            let changed = bytes.iter().zip(&shown).filter(|(one, two)| one != two).count();
            prop_assert!(shown.len() <= bytes.len() && changed <= 1);
        }
    }
}
