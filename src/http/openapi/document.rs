//! The OpenAPI document: the routing table, joined with the descriptions of its rows.

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::domain::application::ApplicationKind;
use crate::domain::page_group::PageGroup;
use crate::domain::permission::Permission;
use crate::http::front::folder::VERSION;
use crate::http::front::{Asset, fields};
use crate::http::openapi::description::{Answer, Content, Need, Parameter, ParameterLocation};
use crate::http::openapi::{Description, Tag, errors, headers, operations, rates};
use crate::http::route::{
    Access, BodyKind, Handler, Idempotency, OperationRoute, PROXY_PATH, Presence, Route,
};
use crate::http::{Schema, absent};

const ABOUT: &str = "A vault for card and personal data. Programs send it sensitive values over \
    HTTPS and store the tokens that they get in return. A path with `GET` and no key answers \
    `HEAD` too, without a body. Times in answers are UTC.";

/// The document for the rows of the API listener.
pub(super) fn document(routes: &[Route]) -> Value {
    let paths = paths(routes);
    let tag = |tag: &Tag| {
        let table = if *tag == Tag::Interface { table(&paths) } else { String::new() };
        // Only the program knows the hash of the script that it serves.
        let text = tag.text().replace(fields::INTEGRITY, &fields::integrity());
        let text = format!("{text}{table}");
        json!({"name": tag.name(), "description": text, "x-group": tag.group()})
    };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Strongroom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": Tag::ALL.iter().map(tag).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey", "in": "header", "name": "BT-API-KEY",
                    "description": "The key of an application, or of a session.",
                },
            },
            "parameters": headers::parameters(),
            "headers": headers::components(),
            "responses": errors::components(),
            "schemas": schemas(),
        },
        "x-rate-limit-rows": rates::table(),
        "x-errors": errors::table(),
        "x-absent-features": absent::table(),
    })
}

/// The operations that need a key, as a table at the end of their chapter.
fn table(paths: &Value) -> String {
    let rows = members(Some(paths)).flat_map(|(path, item)| {
        members(Some(item)).filter_map(move |(method, it)| table_row(path, method, it))
    });
    let head = "\n| operation | permission | success |\n|---|---|---|\n";
    std::iter::once(String::from(head)).chain(rows).collect()
}

fn table_row(path: &str, method: &str, operation: &Value) -> Option<String> {
    let permissions = operation.get("x-permissions")?.as_array()?.iter().filter_map(Value::as_str);
    let permissions: Vec<_> = permissions.map(|it| format!("`{it}`")).collect();
    let needed =
        if permissions.is_empty() { String::from("any key") } else { permissions.join(" or ") };
    let statuses = members(operation.get("responses")).map(|(status, _)| status);
    let successes = statuses.filter(|status| !status.starts_with(['4', '5']));
    let success = match successes.collect::<Vec<_>>().as_slice() {
        [] => String::from("none"),
        ["default"] => String::from("the destination's"),
        all => all.join(" or "),
    };
    let old = if operation.get("deprecated").is_some() { ", deprecated" } else { "" };
    let method = method.to_ascii_uppercase();
    Some(format!("| `{method} {path}` | {needed} | {success}{old} |\n"))
}

pub(super) fn members(value: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    members.map(|(name, member)| (name.as_str(), member))
}

fn schemas() -> Value {
    let all = operations::schemas().into_iter().chain(errors::schemas());
    Value::Object(all.map(|(name, schema)| (String::from(name), schema.into_value())).collect())
}

/// True for a route that the document contains. The other listeners have no clients that read the
/// document, and browsers send preflights by themselves.
pub(super) const fn is_described(route: &Route) -> bool {
    match route.handler {
        Handler::Asset(_)
        | Handler::Folder(_)
        | Handler::Operation(_)
        | Handler::Page(_)
        | Handler::Probe(_)
        | Handler::Proxy => true,
        Handler::Operator(_) | Handler::Preflight | Handler::Results(_) => false,
    }
}

