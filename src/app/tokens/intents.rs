//! Token intents: create, read, delete, and conversion to a token.

use crate::app::access::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::{Error, Fault};
use crate::app::tokens::create::no_intent;
use crate::app::tokens::draft::{check_data, sort_for_expressions};
use crate::app::tokens::evaluations::Work;
use crate::app::tokens::rows::TokenRows;
use crate::app::vault::Vault;
use crate::crypto::{TenantKeys, Version, version};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::Act;
use crate::domain::card::CardDetails;
use crate::domain::data::Data;
use crate::domain::id::{TenantId, TokenIntentId};
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::{BankDetails, TokenType};
use crate::expressions::{self, Budget};
use crate::secret::Secret;
use crate::store::record::{decode_token_intent, encode_token_intent};
use crate::store::tables::{self, CountKind, ExpiryKind};
use crate::store::{Change, Snapshot, Table};
use serde_json::Value;

/// Operations of one caller on token intents.
#[derive(Debug, Clone, Copy)]
pub struct TokenIntents<'a> {
    pub(in crate::app) vault: &'a Vault,
    pub(in crate::app) caller: &'a Caller,
}

impl Vault {
    pub const fn token_intents<'a>(&'a self, caller: &'a Caller) -> TokenIntents<'a> {
        TokenIntents { vault: self, caller }
    }
}

#[derive(Debug, Default)]
pub struct TokenIntentDraft {
    pub kind: Option<TokenType>,
    pub data: Option<Secret<Value>>,
    pub mistakes: Mistakes,
}

/// An intent, and the details of its card or bank account for the answer.
#[derive(Debug)]
pub struct TokenIntentView {
    pub intent: TokenIntent,
    pub card: Option<CardDetails>,
    pub bank: Option<BankDetails>,
}

impl TokenIntents<'_> {
    pub async fn create(
        self,
        draft: &TokenIntentDraft,
        write: &Write<'_, TokenIntentView>,
    ) -> Result<CommitOutcome<TokenIntentView>, Error> {
        let now = self.vault.now();
        self.vault
            .commit_evaluating(Work::Write, write, |snapshot, budget| {
                let intent = self.check_intent(draft, now, budget)?;
                let change = self.create_intent_rows(&intent, &self.caller.keys)?;
                let change = self.caller.within_token_limit(snapshot, change)?;
                let change = change.and(self.vault.audit().caller_entry(
                    self.caller,
                    Act::Create,
                    &intent,
                    now,
                ));
                Ok((change, self.show_intent(intent)))
            })
            .await
    }

    pub async fn read(self, id: &str) -> Result<TokenIntentView, Error> {
        let now = self.vault.now();
        let found = self.find(&self.vault.snapshot()?, id, now)?;
        let (intent, _) = found.ok_or(Error::NotFound("token intent"))?;
        self.vault.audit().note_read(self.caller, intent.id.into(), now).await?;
        Ok(self.show_intent(intent))
    }

    pub async fn delete(self, id: &str) -> Result<(), Error> {
        let _turn = self.vault.lanes.take(id.as_bytes()).await?;
        self.vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let found = self.find(snapshot, id, now)?;
                let (intent, version) = found.ok_or(Error::NotFound("token intent"))?;
                let audit =
                    self.vault.audit().caller_entry(self.caller, Act::Delete, intent.id, now);
                Ok((expected(&intent, version).and(delete(&intent)).and(audit), ()))
            })
            .await
    }

    /// The intent, if it belongs to the tenant and is live, and the version of its record.
    pub(in crate::app) fn find(
        self,
        snapshot: &Snapshot,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<(TokenIntent, Version)>, Error> {
        let Some(id) = TokenIntentId::parse(id) else { return Ok(None) };
        let found = find_by_id(snapshot, &self.caller.keys, self.caller.tenant.id, id)?;
        let Some((mut intent, version)) = found.filter(|(it, _)| it.is_live(now)) else {
            return Ok(None);
        };
        let (uuid, expires_at) = (intent.id.uuid(), intent.cvc_expires_at);
        intent.cvc = self.vault.cvcs().find(snapshot, intent.tenant, uuid, expires_at, now)?;
        Ok(Some((intent, version)))
    }

    /// The part of a conversion that deletes the intent. Its expectation makes a second conversion
    /// fail.
    pub(in crate::app) fn consume(
        self,
        snapshot: &Snapshot,
        intent: &TokenIntent,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let found = self.find(snapshot, &intent.id.to_string(), now)?;
        let (intent, version) = found.ok_or_else(no_intent)?;
        Ok(expected(&intent, version).and(delete(&intent)))
    }

    pub(in crate::app) fn show_intent(self, intent: TokenIntent) -> TokenIntentView {
        let data = intent.data.value();
        let card = intent.kind.card_details(data.expose(), &self.vault.bins());
        let bank = intent.kind.bank_details(data.expose());
        TokenIntentView { intent, card, bank }
    }

    fn check_intent(
        self,
        draft: &TokenIntentDraft,
        now: Timestamp,
        budget: &Budget,
    ) -> Result<TokenIntent, Error> {
        let mut mistakes = draft.mistakes.clone();
        if let Some(kind) = draft.kind
            && !self.caller.may_intend(kind)
        {
            mistakes.add("type", "Token intents of this type are not available.");
        }
        let (Some(kind), Some(data)) = (draft.kind, &draft.data) else {
            return Err(Error::Invalid(mistakes));
        };
        let mut data = Secret::new(data.expose().clone());
        check_data(kind, self.caller.tenant.kind, &mut data, &mut mistakes);
        mistakes.into_result()?;
        let quotas = &self.caller.tenant.quotas;
        let cvc = kind.take_cvc(data.expose_mut());
        let expires_at = now.plus(quotas.token_intent_retention);
        // A code does not outlive its intent.
        let cvc_expires_at = now.plus(quotas.cvc_retention).min(expires_at);
        let stored = Data::from_value(data.expose());
        sort_for_expressions(&mut data);
        Ok(TokenIntent {
            id: TokenIntentId::new(self.vault.next_id(now)),
            tenant: self.caller.tenant.id,
            kind,
            fingerprint: self.default_fingerprint(kind, data.expose(), budget)?,
            data: stored,
            cvc_expires_at: cvc.as_ref().map(|_| cvc_expires_at),
            cvc,
            created_by: self.caller.application.id,
            created_at: now,
            expires_at,
            answer_seed: Some(AnswerSeed::new(self.vault.random().bytes())),
        })
    }

    fn default_fingerprint(
        self,
        kind: TokenType,
        visible: &Value,
        budget: &Budget,
    ) -> Result<String, Error> {
        let expression = kind.default_fingerprint_expression();
        match self.vault.tokens(self.caller).evaluate_text(
            None,
            expression,
            &expressions::Data(visible),
            budget,
        ) {
            Ok(value) => {
                Ok(self.caller.keys.fingerprint().fingerprint(kind.as_str(), value.expose()))
            }
            Err(why) => Err(Error::invalid("data", why.to_string())),
        }
    }

    fn create_intent_rows(self, intent: &TokenIntent, keys: &TenantKeys) -> Result<Change, Error> {
        let key = tables::token_intents(intent.tenant, intent.id);
        let plain = encode_token_intent(intent)?;
        let table = Table::TokenIntents.number();
        let sealed = keys.seal(table, &key, plain.expose(), self.vault.random());
        let mut change = Change::new()
            .expect_absent(Table::TokenIntents, key.clone())
            .put(Table::TokenIntents, key, sealed)
            .count(tables::counts(intent.tenant, CountKind::TokenIntents), 1);
        change = change.put(Table::Expiries, due(intent), Vec::new());
        if let (Some(code), Some(at)) = (&intent.cvc, intent.cvc_expires_at) {
            change =
                change.and(self.vault.cvcs().keep(intent.tenant, intent.id.uuid(), code, at)?);
        }
        Ok(change)
    }
}

