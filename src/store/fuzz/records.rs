//! Records: a record that decodes is encoded and decoded again to the same value. Row keys: any
//! bytes either are a key or are refused.

use uuid::Uuid;

use crate::crypto::SetDigest;
use crate::domain::id::{
    AccessSessionId, ApplicationId, ClientKeyId, ProxyId, ReactorId, ReactorRequestId, SessionId,
    TenantId, TokenId, TokenIntentId, WebhookId,
};
use crate::secret::Secret;
use crate::store::chain::{AuditRow, Checkpoint, decode_receipt, encode_receipt};
use crate::store::record::{
    decode_access_session, decode_api_key, decode_application, decode_audit, decode_backups,
    decode_client_key, decode_erasure, decode_event, decode_hidden, decode_import,
    decode_known_ranges, decode_proxy, decode_ranges, decode_reactor, decode_reactor_result,
    decode_session, decode_stored_answer, decode_tenant, decode_token, decode_token_intent,
    decode_webhook, encode_access_session, encode_api_key, encode_application, encode_audit,
    encode_backups, encode_client_key, encode_erasure, encode_event, encode_hidden, encode_import,
    encode_proxy, encode_ranges, encode_reactor, encode_reactor_result, encode_session,
    encode_stored_again, encode_tenant, encode_token, encode_token_intent, encode_webhook,
};
use crate::store::tables::{self, Table};

const TENANT: TenantId = TenantId::new(Uuid::from_u128(0x018b_cfe5_6800_4000_8000_0000_0000_0001));
const ID: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4fff_bfff_ffff_ffff_ffff);

/// The first byte selects the kind of record.
pub(crate) fn records(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    let exposed = |bytes: Secret<Vec<u8>>| bytes.expose().clone();
    macro_rules! check {
        ($decode:expr, $encode:expr) => {
            check_record(data, |bytes| $decode(bytes).ok(), |it| $encode(it).ok())
        };
        (secret $decode:expr, $encode:expr) => {
            check_record(data, |bytes| $decode(bytes).ok(), |it| $encode(it).ok().map(exposed))
        };
        (text $decode:expr, $encode:expr) => {
            check_record(
                data,
                |bytes| std::str::from_utf8(bytes).ok().and_then(|text| $decode(text).ok()),
                |it| $encode(it).ok().map(String::into_bytes),
            )
        };
    }
    match kind % 22 {
        0 => check!(secret |it: &[u8]| decode_token(TENANT, TokenId::new(ID), it), encode_token),
        1 => check!(secret |it: &[u8]| decode_tenant(TENANT, it), encode_tenant),
        2 => check!(
            secret | it: &[u8] | decode_application(TENANT, ApplicationId::new(ID), it),
            encode_application
        ),
        3 => check!(secret decode_api_key, encode_api_key),
        4 => check!(secret decode_stored_answer, encode_stored_again),
        5 => check!(|it: &[u8]| decode_audit(it), |it: &Vec<_>| encode_audit(it)),
        6 => check!(decode_backups, encode_backups),
        7 => check!(
            secret | it: &[u8] | decode_client_key(TENANT, ClientKeyId::new(ID), it),
            encode_client_key
        ),
        8 => check!(text decode_erasure, encode_erasure),
        9 => check!(secret |it: &[u8]| decode_hidden(it), |it: &Vec<_>| encode_hidden(it)),
        10 => check!(decode_import, encode_import),
        11 => check!(secret |it: &[u8]| decode_proxy(TENANT, ProxyId::new(ID), it), encode_proxy),
        12 => check!(text decode_receipt, encode_receipt),
        13 => check!(
            secret | it: &[u8] | decode_access_session(TENANT, AccessSessionId::new(ID), it),
            encode_access_session
        ),
        14 => check!(
            secret | it: &[u8] | decode_session(TENANT, SessionId::new(ID), it),
            encode_session
        ),
        15 => check!(secret decode_ranges, |it: &Vec<_>| encode_ranges(it)),
        16 => check!(
            secret | it: &[u8] | decode_token_intent(TENANT, TokenIntentId::new(ID), it),
            encode_token_intent
        ),
        17 => {
            check!(secret |it: &[u8]| decode_webhook(TENANT, WebhookId::new(ID), it), encode_webhook);
        }
        18 => check!(secret decode_event, encode_event),
        20 => {
            check!(secret |it: &[u8]| decode_reactor(TENANT, ReactorId::new(ID), it), encode_reactor);
        }
        21 => check!(
            secret | it: &[u8] | decode_reactor_result(TENANT, ReactorRequestId::new(ID), it),
            encode_reactor_result
        ),
        _ => {
            decode_known_ranges(data).ok();
            let digest = SetDigest::decode(data).map(|it| *it.encode().expose());
            assert!(digest.is_none_or(|encoded| encoded == data), "a digest has one form");
        }
    }
}

/// Encoding twice gives the same bytes: nothing is lost or changed.
fn check_record<T>(
    data: &[u8],
    decode: impl Fn(&[u8]) -> Option<T>,
    encode: impl Fn(&T) -> Option<Vec<u8>>,
) {
    let Some(first) = decode(data) else { return };
    let written = encode(&first);
    let Some(written) = written else { return };
    let second = decode(&written);
    assert!(second.is_some(), "a record that was written is not read");
    let again = second.and_then(|it| encode(&it));
    assert!(again.as_ref() == Some(&written), "a record changed when it was written again");
}

/// The first byte selects the table, the next one is the length of the key; the value follows.
pub(crate) fn keys(data: &[u8]) {
    let Some((&[table, length], rest)) = data.split_first_chunk() else { return };
    let (key, value) = rest.split_at(usize::from(length).min(rest.len()));
    let Some(table) = Table::ALL.get(usize::from(table) % Table::ALL.len()).copied() else {
        return;
    };
    let owner = table.owner_of_key(key);
    // The server's rows have a scope of zeros.
    if let Some(scope) = owner.filter(|scope| *scope != [0; 16]) {
        assert!(key.windows(16).any(|it| it == scope), "an owner that the key does not name");
    }
    table.digest_scope(key);
    table.id_of_key(key);
    if let Some(row) = AuditRow::decode(key, value) {
        assert_eq!((row.key().as_slice(), row.value().as_slice()), (key, value));
    }
    if let Some((checkpoint, heads, states)) = Checkpoint::decode(key, value) {
        assert_eq!(checkpoint.value(&heads, &states), value, "a checkpoint has one form");
    }
    if let Some((at, tenant)) = tables::expiry_time(key).zip(owner) {
        table.is_row_of(&tenant, key, value);
        assert!(at.micros() >= 0 || key.first().is_some_and(|byte| *byte > 0x7f));
    }
    tables::expiry_of_key(key);
    tables::cvc_of_key(key);
    tables::cvc_due_at(key);
    tables::answer_of_finder(key, value);
    tables::finder_of_answer(key);
    tables::scheduled_of_key(key);
    if let Some(position) = tables::ListPosition::decode(key) {
        assert!(position.after_container().len() <= key.len().saturating_add(2));
    }
    if let Some((tenant, token)) = tables::token_of_key(key) {
        assert_eq!(tables::tokens(tenant, token), key);
    }
    if let Some((tenant, webhook)) = tables::webhook_of_key(key) {
        assert_eq!(tables::webhooks(tenant, webhook), key);
    }
}
