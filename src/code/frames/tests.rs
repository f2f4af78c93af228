use proptest::prelude::*;

use super::*;

fn secret(text: &str) -> Secret<String> {
    Secret::new(String::from(text))
}

fn request(body: usize) -> ProgramRequest {
    ProgramRequest {
        method: String::from("POST"),
        url: secret("https://vault.internal/tokens"),
        headers: vec![(String::from("a"), Secret::new(vec![0xff, 0]))],
        body: Secret::new(vec![7; body]),
    }
}

fn from_worker() -> Vec<FromWorker> {
    vec![
        FromWorker::Ready(Confinement { landlock: false, seccomp: true }),
        FromWorker::Ready(Confinement { landlock: true, seccomp: true }),
        FromWorker::Fetch { number: 3, request: request(9) },
        FromWorker::Line { level: LineLevel::Error, text: secret("caf\u{e9}") },
        FromWorker::Source { name: String::from("a/b.js") },
        FromWorker::Outcome(Secret::new(b"{}".to_vec())),
        FromWorker::OutOfMemory,
        FromWorker::ResultTooLarge,
        FromWorker::Forever,
    ]
}

fn to_worker() -> Vec<ToWorker> {
    let call = |key| {
        ToWorker::Call(WorkerCall {
            code: secret("code"),
            contract: Contract::Node,
            argument: Secret::new(b"{}".to_vec()),
            key,
            base_url: String::from("https://vault.internal"),
            timeout_ms: 10_000,
        })
    };
    let headers = vec![(String::from("b"), Secret::new(b"c".to_vec()))];
    let response = ProgramResponse { status: 404, headers, body: Secret::new(vec![1, 2]) };
    vec![
        call(None),
        call(Some(secret("key"))),
        ToWorker::Fetched { number: 0, answer: Ok(response) },
        ToWorker::Fetched { number: 1, answer: Err(String::from("no")) },
        ToWorker::Source(Some(String::from("text"))),
        ToWorker::Source(None),
    ]
}

/// The content of a frame, after its head was checked.
fn content(frame: &[u8]) -> &[u8] {
    let (head, content) = frame.split_first_chunk::<HEAD_BYTES>().unwrap();
    assert_eq!(content_length(*head), Some(content.len()));
    content
}

#[test]
fn messages_are_read_as_they_were_written() {
    for message in from_worker() {
        let frame = message.encode().unwrap();
        let read = FromWorker::decode(content(&frame)).unwrap();
        assert_eq!(read.encode().unwrap(), frame);
    }
    for message in to_worker() {
        let frame = message.encode().unwrap();
        assert_eq!(ToWorker::decode(content(&frame)).unwrap().encode().unwrap(), frame);
    }
}

#[test]
fn a_frame_that_is_cut_or_goes_on_is_no_message() {
    let frames = from_worker().into_iter().map(|it| it.encode().unwrap());
    for frame in frames {
        let content = content(&frame);
        for end in 0..content.len() {
            assert!(FromWorker::decode(&content[..end]).is_none());
        }
        let mut longer = content.to_vec();
        longer.push(0);
        assert!(FromWorker::decode(&longer).is_none());
    }
}

#[test]
fn a_member_beyond_its_bound_is_refused() {
    let message = FromWorker::Fetch { number: 0, request: request(CODE_FETCH_BODY_BYTES_MAX) };
    assert!(FromWorker::decode(content(&message.encode().unwrap())).is_some());
    let mut many = request(0);
    many.headers =
        (0..=CODE_FETCH_HEADERS_MAX).map(|_| (String::new(), Secret::new(Vec::new()))).collect();
    for message in [
        FromWorker::Fetch { number: 0, request: request(CODE_FETCH_BODY_BYTES_MAX + 1) },
        FromWorker::Fetch { number: 0, request: many },
        FromWorker::Line {
            level: LineLevel::Info,
            text: secret(&"x".repeat(CODE_LINE_BYTES_MAX + 1)),
        },
        FromWorker::Source { name: "x".repeat(CODE_PACKAGE_NAME_BYTES_MAX + 1) },
        FromWorker::Outcome(Secret::new(vec![b' '; CODE_RESULT_BYTES_MAX + 1])),
    ] {
        assert!(FromWorker::decode(content(&message.encode().unwrap())).is_none());
    }
    let large = FromWorker::Outcome(Secret::new(vec![0; CODE_FRAME_BYTES_MAX]));
    assert_eq!(large.encode().err(), Some(FrameTooLarge));
}

#[test]
fn a_head_announces_one_byte_to_the_longest_frame() {
    let most = u32::try_from(CODE_FRAME_BYTES_MAX).unwrap();
    for (length, is_legal) in [(0, false), (1, true), (most, true), (most + 1, false)] {
        assert_eq!(content_length(length.to_le_bytes()).is_some(), is_legal, "{length}");
    }
    assert_eq!(content_length([0xff; 4]), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused_or_read_as_one_message(
        kind in 0_u8..10,
        rest in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), any::<u8>()], 0..64),
    ) {
        let mut content = vec![kind];
        content.extend(rest);
        fuzz::messages(&content);
    }
}
