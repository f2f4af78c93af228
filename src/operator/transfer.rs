//! Operator's commands that move a tenant: export and import.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::app::{
    ApplicationRow, Error, ExportFailure, ExportItem, ExportTarget, ImportMode, ImportPage,
    ImportRow, ImportSummary, RowDraft, Transfer, Vault,
};
use crate::bounds::{IMPORT_PAGE_ROWS_MAX, KEYS_PER_APPLICATION_MAX};
use crate::domain::container::Container;
use crate::domain::mistakes::Mistakes;
use crate::domain::outside_json;
use crate::domain::token::Token;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::json::Object;
use crate::http::wire::named::Detail;
use crate::http::wire::webhook::WebhookAnswer;
use crate::http::wire::{application, named, tenant, token};
use crate::operator::Answer;
use crate::operator::access::{application_id, tenant_id, text};
use crate::secret::Secret;

const VERSION: u32 = 1;

/// A page of an import. All digests are hexadecimal.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "members of a line of JSON")]
pub struct ImportRows {
    pub tenant: String,
    /// The digest of the first rows and the options, which identifies the import.
    pub import: String,
    pub first: u64,
    pub before: String,
    pub after: String,
    pub is_last: bool,
    /// The JSON of each row: the body of `POST /tokens`, or a line of an export. An empty text is a
    /// row that the client could not read.
    pub rows: Vec<String>,
    pub check: bool,
    pub ahead: u64,
    pub skip_bad: bool,
    /// Imports applications and their keys too.
    pub applications: bool,
    pub application: Option<String>,
}

pub(super) async fn export(
    vault: &Vault,
    tenant: &str,
    recipients: &[String],
    path: PathBuf,
) -> Result<Vec<u8>, ExportFailure> {
    let (tenant, recipients) = (tenant_id(tenant)?, recipients.to_vec());
    let target = ExportTarget { tenant, path, recipients };
    let done = Transfer::of(vault).export(&target, render).await?;
    Ok(text(&json!({
        "applications": done.applications,
        "proxies": done.proxies,
        "reactors": done.reactors,
        "tokens": done.tokens,
        "webhooks": done.webhooks,
        "damaged": done.damaged,
    })))
}

pub(super) async fn begin(vault: &Vault, tenant: &str, import: &str, again: bool) -> Answer {
    let state = Transfer::of(vault).begin(tenant_id(tenant)?, import, again).await?;
    Ok(text(&summary(state)))
}

pub(super) fn compare(
    vault: &Vault,
    tenant: &str,
    import: &str,
    rows: u64,
    digest: &str,
) -> Answer {
    let is_same = Transfer::of(vault).was_of(tenant_id(tenant)?, import, rows, digest)?;
    Ok(text(&json!({"same": is_same})))
}

pub(super) async fn import(vault: &Vault, it: ImportRows) -> Answer {
    if it.rows.len() > IMPORT_PAGE_ROWS_MAX {
        return Err(Error::invalid("rows", format!("At most {IMPORT_PAGE_ROWS_MAX} at once.")));
    }
    let application = it.application.as_deref().map(application_id).transpose()?;
    let page = ImportPage {
        tenant: tenant_id(&it.tenant)?,
        import: it.import,
        first: it.first,
        before: it.before,
        after: it.after,
        is_last: it.is_last,
        rows: it.rows.into_iter().map(Secret::new).collect(),
        mode: if it.check { ImportMode::Check } else { ImportMode::Write },
        ahead: it.ahead,
        skips_bad: it.skip_bad,
        application,
        parse: if it.applications { parse_row } else { parse_token_row },
    };
    let done = Transfer::of(vault).import(&page).await?;
    let bad: Vec<_> = done
        .bad
        .iter()
        .map(|bad| json!({"row": bad.row, "mistakes": bad.mistakes.by_path()}))
        .collect();
    Ok(text(&json!({
        "created": done.created,
        "duplicates": done.duplicates,
        "applications": done.applications,
        "keys": done.keys,
        "bad": bad,
        "written": done.is_written,
        "state": summary(done.state),
    })))
}

fn summary(state: ImportSummary) -> Value {
    json!({
        "rows": state.rows,
        "created": state.created,
        "duplicates": state.duplicates,
        "bad": state.bad,
        "finished": state.is_finished,
    })
}

