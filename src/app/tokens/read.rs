//! `GET /tokens/{id}`, and the parts of a token that an answer shows.

use serde_json::Value;

use crate::app::audit::opened::Opened;
use crate::app::caller::Caller;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::rows::{self, VersionedToken};
use crate::domain::access::Transform;
use crate::domain::audit::{Act, Entity};
use crate::domain::card::CardDetails;
use crate::domain::data::Data;
use crate::domain::exposure::{Exposure, Extent, Fingerprint, Right, ValueOrigin};
use crate::domain::id::TokenId;
use crate::domain::permission::Permission;
use crate::domain::time::Timestamp;
use crate::domain::token::Token;
use crate::domain::token_type::BankDetails;
use crate::expressions::Budget;
use crate::secret::Secret;
use crate::store::{Newest, Snapshot, Table, tables};

/// A token, limited to the parts that its reader may see.
#[derive(Debug)]
pub struct TokenView {
    pub token: Token,
    pub data: DataView,
    pub extent: Extent,
    pub fingerprint: Fingerprint,
    /// For card types: brand, BIN and issuer. They are not secret and do not depend on the
    /// transform.
    pub card: Option<CardDetails>,
    pub bank: Option<BankDetails>,
}

#[derive(Debug)]
pub enum DataView {
    /// The whole value, as in `token`.
    Plain,
    Masked(Secret<Value>),
    Absent,
}

impl TokenView {
    /// The most restrictive transform that shows this data.
    pub const fn transform(&self) -> Transform {
        match &self.data {
            DataView::Plain => Transform::Reveal,
            DataView::Masked(_) => Transform::Mask,
            DataView::Absent => Transform::Redact,
        }
    }
}

impl Tokens<'_> {
    pub async fn read(self, id: &str) -> Result<TokenView, Error> {
        let now = self.vault.now();
        let opened = Opened::by(self.vault, self.caller);
        let shown = self.read_opened(id, now, &opened).await;
        opened.settle(shown).await
    }

    async fn read_opened(
        self,
        id: &str,
        now: Timestamp,
        opened: &Opened<'_>,
    ) -> Result<TokenView, Error> {
        let mut newest = self.newest_token(id, now).await?;
        let read = |budget: &Budget| {
            let shown = match newest.take() {
                Some(token) => {
                    let exposure = readable(self.caller, &token)?;
                    self.show(token, exposure, budget)
                }
                None => self.show_token(id, now, budget)?,
            };
            opened.add(Act::Read, Entity::token(&shown.token));
            Ok(shown)
        };
        self.vault.evaluating(self.caller.party(), Work::Read.budget(), read).await
    }

    pub(in crate::app) fn show_token(
        self,
        id: &str,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<TokenView, Error> {
        let snapshot = self.vault.snapshot()?;
        let mut token = live_token(&snapshot, self.caller, Permission::TokenRead, id, now)?.token;
        let exposure = readable(self.caller, &token)?;
        self.vault.cvcs().attach(&snapshot, &mut token, now)?;
        Ok(self.show(token, exposure, budget))
    }

    /// The live token with this assigned id, with its code. `None` if only a snapshot can decide.
    ///
    /// The record and its code may be read at two moments: the row key of a code contains the
    /// expiry that the record has, so a code that is found there belongs to this record.
    async fn newest_token(self, id: &str, now: Timestamp) -> Result<Option<Token>, Error> {
        let Some(id) = TokenId::parse(id) else { return Ok(None) };
        let (tenant, keys) = (self.caller.tenant.id, &self.caller.keys);
        let newest = Newest::of(&self.vault.store)?;
        let place = tables::token_place(tenant, id);
        let sealed = newest.value(Table::Tokens, &place).await?;
        let token = sealed.map(|sealed| rows::open(keys, tenant, id, sealed)).transpose()?;
        let token = token.map(|found| found.token);
        let token = token.filter(|token| token.name.is_none() && token.is_live(now));
        let Some(mut token) = token else { return Ok(None) };
        if let Some(expires_at) = token.cvc_expires_at.filter(|at| now < *at) {
            let place = tables::cvcs(expires_at, tenant, id.uuid());
            // The code may have been replaced since the first read.
            let Some(code) = newest.value(Table::Cvcs, &place).await? else { return Ok(None) };
            token.cvc = self.vault.cvcs().open_of(tenant, id.uuid(), &code, now)?;
        }
        Ok(Some(token))
    }

    /// The only constructor of [`TokenView`]. If the mask cannot be evaluated, the data is
    /// redacted: a mask never fails open.
    pub(in crate::app) fn show(
        self,
        mut token: Token,
        exposure: Exposure,
        budget: &Budget,
    ) -> TokenView {
        let Exposure { extent, transform, fingerprint } = exposure;
        if extent == Extent::Outline {
            let data = DataView::Absent;
            return TokenView { token, data, extent, fingerprint, card: None, bank: None };
        }
        let data = match transform {
            Transform::Reveal => DataView::Plain,
            Transform::Mask => {
                self.masked(&token, budget).map_or(DataView::Absent, DataView::Masked)
            }
            Transform::Redact => DataView::Absent,
        };
        let card = token.kind.card_details(&token.data, &self.vault.bins());
        let bank = token.kind.bank_details(&token.data);
        if matches!(data, DataView::Absent) {
            // Otherwise its length would decide how many tokens a page has.
            token.data = Data::nothing();
        }
        TokenView { token, data, extent, fingerprint, card, bank }
    }

    pub(in crate::app) fn masked(self, token: &Token, budget: &Budget) -> Option<Secret<Value>> {
        let owner = token.mask.as_ref().map(|_| token.tenant);
        let mask = self.vault.evaluations.parsed.mask(owner, token.effective_mask()?, budget)?;
        budget.spend_json(token.data.json()).ok()?;
        // A mask never shows the code: a caller that sets a mask could read it.
        let hidden = token.cvc.as_ref().map(|code| Secret::new("X".repeat(code.expose().len())));
        let data = token.data.with(hidden.as_ref());
        let shown = if token.mask.is_some() {
            mask.apply(data.expose(), self.vault, budget)
        } else {
            mask.apply_strict(data.expose(), self.vault, budget)
        };
        shown.map(Secret::new)
    }
}

fn readable(caller: &Caller, token: &Token) -> Result<Exposure, Error> {
    caller.exposure(token.target(), Right::Read, ValueOrigin::Stored)
}

/// For an act that needs this permission. Tokens of other tenants, expired tokens and tokens that
/// never existed give the same error.
pub(in crate::app) fn live_token(
    snapshot: &Snapshot,
    caller: &Caller,
    permission: Permission,
    id: &str,
    now: Timestamp,
) -> Result<VersionedToken, Error> {
    let found = rows::find(snapshot, &caller.keys, caller.tenant.id, id)?;
    let Some(live) = found.filter(|found| found.token.is_live(now)) else {
        caller.require_may_name(&[permission], id)?;
        return Err(Error::NotFound("token"));
    };
    Ok(live)
}
