//! The tenant that a row belongs to.

use crate::store::tables::range::KeyRange;
use crate::store::tables::table::Table;

/// The place of the tenant's id in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerPlace {
    /// At this offset in the key.
    Key(usize),
    /// At the start of the value, which is in clear.
    Value,
    /// In the value, which is sealed by the server.
    Sealed,
    /// No tenant owns the row. Entries of the audit chain stay when their tenant is deleted,
    /// because each row is a link of the chain.
    Nobody,
}

impl Table {
    pub const fn owner_place(self) -> OwnerPlace {
        match self {
            Self::ApplicationKeys
            | Self::Applications
            | Self::ClientKeys
            | Self::Counts
            | Self::KeyUses
            | Self::Keys
            | Self::Proxies
            | Self::Sessions
            | Self::Tenants
            | Self::TokenIntents
            | Self::TokenLists
            | Self::TokenNames
            | Self::Tokens
            | Self::WebhookDeliveries
            | Self::Webhooks => OwnerPlace::Key(0),
            Self::Cvcs | Self::Idempotency | Self::IdempotencyAnswers | Self::WebhookSchedule => {
                OwnerPlace::Key(8)
            }
            Self::Expiries => OwnerPlace::Key(9),
            Self::ThreedsSessions => OwnerPlace::Key(16),
            Self::ProxyKeys | Self::SessionKeys => OwnerPlace::Value,
            Self::ApiKeys => OwnerPlace::Sealed,
            Self::Audit
            | Self::AuditCheckpoints
            | Self::Meta
            | Self::Processes
            | Self::ThreedsRanges => OwnerPlace::Nobody,
        }
    }

    /// The scope in a key; zeros for the server's own rows.
    pub(in crate::store) fn scope_in_key(self, key: &[u8]) -> Option<[u8; 16]> {
        match self.owner_place() {
            OwnerPlace::Key(at) => key.get(at..)?.first_chunk().copied(),
            OwnerPlace::Value | OwnerPlace::Sealed | OwnerPlace::Nobody => None,
        }
    }

    /// True if the key or the clear value of the row names this scope.
    pub fn is_row_of(self, scope: &[u8; 16], key: &[u8], value: &[u8]) -> bool {
        let found = match self.owner_place() {
            OwnerPlace::Key(_) => self.scope_in_key(key),
            OwnerPlace::Value => value.first_chunk().copied(),
            OwnerPlace::Sealed | OwnerPlace::Nobody => None,
        };
        found.as_ref() == Some(scope)
    }

    /// The smallest range that holds all rows of a tenant, and perhaps others.
    pub fn range_of_tenant(self, scope: &[u8; 16]) -> KeyRange {
        match self.owner_place() {
            OwnerPlace::Key(0) => KeyRange::prefix(self, scope.to_vec()),
            OwnerPlace::Key(_) | OwnerPlace::Value | OwnerPlace::Sealed | OwnerPlace::Nobody => {
                self.whole()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::domain::id::{
        ApplicationId, ClientKeyId, EventId, KeyId, ProxyId, SessionId, TenantId, TokenId,
        WebhookId,
    };
    use crate::domain::time::Timestamp;
    use crate::store::tables::{self, CountKind, ExpiryKind, PendingDelivery, SealedBy};

    #[test]
    fn the_place_of_the_owner_agrees_with_the_owner_of_the_sealing_key() {
        for table in Table::ALL {
            if let SealedBy::Tenant { at } = table.sealed_by() {
                assert_eq!(table.owner_place(), OwnerPlace::Key(at), "{}", table.name());
            }
        }
    }

    #[test]
    fn keys_and_values_lead_to_their_tenant_and_to_no_other() {
        let tenant = TenantId::new(Uuid::from_u128(7));
        let other = *TenantId::new(Uuid::from_u128(8)).bytes();
        let (id, at) = (Uuid::from_u128(9), Timestamp::from_seconds(1_000_000));
        let delivery =
            PendingDelivery { tenant, webhook: WebhookId::new(id), event: EventId::new(id) };
        let place = tables::proxies(tenant, ProxyId::new(id));
        let rows = [
            (Table::Tokens, tables::tokens(tenant, TokenId::new(id)), vec![]),
            (Table::Applications, tables::applications(tenant, ApplicationId::new(id)), vec![]),
            (
                Table::KeyUses,
                tables::key_uses(tenant, ApplicationId::new(id), KeyId::new(id)),
                vec![],
            ),
            (Table::ClientKeys, tables::client_keys(tenant, ClientKeyId::new(id)), vec![]),
            (Table::Counts, tables::counts(tenant, CountKind::Tokens), vec![]),
            (Table::Counts, tables::digests(tenant.bytes()), vec![]),
            (Table::Keys, tables::keys(tenant.bytes(), 1, 1), vec![]),
            (Table::Cvcs, tables::cvcs(at, tenant, id), vec![]),
            (Table::Expiries, tables::expiries(at, ExpiryKind::Token, tenant, id), vec![]),
            (Table::Idempotency, tables::idempotency(5, tenant, &[1; 16]), vec![]),
            (Table::IdempotencyAnswers, tables::idempotency_answers(at, tenant, &[1; 16]), vec![]),
            (Table::WebhookSchedule, delivery.schedule_key(at), vec![]),
            (Table::WebhookDeliveries, delivery.delivery_key(), vec![]),
            (Table::ThreedsSessions, tables::threeds_sessions(SessionId::new(id), tenant), vec![]),
            (Table::ProxyKeys, tables::proxy_keys(&[3; 32]), place),
        ];
        for (table, key, value) in rows {
            assert!(table.is_row_of(tenant.bytes(), &key, &value), "{}", table.name());
            assert!(!table.is_row_of(&other, &key, &value), "{}", table.name());
            assert!(table.range_of_tenant(tenant.bytes()).contains(&key), "{}", table.name());
        }
    }
}
