//! Refused attempts in the audit chain: their scopes, and that none is lost.

use std::sync::Arc;

use crate::app::tests::TestVault;
use crate::app::{AuditScope, ExportCursor, ExportQuery, RefusedAttempt, Vault};
use crate::domain::audit::{Act, RefusalReason};
use crate::domain::origin::{Origin, SystemUser};
use crate::store::tests::block_on;

fn attempt(reason: RefusalReason, caller: Option<&crate::app::Caller>) -> RefusedAttempt {
    let origin = match reason {
        RefusalReason::OtherUser => {
            Origin::of_user(SystemUser { uid: 1_000, name: Some(Box::from("guest")), login: None })
        }
        RefusalReason::NoKey
        | RefusalReason::NotAllowed
        | RefusalReason::WrongKey
        | RefusalReason::WrongSecret => Origin::of_request(Some("192.0.2.1".parse().unwrap()), "t"),
    };
    let caller = caller.map(|caller| (caller.tenant.id, caller.application.id));
    RefusedAttempt { reason, route: "ReadToken", caller, origin: Arc::new(origin) }
}

async fn refused(app: &Vault) -> Vec<(AuditScope, RefusalReason, u64, Option<u32>)> {
    let query = ExportQuery { next: Some(ExportCursor::default()), ..ExportQuery::default() };
    let page = app.audit().export(query).await.unwrap();
    let refused = page.entries.into_iter().filter(|it| it.entry.act == Act::Refuse);
    let told = refused.map(|it| {
        let refusals = it.entry.refusals.unwrap();
        let uid = it.entry.origin.unwrap().user.as_ref().map(|user| user.uid);
        (it.scope, refusals.reason, refusals.count, uid)
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by_key(|(_, reason, ..)| *reason);
    told
}

#[test]
fn attempts_are_written_once_to_the_scope_of_their_tenant_or_the_servers() {
    let vault = TestVault::new();
    let log = vault.app.audit().refusals();
    block_on(async {
        assert_eq!(log.write().await.unwrap(), None);
        for _ in 0..1_000 {
            log.note(&attempt(RefusalReason::WrongKey, None));
        }
        log.note(&attempt(RefusalReason::NotAllowed, Some(&vault.caller)));
        log.note(&attempt(RefusalReason::OtherUser, None));
        assert_eq!(refused(&vault.app).await, [], "an attempt writes nothing by itself");
        let written = log.write().await.unwrap().unwrap();
        assert_eq!((written.attempts, written.entries), (1_002, 3));
        let tenant = AuditScope::Tenant(vault.caller.tenant.id);
        let expected = [
            (AuditScope::Server, RefusalReason::WrongKey, 1_000, None),
            (tenant, RefusalReason::NotAllowed, 1, None),
            (AuditScope::Server, RefusalReason::OtherUser, 1, Some(1_000)),
        ];
        assert_eq!(refused(&vault.app).await, expected);
        assert_eq!(log.write().await.unwrap(), None);
    });
    vault.assert_clean();
}
