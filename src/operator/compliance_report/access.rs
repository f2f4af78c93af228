//! Applications, their keys and their access rights.

use crate::app::Holding;
use crate::bounds::REPORT_KEY_AGE_MAX;
use crate::domain::access::{Access, Transform};
use crate::domain::application::{ApiKey, Application};
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::report::{Chapter, span};

pub(super) fn chapter(holdings: &[Holding], now: Timestamp) -> Chapter {
    let mut chapter = Chapter::new(
        "Applications and what they may do",
        "Requirement 7.2: access is what the work needs and no more. Requirement 8.6: keys of \
         programs are changed at intervals. The texts of keys are not kept, only keyed hashes.",
    );
    // This holds for every vault: the interface has no permission to manage applications without
    // this power.
    chapter = chapter.good(
        "A management key with application:create or application:update can let applications see \
         data in plain, and make keys for them. The audit chain marks each such grant \
         (grant_reveal).",
    );
    let all = || holdings.iter().flat_map(|it| it.applications.iter().map(move |of| (it, of)));
    for (holding, (application, keys)) in all() {
        let name = format!("{} of {}", application.name, holding.tenant.name);
        if reads_everything(&application.access) {
            chapter = chapter.attention(format!(
                "{name} may read the data of every container in clear: is that what its work needs?"
            ));
        }
        match oldest(keys) {
            None => {
                chapter = chapter.good(format!("{name} has no key and cannot be used."));
            }
            Some(at) if now.since(at) > REPORT_KEY_AGE_MAX => {
                let age = span(now.since(at));
                chapter = chapter.attention(format!("{name} has a key that is {age} old."));
            }
            Some(_) => (),
        }
    }
    let row = |(holding, (application, keys)): (&Holding, &(Application, Vec<ApiKey>))| {
        vec![
            holding.tenant.name.clone(),
            application.name.clone(),
            String::from(application.kind.as_str()),
            keys.len().to_string(),
            oldest(keys).map_or_else(|| String::from("-"), |at| span(now.since(at))),
            may(&application.access),
        ]
    };
    let head = ["tenant", "application", "type", "keys", "oldest key", "may"];
    chapter.table(&head, all().map(row).collect())
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
