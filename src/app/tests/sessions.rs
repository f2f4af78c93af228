//! Sessions of public applications and client encryption keys, at their bounds and during
//! rotations.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{TestVault, draft, everything, named, new_tenant, prepared_key};
use crate::app::audit::opened::Opened;
use crate::app::tests::{new_caller, rule};
use crate::app::{
    ApplicationDraft, Caller, CursorStart, Error, FirstKey, NewSession, SessionAuthorization, Step,
    Vault, Walk, Write,
};
use crate::bounds::{CLIENT_KEYS_MAX, ENCRYPTED_COUNT_MAX, LIST_HIDDEN_MAX, SESSIONS_MAX};
use crate::crypto::seal_for_client_key;
use crate::domain::access::{Access, AccessRule, Transform};
use crate::domain::application::ApplicationKind;
use crate::domain::condition::{Attribute, Condition, Operator};
use crate::domain::id::TenantId;
use crate::domain::key_text::KeyText;
use crate::domain::permission::Permission;
use crate::domain::token_query::TokenQuery;
use crate::secret::Secret;
use crate::store::tables::{self, CountKind};
use crate::store::{Change, Verdict};
use crate::waiting::steps;

pub(super) async fn public(vault: &TestVault) -> Arc<Caller> {
    public_of(vault, vault.caller.tenant.id).await
}

async fn public_of(vault: &TestVault, tenant: TenantId) -> Arc<Caller> {
    let draft = ApplicationDraft {
        kind: ApplicationKind::Public,
        access: Access::new(vec![Permission::TokenCreate], vec![]),
        key: FirstKey::Made,
        ..everything()
    };
    new_caller(&vault.app, tenant, &draft).await
}

pub(super) async fn authorize(vault: &TestVault, session: &NewSession) -> Result<(), Error> {
    authorize_for(vault, session, Access::new(vec![Permission::TokenRead], vec![])).await
}

async fn authorize_for(
    vault: &TestVault,
    session: &NewSession,
    access: Access,
) -> Result<(), Error> {
    let nonce = Secret::new(session.nonce.expose().clone());
    let authorization = SessionAuthorization { nonce, access, expires_at: None };
    let access = vault.app.access();
    access.authorize_session(&vault.caller, &authorization, &Write::plain()).await.map(|_| ())
}