fn paths(routes: &[Route]) -> Value {
    let descriptions = operations::all();
    let mut paths = Map::new();
    for (at, route) in routes.iter().enumerate().filter(|(_, route)| is_described(route)) {
        let earlier = routes.iter().take(at).filter(|it| is_described(it) && it.name == route.name);
        let earlier = earlier.count();
        let described = descriptions.iter().find(|it| it.route == route.name);
        let is_proxy = matches!(route.handler, Handler::Proxy);
        let places: &[&str] = if is_proxy { &[PROXY_PATH, "/proxy/{path}"] } else { &[route.path] };
        for (place, path) in places.iter().enumerate() {
            let item = paths.entry(*path).or_insert_with(|| Value::Object(Map::new()));
            let Some(item) = item.as_object_mut() else { continue };
            // The first method gives the operation its plain name.
            let methods = route.methods.iter().filter(|method| **method != Method::HEAD);
            for (number, method) in methods.enumerate() {
                let row = Row { route, path, method };
                let id = operation_id(route.name, earlier + place, method, number);
                let value = match (&route.handler, described) {
                    (Handler::Asset(asset), _) => row.operation(&id, &file(route, &[asset])),
                    (Handler::Folder(folder), _) => {
                        let assets: Vec<_> = folder.0.iter().map(|(_, asset)| asset).collect();
                        row.operation(&id, &file(route, &assets))
                    }
                    (_, Some(described)) => row.operation(&id, described),
                    (_, None) => continue,
                };
                item.insert(method.as_str().to_ascii_lowercase(), value);
            }
        }
    }
    Value::Object(paths)
}

/// The row's name, made unique if it has several paths or methods: `ListFormulas2Post`.
fn operation_id(name: &str, earlier: usize, method: &Method, number: usize) -> String {
    let mut id = String::from(name);
    if earlier > 0 {
        id.push_str(&earlier.saturating_add(1).to_string());
    }
    if number > 0 {
        let text = method.as_str();
        let (first, rest) = text.split_at_checked(1).unwrap_or((text, ""));
        id.push_str(first);
        id.push_str(&rest.to_ascii_lowercase());
    }
    id
}

/// The description of files, derived from their path and their kinds.
fn file(route: &Route, assets: &[&Asset]) -> Description {
    let mut description = Description::new(route.name, tag_of_file(route.presence), route.path)
        .about("A file of the pages for people.")
        .header("If-None-Match", Schema::text());
    if route.path.contains("{file}") {
        let name = Schema::text().about("The name of the file.");
        description = description.path("file", name).fails(404, "There is no such file.");
    }
    if route.path.contains(VERSION) {
        let version =
            Schema::text().about("The version of a package, 1.x.y or 2.x.y, or `latest`. For others the file says that the vault does not serve them.");
        description = description.path("version", version);
    }
    // Files of a folder are scripts and styles, and pictures in some.
    let media_type = match assets {
        [asset] => asset.media_type_text().split(';').next().unwrap_or_default(),
        _ if assets.iter().all(|it| it.media_type_text().starts_with("text/")) => "text/*",
        _ => "*/*",
    };
    let is_json = assets.iter().all(|asset| asset.is_json());
    let schema = if is_json { Schema::object() } else { Schema::text() };
    description
        .answers_as(200, "The file.", media_type, schema)
        .with_header(headers::ETAG)
        .answers_nothing(304, "The client's copy is current.")
        .with_header(headers::ETAG)
}

/// A file that several groups share has a general tag.
const fn tag_of_file(presence: Presence) -> Tag {
    match presence {
        Presence::With([PageGroup::Console]) => Tag::Console,
        Presence::With([PageGroup::Elements]) => Tag::Elements,
        Presence::With(
            [PageGroup::Examples | PageGroup::Fields] | [PageGroup::Fields, PageGroup::Elements],
        ) => Tag::Fields,
        Presence::All | Presence::With(_) | Presence::WithTestTenant => Tag::Health,
    }
}

/// A row of the routing table with one of its paths and methods.
struct Row<'a> {
    route: &'a Route,
    path: &'a str,
    method: &'a Method,
}

