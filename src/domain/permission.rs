//! Permissions, and the kinds of application that may hold each.

use crate::domain::application::ApplicationKind;
use crate::domain::application::ApplicationKind::{Management, Private, Public};
use crate::domain::words::words;

macro_rules! permissions {
    ($($name:ident $text:literal [$($kind:ident),+] $description:literal;)+) => {
        words! {
            /// Named as in the published interface. Some permissions belong to operations that this
            /// server does not have. They can be granted all the same, so that existing set-up
            /// programs work.
            pub enum Permission:
                /// The kinds of application that may hold it.
                kinds -> &'static [ApplicationKind],
                description -> &'static str,
                /// The refusal of an operation that needs it.
                lacking -> &'static str
            {
                $($name = $text, &[$($kind),+], $description, concat!(
                    "The API key does not have the permission that this operation needs: ",
                    $text,
                    "."
                );)+
            }
        }
    };
}

macro_rules! lacking_one {
    ($names:literal) => {
        concat!("The API key does not have a permission that this operation needs: ", $names, ".")
    };
}

permissions! {
    TokenCreate "token:create" [Private, Public] "Create tokens";
    TokenRead "token:read" [Private] "Read and list tokens";
    TokenSearch "token:search" [Private] "Search tokens";
    TokenUpdate "token:update" [Private, Public] "Change tokens";
    TokenDelete "token:delete" [Private] "Delete tokens";
    TokenUse "token:use" [Private] "Use the plain values of tokens in expressions";
    TokenIntentCreate "token-intent:create" [Private, Public] "Create token intents";
    TokenIntentRead "token-intent:read" [Private] "Read token intents";
    TokenIntentDelete "token-intent:delete" [Private] "Delete token intents";
    ThreedsSessionCreate "3ds:session:create" [Private, Public] "Create 3DS sessions";
    ThreedsSessionRead "3ds:session:read" [Private] "Read 3DS sessions";
    ThreedsSessionAuthenticate "3ds:session:authenticate" [Private] "Authenticate 3DS sessions";
    ConnectionFormulas "orchestration:connection_formulas" [Private, Management]
        "Read the catalog of payment connections";
    ConnectionCreate "orchestration:connections:create" [Private, Management]
        "Create payment connections";
    TenantRead "tenant:read" [Management] "Read the tenant";
    TenantUpdate "tenant:update" [Management] "Change the tenant";
    TenantDelete "tenant:delete" [Management] "Delete the tenant";
    TenantMemberRead "tenant:member:read" [Management] "Read the tenant's members";
    TenantMemberUpdate "tenant:member:update" [Management] "Change the tenant's members";
    TenantMemberDelete "tenant:member:delete" [Management] "Remove the tenant's members";
    TenantInvitationCreate "tenant:invitation:create" [Management] "Invite members";
    TenantInvitationRead "tenant:invitation:read" [Management] "Read invitations";
    TenantInvitationUpdate "tenant:invitation:update" [Management] "Change invitations";
    TenantInvitationDelete "tenant:invitation:delete" [Management] "Withdraw invitations";
    ApplicationCreate "application:create" [Management] "Create applications and keys";
    ApplicationRead "application:read" [Management] "Read applications and keys";
    ApplicationUpdate "application:update" [Management] "Change applications";
    ApplicationDelete "application:delete" [Management] "Delete applications and keys";
    LogRead "log:read" [Management] "Read the audit log";
    ReportRead "report:read" [Management] "Read usage reports";
    ReactorCreate "reactor:create" [Management] "Create reactors";
    ReactorRead "reactor:read" [Management] "Read reactors";
    ReactorUpdate "reactor:update" [Management] "Change reactors";
    ReactorDelete "reactor:delete" [Management] "Delete reactors";
    ReactorInvoke "reactor:invoke" [Private] "Invoke reactors";
    ProxyCreate "proxy:create" [Management] "Create proxies";
    ProxyRead "proxy:read" [Management] "Read proxies";
    ProxyUpdate "proxy:update" [Management] "Change proxies";
    ProxyDelete "proxy:delete" [Management] "Delete proxies";
    ProxyInvoke "proxy:invoke" [Private] "Invoke proxies";
    KeysCreate "keys:create" [Private, Management] "Create client encryption keys";
    KeysRead "keys:read" [Private, Management] "Read client encryption keys";
    KeysDelete "keys:delete" [Private, Management] "Delete client encryption keys";
    WebhookRead "webhook:read" [Management] "Read webhook event types";
    WebhooksCreate "webhooks:create" [Management] "Create webhooks";
    WebhooksRead "webhooks:read" [Management] "Read webhooks";
    WebhooksUpdate "webhooks:update" [Management] "Change webhooks";
    WebhooksDelete "webhooks:delete" [Management] "Delete webhooks";
    NetworkTokenCreate "network-token:create" [Private] "Create network tokens";
    NetworkTokenRead "network-token:read" [Private] "Read network tokens";
    NetworkTokenReveal "network-token:reveal" [Private] "Read network tokens in plain";
    NetworkTokenCryptogram "network-token:cryptogram" [Private] "Create cryptograms";
    NetworkTokenSuspend "network-token:suspend" [Private] "Suspend network tokens";
    NetworkTokenResume "network-token:resume" [Private] "Resume network tokens";
    NetworkTokenDelete "network-token:delete" [Private] "Delete network tokens";
    AccountUpdaterJobCreate "account-updater:job:create" [Private] "Create account updates";
    AccountUpdaterJobRead "account-updater:job:read" [Private] "Read account updates";
    AccountUpdaterInvoke "account-updater:real-time:invoke" [Private] "Update an account at once";
}

