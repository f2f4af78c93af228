//! The features of the published interface that this server does not have. One row gives a feature
//! its answer (501), the mark of its permissions, and its place in the search of the reference. A
//! test compares the rows with the table of the chapter.

use serde_json::{Value, json};

use crate::domain::permission::Permission;

/// The `type` of the problem.
pub(in crate::http) const TYPE: &str = "urn:strongroom:absent-feature";
/// The chapter that has the table of features, as a path of this server.
pub(in crate::http) const CHAPTER: &str = "/#chapter/coming-from-basis-theory";

#[derive(Debug, PartialEq, Eq)]
pub(in crate::http) struct AbsentFeature {
    pub(in crate::http) name: &'static str,
    /// The first segments of its paths. `*` is any segment.
    paths: &'static [&'static str],
    /// The beginnings of its permissions.
    permissions: &'static [&'static str],
    /// Further words by which the search finds it.
    words: &'static str,
    pub(in crate::http) instead: &'static str,
    pub(in crate::http) detail: &'static str,
}

macro_rules! absent_features {
    ($($name:literal [$($path:literal)*] [$($permission:literal)*] $words:literal => $instead:literal;)+) => {
        static ABSENT: &[AbsentFeature] = &[$(AbsentFeature {
            name: $name,
            paths: &[$($path),*],
            permissions: &[$($permission),*],
            words: $words,
            instead: $instead,
            detail: concat!("This server does not have this feature: ", $name, ". Instead: ", $instead),
        }),+];
    };
}

absent_features! {
    "Account updater" ["account-updater"] ["account-updater:"] "card update expiry refresh" =>
        "Use the account updater of your PSP, and change the token with PATCH /tokens/{id}.";
    "Network tokens" ["network-tokens"] ["network-token:"] "cryptogram vts mdes tsp" =>
        "Let the PSP make them. A network token that you have is stored as a token of the type network_token.";
    "Apple Pay" ["apple-pay"] [] "applepay wallet domain" =>
        "Send the payment data of the wallet to a PSP that decrypts it. A number that you decrypt yourself is stored as a token of the type network_token.";
    "Google Pay" ["google-pay"] [] "googlepay wallet" =>
        "Send the payment data of the wallet to a PSP that decrypts it. A number that you decrypt yourself is stored as a token of the type network_token.";
    "Documents" ["documents"] [] "file upload attachment pdf image" =>
        "Store texts up to 128 KiB as a token. Encrypt larger files yourself and store their key as a token.";
    "Agentic commerce" ["agentic"] [] "agent ai" =>
        "Give the agent's service an application of its own, with rules, and let it call a pre-configured proxy.";
    "Payment connections" ["connections" "tenants/*/connections"] ["orchestration:connections:"] "orchestration forward gateway processor" =>
        "Call the PSP through a proxy. The chapter Payment providers has the requests.";
    "List of events" ["events"] [] "event history" =>
        "Receive events with a webhook, and read entries with GET /logs.";
    "Hostnames of proxies" ["proxies/*/hostname"] [] "proxy custom domain host" =>
        "Call /proxy with the header BT-PROXY-KEY.";
    "Members and invitations" ["tenants/*/members" "tenants/*/invitations" "tenants/*/owner" "tenants/*/security-contact"]
        ["tenant:member:" "tenant:invitation:"] "people users team portal role sso" =>
        "Make an application of the type management for each person or program, and use its key in the console.";
    "Merchants of a tenant" ["tenants/*/merchants"] [] "merchant sub-account" =>
        "Make a tenant for each merchant with strongroom tenant create.";
    "Challenges of the 3-D Secure mobile SDK in tests" [] [] "3ds ios android app phone" =>
        "Test challenges in a browser. For production tenants the directory servers of the schemes answer sessions of apps.";
}

/// The feature of a path that no row of the routing table has.
pub(in crate::http) fn of_path(path: &str) -> Option<&'static AbsentFeature> {
    let is_below = |pattern: &&str| {
        let mut segments = path.split('/').skip(1);
        pattern.split('/').all(|part| segments.next().is_some_and(|it| part == "*" || part == it))
    };
    ABSENT.iter().find(|feature| feature.paths.iter().any(is_below))
}

pub(in crate::http) fn of_permission(permission: Permission) -> Option<&'static AbsentFeature> {
    let begins = |start: &&str| permission.as_str().starts_with(*start);
    ABSENT.iter().find(|feature| feature.permissions.iter().any(begins))
}

/// The rows for the search of the reference.
pub(in crate::http) fn table() -> Value {
    let row =
        |it: &AbsentFeature| json!({"name": it.name, "words": it.words, "instead": it.instead});
    Value::from(ABSENT.iter().map(row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chapter_has_a_row_for_every_absent_feature() {
        let chapter = include_str!("front/chapters/coming-from-basis-theory.md").replace('`', "");
        for feature in ABSENT {
            let row = format!("| {} | no | {} |", feature.name, feature.instead);
            assert!(chapter.contains(&row), "the chapter does not have: {row}");
        }
    }

    #[test]
    fn paths_and_permissions_lead_to_their_features() {
        let name = |path| of_path(path).map(|feature| feature.name);
        assert_eq!(name("/tenants/self/members/x"), Some("Members and invitations"));
        assert_eq!(name("/proxies/x/hostname"), Some("Hostnames of proxies"));
        for path in ["/", "/reactor", "/tenants", "/tenants/self", "/tokens/reactors", "/proxies/x"]
        {
            assert_eq!(name(path), None, "{path}");
        }
        let name = |permission| of_permission(permission).map(|feature| feature.name);
        assert_eq!(name(Permission::ReactorInvoke), None);
        assert_eq!(name(Permission::ConnectionCreate), Some("Payment connections"));
        assert_eq!(name(Permission::ConnectionFormulas), None);
        assert_eq!(name(Permission::TenantRead), None);
    }
}
