//! Keys of the records of tenants: the tenant, then the id of the record.

use crate::domain::id::{
    AccessSessionId, ApplicationId, ClientKeyId, ProxyId, ReactorId, ReactorRequestId, TenantId,
    TokenId, TokenIntentId, WebhookId,
};
use crate::store::tables::range::KeyRange;
use crate::store::tables::table::{Table, join, two_ids};

/// For each table: the key of a record, the keys of a tenant's records, and the ids in a key.
macro_rules! record_keys {
    ($($table:ident: $id:ident, $key:ident, $range:ident, $of_key:ident;)*) => {$(
        pub fn $key(tenant: TenantId, id: $id) -> Vec<u8> {
            join(&[tenant.bytes(), id.bytes()])
        }

        pub fn $range(tenant: TenantId) -> KeyRange {
            Table::$table.rows_of(tenant.bytes())
        }

        pub fn $of_key(key: &[u8]) -> Option<(TenantId, $id)> {
            let (tenant, id) = two_ids(key)?;
            Some((TenantId::new(tenant), $id::new(id)))
        }
    )*};
}

record_keys! {
    Applications: ApplicationId, applications, applications_of, application_of_key;
    ClientKeys: ClientKeyId, client_keys, client_keys_of, client_key_of_key;
    Proxies: ProxyId, proxies, proxies_of, proxy_of_key;
    ReactorResults: ReactorRequestId, reactor_results, reactor_results_of, reactor_result_of_key;
    Reactors: ReactorId, reactors, reactors_of, reactor_of_key;
    Sessions: AccessSessionId, sessions, sessions_of, session_of_place;
    TokenIntents: TokenIntentId, token_intents, token_intents_of, token_intent_of_key;
    Tokens: TokenId, tokens, tokens_of, token_of_key;
    Webhooks: WebhookId, webhooks, webhooks_of, webhook_of_key;
}

/// The key of the row that finds a proxy; `hash` is the SHA-256 of the proxy's key.
pub fn proxy_keys(hash: &[u8; 32]) -> Vec<u8> {
    hash.to_vec()
}

/// The key of the row that finds a session; `hash` is the SHA-256 of the session key's text.
pub fn session_keys(hash: &[u8; 32]) -> Vec<u8> {
    hash.to_vec()
}