/// The refusal of an operation that needs one of these. It names only permissions of the operation,
/// which the API reference lists too, and no permission of the key.
pub const fn lacking(permissions: &[Permission]) -> &'static str {
    use Permission::{
        LogRead, ProxyInvoke, ReactorInvoke, ReportRead, TokenCreate, TokenIntentCreate, TokenRead,
        TokenUpdate, TokenUse, WebhookRead, WebhooksRead,
    };
    match permissions {
        [only] => only.lacking(),
        [LogRead, ReportRead] => lacking_one!("log:read or report:read"),
        [TokenCreate, TokenIntentCreate, TokenRead, TokenUpdate, TokenUse, ProxyInvoke] => {
            lacking_one!(
                "token:create, token-intent:create, token:read, token:update, token:use or \
                 proxy:invoke"
            )
        }
        [ReactorInvoke, TokenUse] => lacking_one!("reactor:invoke or token:use"),
        [TokenUse, TokenRead] => lacking_one!("token:use or token:read"),
        [WebhooksRead, WebhookRead] => lacking_one!("webhooks:read or webhook:read"),
        _ => "The API key does not have the permission that this operation needs.",
    }
}

impl Permission {
    /// True if access rules, which apply to containers, can grant it.
    pub const fn concerns_tokens(self) -> bool {
        matches!(
            self,
            Self::TokenCreate
                | Self::TokenRead
                | Self::TokenSearch
                | Self::TokenUpdate
                | Self::TokenDelete
                | Self::TokenUse
        )
    }

    /// True for permissions of private applications on data, without those that management
    /// applications can hold too: a session acts for a page in a browser.
    pub fn may_be_granted_to_sessions(self) -> bool {
        self.may_be_held_by(Private) && !self.may_be_held_by(Management)
    }

    pub fn may_be_held_by(self, kind: ApplicationKind) -> bool {
        self.kinds().contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_management_application_can_hold_no_permission_on_token_data() {
        for permission in Permission::ALL {
            if permission.concerns_tokens() {
                assert!(!permission.may_be_held_by(Management), "{permission:?}");
                assert!(permission.may_be_held_by(Private), "{permission:?}");
            }
        }
    }

    #[test]
    fn a_session_gets_only_what_private_applications_alone_can_hold() {
        assert!(Permission::TokenRead.may_be_granted_to_sessions());
        assert!(!Permission::WebhooksRead.may_be_granted_to_sessions());
        let both = Permission::ALL
            .into_iter()
            .find(|it| [Private, Management].into_iter().all(|kind| it.may_be_held_by(kind)));
        assert!(!both.unwrap().may_be_granted_to_sessions());
    }

    #[test]
    fn a_refusal_names_the_permissions_of_the_operation() {
        use Permission::{
            LogRead, ProxyInvoke, ReactorInvoke, ReportRead, TokenCreate, TokenIntentCreate,
            TokenRead, TokenUpdate, TokenUse, WebhookRead, WebhooksRead,
        };
        for operation in [
            &[TokenRead][..],
            &[LogRead, ReportRead],
            &[TokenCreate, TokenIntentCreate, TokenRead, TokenUpdate, TokenUse, ProxyInvoke],
            &[ReactorInvoke, TokenUse],
            &[TokenUse, TokenRead],
            &[WebhooksRead, WebhookRead],
        ] {
            let text = lacking(operation);
            for permission in Permission::ALL {
                let is_named = text.contains(permission.as_str());
                let is_longer =
                    operation.iter().any(|it| it.as_str().contains(permission.as_str()));
                assert_eq!(is_named, is_longer, "{text}");
            }
        }
        assert!(!lacking(&[]).contains(':'));
    }
}
