use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;

use super::*;
use crate::bounds::{ANSWER_BYTES_MAX, OPERATION_BYTES_MAX};
use crate::http::Http;
use crate::http::request_counts::{NO_ROUTE, STATUSES};

/// `Ok` with the route's name, or the `Allow` header, or the absent feature, or "path".
#[track_caller]
fn check(method: &Method, path: &str, expected: Result<&str, &str>) {
    let found = find_api(method, path, |_| true);
    let found = match &found {
        Ok((route, _)) => Ok(route.name),
        Err(NoMatch::Absent(feature)) => Err(feature.name),
        Err(NoMatch::Method { allow, .. }) => Err(allow.as_str()),
        Err(NoMatch::Path) => Err("path"),
    };
    assert_eq!(found, expected, "{method} {path}");
}

#[test]
fn routes() {
    check(&Method::POST, "/tokens", Ok("CreateToken"));
    check(&Method::POST, "/tokens/", Ok("CreateToken"));
    check(&Method::GET, "/tokens", Ok("ListTokensV1"));
    check(&Method::GET, "/v2/tokens", Ok("ListTokens"));
    check(&Method::POST, "/tokens/search", Ok("SearchTokensV1"));
    check(&Method::POST, "/v2/tokens/search", Ok("SearchTokens"));
    check(&Method::GET, "/tokens/abc", Ok("ReadToken"));
    check(&Method::GET, "/tokens/a%40b%20+", Ok("ReadToken"));
    check(&Method::GET, "/applications/key", Ok("ReadApplicationByKey"));
    check(&Method::GET, "/applications/a/keys/b", Ok("ReadApplicationKey"));
    check(&Method::PUT, "/tokens/abc", Err("GET, PATCH, DELETE"));
    check(&Method::DELETE, "/orchestration/connection/formulas", Err("GET, POST"));
    check(&Method::GET, "/reactor-formulas", Ok("ReactorFormulas"));
    check(&Method::DELETE, "/reactor-formulas/a", Ok("ReactorFormula"));
    check(&Method::POST, "/reactors/a/react", Ok("React"));
    check(&Method::GET, "/reactors/a/results/b", Ok("ReadReactorResult"));
    check(&Method::PUT, "/tenants/self/owner", Err("Members and invitations"));
    check(&Method::GET, "/tenants/self/invitations", Ok("ListTenantInvitations"));
    check(&Method::POST, "/tenants/self/invitations", Err("GET"));
    check(&Method::GET, "/tenants/self/other", Err("path"));
    check(&Method::GET, "/tenants/self/members", Ok("ListTenantMembers"));
    check(&Method::DELETE, "/tenants/self/members/a", Err("Members and invitations"));
    check(&Method::GET, "/enrichments/card-details", Ok("ReadCardDetails"));
    check(&Method::GET, "/webhooks/event-types", Ok("ListWebhookEventTypes"));
    check(&Method::GET, "/webhooks/a", Ok("ReadWebhook"));
    check(&Method::GET, "/keys/webhooks.v1.key", Ok("WebhookKey"));
    check(&Method::GET, "/documents/a", Err("Documents"));
    check(&Method::GET, "/console/main.js", Ok("ConsoleFile"));
    check(&Method::POST, "/console/main.js", Err("GET, HEAD"));
    for path in ["/console/none.js", "/console/../console/main.js", "/console/views/"] {
        check(&Method::GET, path, Err("path"));
    }
    for path in ["//", "", "/token", "/tokens//", "/tokens/a/b", "/tokens/%ff", "/tokens/%"] {
        check(&Method::GET, path, Err("path"));
    }
}

#[test]
fn a_literal_path_is_no_id_but_may_be_the_name_of_a_token() {
    check(&Method::DELETE, "/keys/webhooks.v1.key", Err("GET, HEAD"));
    check(&Method::DELETE, "/keys/webhooks.v1-test.key/", Err("GET, HEAD"));
    check(&Method::DELETE, "/keys/webhooks.v2.key", Ok("DeleteClientKey"));
    check(&Method::PUT, "/applications/key", Err("GET"));
    check(&Method::DELETE, "/webhooks/event-types", Err("GET"));
    check(&Method::GET, "/tokens/search", Ok("ReadToken"));
    check(&Method::DELETE, "/tokens/search", Ok("DeleteToken"));
    check(&Method::PUT, "/tokens/search", Err("POST, GET, PATCH, DELETE"));
    check(&Method::OPTIONS, "/applications/key", Ok("Preflight"));
}

#[test]
fn pages_and_probes_are_routes() {
    check(&Method::GET, "/pages/method.html", Ok("MethodPage"));
    check(&Method::GET, "/pages/challenge.html", Ok("ChallengePage"));
    check(&Method::GET, "/pages/other.html", Err("path"));
    check(&Method::GET, "/", Ok("ReferencePage"));
    check(&Method::POST, "/", Err("GET, HEAD"));
    check(&Method::POST, "/3ds/sessions/abc/method-notification", Ok("MethodNotification"));
    check(&Method::POST, "/3ds/sessions/abc/challenge-notification/", Ok("ChallengeNotification"));
    check(&Method::POST, "/3ds/sim/acs/method", Ok("SimulatedMethod"));
    check(&Method::POST, "/3ds/sim/acs/challenge", Ok("SimulatedChallenge"));
    check(&Method::GET, "/3ds/sim/acs/challenge", Err("POST"));
    check(&Method::GET, "/healthz", Ok("Healthz"));
    check(&Method::HEAD, "/readyz/", Ok("Readyz"));
    check(&Method::POST, "/readyz", Err("GET, HEAD"));
    for path in ["/readyz/x", "/metrics", "/status", RESULTS_PATH] {
        check(&Method::GET, path, Err("path"));
    }
    for path in ["/tokens", "/no/such/path", "/3ds/sim/acs/method"] {
        check(&Method::OPTIONS, path, Ok("Preflight"));
    }
}