impl TokenRows<'_> {
    /// Deletes the code of an intent whose retention is over, and keeps the rest.
    pub(in crate::app) fn forget_intent_cvc(
        self,
        mut intent: TokenIntent,
        version: Version,
        keys: &TenantKeys,
    ) -> Result<Change, Error> {
        let code = cvc_key(&intent);
        intent.cvc_expires_at = None;
        let key = tables::token_intents(intent.tenant, intent.id);
        let plain = encode_token_intent(&intent)?;
        let table = Table::TokenIntents.number();
        let sealed = keys.seal(table, &key, plain.expose(), self.vault.random());
        let change = expected(&intent, version).put(Table::TokenIntents, key, sealed);
        Ok(code.into_iter().fold(change, |change, key| change.delete(Table::Cvcs, key)))
    }
}

impl Caller {
    /// Only cards, unless the tenant's settings name more types.
    fn may_intend(&self, kind: TokenType) -> bool {
        let wider = self.tenant.settings.get("token_intent_types");
        kind == TokenType::Card
            || wider.is_some_and(|list| list.split(',').any(|name| name.trim() == kind.as_str()))
    }
}

pub(in crate::app) fn find_by_id(
    snapshot: &Snapshot,
    keys: &TenantKeys,
    tenant: TenantId,
    id: TokenIntentId,
) -> Result<Option<(TokenIntent, Version)>, Error> {
    let key = tables::token_intents(tenant, id);
    let Some(sealed) = snapshot.value(Table::TokenIntents, &key)? else { return Ok(None) };
    let plain = keys.open(Table::TokenIntents.number(), &key, &sealed)?;
    let version = version(&sealed).ok_or(Error::Internal(Fault::BadRecord))?;
    Ok(Some((decode_token_intent(tenant, id, plain.expose())?, version)))
}

pub(in crate::app) fn expected(intent: &TokenIntent, version: Version) -> Change {
    let record = tables::token_intents(intent.tenant, intent.id);
    Change::new().expect_version(Table::TokenIntents, record, version)
}

/// Deletes an intent and all its rows.
pub(in crate::app) fn delete(intent: &TokenIntent) -> Change {
    let mut change = Change::new()
        .delete(Table::TokenIntents, tables::token_intents(intent.tenant, intent.id))
        .count(tables::counts(intent.tenant, CountKind::TokenIntents), -1);
    change = change.delete(Table::Expiries, due(intent));
    if let Some(key) = cvc_key(intent) {
        change = change.delete(Table::Cvcs, key);
    }
    change
}

/// The entry in [`Table::Expiries`] that belongs to an intent.
pub(in crate::app) fn due(intent: &TokenIntent) -> Vec<u8> {
    let (at, id) = (intent.expires_at, intent.id.uuid());
    tables::expiries(at, ExpiryKind::TokenIntent, intent.tenant, id)
}

/// The key of the intent's card verification code, if the record has one.
pub(in crate::app) fn cvc_key(intent: &TokenIntent) -> Option<Vec<u8>> {
    intent.cvc_expires_at.map(|at| tables::cvcs(at, intent.tenant, intent.id.uuid()))
}
