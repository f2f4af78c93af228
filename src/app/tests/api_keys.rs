//! API keys during rotations of their index keys: each works in every phase, and one that was
//! deleted in any phase works in none.

use std::collections::BTreeSet;

use crate::app::rotation::{Step, Walk};
use crate::app::tests::{TestVault, assert_clean, new_tenant};
use crate::app::{Error, KeyPurpose, KeyState, Vault, Write};
use crate::store::Table;
use crate::store::tests::block_on;

fn places(app: &Vault) -> BTreeSet<Vec<u8>> {
    let rows = app.store().snapshot().unwrap().first(&Table::ApiKeys.whole(), usize::MAX);
    rows.unwrap().into_iter().map(|(place, _)| place).collect()
}

fn index_keys(app: &Vault) -> Vec<(u32, KeyState, u64)> {
    let inventory = block_on(app.keys().inventory()).unwrap();
    let own = inventory.keys.iter().filter(|key| key.tenant.is_none());
    own.filter(|key| key.purpose == Some(KeyPurpose::Index))
        .map(|key| (key.number, key.state, key.index_entries.unwrap_or(0)))
        .collect()
}

#[test]
fn keys_are_found_made_and_deleted_in_every_phase_of_every_rotation() {
    // The caller of the prepared vault would hold up the rotation.
    let TestVault { app, disk, caller } = TestVault::new();
    drop(caller);
    let (tenant, key) = block_on(new_tenant(&app, "second"));
    let known = app.access().authenticate(&key).unwrap();
    let (application, tag) = (known.application.id, known.tag);
    drop(known);
    for round in 2..4 {
        let before = places(&app);
        assert_eq!(block_on(app.rotation().rotate_server()).unwrap(), round);
        let (mut walk, mut made, mut steps) = (Walk::default(), None, 0);
        block_on(async {
            for _ in crate::waiting::steps("the end of the rotation") {
                assert_eq!(
                    app.access().authenticate(&key).unwrap().tag,
                    tag,
                    "it is counted as one"
                );
                let again = Some(key.expose());
                let again = app
                    .access()
                    .create_key(tenant, application, again, None, &Write::plain())
                    .await;
                assert!(matches!(again, Err(Error::Conflict(_))), "{again:?}");
                let plain = Write::plain();
                let new = app
                    .access()
                    .create_key(tenant, application, None, None, &plain)
                    .await
                    .unwrap()
                    .outcome;
                assert!(app.access().authenticate(&new.text).is_ok());
                // A key that was made a step ago.
                if let Some((id, text)) = made.replace((new.key.id, new.text)) {
                    assert!(app.access().authenticate(&text).is_ok());
                    app.access().delete_key(tenant, application, id, None).await.unwrap();
                    let gone = app.access().authenticate(&text);
                    assert!(matches!(gone, Err(Error::Unauthenticated)));
                }
                assert_clean(&app);
                steps += 1;
                if let Step::Finished(_, unopened) =
                    app.rotation().rotate_step(&mut walk).await.unwrap()
                {
                    return assert_eq!(unopened, 0);
                }
            }
        });
        assert!(steps > 4, "{steps} steps");
        let (id, text) = made.unwrap();
        assert!(app.access().authenticate(&text).is_ok());
        block_on(app.access().delete_key(tenant, application, id, None)).unwrap();
        assert!(app.access().authenticate(&text).is_err());
        assert!(places(&app).is_disjoint(&before), "every row has moved");
        let count = u64::try_from(places(&app).len()).unwrap();
        let listed = index_keys(&app);
        assert_eq!(listed.first(), Some(&(1, KeyState::Lasting, 0)));
        assert_eq!(listed.last(), Some(&(round, KeyState::Current, count)));
    }
    // The first index key stays, since tags are made with it; the others are destroyed with the
    // sealing keys of their number.
    for number in [1, 2] {
        block_on(app.rotation().destroy_key(None, number)).unwrap();
        assert!(block_on(app.rotation().destroy_key(None, number)).is_err(), "once");
    }
    let alive = index_keys(&app).into_iter().filter(|(_, state, _)| *state != KeyState::Destroyed);
    assert_eq!(alive.map(|(number, ..)| number).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(app.access().authenticate(&key).unwrap().tag, tag);
    assert_clean(&app);
    app.close();
    let again = TestVault::on(disk, app.clock().clone()).unwrap();
    assert_eq!(again.app.access().authenticate(&key).unwrap().tag, tag, "also after a restart");
}
