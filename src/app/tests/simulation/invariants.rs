//! Compares the whole vault with the model.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::ManuallyDrop;

use crate::app::audit::opened::Opened;
use crate::app::tests::simulation::asks::Ask;
use crate::app::tests::simulation::model::{Life, Model, Window};
use crate::app::tests::simulation::search::Sent;
use crate::app::tests::simulation::seen::{Outcome, Seen, SeenIntent};
use crate::app::tests::simulation::world::World;
use crate::app::tokens::evaluations::Work;
use crate::app::{ExportQuery, Receipt, TokenOrigin, TrustAnchors};
use crate::domain::audit::{Act, EntityKind};
use crate::domain::key_text::KeyText;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::store::tables::{self, CountKind};
use crate::store::volume::Volume as _;
use crate::store::{CvcKeys, Table};

/// As the records have them.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) now: Timestamp,
    pub(super) tenants: Vec<ObservedTenant>,
}

#[derive(Debug)]
pub(super) struct ObservedTenant {
    /// Live ones.
    pub(super) tokens: BTreeMap<String, Seen>,
    pub(super) intents: BTreeMap<String, SeenIntent>,
    /// Includes those that wait for a sweep.
    rows: usize,
    counted: usize,
}

/// Facts that outlive the records.
#[derive(Default)]
pub(super) struct Ledger {
    /// The id of every token that was made, and the time.
    births: BTreeSet<(String, Timestamp)>,
    /// Answered deletes and updates of tokens.
    acts: BTreeMap<(Act, String), usize>,
    receipt: Option<Receipt>,
}

impl Observed {
    /// The error describes the difference.
    pub(super) fn is_state_of(&self, model: &Model) -> Result<(), String> {
        let now = Window { from: self.now, to: self.now };
        for (at, (seen, tenant)) in self.tenants.iter().zip(&model.tenants).enumerate() {
            for (id, token) in &tenant.tokens {
                let shown = seen.tokens.get(id);
                match (now.life(token.expires_at), shown) {
                    (Life::Live, Some(shown)) if token.is(shown, now) => (),
                    (Life::Live, Some(shown)) => {
                        return Err(format!("tenant {at}: {shown:?} is not {token:?}"));
                    }
                    (Life::Live, None) => return Err(format!("tenant {at}: {id} is lost")),
                    (_, None) => (),
                    (_, Some(_)) => return Err(format!("tenant {at}: {id} has expired")),
                }
            }
            for (id, intent) in &tenant.intents {
                let is_live = now.life(Some(intent.expires_at)) == Life::Live;
                match seen.intents.get(id) {
                    Some(shown) if is_live && intent.is(shown, now) => (),
                    None if !is_live => (),
                    shown => return Err(format!("tenant {at}: intent {shown:?} not {intent:?}")),
                }
            }
            let token = seen.tokens.keys().find(|id| !tenant.tokens.contains_key(*id));
            let intent = seen.intents.keys().find(|id| !tenant.intents.contains_key(*id));
            if let Some(id) = token.or(intent) {
                return Err(format!("tenant {at}: nobody made {id}"));
            }
            let (live, all) = tenant.rows(now);
            if seen.rows < live || seen.rows > all || seen.rows != seen.counted {
                let (rows, counted) = (seen.rows, seen.counted);
                let told = format!("{rows} rows, {counted} counted, {live} live, {all} known");
                return Err(format!("tenant {at}: {told}"));
            }
            if tenant.limit.is_some_and(|limit| live > limit) {
                return Err(format!("tenant {at}: {live} tokens are more than its quota"));
            }
        }
        Ok(())
    }
}

impl World {
    pub(super) fn observe(&mut self) -> Observed {
        let (app, now) = (self.app(), self.clock.now());
        let tenants = self.site.tenants.iter().map(|tenant| {
            let key = KeyText::parse(&tenant.whole).unwrap();
            let caller = app.access().authenticate(&key).unwrap();
            let snapshot = app.snapshot().unwrap();
            let rows = snapshot.first(&tables::tokens_of(tenant.id), usize::MAX).unwrap();
            let ids = rows.iter().map(|(key, _)| tables::token_of_key(key).unwrap().1);
            let ids: Vec<_> = ids.collect();
            let tokens = app.tokens(&caller);
            let (permission, budget) = (Permission::TokenRead, Work::Page.budget());
            // An observation of the test is not an act.
            let opened = ManuallyDrop::new(Opened::by(&app, &caller));
            let shown = tokens.show_listed(&snapshot, permission, &ids, now, &budget, &opened);
            let shown = shown.unwrap();
            let shown: Vec<_> = shown.tokens.iter().map(Seen::new).collect();
            let intents = app.token_intents(&caller);
            let range = tables::token_intents_of(tenant.id);
            let keys = snapshot.first(&range, usize::MAX).unwrap();
            let found = keys.iter().filter_map(|(key, _)| {
                let id = tables::token_intent_of_key(key).unwrap().1.to_string();
                let (intent, _) = intents.find(&snapshot, &id, now).unwrap()?;
                Some((id, SeenIntent::new(&intents.show_intent(intent))))
            });
            let kinds = [CountKind::Tokens, CountKind::TokenIntents];
            let counts = kinds.map(|kind| snapshot.count(&tables::counts(tenant.id, kind)));
            let counts = counts.map(|count| usize::try_from(count.unwrap()).unwrap());
            ObservedTenant {
                tokens: shown.into_iter().map(|seen| (seen.id.clone(), seen)).collect(),
                intents: found.collect(),
                rows: ids.len() + keys.len(),
                counted: counts.iter().sum(),
            }
        });
        Observed { now, tenants: tenants.collect() }
    }