fn is_known(app: &Vault, session: &NewSession) -> bool {
    match app.access().authenticate(&KeyText::parse(session.text.expose()).unwrap()) {
        Ok(caller) => caller.session.is_some(),
        Err(Error::Unauthenticated) => false,
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_tenant_has_no_more_live_sessions_than_it_may() {
    let vault = TestVault::new();
    let page = public(&vault).await;
    let session = vault.app.access().create_session(&page).await.unwrap();
    let count = tables::counts(page.tenant.id, CountKind::Sessions);
    let others = i64::try_from(SESSIONS_MAX - 2).unwrap();
    let full = Change::new().count(count.clone(), others);
    assert_eq!(vault.app.store().commit(full).await.unwrap(), Verdict::Applied);
    vault.app.access().create_session(&page).await.unwrap();
    assert!(matches!(vault.app.access().create_session(&page).await, Err(Error::Busy)));
    // A second tenant has its own bound.
    let (other, _) = new_tenant(&vault.app, "Other").await;
    let other = public_of(&vault, other).await;
    vault.app.access().create_session(&other).await.unwrap();
    // Other sessions can still be authorized.
    authorize(&vault, &session).await.unwrap();
    let emptier = Change::new().count(count, -others);
    assert_eq!(vault.app.store().commit(emptier).await.unwrap(), Verdict::Applied);
    vault.app.access().create_session(&page).await.unwrap();
    vault.assert_clean();
}

#[tokio::test]
async fn a_page_passes_over_a_bounded_number_of_hidden_tokens() {
    let vault = TestVault::new();
    let visible = vault.create_id(named("visible", "x")).await;
    for _ in 0..=LIST_HIDDEN_MAX {
        vault.create(draft("y")).await.unwrap();
    }
    let page = public(&vault).await;
    let session = vault.app.access().create_session(&page).await.unwrap();
    let by_id =
        Condition { attribute: Attribute::Id, operator: Operator::Equals, value: visible.clone() };
    let rule = rule("/", Transform::Reveal, &[Permission::TokenRead]);
    let rule = AccessRule { conditions: vec![by_id], ..rule };
    authorize_for(&vault, &session, Access::new(vec![], vec![rule])).await.unwrap();
    let caller = vault.app.access().authenticate(&session.text).unwrap();
    let page = |after| async {
        let (query, start) = (TokenQuery::default(), CursorStart { after, size: 10 });
        vault.app.tokens(&caller).list(Permission::TokenRead, &query, &start).await.unwrap()
    };
    // The newest come first, so the visible token is behind all hidden ones.
    let first = page(None).await;
    assert!(first.tokens.is_empty() && first.next.is_some());
    let second = page(first.next).await;
    let found: Vec<_> = second.tokens.iter().map(|it| it.token.public_id()).collect();
    assert_eq!(found, [visible]);
}

#[tokio::test]
async fn sessions_and_client_keys_stay_usable_in_every_phase_of_a_rotation() {
    let vault = TestVault::new();
    let page = public(&vault).await;
    let session = vault.app.access().create_session(&page).await.unwrap();
    let waiting = vault.app.access().create_session(&page).await.unwrap();
    authorize(&vault, &session).await.unwrap();
    let key = vault.app.client_keys().create(&vault.caller, None, &Write::plain()).await.unwrap();
    // A cached caller would hold up the rotation.
    drop(page);
    let TestVault { app, disk, caller } = vault;
    let tenant = caller.tenant.id;
    drop(caller);
    for rotation in ["tenant", "server"] {
        let rotations = app.rotation();
        let begun = match rotation {
            "tenant" => rotations.rotate_tenant(tenant).await,
            _ => rotations.rotate_server().await,
        };
        assert_eq!(begun.unwrap(), 2, "{rotation}");
        let mut walk = Walk::default();
        for _ in steps("the end of the rotation") {
            assert!(is_known(&app, &session), "{rotation}");
            let caller = app.access().authenticate(&prepared_key()).unwrap();
            let listed = app.client_keys().list(&caller).unwrap();
            assert_eq!(listed, std::slice::from_ref(&key.outcome));
            drop(caller);
            if let Step::Finished(_, unopened) = rotations.rotate_step(&mut walk).await.unwrap() {
                assert_eq!(unopened, 0);
                break;
            }
        }
    }
    let caller = app.access().authenticate(&prepared_key()).unwrap();
    let vault = TestVault { app, disk, caller };
    assert!(!is_known(&vault.app, &waiting));
    authorize(&vault, &waiting).await.unwrap();
    assert!(is_known(&vault.app, &waiting));
    vault.assert_clean();
}

#[tokio::test]
async fn a_tenant_has_no_more_client_keys_than_it_may() {
    let vault = TestVault::new();
    let keys = vault.app.client_keys();
    for _ in 0..CLIENT_KEYS_MAX {
        keys.create(&vault.caller, None, &Write::plain()).await.unwrap();
    }
    let refused = keys.create(&vault.caller, None, &Write::plain()).await;
    assert!(matches!(refused, Err(Error::Unprocessable(_))));
    let listed = keys.list(&vault.caller).unwrap();
    assert_eq!(listed.len(), CLIENT_KEYS_MAX);
    keys.delete(&vault.caller, listed[0].id).await.unwrap();
    keys.create(&vault.caller, None, &Write::plain()).await.unwrap();
    vault.assert_clean();
}

fn encrypt(id: &str, public: &[u8; 32], data: &Value) -> String {
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    // The client's public key is part of the authenticated header, so it is made first.
    seal_for_client_key(public, data.to_string().as_bytes(), |ephemeral| {
        let epk = json!({"kty": "OKP", "crv": "X25519", "x": encode(ephemeral)});
        let header = json!({"alg": "ECDH-ES", "enc": "A256GCM", "kid": id, "epk": epk});
        encode(header.to_string().as_bytes())
    })
    .map(|(header, iv, sealed)| {
        let (text, tag) = sealed.split_at(sealed.len() - 16);
        format!("{header}..{}.{}.{}", encode(&iv), encode(text), encode(tag))
    })
    .unwrap()
}

#[tokio::test]
async fn the_header_of_a_proxy_request_opens_to_the_values_that_expressions_see() {
    let vault = TestVault::new();
    let keys = vault.app.client_keys();
    let key = keys.create(&vault.caller, None, &Write::plain()).await.unwrap().outcome;
    let value = |data: Value| {
        let encrypted = encrypt(&key.id.to_string(), &key.public, &data);
        json!({"type": "card", "encrypted": encrypted})
    };
    let open = |header: &Value| {
        let text = STANDARD.encode(header.to_string());
        let used = Opened::by(&vault.app, &vault.caller);
        let opened = keys.open_header(&vault.caller, &text, &used)?;
        let bare = text.trim_end_matches('=');
        let again = keys.open_header(&vault.caller, bare, &used)?;
        assert_eq!(opened.expose(), again.expose(), "padding is optional");
        Ok::<_, Error>(opened.expose().clone())
    };
    let number = json!({"number": "4242424242424242"});
    let opened = json!({"type": "card", "data": number});
    assert_eq!(open(&value(number.clone())).unwrap(), opened);
    let both = json!({"a": value(number), "b": value(json!("x"))});
    let b = json!({"type": "card", "data": "x"});
    assert_eq!(open(&both).unwrap(), json!({"a": opened, "b": b}));
    let many: serde_json::Map<_, _> =
        (0..=ENCRYPTED_COUNT_MAX).map(|at| (format!("n{at}"), value(json!(at)))).collect();
    let wrong = [
        Value::Object(many),
        json!({}),
        json!([]),
        json!("x"),
        json!({"a": "x"}),
        json!({"a": {}}),
        json!({"type": "card", "encrypted": "x"}),
        json!({"a": value(json!(1)), "b": {"encrypted": "x"}}),
    ];
    for header in wrong {
        assert!(matches!(open(&header), Err(Error::Invalid(_))), "{header}");
    }
    for text in ["", "{}", "&", "e30"] {
        let used = Opened::by(&vault.app, &vault.caller);
        let opened = keys.open_header(&vault.caller, text, &used);
        assert!(matches!(opened, Err(Error::Invalid(_))), "{text}");
    }
}
