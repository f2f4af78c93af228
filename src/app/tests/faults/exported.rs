//! An export of the vault that has a row in every table.

use crate::app::tests::faults::open;
use crate::app::tests::faults::scene::scene;
use crate::app::{ExportItem, ExportTarget, Transfer};
use crate::crypto::AgeIdentity;
use crate::secret::Secret;
use crate::store::Table;
use crate::store::tables::SealedBy;
use crate::store::tests::{TestDirectory, block_on};

/// Tables of a tenant whose rows are in no export: they end by themselves.
const LEFT_OUT: [Table; 7] = [
    Table::Sessions,
    Table::ReactorResults,
    Table::ClientKeys,
    Table::WebhookDeliveries,
    Table::TokenIntents,
    Table::ThreedsSessions,
    Table::IdempotencyAnswers,
];

#[test]
fn an_export_has_every_table_of_a_tenant_that_is_not_named_as_left_out() {
    let (scene, directory) = (scene(), TestDirectory::new());
    let (app, _disk) = open(scene.stopped.clone(), &scene.clock).unwrap();
    let target = ExportTarget {
        tenant: scene.known.tenant,
        path: directory.join("tenant.age"),
        recipients: vec![AgeIdentity::generate().public_text()],
    };
    let render = |_: &ExportItem<'_>| Secret::new(Vec::new());
    let done = block_on(Transfer::of(&app).export(&target, render)).unwrap();
    assert_eq!(done.damaged, 0);
    let written = [
        // A line of an application has its keys.
        (Table::ApplicationKeys, done.applications),
        (Table::Applications, done.applications),
        (Table::Proxies, done.proxies),
        (Table::Reactors, done.reactors),
        (Table::Webhooks, done.webhooks),
        // A line of a token has its name.
        (Table::TokenNames, done.tokens),
        (Table::Tokens, done.tokens),
    ];
    for table in Table::ALL.iter().filter(|table| table.sealed_by() == SealedBy::Tenant) {
        let lines = written.iter().find(|(it, _)| it == table).map(|(_, lines)| *lines);
        let is_there = lines.is_some_and(|lines| lines > 0);
        assert_ne!(is_there, LEFT_OUT.contains(table), "{}", table.name());
    }
    app.close();
}