    /// Notes the tokens that the round has made, changed and deleted.
    pub(super) fn note_acts(&mut self, sent: &[Sent]) {
        for sent in sent {
            let act = match (&sent.request.ask, &sent.told) {
                (
                    Ask::Create(_) | Ask::Convert(..),
                    Some(Outcome::Token(seen, TokenOrigin::New)),
                ) => {
                    self.ledger.births.insert((seen.id.clone(), seen.created_at));
                    continue;
                }
                (Ask::Patch(id, _), Some(Outcome::Token(..))) => (Act::Update, id.clone()),
                (Ask::Delete(id), Some(Outcome::Done)) => (Act::Delete, id.clone()),
                _ => continue,
            };
            *self.ledger.acts.entry(act).or_default() += 1;
        }
        for tenant in &self.model.tenants {
            let tokens = tenant.tokens.iter();
            self.ledger.births.extend(tokens.map(|(id, it)| (id.clone(), it.created_at)));
        }
    }

    /// A completed sweep leaves no key of a code whose minute has passed.
    pub(super) fn check_codes_are_gone(&self, swept_at: Timestamp) {
        let file = self.disk.open(CvcKeys::FILE).unwrap().unwrap();
        let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
        file.read(0, &mut bytes).unwrap();
        for slot in bytes.chunks(128).filter(|slot| slot.iter().any(|byte| *byte != 0)) {
            let minute = u64::from_be_bytes(slot[16..24].try_into().unwrap());
            let is_kept = minute >= tables::cvc_minute(swept_at);
            assert!(is_kept, "the key of codes of minute {minute} outlived a sweep");
        }
    }

    /// Verifies the whole file, and inspects the chain against the last receipt.
    pub(super) fn verify(&mut self) {
        let app = self.app();
        let report = app.verification().verify().unwrap();
        assert!(report.is_clean(), "verify: {:?}", report.findings);
        let anchors = TrustAnchors { receipt: self.ledger.receipt, ..TrustAnchors::default() };
        let chain = self.drive(app.audit().inspect(&anchors)).unwrap();
        assert!(chain.is_whole(), "audit chain: {:?}", chain.findings);
        assert!(app.snapshot().unwrap().len(Table::Tenants).unwrap() == 2, "tenants");
    }

    pub(super) fn take_receipt(&mut self) {
        let app = self.app();
        self.ledger.receipt = Some(self.drive(app.audit().receipt()).unwrap());
    }

    /// The audit chain has one entry for each token that was made, and at least one for each
    /// answered act.
    pub(super) fn check_audit(&mut self) {
        let app = self.app();
        let mut made: BTreeMap<(String, Timestamp), usize> = BTreeMap::new();
        let mut acts: BTreeMap<(Act, String), usize> = BTreeMap::new();
        let mut next = None;
        loop {
            let query = ExportQuery { next, ..ExportQuery::default() };
            let page = self.drive(app.audit().export(query)).unwrap();
            for entry in page.entries.iter().map(|it| &it.entry) {
                if entry.entity.kind != EntityKind::Token {
                    continue;
                }
                let id = entry.entity.public_id();
                if entry.act == Act::Create {
                    *made.entry((id.clone(), entry.at)).or_default() += 1;
                }
                *acts.entry((entry.act, id)).or_default() += 1;
            }
            next = page.next;
            if next.is_none() {
                break;
            }
        }
        for birth in &self.ledger.births {
            assert_eq!(made.get(birth), Some(&1), "entries of the creation of {birth:?}");
        }
        for (act, answered) in &self.ledger.acts {
            let entries = acts.get(act).copied().unwrap_or(0);
            assert!(entries >= *answered, "{entries} entries of {answered} acts {act:?}");
        }
    }
}
