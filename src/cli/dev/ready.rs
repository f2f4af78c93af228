//! The lines that `strongroom dev` prints when it is ready.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::json;

use crate::cli::dev::DevTenant;
use crate::cli::serve::run::ListenAddresses;

pub(super) fn json_line(ready: &ListenAddresses, ca: &Path, tenant: &DevTenant) -> String {
    // Formatted by hand to keep the order of the members, for people who read it.
    let quoted = |text: &str| json!(text).to_string();
    let results = ready.results.map(|address| quoted(&format!("https://{address}")));
    let results = results.map(|url| format!(r#","results":{url}"#)).unwrap_or_default();
    format!(
        r#"{{"ready":true,"url":{}{results},"ca":{},"tenant_id":{},"keys":{{"private":{},"public":{},"management":{}}}}}"#,
        quoted(&format!("https://{}", ready.address)),
        quoted(&ca.display().to_string()),
        quoted(&tenant.tenant_id),
        quoted(&tenant.keys.private),
        quoted(&tenant.keys.public),
        quoted(&tenant.keys.management),
    )
}

pub(super) fn text(address: SocketAddr, ca: &Path, tenant: &DevTenant) -> String {
    let (ca, keys) = (ca.display(), &tenant.keys);
    let url = format!("https://{address}");
    format!(
        "Strongroom is ready.\n\n  url          {url}\n  CA file      {ca}\n  tenant       {} \
         ({})\n  private key  {}\n  public key   {}\n  management   {}\n\nStore a value:\n\n  curl \
         --cacert '{ca}' '{url}/tokens' -H 'BT-API-KEY: {}' -H 'Content-Type: application/json' \
         -d '{{\"type\":\"token\",\"data\":\"a secret\"}}'\n\nRead it back (put the id of the answer \
         in place of ID):\n\n  curl --cacert '{ca}' '{url}/tokens/ID' -H 'BT-API-KEY: {}'\n\nA shop's \
         checkout with card fields:\n\n  {url}/examples/checkout#key={}\n\nStop with Ctrl-C; \
         start again with the same command.",
        tenant.tenant_id,
        tenant.tenant_type,
        keys.private,
        keys.public,
        keys.management,
        keys.private,
        keys.private,
        keys.public,
    )
}
