//! The pages that browsers load during an authentication by 3-D Secure.

use crate::http::Schema;
use crate::http::openapi::{Description, Tag};

const METHOD_DONE: &str = concat!(
    r#"{"threeDSMethodData":""#,
    "eyJ0aHJlZURTU2VydmVyVHJhbnNJRCI6IjAxYTFkZDNlLTljODAtNGYzMi04ZDVlLTZmN2E4YjljMGQx",
    "ZSJ9",
    r#""}"#,
);
const METHOD: &str = concat!(
    r#"{"threeDSMethodData":""#,
    "eyJ0aHJlZURTU2VydmVyVHJhbnNJRCI6IjAxYTFkZDNlLTljODAtNGYzMi04ZDVlLTZmN2E4YjljMGQx",
    "ZSIsInRocmVlRFNNZXRob2ROb3RpZmljYXRpb25VUkwiOiJodHRwczovLzEyNy4wLjAuMTo4NDQzLzNk",
    "cy9zZXNzaW9ucy8wMWExZGQzZS05YzgwLTRmMzItOGQ1ZS02ZjdhOGI5YzBkMWUvbWV0aG9kLW5vdGlm",
    "aWNhdGlvbiJ9",
    r#""}"#,
);
const CHALLENGE: &str = concat!(
    r#"{"creq":""#,
    "eyJ0aHJlZURTU2VydmVyVHJhbnNJRCI6IjAxYTFkZDNlLTljODAtNGYzMi04ZDVlLTZmN2E4YjljMGQx",
    "ZSIsImFjc1RyYW5zSUQiOiI1M2YyZDAwOC1mNjU3LTRlMTUtODM4YS03MWIxMGZlZDVjOTUiLCJjaGFs",
    "bGVuZ2VXaW5kb3dTaXplIjoiMDUiLCJtZXNzYWdlVHlwZSI6IkNSZXEiLCJtZXNzYWdlVmVyc2lvbiI6",
    "IjIuMi4wIn0",
    r#""}"#,
);
const CHALLENGE_DONE: &str = concat!(
    r#"{"cres":""#,
    "eyJ0aHJlZURTU2VydmVyVHJhbnNJRCI6IjAxYTFkZDNlLTljODAtNGYzMi04ZDVlLTZmN2E4YjljMGQx",
    "ZSIsImFjc1RyYW5zSUQiOiI1M2YyZDAwOC1mNjU3LTRlMTUtODM4YS03MWIxMGZlZDVjOTUiLCJtZXNz",
    "YWdlVHlwZSI6IkNSZXMiLCJtZXNzYWdlVmVyc2lvbiI6IjIuMi4wIiwidHJhbnNTdGF0dXMiOiJZIn0",
    r#""}"#,
);

pub(super) fn operations() -> Vec<Description> {
    let page = |name, summary| {
        Description::new(name, Tag::Threeds, summary).answers_as(
            200,
            "A page.",
            "text/html",
            Schema::text(),
        )
    };
    let form = |name| Schema::object().has(name, Schema::text());
    let data = || form("threeDSMethodData");
    vec![
        page("MethodPage", "The frame for the fingerprinting of an ACS")
            .about("The published browser SDK opens it."),
        page("ChallengePage", "The frame for the challenge of an ACS")
            .about("The published browser SDK opens it."),
        page("MethodNotification", "An ACS has finished its fingerprinting")
            .about("The browser of the cardholder posts it.")
            .query("mode", Schema::text().about("`redirect` for a page in a window of its own."))
            .takes(data())
            .sends("done", "The id of the session, in base64", METHOD_DONE),
        page("ChallengeNotification", "An ACS has finished its challenge")
            .about("The browser of the cardholder posts it.")
            .takes(
                Schema::object()
                    .may_have("cres", Schema::text())
                    .may_have("threeDSSessionData", Schema::text()),
            )
            .sends("done", "The result of a challenge, in base64", CHALLENGE_DONE),
        page("SimulatedMethod", "The fingerprinting of the built-in ACS")
            .takes(data())
            .sends("start", "The session and the way back, in base64", METHOD)
            .fails(404, "The form names another server or no session."),
        page("SimulatedChallenge", "The challenge of the built-in ACS")
            .takes(
                form("creq")
                    .may_have("action", Schema::text().about("`approve` or `cancel`."))
                    .may_have("code", Schema::text())
                    .may_have("threeDSSessionData", Schema::text()),
            )
            .sends("start", "The request for a challenge, in base64", CHALLENGE)
            .fails(404, "There is no such session."),
    ]
}
