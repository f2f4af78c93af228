//! Ids, hosts, headers and traces of a client that could mislead other readers.

use serde_json::json;

use crate::harness::{Authority, Directory, Request, Vault, get, options, post};

#[test]
fn an_id_in_the_shape_of_a_uuid_cannot_be_chosen() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let gone = vault.token(json!({"type": "token", "data": "mine"}));
    vault.delete(&format!("/tokens/{gone}"), key).with_status(204);
    for id in [gone.clone(), gone.to_uppercase(), String::from("{{ data }}")] {
        let body = json!({"type": "token", "data": gone, "id": id});
        let refused = vault.post("/tokens", key, body).invalid(&["id"]);
        assert!(refused.text().contains("shape of a UUID"), "{}", refused.text());
    }
    vault.get(&format!("/tokens/{gone}"), key).problem(404);
    let body = json!([{"type": "token", "data": 1, "id": gone}]);
    vault.post("/tokenize", key, body).invalid(&["$[0].id"]);
    // Hashes have no hyphens, and longer names are no ids.
    for id in [gone.replace('-', ""), format!("customer-{gone}")] {
        let body = json!({"type": "token", "data": 1, "id": id});
        assert_eq!(vault.post("/tokens", key, body).with_status(201).id(), id);
    }
}

#[test]
fn an_id_that_could_be_a_card_number_cannot_be_chosen() {
    let vault = Vault::start();
    let key = &vault.keys.private;
    let number = "4242424242424242";
    let card = |id: &str| json!({"type": "card", "data": {"number": number}, "id": id});
    for id in [
        number,
        "card 4242-4242-4242-4242",
        "card_4242_4242.4242.4242",
        "\u{ff14}\u{ff12}4242424242424242",
        "order-378282246310005",
        "{{ data.number }}",
        "x-{{ data.number }}-x",
        "1{{ data.number }}",
        "{{ data.number | slice: 0, 8 }}.{{ data.number | slice: 8, 8 }}",
    ] {
        let refused = vault.post("/tokens", key, card(id)).invalid(&["id"]);
        assert!(refused.text().contains("card number"), "{}", refused.text());
        vault.post("/tokenize", key, json!([card(id)])).invalid(&["$[0].id"]);
    }
    let text = json!({"type": "token", "data": number, "id": "{{ data }}"});
    vault.post("/tokens", key, text).invalid(&["id"]);
    // Aliases are random digits, of which one in ten would have a check digit.
    for _ in 0..40 {
        let made = vault.post("/tokens", key, card("{{ data.number | alias_card }}"));
        assert_eq!(made.with_status(201).id().len(), number.len());
    }
    for id in ["4242424242424241", "2026-11-17-0001", "order-202611170002"] {
        assert_eq!(vault.post("/tokens", key, card(id)).with_status(201).id(), id);
    }
}