impl Row<'_> {
    fn operation(&self, id: &str, described: &Description) -> Value {
        let mut operation = Map::new();
        let mut set = |name: &str, value: Value| operation.insert(String::from(name), value);
        set("operationId", Value::from(id));
        set("tags", json!([described.tag.name()]));
        set("summary", Value::from(described.summary));
        let about = self.about(described);
        if !about.is_empty() {
            set("description", Value::from(about));
        }
        let parameters = self.parameters(described);
        if !parameters.is_empty() {
            set("parameters", Value::from(parameters));
        }
        if let Some(body) = self.request_body(described) {
            set("requestBody", body);
        }
        set("responses", self.responses(described));
        set("security", self.security(described));
        if let (Access::Key(permissions), true) = (self.route.access(), described.takes_key) {
            let names = permissions.iter().map(|it| it.as_str()).collect::<Vec<_>>();
            set("x-permissions", Value::from(names));
            let kind = described.key.unwrap_or_else(|| key_kind(permissions));
            set("x-key", Value::from(kind.as_str()));
        }
        if let Handler::Operation(operation) = &self.route.handler {
            set("x-idempotent", Value::from(operation.idempotency == Idempotency::Once));
            if let Some(successor) = operation.successor {
                set("deprecated", Value::from(true));
                set("x-successor", Value::from(successor.path));
            }
        }
        set("x-rate-limits", Value::from(rates::of_route(self.route)));
        if let Presence::With(groups) = self.route.presence {
            let names: Vec<_> = groups.iter().map(|group| group_name(*group)).collect();
            match names.as_slice() {
                [name] => set("x-page-group", Value::from(*name)),
                names => set("x-page-group", Value::from(names)),
            };
        }
        Value::Object(operation)
    }

    fn about(&self, described: &Description) -> String {
        let mut text = String::from(described.about);
        let mut add = |sentence: &str| {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(sentence);
        };
        if self.route.presence == Presence::WithTestTenant {
            add("Only servers with a test tenant have this path.");
        }
        if let Handler::Operation(operation) = &self.route.handler
            && let Some(successor) = operation.successor
        {
            add("Deprecated: use");
            add(&format!("`{} {}`.", self.method, successor.path));
        }
        text
    }

    fn parameters(&self, described: &Description) -> Vec<Value> {
        let is_here = |it: &&Parameter| {
            it.place != ParameterLocation::Path || self.path.contains(&format!("{{{}}}", it.name))
        };
        let of_path = self.route.parameters.iter().map(|(name, schema)| Parameter {
            place: ParameterLocation::Path,
            name,
            schema: schema(),
            need: Need::Required,
        });
        let mut parameters: Vec<_> = of_path.map(|it| parameter(&it)).collect();
        parameters.extend(described.parameters.iter().filter(is_here).map(parameter));
        if matches!(self.route.access(), Access::Key(_)) {
            parameters.push(headers::parameter("TraceId"));
        }
        if let Handler::Operation(operation) = &self.route.handler
            && operation.idempotency == Idempotency::Once
        {
            parameters.push(headers::parameter("IdempotencyKey"));
        }
        parameters
    }

    fn request_body(&self, described: &Description) -> Option<Value> {
        let request = described.request.as_ref()?;
        let media_type = match self.route.body {
            BodyKind::Form => "application/x-www-form-urlencoded",
            // Most calls through proxies have JSON bodies. All other types are added below.
            BodyKind::Arguments | BodyKind::Json | BodyKind::Message | BodyKind::Raw => {
                "application/json"
            }
            BodyKind::MergePatch => "application/merge-patch+json",
            BodyKind::Nothing => return None,
        };
        if [Method::GET, Method::DELETE].contains(self.method) {
            return None;
        }
        let is_raw = self.route.body == BodyKind::Raw;
        let mut contents = json!({media_type: content(request)});
        if let (true, Some(contents)) = (is_raw, contents.as_object_mut()) {
            contents.insert(String::from("*/*"), json!({"schema": {}}));
        }
        Some(json!({"required": !is_raw, "content": contents}))
    }

    fn responses(&self, described: &Description) -> Value {
        let mut responses = Map::new();
        for answer in &described.answers {
            let status = answer.status.map_or(String::from("default"), |it| it.to_string());
            responses.insert(status, self.response(answer));
        }
        let mut statuses = errors::statuses(self.route);
        statuses.extend(described.errors.iter().map(|(status, _)| *status));
        statuses.sort_unstable();
        statuses.dedup();
        for status in statuses {
            let own: Vec<_> = described.errors.iter().filter(|it| it.0 == status).collect();
            let texts: Vec<_> = own.iter().map(|(_, text)| *text).collect();
            let mut about = Some(texts.join(" ")).filter(|text| !text.is_empty());
            if let (
                409,
                Some(about),
                Handler::Operation(OperationRoute { idempotency: Idempotency::Once, .. }),
            ) = (status, &mut about, &self.route.handler)
            {
                about.truncate(about.trim_end_matches('.').len());
                about.push_str(", or a request with the same idempotency key is under way.");
            }
            let reference = errors::reference(self.route, status, about.as_deref());
            responses.entry(status.to_string()).or_insert(reference);
        }
        Value::Object(responses)
    }

    fn response(&self, answer: &Answer) -> Value {
        let mut names = vec![headers::TRACE];
        names.extend(&answer.headers);
        if let Handler::Operation(operation) = &self.route.handler {
            if operation.idempotency == Idempotency::Once {
                names.push(headers::REPLAYED);
            }
            if operation.successor.is_some() {
                names.extend(headers::DEPRECATION);
            }
        }
        let mut response =
            json!({"description": answer.about, "headers": headers::references(names)});
        if let (Some(body), Some(members)) = (&answer.content, response.as_object_mut()) {
            members.insert(String::from("content"), json!({body.media_type: content(body)}));
        }
        response
    }

    fn security(&self, described: &Description) -> Value {
        match self.route.access() {
            Access::Key(_) if !described.takes_key => json!([]),
            // A proxy may be configured to need no key.
            Access::Key(_) if matches!(self.route.handler, Handler::Proxy) => {
                json!([{"apiKey": []}, {}])
            }
            Access::Key(_) => json!([{"apiKey": []}]),
            Access::Anyone | Access::MutualTls | Access::OperatorListener => json!([]),
        }
    }
}

