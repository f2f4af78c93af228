//! Work that a failing disk interrupts, and the requirements on the vault afterwards: all answered
//! changes are there, and the unanswered one is there as a whole or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::tests::{TestVault, deduplicating, draft, expiring, named, prepared};
use crate::app::{Error, TokenDraft, WriteOutcome};
use crate::clock::Clock;
use crate::store::tests::block_on;
use crate::store::tests::disk::Image;
use crate::store::tests::disk::TestDisk;

/// The answers of the vault so far.
#[derive(Debug, Default)]
pub(super) struct AnsweredWork {
    /// Ids and values of tokens that must exist.
    there: BTreeMap<String, Value>,
    /// Ids of tokens that must not exist.
    gone: Vec<String>,
    /// The work in progress when the disk failed.
    open: Option<Open>,
    expiring: Vec<String>,
}

#[derive(Debug)]
enum Open {
    Create,
    Delete(String),
    Sweep,
}

/// `All` if the work was done before the disk failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    All,
    Part,
}

/// Creates of every kind, deletes and a sweep, then a close. Stops at the first failure.
pub(super) fn work(vault: &TestVault, clock: &Clock, told: &mut AnsweredWork) -> Done {
    let failed = block_on(async {
        for round in 0..2 {
            create(vault, told, draft(&format!("plain {round}"))).await?;
            create(vault, told, named(&format!("name {round}"), "named")).await?;
            create(vault, told, deduplicating(&format!("once {round}"))).await?;
            create(vault, told, deduplicating(&format!("once {round}"))).await?;
            let in_an_hour = vault.in_an_hour();
            let id = create(vault, told, expiring("short-lived", &in_an_hour)).await?;
            told.expiring.push(id);
            let first = told.there.keys().find(|id| !told.expiring.contains(id)).cloned();
            delete(vault, told, first.unwrap()).await?;
            // Rows move from the log into the data file, and the log continues in other segments.
            vault.app.store().merge_now(round)?;
        }
        clock.advance(Duration::from_hours(2));
        told.open = Some(Open::Sweep);
        for id in told.expiring.drain(..) {
            told.there.remove(&id);
            told.gone.push(id);
        }
        vault.app.upkeep().sweep_all().await?;
        told.open = None;
        vault.app.store().merge_now(2)?;
        create(vault, told, draft("last")).await
    });
    match failed {
        Ok(_) => {
            vault.app.close();
            Done::All
        }
        Err(Error::Stopped | Error::Storage(_)) => Done::Part,
        Err(other) => panic!("{other:?}"),
    }
}

async fn create(
    vault: &TestVault,
    told: &mut AnsweredWork,
    draft: TokenDraft,
) -> Result<String, Error> {
    let value = draft.data.as_ref().unwrap().expose().clone();
    told.open = Some(Open::Create);
    let WriteOutcome { shown, .. } = vault.create(draft).await?;
    let id = shown.token.public_id();
    told.there.insert(id.clone(), value);
    told.open = None;
    Ok(id)
}

async fn delete(vault: &TestVault, told: &mut AnsweredWork, id: String) -> Result<(), Error> {
    told.open = Some(Open::Delete(id.clone()));
    vault.delete(&id).await?;
    told.there.remove(&id);
    told.gone.push(id);
    told.open = None;
    Ok(())
}

impl AnsweredWork {
    /// The vault on this image holds everything that was answered, and keeps working.
    #[track_caller]
    pub(super) fn check(&self, image: Image, clock: &Clock, case: &str) {
        let vault = TestVault::on(TestDisk::holding(image), clock.clone());
        let vault = vault.unwrap_or_else(|error| panic!("{case}: {error:?}"));
        let report = vault.app.verification().verify().unwrap();
        assert!(report.is_clean(), "{case}: {:?}", report.findings);
        let deleting = match &self.open {
            Some(Open::Delete(id)) => Some(id),
            Some(Open::Create | Open::Sweep) | None => None,
        };
        for (id, value) in &self.there {
            let found = vault.data(id);
            let may_be_gone = deleting == Some(id) && found.is_none();
            assert!(found.as_ref() == Some(value) || may_be_gone, "{case}: {id} is lost");
        }
        for id in &self.gone {
            assert_eq!(vault.data(id), None, "{case}: {id} came back");
        }
        let there = u64::try_from(self.there.len()).unwrap();
        let possible = match &self.open {
            None => there..=there,
            Some(Open::Create) => there..=there + 1,
            Some(Open::Delete(_)) => there - 1..=there,
            // Expired tokens are gone for callers; their rows are removed together or stay
            // together.
            Some(Open::Sweep) => there..=there + 2,
        };
        assert!(possible.contains(&report.tokens), "{case}: {} tokens", report.tokens);
        assert!(report.tokens != there + 1 || !matches!(self.open, Some(Open::Sweep)), "{case}");
        let id = block_on(vault.create_id(draft("afterwards")));
        assert_eq!(vault.data(&id), Some(json!({ "value": "afterwards" })), "{case}");
        assert_eq!(vault.assert_clean().tokens, report.tokens + 1);
    }
}

#[test]
fn undisturbed_work_gets_done_and_its_vault_is_as_told() {
    let (clock, mut told) = (Clock::new(), AnsweredWork::default());
    let vault = TestVault::on(TestDisk::holding(prepared().0.clone()), clock.clone()).unwrap();
    assert_eq!(work(&vault, &clock, &mut told), Done::All);
    assert_eq!((told.there.len(), told.gone.len()), (5, 4));
    told.check(vault.disk.durable(), &clock, "undisturbed");
}
