use std::time::Instant;

use http_body_util::BodyExt;
use hyper::header::HeaderValue;

use super::*;

fn hurried() -> Bounds {
    Bounds { headers_max: SOON, ..Bounds::default() }
}

#[tokio::test]
async fn half_a_request_line_is_closed_at_the_deadline() {
    let server = start(hurried(), echo);
    let mut stream = server.connect().await;
    let begun = Instant::now();
    within!(stream.write_all(b"GET /tokens HT")).await.unwrap();
    assert_eq!(read_to_close(&mut stream).await, "");
    assert!(begun.elapsed() >= SOON / 2);
}

#[tokio::test]
async fn a_header_a_moment_does_not_move_the_deadline() {
    let server = start(hurried(), echo);
    let mut stream = server.connect().await;
    let drip = async {
        let mut ticks = tokio::time::interval(SOON / 10);
        within!(stream.write_all(b"GET / HTTP/1.1\r\n")).await.unwrap();
        loop {
            ticks.tick().await;
            if stream.write_all(b"x: y\r\n").await.is_err() {
                return;
            }
        }
    };
    within!(drip).await;
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = start(hurried(), echo);
    let mut stream = server.connect().await;
    assert_eq!(ask(&mut stream, &get("/first")).await.1, "GET /first");
    assert_eq!(read_to_close(&mut stream).await, "");
}

#[tokio::test]
async fn a_client_that_does_not_finish_the_handshake_is_closed() {
    let server = start(Bounds { handshake_max: SOON, ..Bounds::default() }, echo);
    for opening in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00", b"SSH-2.0-x\r\n"] {
        let mut socket = within!(TcpStream::connect(server.address)).await.unwrap();
        within!(socket.write_all(opening)).await.unwrap();
        let mut answer = Vec::new();
        within!(socket.read_to_end(&mut answer)).await.ok();
        assert!(answer.len() < 16, "at most an alert");
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up() {
    let (answer, released) = large_answer(32 * 1024 * 1024);
    let server = start(Bounds { write_max: SOON, ..Bounds::default() }, answer);
    let mut stream = server.connect().await;
    within!(stream.write_all(get("/").as_bytes())).await.unwrap();
    assert!(within!(released).await.is_err());
}

#[tokio::test]
async fn headers_that_are_too_large_are_431_even_while_they_are_still_being_sent() {
    let server = start(Bounds::default(), echo);
    let fits = "x".repeat(crate::bounds::HEADER_BYTES_MAX - 200);
    let mut stream = server.connect().await;
    let answer = ask(&mut stream, &format!("GET / HTTP/1.1\r\nhost: a\r\nx: {fits}\r\n\r\n")).await;
    assert_eq!(answer.1, "GET /");
    for size in [crate::bounds::HEADER_BYTES_MAX, 100_000, 240_000] {
        let mut stream = server.connect().await;
        let large = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "x".repeat(size));
        check_problem(&ask(&mut stream, &large).await, 431);
        assert_eq!(read_to_close(&mut stream).await, "");
    }
}

#[tokio::test]
async fn a_client_that_goes_on_sending_after_a_refusal_is_not_reset() {
    let server = start(Bounds::default(), echo);
    let mut stream = server.connect().await;
    let large = "x".repeat(crate::bounds::HEADER_BYTES_MAX);
    let head = format!("GET / HTTP/1.1\r\nx: {large}");
    check_problem(&ask(&mut stream, &head).await, 431);
    assert_eq!(read_to_close(&mut stream).await, "");
    for _ in 0..20 {
        within!(stream.write_all(&[b'x'; 4_096])).await.unwrap();
        within!(stream.flush()).await.unwrap();
    }
}