#[test]
fn each_listener_has_its_own_routes() {
    for path in ["/healthz", "/readyz", "/metrics", "/status"] {
        assert!(find_operator(&Method::GET, path).is_ok(), "{path}");
        assert!(matches!(find_operator(&Method::POST, path), Err(NoMatch::Method { .. })));
        assert!(matches!(find_results(&Method::GET, path), Err(NoMatch::Path)));
    }
    assert!(find_results(&Method::POST, RESULTS_PATH).is_ok());
    assert!(matches!(find_results(&Method::GET, RESULTS_PATH), Err(NoMatch::Method { .. })));
    assert!(matches!(find_operator(&Method::GET, "/tokens"), Err(NoMatch::Path)));
}

fn filled(route: &Route, value: &str) -> String {
    route.path.replace("{id}", value).replace("{key}", value).replace("{file}", value)
}

#[test]
fn every_row_is_found_by_its_own_path_and_not_by_the_path_without_a_parameter() {
    let has_parameter = |route: &&Route| route.path.contains('{') && route.folder_path().is_none();
    for route in ROUTES.iter().filter(has_parameter) {
        for method in route.methods {
            let own = route.files().into_iter().next().unwrap_or_else(|| filled(route, "abc"));
            let (found, _) = find_api(method, &own, |_| true).ok().unwrap();
            assert!(std::ptr::eq(found, route), "{} {method}", route.path);
            if !route.is_page() {
                let found = find_api(method, &filled(route, ""), |_| true);
                assert!(!found.is_ok_and(|it| std::ptr::eq(it.0, route)), "{}", route.path);
            }
        }
    }
    for route in ROUTES.iter().filter(|route| !route.path.contains('{')) {
        for method in route.methods {
            let found = match route.access() {
                Access::Anyone | Access::Key(_) => {
                    find_api(method, route.path, |_| true).map(|it| it.0)
                }
                Access::MutualTls => find_results(method, route.path).map(|it| it.0),
                Access::OperatorListener => find_operator(method, route.path).map(|it| it.0),
            };
            assert!(std::ptr::eq(found.unwrap(), route), "{} {method}", route.path);
        }
    }
}

#[test]
fn every_file_of_a_folder_is_found_and_no_other() {
    let folders = ROUTES.iter().filter(|route| route.folder_path().is_some());
    let mut count = 0;
    for route in folders {
        for file in route.files() {
            let (found, _) = find_api(&Method::GET, &file, |_| true).ok().unwrap();
            assert!(std::ptr::eq(found, route), "{file}");
            count += 1;
        }
        for name in ["", "no-such-file.js", "%2e%2e/base.css", "../base.css"] {
            let path = route.path.replace("{file}", name);
            let found = find_api(&Method::GET, &path, |_| true);
            assert!(!found.is_ok_and(|it| std::ptr::eq(it.0, route)), "{path}");
        }
    }
    assert!(count > 10, "{count}");
}

/// The size of the future that the function returns.
fn size<T, F: Future>(_: impl Fn(T) -> F) -> usize {
    size_of::<F>()
}

#[test]
fn the_state_of_a_request_in_flight_is_within_its_bounds() {
    let of_answer = size(|(http, request): (Arc<Http>, Request<Incoming>)| {
        http.answer(request, SocketAddr::from(([127, 0, 0, 1], 0)), None)
    });
    assert!(of_answer <= ANSWER_BYTES_MAX, "{of_answer}");
    let mut operations = 0;
    for route in ROUTES {
        if let Handler::Operation(operation) = &route.handler {
            let of_operation = (operation.future_bytes)();
            let name = route.name;
            assert!(of_operation + of_answer <= OPERATION_BYTES_MAX, "{name}: {of_operation}");
            operations += 1;
        }
    }
    assert!(operations > 30);
}

#[test]
fn every_status_and_every_route_has_a_counter_that_is_found() {
    assert!(STATUSES.is_sorted());
    let requests = Requests::default();
    for route in ROUTES {
        for status in STATUSES {
            requests.count(route.name, status, Duration::from_millis(1));
        }
    }
    requests.count(NO_ROUTE, 404, Duration::ZERO);
    requests.count("no such name", 200, Duration::ZERO);
    let expected = u64::try_from(ROUTES.len() * STATUSES.len() + 1).unwrap();
    assert_eq!(requests.counted(200..=599), [expected; 2]);
}

#[test]
fn the_refusal_of_every_operation_names_the_permissions_that_it_needs() {
    use crate::domain::permission::lacking;
    for route in ROUTES {
        if let Handler::Operation(operation) = &route.handler {
            let text = lacking(operation.permissions);
            for permission in operation.permissions {
                let name = permission.as_str();
                assert!(text.contains(name), "{}: {name}: {text}", route.name);
            }
        }
    }
}
