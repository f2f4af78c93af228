//! A Postman collection, made from the OpenAPI document: a folder for each tag, a request for each
//! operation. Users set only the variables `baseUrl` and `apiKey`.

use serde_json::{Map, Value, json};

use crate::http::openapi::document::members;

const SCHEMA: &str = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json";

pub(super) fn collection(document: &Value) -> Value {
    let info = document.get("info");
    let of_info = |name: &str| info.and_then(|info| info.get(name)).cloned().unwrap_or_default();
    json!({
        "info": {
            "name": of_info("title"),
            "version": of_info("version"),
            "description": of_info("description"),
            "schema": SCHEMA,
        },
        "auth": {
            "type": "apikey",
            "apikey": [
                {"key": "key", "value": "BT-API-KEY", "type": "string"},
                {"key": "value", "value": "{{apiKey}}", "type": "string"},
                {"key": "in", "value": "header", "type": "string"},
            ],
        },
        "variable": [
            {"key": "baseUrl", "value": "https://127.0.0.1:8443"},
            {"key": "apiKey", "value": ""},
        ],
        "item": folders(document),
    })
}

fn folders(document: &Value) -> Vec<Value> {
    let tags = document.get("tags").and_then(Value::as_array).into_iter().flatten();
    let folder = |tag: &Value| {
        let name = tag.get("name")?;
        let is_of_tag = |operation: &Value| operation.pointer("/tags/0") == Some(name);
        let mut items = Vec::new();
        for (path, item) in members(document.get("paths")) {
            for (method, operation) in members(Some(item)).filter(|(_, it)| is_of_tag(it)) {
                items.push(Request { document, path, method, operation }.item());
            }
        }
        (!items.is_empty()).then(|| json!({"name": name, "item": items}))
    };
    tags.filter_map(folder).collect()
}

struct Request<'a> {
    document: &'a Value,
    path: &'a str,
    method: &'a str,
    operation: &'a Value,
}

impl Request<'_> {
    fn item(&self) -> Value {
        let text = |name: &str| self.operation.get(name).cloned().unwrap_or_default();
        let mut request = Map::new();
        let mut set = |name: &str, value: Value| request.insert(String::from(name), value);
        set("method", Value::from(self.method.to_ascii_uppercase()));
        set("description", text("description"));
        let mut headers = self.parameters("header");
        if let Some((media_type, content)) = self.body() {
            headers.insert(0, json!({"key": "Content-Type", "value": media_type}));
            set("body", body(media_type, content));
        }
        set("header", Value::from(headers));
        set("url", self.url());
        if self.operation.get("security").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            set("auth", json!({"type": "noauth"}));
        }
        json!({"name": text("summary"), "request": request, "response": []})
    }

    fn url(&self) -> Value {
        // Postman writes `:name` for a parameter of the path.
        let path = self.path.replace('{', ":").replace('}', "");
        let segments: Vec<_> = path.split('/').skip(1).collect();
        let names: Vec<_> = segments.iter().filter_map(|it| it.strip_prefix(':')).collect();
        let variables: Vec<_> =
            names.iter().map(|name| json!({"key": name, "value": ""})).collect();
        json!({
            "raw": format!("{{{{baseUrl}}}}{path}"),
            "host": ["{{baseUrl}}"],
            "path": segments,
            "query": self.parameters("query"),
            "variable": variables,
        })
    }

    /// The parameters of the query or the headers. Optional ones are disabled.
    fn parameters(&self, place: &str) -> Vec<Value> {
        let all = self.operation.get("parameters").and_then(Value::as_array);
        let shown = |parameter: &Value| {
            let parameter = self.resolved(parameter);
            if parameter.get("in").and_then(Value::as_str) != Some(place) {
                return None;
            }
            let is_required = parameter.get("required").is_some();
            let example = parameter.pointer("/schema/examples/0").and_then(Value::as_str);
            Some(json!({
                "key": parameter.get("name"),
                "value": example.unwrap_or_default(),
                "description": parameter.get("description"),
                "disabled": !is_required,
            }))
        };
        all.into_iter().flatten().filter_map(shown).collect()
    }

    fn resolved<'b>(&'b self, value: &'b Value) -> &'b Value {
        let reference = value.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|it| it.strip_prefix('#'));
        target.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(value)
    }

    fn body(&self) -> Option<(&str, &Value)> {
        members(self.operation.pointer("/requestBody/content")).next()
    }
}

fn body(media_type: &str, content: &Value) -> Value {
    if media_type == "application/x-www-form-urlencoded" {
        let names = members(content.pointer("/schema/properties")).map(|(name, _)| name);
        let fields: Vec<_> =
            names.map(|name| json!({"key": name, "value": "", "type": "text"})).collect();
        return json!({"mode": "urlencoded", "urlencoded": fields});
    }
    let example = members(content.get("examples")).next();
    let value = example.and_then(|(_, example)| example.get("value"));
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => format!("{value:#}"),
        None => String::from("{}"),
    };
    json!({"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}})
}