#[tokio::test]
async fn too_many_headers_are_431() {
    let server = start(Bounds::default(), echo);
    let with =
        |count: usize| format!("GET / HTTP/1.1\r\nhost: a\r\n{}\r\n", "x: y\r\n".repeat(count - 1));
    let max = crate::bounds::HEADERS_COUNT_MAX;
    let mut stream = server.connect().await;
    assert_eq!(ask(&mut stream, &with(max)).await.1, "GET /");
    // Beyond our maximum the connection stays open, beyond the parser's it does not.
    check_problem(&ask(&mut stream, &with(max + 1)).await, 431);
    assert_eq!(ask(&mut stream, &with(1)).await.1, "GET /");
    check_problem(&ask(&mut stream, &with(101)).await, 431);
    assert_eq!(read_to_close(&mut stream).await, "");
}

#[tokio::test]
async fn what_is_not_http_gets_a_problem() {
    let server = start(Bounds::default(), echo);
    for text in ["no http at all\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n", "\0\0\0\0\r\n\r\n"]
    {
        let mut stream = server.connect().await;
        check_problem(&ask(&mut stream, text).await, 400);
        assert_eq!(read_to_close(&mut stream).await, "");
    }
}

#[tokio::test]
async fn a_target_that_is_no_uri_gets_a_400_without_a_body() {
    let server = start(Bounds::default(), echo);
    let mut stream = server.connect().await;
    let (head, body) = ask(&mut stream, "GET /< HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 400 ") && body.is_empty(), "{head}{body}");
    assert_eq!(read_to_close(&mut stream).await, "");
}

#[tokio::test]
async fn a_refused_head_waits_for_the_answer_before_it() {
    let (answer, mut asks, go) = gated();
    let server = start(Bounds::default(), answer);
    let mut stream = server.connect().await;
    let both = get("/slow") + "nonsense\r\n\r\n";
    within!(stream.write_all(both.as_bytes())).await.unwrap();
    within!(asks.recv()).await.unwrap();
    go.send(true).unwrap();
    assert_eq!(read_answer(&mut stream).await.1, "GET /slow");
    check_problem(&read_answer(&mut stream).await, 400);
    assert_eq!(read_to_close(&mut stream).await, "");
}

#[tokio::test]
async fn a_refused_head_does_not_cut_a_large_answer_before_it() {
    let bytes = 8 * 1024 * 1024;
    let (answer, _released) = large_answer(bytes);
    let server = start(Bounds::default(), answer);
    let mut stream = server.connect().await;
    let both = get("/large") + "nonsense\r\n\r\n";
    within!(stream.write_all(both.as_bytes())).await.unwrap();
    assert_eq!(read_answer(&mut stream).await.1.len(), bytes);
    check_problem(&read_answer(&mut stream).await, 400);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let server = start(Bounds::default(), echo);
    let mut stream = server.connect().await;
    let both = get("/first") + &get("/second");
    assert_eq!(ask(&mut stream, &both).await.1, "GET /first");
    assert_eq!(read_answer(&mut stream).await.1, "GET /second");
}

#[tokio::test]
async fn a_client_may_close_its_half_and_read_the_answer() {
    let (answer, mut asks, go) = gated();
    let server = start(Bounds::default(), answer);
    let mut stream = server.connect().await;
    within!(stream.write_all(get("/half").as_bytes())).await.unwrap();
    within!(stream.shutdown()).await.unwrap();
    within!(asks.recv()).await.unwrap();
    go.send(true).unwrap();
    assert!(read_to_close(&mut stream).await.ends_with("GET /half"));
}