/// The kind of key that examples have: a management key where it is enough.
fn key_kind(permissions: &[Permission]) -> ApplicationKind {
    let is_managed = |it: &Permission| it.may_be_held_by(ApplicationKind::Management);
    if permissions.first().is_some_and(is_managed) {
        ApplicationKind::Management
    } else {
        ApplicationKind::Private
    }
}

fn parameter(parameter: &Parameter) -> Value {
    let mut schema = parameter.schema.clone().into_value();
    // OpenAPI puts a parameter's description beside its schema.
    let about = schema.as_object_mut().and_then(|members| members.shift_remove("description"));
    let mut value = json!({"name": parameter.name, "in": parameter.place.as_str()});
    if let Some(members) = value.as_object_mut() {
        if parameter.need == Need::Required {
            members.insert(String::from("required"), Value::from(true));
        }
        if let Some(about) = about {
            members.insert(String::from("description"), about);
        }
        members.insert(String::from("schema"), schema);
    }
    value
}

fn content(content: &Content) -> Value {
    let mut examples = Map::new();
    for example in &content.examples {
        let text = || Value::from(&*example.text);
        // A test checks that the examples of JSON are JSON.
        let value = if content.media_type.contains("json") {
            serde_json::from_str(&example.text).unwrap_or_else(|_| text())
        } else {
            text()
        };
        let shown = json!({"summary": example.summary, "value": value});
        examples.insert(String::from(example.name), shown);
    }
    let schema = content.schema.clone().into_value();
    if examples.is_empty() {
        json!({"schema": schema})
    } else {
        json!({"schema": schema, "examples": examples})
    }
}

const fn group_name(group: PageGroup) -> &'static str {
    match group {
        PageGroup::Console => "console",
        PageGroup::Elements => "elements",
        PageGroup::Examples => "examples",
        PageGroup::Fields => "fields",
        PageGroup::Reference => "reference",
    }
}