#[test]
fn an_api_key_sent_as_a_trace_id_is_neither_logged_nor_echoed() {
    let mut vault = Vault::start();
    // The service logs a line a request, which the development server does not.
    vault.serve("");
    let private = vault.keys.private.clone();
    let made = vault.application("private", &["token:create"], &json!([]));
    let imported = "brought0from0elsewhere1234";
    let place = ["--tenant", &vault.tenant_id, "--application", &made.id()].map(String::from);
    let place: Vec<_> = place.iter().map(String::as_str).collect();
    let import = [&["application", "key-import"], &place[..]].concat();
    vault.operator_with_input(&import, imported).with_code(0);
    let (cut, _) = private.split_at(private.len() - 20);
    for (key, trace) in [
        (private.as_str(), private.as_str()),
        (&vault.keys.public, &private),
        (&private, cut),
        (&private, &format!("trace:{}", private.to_uppercase())),
        (imported, imported),
    ] {
        // A route, none, a page, a preflight, and a head that no route sees.
        let many = (0..80).fold(get("/permissions"), |request, _| request.header("a", "b"));
        let requests = [get("/permissions"), get("/none"), get("/pages/method.html"), many];
        for request in requests.into_iter().chain([options("/tokens")]) {
            let answer = vault.send(&request.key(key).header("BT-TRACE-ID", trace));
            let echoed = answer.header("bt-trace-id").expect("a trace id");
            assert!(uuid::Uuid::parse_str(echoed).is_ok(), "{echoed}");
            assert!(!answer.text().contains(trace));
        }
    }
    let other = get("/permissions").key(&private).header("BT-TRACE-ID", "monkey_1");
    assert_eq!(vault.send(&other).header("bt-trace-id"), Some("monkey_1"));
    assert_eq!(vault.stop(), Some(0));
    let log = vault.log();
    assert!(log.contains("monkey_1"), "{log}");
    for secret in [&private, cut, imported, &private.to_uppercase()] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn answers_of_the_service_carry_the_headers_that_browsers_obey() {
    let mut vault = Vault::start();
    let hsts = "strict-transport-security";
    // A developer's browser would refuse plain HTTP to all of localhost.
    assert_eq!(vault.send(&get("/healthz")).header(hsts), None);
    vault.serve("");
    let key = vault.keys.private.clone();
    let requests = [
        get("/permissions").key(&key),
        get("/permissions"),
        get("/none"),
        get("/healthz"),
        get("/pages/challenge.html"),
        post("/tokens").key(&key).json(json!({"type": "token", "data": 1})),
        options("/tokens").header("Origin", "https://shop.example"),
        Request::new("TRACE", "/tokens"),
    ];
    let answers = requests.iter().map(|request| vault.send(request));
    for answer in
        answers.chain([vault.raw(b"nonsense\r\n\r\n"), vault.raw(b"GET / HTTP/1.1\r\n\r\n")])
    {
        assert_eq!(answer.header(hsts), Some("max-age=31536000"), "{}", answer.status);
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[test]
fn a_host_that_is_none_is_refused_and_one_that_is_comes_back_in_locations() {
    let vault = Vault::start();
    let body = json!({"type": "token", "data": 1}).to_string();
    let create = |host: &str| {
        let head = format!(
            "POST /tokens HTTP/1.1\r\n{host}BT-API-KEY: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            vault.keys.private,
            body.len()
        );
        vault.raw(head.as_bytes())
    };
    for bad in
        ["", "Host: a\r\nHost: b\r\n", "Host: evil.example/x?\r\n", "Host: a@b\r\n", "Host:\r\n"]
    {
        create(bad).problem(400);
    }
    let made = create("Host: vault.example:8443\r\n").with_status(201);
    let location = made.header("location").unwrap();
    assert_eq!(location, format!("https://vault.example:8443/tokens/{}", made.id()));
}

#[test]
fn the_public_url_of_the_settings_goes_before_the_host_of_the_request() {
    let directory = Directory::new();
    let authority = Authority::new("Visa");
    let shown = authority.issue();
    let certificate = directory.write("ds.pem", &shown.certificate, 0o600);
    let key = directory.write("ds.key", &shown.key, 0o600);
    let ca = directory.write("ca.pem", &authority.pem, 0o600);
    let (certificate, key, ca) = (certificate.display(), key.display(), ca.display());
    let text = format!(
        "[threeds]\nserver_reference = \"R\"\npublic_url = \"https://vault.example/\"\n\
         results_url = \"https://r.example\"\nresults_listen = [\"127.0.0.1:0\"]\n\
         results_certificate = \"{certificate}\"\nresults_private_key = \"{key}\"\n\
         [threeds.visa]\nurl = \"https://localhost:1\"\ncertificate = \"{certificate}\"\n\
         private_key = \"{key}\"\nca = \"{ca}\"\n"
    );
    let settings = directory.write("threeds.toml", text, 0o600);
    let vault = Vault::start_in(directory, &["--threeds", settings.to_str().unwrap()]);
    let made = post("/tokens").key(&vault.keys.private).json(json!({"type": "token", "data": 1}));
    let made = vault.send(&made).with_status(201);
    let location = format!("https://vault.example/tokens/{}", made.id());
    assert_eq!(made.header("location"), Some(location.as_str()));
    // A test tenant's cards go to the simulator, which is reached by the same URL.
    let card = vault.token(json!({"type": "card", "data": {"number": "4200000000000002"}}));
    let body = json!({"token_id": card, "type": "customer", "device": "browser"});
    let session = vault.post("/3ds/sessions", &vault.keys.private, body).with_status(201);
    assert!(!session.text().contains(&vault.address.to_string()), "{}", session.text());
}

crate::harness::again_over_http2! {
    an_api_key_sent_as_a_trace_id_is_neither_logged_nor_echoed,
    answers_of_the_service_carry_the_headers_that_browsers_obey,
}