#[tokio::test]
async fn a_client_that_expects_100_is_told_to_continue_when_the_body_is_read() {
    let server = start(Bounds::default(), |request: Request<Incoming>, _| async move {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        Response::new(SecretBody::shared(body))
    });
    let mut stream = server.connect().await;
    let head = "POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";
    let (interim, _) = ask(&mut stream, head).await;
    assert_eq!(interim, "HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(ask(&mut stream, "hello").await.1, "hello");
}

#[tokio::test]
async fn a_panic_answers_500_and_the_next_request_works() {
    let mut server = start(Bounds::default(), |request: Request<Incoming>, peer| async move {
        match request.uri().path() {
            "/at-once" => std::panic::resume_unwind(Box::new("secret")),
            "/later" => {
                tokio::task::yield_now().await;
                std::panic::resume_unwind(Box::new("secret"))
            }
            _ => echo(request, peer).await,
        }
    });
    let mut stream = server.connect().await;
    for path in ["/at-once", "/later"] {
        let answer = ask(&mut stream, &get(path)).await;
        check_problem(&answer, 500);
        assert!(!answer.1.contains("secret"));
        assert_eq!(ask(&mut stream, &get("/next")).await.1, "GET /next");
    }
    let traced = "GET /later HTTP/1.1\r\nhost: localhost\r\nBT-TRACE-ID: mine-1\r\n\r\n";
    let (head, body) = ask(&mut stream, traced).await;
    assert!(head.contains("bt-trace-id: mine-1\r\n") && body.contains("mine-1"), "{head}{body}");
    for _ in 0..2 {
        server.event("request").await;
    }
    let line = server.event("request").await;
    assert_eq!((&line["trace"], &line["status"]), (&"mine-1".into(), &500.into()));
}

#[tokio::test]
async fn the_answer_learns_who_asks() {
    let server = start(Bounds::default(), |_, peer: SocketAddr| async move {
        Response::new(SecretBody::from(peer.to_string()))
    });
    let mut stream = server.connect().await;
    let own = stream.get_ref().0.local_addr().unwrap();
    assert_eq!(ask(&mut stream, &get("/")).await.1, own.to_string());
}

#[tokio::test]
async fn what_servers_read_in_two_ways_is_refused() {
    let server = start(Bounds::default(), echo);
    for (head, status) in [
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nhost: a/b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nhost:\r\n\r\n", 400),
        ("GET https://a/ HTTP/1.1\r\nhost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\nhost: a\n\n", 400),
        ("GET / HTTP/1.1\r\nhost: a\n\r\n", 400),
        ("GET / HTTP/1.1\r\nhost: a\r\n\n", 400),
        ("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (
            "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n\
             0\r\n\r\n",
            400,
        ),
    ] {
        let mut stream = server.connect().await;
        check_problem(&ask(&mut stream, head).await, status);
    }
    let mut stream = server.connect().await;
    let absolute = "GET https://a/x HTTP/1.1\r\nhost: a\r\n\r\n";
    assert_eq!(ask(&mut stream, absolute).await.1, "GET /x");
    let chunked = "POST /c HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n\
                   1;x\r\n\n\r\n0\r\nt: u\r\n\r\n";
    assert_eq!(ask(&mut stream, chunked).await.1, "POST /c");
    assert_eq!(ask(&mut stream, &get("/next")).await.1, "GET /next");
    // Pipelined after a body that it could have been part of.
    let hidden = "POST /p HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\n\n\n\
                  GET /q HTTP/1.1\nhost: a\r\n\r\n";
    assert_eq!(ask(&mut stream, hidden).await.1, "POST /p");
    check_problem(&read_answer(&mut stream).await, 400);
}

#[tokio::test]
async fn every_answer_forbids_caches_and_guessing_and_asks_for_tls() {
    let server = start(Bounds::default(), |request: Request<Incoming>, peer| async move {
        if request.uri().path() == "/panic" {
            std::panic::resume_unwind(Box::new("x"));
        }
        let mut response = echo(request, peer).await;
        if response.headers_mut().is_empty() {
            let own = HeaderValue::from_static("private");
            response.headers_mut().insert(hyper::header::CACHE_CONTROL, own);
        }
        response
    });
    for (request, cached) in [
        (get("/"), "private"),
        (get("/panic"), "no-store"),
        (String::from("GET / HTTP/1.1\r\n\r\n"), "no-store"),
        (String::from("nonsense\r\n\r\n"), "no-store"),
    ] {
        let mut stream = server.connect().await;
        let (head, _) = ask(&mut stream, &request).await;
        assert!(head.contains(&format!("cache-control: {cached}\r\n")), "{head}");
        assert!(head.contains("x-content-type-options: nosniff\r\n"), "{head}");
        assert!(head.contains("strict-transport-security: max-age=31536000\r\n"), "{head}");
    }
}
