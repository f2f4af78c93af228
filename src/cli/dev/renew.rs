//! A new tenant for a development vault whose tenant was deleted.

use std::fs;
use std::path::Path;

use super::{DevTenant, make_tenant, tenant_path};
use crate::app::Vault;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::{cannot, refused};
use crate::cli::support::files::write_secret;
use crate::cli::support::runtime::block_on;
use crate::domain::tenant::TenantKind;

/// The tenant of the file of keys, or a new one of the same type if it was deleted. The file is
/// replaced whole, since `dev` reads it at every start.
pub(super) fn unless_there(
    vault: Vault,
    directory: &Path,
    tenant: DevTenant,
) -> Result<(Vault, DevTenant), Failure> {
    match current(&vault, directory, tenant) {
        Ok(tenant) => Ok((vault, tenant)),
        Err(failure) => {
            vault.close();
            Err(failure)
        }
    }
}

fn current(vault: &Vault, directory: &Path, tenant: DevTenant) -> Result<DevTenant, Failure> {
    let all = vault.access().list_tenants().map_err(|error| refused(&error))?;
    if all.iter().any(|it| it.id.to_string() == tenant.tenant_id) {
        return Ok(tenant);
    }
    let kind = TenantKind::parse(&tenant.tenant_type).unwrap_or(TenantKind::Test);
    let made = block_on(make_tenant(vault, kind))?;
    let bytes = serde_json::to_vec_pretty(&made)
        .map_err(|error| Failure::new(Exit::Software, "cannot encode the keys").why(error))?;
    let (path, new) = (tenant_path(directory), directory.join("keys.json.new"));
    // A start that was killed may have left this file.
    fs::remove_file(&new).ok();
    write_secret(&new, &bytes, 0o600)?;
    fs::rename(&new, &path).map_err(|error| cannot("replace the file of keys", &path, &error))?;
    Ok(made)
}
