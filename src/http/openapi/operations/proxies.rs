//! Calls through proxies, and pre-configured proxies.

use crate::bounds::{
    CODE_CHARS_MAX, NAME_CHARS_MAX, PROXY_CERTIFICATE_BYTES_MAX, PROXY_CONFIGURATION_MAX,
    PROXY_CONFIGURATION_NAME_CHARS_MAX, PROXY_HEADER_NAME_CHARS_MAX, PROXY_IDENTIFIER_CHARS_MAX,
    PROXY_KEY_CHARS_MAX, PROXY_LOCATION_CHARS_MAX, PROXY_PATTERN_BYTES_MAX, PROXY_TRANSFORMS_MAX,
    PROXY_URL_CHARS_MAX,
};
use crate::domain::id::ProxyId;
use crate::http::Schema;
use crate::http::openapi::operations::shared::{authors, by_number, offset_page, offset_page_of};
use crate::http::openapi::{DESTINATION_STATUS, Description, LOCATION, Tag};
use crate::http::path::PathParameter as _;

const CALL: &str = r#"{"amount":1099,"currency":"eur",
    "card":{"number":"{{ 01a1dd38-4eda-4df5-855c-ecae962e987a | json: '$.number' }}"}}"#;
const CREATE: &str = r#"{"name":"Charge","destination_url":"https://psp.example/v1",
    "configuration":{"secret":"sk_test_1"},"request_transforms":[{"type":"append_header",
    "options":{"location":"Authorization","value":"Bearer {{ config: secret }}"}}],
    "response_transforms":[{"type":"mask","matcher":"regex","expression":"(\\d{12})\\d{4}",
    "replacement":"*"}]}"#;
const PROXY: &str = r#"{"id":"01a1dd3d-8b70-4e21-9c4d-5e6f7a8b9c0d",
    "tenant_id":"01a1dd38-4d57-49ac-a33c-12c26cc2569e","name":"Charge","state":"active",
    "key":"Xk3vTq9LmN2bRw7ZpYc5Hd","destination_url":"https://psp.example/v1",
    "require_auth":true,"disable_detokenization":false,
    "request_transforms":[{"type":"append_header","options":{"location":"Authorization",
    "value":"Bearer {{ config: secret }}"}}],"response_transforms":[{"type":"mask",
    "matcher":"regex","expression":"(\\d{12})\\d{4}","replacement":"*"}],
    "configuration":{"secret":"sk_test_1"},"created_by":"01a1dd38-4d59-4a3b-8c7d-1e2f3a4b5c6d",
    "created_at":"2026-01-31T09:30:00.1234560+00:00"}"#;

pub(super) fn operations() -> Vec<Description> {
    let mut all = vec![invoke()];
    all.extend(configured());
    all
}

fn invoke() -> Description {
    Description::new("InvokeProxy", Tag::Proxies, "Call a destination through a proxy")
        .about(
            "The path after `/proxy`, with all its segments, the query, the headers and \
             the body go to the destination, with values in place of expressions. An answer with \
             BT-PROXY-DESTINATION-STATUS is the destination's; any other is the vault's own. A \
             pre-configured proxy may need no key.",
        )
        .path(
            "path",
            Schema::text()
                .about("The path at the destination. It may have several segments.")
                .example("v1/charges"),
        )
        .header(
            "BT-PROXY-URL",
            Schema::text().about("The destination of this call.").example("https://psp.example"),
        )
        .header(
            "BT-PROXY-KEY",
            Schema::text()
                .about("The key of a pre-configured proxy. It wins over BT-PROXY-URL.")
                .chars(1, PROXY_KEY_CHARS_MAX),
        )
        .header(
            "BT-ENCRYPTED",
            Schema::text().about(
                "Values that are encrypted with a client encryption key, as base64 of JSON.",
            ),
        )
        .query(
            "bt-proxy-key",
            Schema::text().about("The same as the header BT-PROXY-KEY; it is not passed on."),
        )
        .takes(Schema::any().about("Any body. Texts, JSON and forms may hold expressions."))
        .sends("charge", "A charge in the format of a payment service provider", CALL)
        .answers_otherwise(
            "The answer of the destination: its status, its body and most of its headers.",
        )
        .with_header(DESTINATION_STATUS)
        .fails(400, "The call, its expressions or its destination are refused. Nothing was sent.")
        .fails(
            408,
            "The destination took longer than 25 seconds, or the body came too \
             slowly. It may have been sent.",
        )
        .fails(
            502,
            "The destination could not be reached, or gave no answer that can be \
             used. It may have been sent.",
        )
}