/// Skips applications: the file would set rights and keys, so the operator must request them
/// explicitly.
fn parse_token_row(text: &str) -> ImportRow {
    match parse_row(text) {
        ImportRow::Application(_) => ImportRow::Skipped,
        row @ (ImportRow::Bad(_)
        | ImportRow::Skipped
        | ImportRow::Token(_)
        | ImportRow::Unreadable) => row,
    }
}

fn parse_row(text: &str) -> ImportRow {
    if text.is_empty() {
        return ImportRow::Unreadable;
    }
    let Some(row) = outside_json::parse(text.as_bytes()) else {
        return ImportRow::Bad(Mistakes::one("$", "This is not JSON, or has a reserved name."));
    };
    let body = row.expose();
    let member = |name: &str| body.get(name).and_then(Value::as_str);
    match body.get("kind").map(|kind| kind.as_str().unwrap_or_default()) {
        None | Some("token") => {
            let (draft, created_at) = (token::parse_draft(body), member("created_at"));
            let created_at = created_at.map(String::from);
            ImportRow::Token(Box::new(RowDraft { draft, created_at }))
        }
        Some("application") => {
            let texts = body.get("keys").and_then(Value::as_array).into_iter().flatten();
            // In a line of an export these are the ids of the keys; no vault stores the texts.
            let texts = texts.filter_map(Value::as_str);
            let keys = texts.take(KEYS_PER_APPLICATION_MAX.saturating_add(1));
            ImportRow::Application(Box::new(ApplicationRow {
                id: member("id").map(String::from),
                draft: application::parse_draft(body),
                keys: keys.map(|text| Secret::new(String::from(text))).collect(),
            }))
        }
        Some("header" | "tenant" | "proxy" | "reactor" | "webhook" | "end") => ImportRow::Skipped,
        Some(_) => {
            ImportRow::Bad(Mistakes::one("kind", "A row is a token, or a line of an export."))
        }
    }
}

fn render(item: &ExportItem<'_>) -> Secret<Vec<u8>> {
    match *item {
        ExportItem::Application(it, keys) => of_kind("application", &application::render(it, keys)),
        ExportItem::End(it) => {
            let mut object = Object::new();
            object.text("kind", "end");
            object.number("applications", it.applications);
            object.number("proxies", it.proxies);
            object.number("reactors", it.reactors);
            object.number("tokens", it.tokens);
            object.number("webhooks", it.webhooks);
            object.number("damaged", it.damaged);
            object.close()
        }
        ExportItem::Header(at) => {
            let mut object = Object::new();
            object.text("kind", "header");
            object.text("format", "strongroom export");
            object.number("version", VERSION);
            object.time("at", at);
            object.close()
        }
        ExportItem::Proxy(it) => of_kind("proxy", &named::render(it, Detail::All)),
        ExportItem::Reactor(it) => of_kind("reactor", &named::render(it, Detail::All)),
        ExportItem::Tenant(it) => of_kind("tenant", &tenant::render_for_operator(it)),
        ExportItem::Token(it) => render_token(it),
        ExportItem::Webhook(it) => of_kind("webhook", &WebhookAnswer::render(it)),
    }
}

/// Adds a kind in front of the members of an object.
fn of_kind(kind: &str, object: &Secret<Vec<u8>>) -> Secret<Vec<u8>> {
    let members = object.expose().strip_prefix(b"{").unwrap_or_default();
    Secret::new([b"{\"kind\":\"", kind.as_bytes(), b"\",", members].concat())
}

/// A body of `POST /tokens` that makes the same token. Defaults of its type are left out, so that
/// the new token has the defaults too.
fn render_token(token: &Token) -> Secret<Vec<u8>> {
    let mut object = Object::with_capacity(token.bytes().saturating_add(512));
    object.text("kind", "token");
    object.text("id", &token.public_id());
    object.text("type", token.kind.as_str());
    object.json("data", token.data.json());
    if let Some(mask) = &token.mask {
        object.json("mask", mask);
    }
    object.texts("containers", token.containers.iter().map(Container::as_str));
    object.object("metadata", |metadata| {
        for (key, value) in token.metadata.iter() {
            metadata.text(key, value);
        }
    });
    if let Some(indexes) = &token.search_indexes {
        object.texts("search_indexes", indexes.iter().map(String::as_str));
    }
    object.optional_text("fingerprint_expression", token.fingerprint_expression.as_deref());
    object.optional_time("expires_at", token.expires_at);
    object.time("created_at", token.created_at);
    object.display("created_by", token.created_by);
    object.close()
}
