//! Applications, their keys and their access rights.

use std::collections::HashMap;

use crate::app::{Error, Holding, Vault};
use crate::bounds::{REPORT_KEY_AGE_MAX, REPORT_KEY_UNUSED_MAX};
use crate::domain::access::{Access, Transform};
use crate::domain::application::{ApiKey, Application};
use crate::domain::id::KeyId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::report::{Chapter, Requirement, moment, span};

const REQUIREMENTS: &[Requirement] = &[
    Requirement("7.2.2", "Users have only the access that their work needs."),
    Requirement("7.2.5", "Programs have only the access that they need to run."),
    Requirement("8.2.6", "Accounts that were not used for 90 days are removed or disabled."),
    Requirement("8.6.3", "Secrets of programs are changed at intervals and guarded."),
];

pub(super) fn chapter(
    vault: &Vault,
    holdings: &[Holding],
    now: Timestamp,
) -> Result<Chapter, Error> {
    let mut chapter = Chapter::new("Applications and what they may do", REQUIREMENTS);
    let mut rows = Vec::new();
    let mut reveal = Vec::new();
    for holding in holdings {
        let uses = vault.access().last_uses(holding.tenant.id)?;
        for (application, keys) in &holding.applications {
            let name = format!("{} of {}", application.name, holding.tenant.name);
            if application.access.reveals() {
                reveal.push(name.clone());
            }
            chapter = of_application(chapter, &name, application, keys);
            chapter = of_keys(chapter, &name, keys, &uses, now);
            let last = keys.iter().filter_map(|key| uses.get(&key.id)).max();
            rows.push(vec![
                holding.tenant.name.clone(),
                application.name.clone(),
                String::from(application.kind.as_str()),
                keys.len().to_string(),
                oldest(keys).map_or_else(|| String::from("-"), |at| span(now.since(at))),
                last.map_or_else(|| String::from("-"), |at| moment(*at)),
                may(&application.access),
            ]);
        }
    }
    chapter = chapter.good(match reveal.as_slice() {
        [] => String::from("No application can see data in plain."),
        names => format!("Applications that can see data in plain: {}.", names.join(", ")),
    });
    let head = ["tenant", "application", "type", "keys", "oldest key", "last use", "may"];
    Ok(chapter.table(&head, rows))
}

fn of_application(
    mut chapter: Chapter,
    name: &str,
    application: &Application,
    keys: &[ApiKey],
) -> Chapter {
    if reads_everything(&application.access) {
        chapter = chapter.attention(format!(
            "{name} may read the data of every container in clear: is that what its work needs?"
        ));
    }
    let grants = [Permission::ApplicationCreate, Permission::ApplicationUpdate];
    if grants.iter().any(|it| application.access.permissions().contains(it)) {
        chapter = chapter.good(format!(
            "{name} may let applications see data in plain, and make keys for them; the audit chain \
             marks each such grant (grant_reveal)."
        ));
    }
    if keys.is_empty() {
        chapter = chapter.good(format!("{name} has no key and cannot be used."));
    }
    chapter
}

fn of_keys(
    mut chapter: Chapter,
    name: &str,
    keys: &[ApiKey],
    uses: &HashMap<KeyId, Timestamp>,
    now: Timestamp,
) -> Chapter {
    if let Some(at) = oldest(keys).filter(|at| now.since(*at) > REPORT_KEY_AGE_MAX) {
        let age = span(now.since(at));
        chapter = chapter.attention(format!("{name} has a key that is {age} old."));
    }
    for key in keys {
        let last = uses.get(&key.id).copied();
        let since = now.since(last.unwrap_or(key.created_at));
        if since <= REPORT_KEY_UNUSED_MAX {
            continue;
        }
        let since = span(since);
        chapter = chapter.attention(match last {
            Some(_) => format!("Key {} of {name} was not used for {since}.", key.id),
            None => format!("Key {} of {name} is {since} old, and no use of it is noted.", key.id),
        });
    }
    chapter
}

fn oldest(keys: &[ApiKey]) -> Option<Timestamp> {
    keys.iter().map(|key| key.created_at).min()
}

fn reads_everything(access: &Access) -> bool {
    access.rules().iter().any(|rule| {
        rule.transform == Transform::Reveal
            && rule.container.as_str() == "/"
            && rule.permissions.contains(&Permission::TokenRead)
    })
}

/// Renders the access rights in one line: the permissions for all containers, then each rule.
fn may(access: &Access) -> String {
    let names = |permissions: &[Permission]| {
        let names: Vec<_> = permissions.iter().map(|it| it.as_str()).collect();
        names.join(", ")
    };
    let mut parts = Vec::new();
    if !access.permissions().is_empty() {
        parts.push(names(access.permissions()));
    }
    for rule in access.rules() {
        parts.push(format!(
            "in {} ({}): {}",
            rule.container.as_str(),
            rule.transform.as_str(),
            names(&rule.permissions)
        ));
    }
    if parts.is_empty() { String::from("nothing") } else { parts.join("; ") }
}