fn configured() -> Vec<Description> {
    let proxy = || Schema::reference("Proxy");
    let tag = Tag::PreconfiguredProxies;
    vec![
        Description::new("CreateProxy", tag, "Create a proxy")
            .takes(Schema::reference("ProxyRequest"))
            .sends(
                "charge",
                "A secret header for the destination, and a mask of its answers",
                CREATE,
            )
            .answers(201, "The proxy, with its key.", proxy())
            .with_header(LOCATION)
            .shows("charge", "A proxy", PROXY)
            .fails(409, "The tenant has as many proxies as it can."),
        by_number(Description::new("ListProxies", tag, "List proxies"))
            .query("id", Schema::list(ProxyId::schema()))
            .query("name", Schema::text().about("A part of the name; `*` stands for any text."))
            .answers(200, "A page of proxies.", offset_page(proxy()))
            .shows("charge", "A proxy", offset_page_of(PROXY)),
        Description::new("ReadProxy", tag, "Read a proxy")
            .about("The answer has the values of the configuration.")
            .answers(200, "The proxy.", proxy())
            .shows("charge", "A proxy", PROXY),
        Description::new("ReplaceProxy", tag, "Replace a proxy")
            .about("Replaces all settings; the key stays.")
            .takes(Schema::reference("ProxyRequest"))
            .sends(
                "plain",
                "A proxy without transforms",
                r#"{"name":"Charge","destination_url":"https://psp.example/v2"}"#,
            )
            .answers(200, "The proxy.", proxy())
            .shows("charge", "A proxy", PROXY),
        Description::new("PatchProxy", tag, "Change a proxy")
            .about("A merge patch: members that are absent stay as they are, `null` removes one.")
            .takes(Schema::reference("PatchProxyRequest"))
            .sends("secret", "Another secret", r#"{"configuration":{"secret":"sk_test_2"}}"#)
            .answers_nothing(204, "The proxy is changed."),
        Description::new("DeleteProxy", tag, "Delete a proxy")
            .answers_nothing(204, "The proxy is deleted."),
    ]
}

pub(super) fn schemas() -> Vec<(&'static str, Schema)> {
    vec![
        ("Proxy", proxy()),
        ("ProxyRequest", settings().has("name", name()).has("destination_url", url())),
        ("PatchProxyRequest", settings().takes("name", name()).takes("destination_url", url())),
        ("ProxyTransform", transform()),
    ]
}

fn name() -> Schema {
    Schema::text().chars(1, NAME_CHARS_MAX)
}

fn url() -> Schema {
    Schema::text()
        .about("`https://`, a host, and optionally a port, a path and a query.")
        .chars(1, PROXY_URL_CHARS_MAX)
        .pattern("^https://")
}

fn settings() -> Schema {
    let one = || Schema::reference("ProxyTransform");
    let list = || Schema::list(one()).up_to_items(PROXY_TRANSFORMS_MAX);
    let application = Schema::object()
        .about("A public or private application, which uses the tokens where callers need no key.")
        .has("id", Schema::uuid());
    Schema::object()
        .takes(
            "require_auth",
            Schema::flag().about("With `false` callers need only the proxy's key.").or_else(true),
        )
        .takes("application", application)
        .takes("configuration", configuration())
        .takes(
            "disable_detokenization",
            Schema::flag().about("Expressions of callers go on as text.").or_else(false),
        )
        .takes(
            "destroy_cvc_after_use",
            Schema::flag()
                .about("A successful call destroys the card verification codes that it used.")
                .or_else(false),
        )
        .takes("request_transform", one().about("The older spelling of a list of one."))
        .takes("request_transforms", list())
        .takes("response_transform", one().about("The older spelling of a list of one."))
        .takes("response_transforms", list())
        .takes(
            "client_certificate",
            Schema::text()
                .about("PEM of a certificate chain and its private key, for mutual TLS.")
                .chars(0, PROXY_CERTIFICATE_BYTES_MAX),
        )
}

fn configuration() -> Schema {
    Schema::map(Schema::text().or_null())
        .about("Texts for expressions such as `{{ config: name }}`.")
        .up_to_members(PROXY_CONFIGURATION_MAX)
        .names_up_to(PROXY_CONFIGURATION_NAME_CHARS_MAX)
}

fn proxy() -> Schema {
    let one = || Schema::reference("ProxyTransform");
    let members = Schema::object()
        .has("id", Schema::uuid())
        .has("tenant_id", Schema::uuid())
        .has("name", Schema::text())
        .has("state", Schema::word(["active"]))
        .may_have("key", Schema::text().about("It never changes."))
        .may_have("destination_url", Schema::text())
        .may_have("require_auth", Schema::flag())
        .may_have("disable_detokenization", Schema::flag())
        .may_have("destroy_cvc_after_use", Schema::flag())
        .may_have("request_transform", one())
        .may_have("request_transforms", Schema::list(one()))
        .may_have("response_transform", one())
        .may_have("response_transforms", Schema::list(one()))
        .may_have("application_id", Schema::uuid())
        .may_have("configuration", Schema::map(Schema::text()))
        .may_have("client_certificate", Schema::text().about("The chain, without its key."));
    authors(members)
        .about("A repeated answer lacks the key and the settings of a proxy that is deleted.")
        .closed()
}

/// Not an enumeration: a request may spell it in any case, and answers repeat its spelling.
const TRANSFORM_TYPES: &str = "`code`, `mask`, `tokenize`, `append_json`, `append_text` or \
    `append_header`, in any case of letters. Masks are for answers.";

/// One schema for all types, since a member that a type does not have is ignored.
fn transform() -> Schema {
    let options = Schema::object()
        .about(
            "The members of every type but mask. A transform of the type code may have `runtime`.",
        )
        .takes("runtime", Schema::reference("ProgramRuntime"))
        .takes(
            "identifier",
            Schema::text()
                .about("tokenize: the name of the token in later expressions.")
                .chars(0, PROXY_IDENTIFIER_CHARS_MAX),
        )
        .takes(
            "token",
            Schema::object()
                .about("tokenize: the body of a request for a token, with expressions."),
        )
        .takes(
            "location",
            Schema::text()
                .about(
                    "append_json: a path such as \
             `$.card.token`; append_header: the name of the header.",
                )
                .chars(0, PROXY_LOCATION_CHARS_MAX.max(PROXY_HEADER_NAME_CHARS_MAX)),
        )
        .takes(
            "value",
            Schema::any().about(
                "append_json: any JSON; append_text and \
             append_header: a text. Texts may hold expressions.",
            ),
        );
    Schema::object()
        .takes("type", Schema::text().about(TRANSFORM_TYPES))
        .takes(
            "code",
            Schema::text()
                .about(
                    "code: a CommonJS module whose export is a function. A list has at most one.",
                )
                .chars(0, CODE_CHARS_MAX),
        )
        .takes("matcher", Schema::text().about("mask: `regex` or `chase_stratus_pan`."))
        .takes(
            "expression",
            Schema::text()
                .about("mask: a regular expression whose groups are replaced.")
                .chars(0, PROXY_PATTERN_BYTES_MAX),
        )
        .takes("replacement", Schema::text().about("mask: one character."))
        .takes("options", options)
}
