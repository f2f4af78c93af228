//! The bare servers of a run, one for each kind of token: their answers differ in length.

use crate::Outcome;
use crate::bare::Bare;
use crate::client::{Target, block_on};
use crate::drive::seed;
use crate::model::{Model, compare_tls, confirm_replies, learn};
use crate::plan::{Part, Plan};
use crate::proc::Scratch;
use crate::request::{Kind, Load, PAGE_SIZE, Work};
use crate::vault::VaultFiles;
use std::sync::Arc;

pub(crate) struct Yardsticks {
    card: Bare,
    plain: Option<Bare>,
    pub(crate) model: Model,
}

impl Yardsticks {
    pub(crate) fn start(plan: &Plan, scratch: &Scratch) -> Outcome<Self> {
        let (card, model) = start(plan, scratch, Kind::Card)?;
        let mut yardsticks = Self { card, plain: None, model };
        if plan.has(Part::Plain) {
            yardsticks.plain = Some(start(plan, scratch, Kind::Plain)?.0);
        }
        Ok(yardsticks)
    }

    pub(crate) fn target(&self, kind: Kind) -> &Target {
        match (kind, &self.plain) {
            (Kind::Plain, Some(plain)) => &plain.target,
            (Kind::Card | Kind::Plain, _) => &self.card.target,
        }
    }
}

/// Learns the answers from a vault of its own, so that the measured ones hold nothing but the load.
fn start(plan: &Plan, scratch: &Scratch, kind: Kind) -> Outcome<(Bare, Model)> {
    let place = VaultFiles { binary: plan.binary.clone(), data: scratch.path("model") };
    let mut vault = place.start()?;
    let work = Work { ids: Arc::default(), kind, load: Load::Create };
    let ids = Arc::new(block_on(seed(&vault.target, &work, PAGE_SIZE))?);
    let get = Work { ids, kind, load: Load::Get };
    let model = learn(&vault.target, &get)?;
    let bare = Bare::start(&model, &scratch.path(&format!("bare-{kind:?}")))?;
    confirm_replies(&bare.target, &get, &model)?;
    compare_tls(&vault.target, &bare.target)?;
    vault.stop()?;
    place.remove()?;
    Ok((bare, model))
}
