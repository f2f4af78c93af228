//! The pages that browsers load during an authentication by 3-D Secure.

use crate::http::openapi::description::Description;
use crate::http::openapi::schema::Schema;
use crate::http::openapi::tags::Tag;

pub(super) fn operations() -> Vec<Description> {
    let page = |name, summary| {
        Description::new(name, Tag::Threeds, summary).answers_as(
            200,
            "A page.",
            "text/html",
            Schema::text(),
        )
    };
    let session = || Schema::uuid().about("The id of a 3DS session.");
    let form = |name| Schema::object().has(name, Schema::text());
    let data = || form("threeDSMethodData");
    vec![
        page("MethodPage", "The frame for the fingerprinting of an ACS")
            .about("The published browser SDK opens it."),
        page("ChallengePage", "The frame for the challenge of an ACS")
            .about("The published browser SDK opens it."),
        page("MethodNotification", "An ACS has finished its fingerprinting")
            .about("The browser of the cardholder posts it.")
            .path("id", session())
            .query("mode", Schema::text().about("`redirect` for a page in a window of its own."))
            .takes(data()),
        page("ChallengeNotification", "An ACS has finished its challenge")
            .about("The browser of the cardholder posts it.")
            .path("id", session())
            .takes(
                Schema::object()
                    .may_have("cres", Schema::text())
                    .may_have("threeDSSessionData", Schema::text()),
            ),
        page("SimulatedMethod", "The fingerprinting of the built-in ACS")
            .takes(data())
            .fails(404, "The form names another server or no session."),
        page("SimulatedChallenge", "The challenge of the built-in ACS")
            .takes(
                form("creq")
                    .may_have("action", Schema::text().about("`approve` or `cancel`."))
                    .may_have("code", Schema::text())
                    .may_have("threeDSSessionData", Schema::text()),
            )
            .fails(404, "There is no such session."),
    ]
}
