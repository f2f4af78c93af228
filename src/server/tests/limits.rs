use super::floods::Keyed;
use super::*;
use crate::waiting::wait_until;

/// A request with a known key.
fn with_key(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nkey: shown\r\n\r\n")
}

fn limited(in_all: usize, per_address: Option<usize>, trusted: TrustedAddresses) -> Running {
    let bounds = Bounds {
        connections_max: in_all,
        connections_per_address_max: per_address,
        refusals_logged_every: Duration::from_millis(20),
        ..Bounds::default()
    };
    let key = KeyPair::generate().unwrap();
    start_with(bounds, Keyed(echo), Folder::new(), &key, trusted)
}

async fn check_limit(mut server: Running, places: usize, field: &str) {
    let mut held = Vec::new();
    for _ in 0..places {
        let mut stream = server.connect().await;
        ask(&mut stream, &with_key("/")).await;
        held.push(stream);
    }
    assert!(server.try_connect().await.is_err());
    let event = server.event("connections_refused").await;
    assert_eq!(event[field], 1, "{event}");
    // Open connections are not disturbed, and a place that becomes free is given to another.
    for stream in &mut held {
        assert_eq!(ask(stream, &get("/on")).await.1, "GET /on");
    }
    drop(held.pop());
    let mut again = None;
    wait_until("the place is given again", async || {
        again = server.try_connect().await.ok();
        again.is_some()
    })
    .await;
    assert_eq!(ask(&mut again.unwrap(), &get("/again")).await.1, "GET /again");
}

#[tokio::test]
async fn connections_in_all_are_bounded() {
    check_bounded_in_all(limited(3, None, Arc::new(|_| false))).await;
}

/// One tenant holds all three places, and the first is within its share.
async fn check_bounded_in_all(mut server: Running) {
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        ask(&mut stream, &with_key("/")).await;
        held.push(stream);
    }
    let mut newcomer = server.connect().await;
    let other = with_key("/new").replace("shown", "other");
    assert_eq!(ask(&mut newcomer, &other).await.1, "GET /new");
    let event = server.event("connections_refused").await;
    assert_eq!(event["strangers"], 1, "{event}");
    let mut surplus = held.remove(1);
    assert_eq!(read_to_close(&mut surplus).await, "");
    held.push(newcomer);
    for stream in &mut held {
        assert_eq!(ask(stream, &get("/on")).await.1, "GET /on");
    }
}

#[tokio::test]
async fn connections_of_one_address_are_bounded() {
    check_limit(limited(10, Some(2), Arc::new(|_| false)), 2, "per_address").await;
}

#[tokio::test]
async fn a_trusted_address_is_bounded_in_all_alone() {
    let server = limited(3, Some(1), Arc::new(|address| address.is_loopback()));
    check_bounded_in_all(server).await;
}

#[tokio::test]
async fn strangers_make_room_and_clients_with_a_key_keep_their_places() {
    let mut server = limited(4, None, Arc::new(|_| true));
    let mut known = server.connect().await;
    ask(&mut known, &with_key("/")).await;
    let silent = within!(TcpStream::connect(server.address)).await.unwrap();
    let mut refused = server.connect().await;
    // A request without a key, or with a public key, changes nothing.
    ask(&mut refused, &get("/")).await;
    ask(&mut refused, &with_key("/").replace("shown", "public")).await;
    let mut half = server.connect().await;
    within!(half.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nkey")).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = server.connect().await;
        ask(&mut stream, &with_key("/")).await;
        held.push(stream);
    }
    let event = server.event("connections_refused").await;
    assert!(event["strangers"].as_u64() >= Some(1), "{event}");
    let mut silent = silent;
    within!(silent.read_to_end(&mut Vec::new())).await.ok();
    assert_eq!(read_to_close(&mut refused).await, "");
    assert_eq!(read_to_close(&mut half).await, "");
    held.push(known);
    for stream in &mut held {
        assert_eq!(ask(stream, &get("/on")).await.1, "GET /on");
    }
}

#[tokio::test]
async fn a_connection_makes_room_by_its_stage_before_its_age() {
    let (slow, mut asks, go) = gated();
    let answer = move |request: Request<Incoming>, peer| match request.uri().path() {
        "/slow" => slow.answer(request, peer),
        _ => Box::pin(echo(request, peer)),
    };
    let bounds = Bounds { connections_max: 4, ..Bounds::default() };
    let server = start(bounds, Keyed(answer));
    // Oldest first: each has progressed further than the next one.
    let mut in_flight = server.connect().await;
    within!(in_flight.write_all(get("/slow").as_bytes())).await.unwrap();
    within!(asks.recv()).await.unwrap();
    let mut idle = server.connect().await;
    ask(&mut idle, &get("/")).await;
    let mut secured = server.connect().await;
    let mut connected = within!(TcpStream::connect(server.address)).await.unwrap();
    let mut newcomers = Vec::new();
    for (tenant, goes) in
        [("first", None), ("second", Some(&mut secured)), ("third", Some(&mut idle))]
    {
        let mut newcomer = server.connect().await;
        let request = with_key("/").replace("shown", tenant);
        assert_eq!(ask(&mut newcomer, &request).await.1, "GET /", "{tenant}");
        newcomers.push(newcomer);
        match goes {
            Some(stream) => assert_eq!(read_to_close(stream).await, "", "{tenant}"),
            None => drop(within!(connected.read_to_end(&mut Vec::new())).await),
        }
    }
    go.send(true).unwrap();
    assert_eq!(read_answer(&mut in_flight).await.1, "GET /slow");
}
