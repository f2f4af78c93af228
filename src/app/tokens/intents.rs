//! Token intents: create, read, delete, and conversion to a token.

use crate::app::TokenRows;
use crate::app::Vault;
use crate::app::caller::Caller;
use crate::app::commit::commit_loop::{CommitOutcome, Priority, Write};
use crate::app::error::Error;
use crate::app::program_calls::gathered;
use crate::app::records::{self, Record};
use crate::app::tokens::create::no_intent;
use crate::app::tokens::draft::{DataSource, check_data, sort_for_expressions};
use crate::app::tokens::evaluations::Work;
use crate::crypto::{TenantKeys, Version};
use crate::domain::answer_seed::AnswerSeed;
use crate::domain::audit::Act;
use crate::domain::card::CardDetails;
use crate::domain::container::Container;
use crate::domain::data::Data;
use crate::domain::id::TokenIntentId;
use crate::domain::mistakes::Mistakes;
use crate::domain::time::Timestamp;
use crate::domain::token_intent::TokenIntent;
use crate::domain::token_type::{BankDetails, TokenType};
use crate::expressions::{self, Budget};
use crate::secret::Secret;
use crate::store::tables::CodeEnd;
use crate::store::{Change, Snapshot, tables};
use serde_json::Value;

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
    pub source: DataSource,
    pub mistakes: Mistakes,
}

/// With the details of its card or bank account.
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
            .commit_evaluating(self.caller.party(), Work::Write, write, |snapshot, budget| {
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
            .inspect(|made| {
                let intent = &made.outcome.intent;
                let code = (intent.cvc.as_ref(), intent.cvc_expires_at);
                gathered::note_made(&intent.id.into(), code);
            })
    }

    pub async fn read(self, id: &str) -> Result<TokenIntentView, Error> {
        let now = self.vault.now();
        let found = self.find(&self.vault.snapshot()?, id, now)?;
        let (intent, _) = found.ok_or(Error::NotFound("token intent"))?;
        gathered::note(&intent.id.into());
        self.vault.audit().note_read(self.caller, intent.id.into(), now).await?;
        Ok(self.show_intent(intent))
    }

    pub async fn delete(self, id: &str) -> Result<(), Error> {
        let _turn = self.vault.lanes.take((self.caller.tenant.id, id)).await?;
        let deleted = self
            .vault
            .commit(Priority::Upkeep, |snapshot| {
                let now = self.vault.now();
                let found = self.find(snapshot, id, now)?;
                let (intent, version) = found.ok_or(Error::NotFound("token intent"))?;
                let audit =
                    self.vault.audit().caller_entry(self.caller, Act::Delete, intent.id, now);
                let change = records::remove(&self.caller.keys, &intent, version).and(audit);
                Ok((change, intent.id))
            })
            .await?;
        gathered::note_ended(deleted.uuid());
        Ok(())
    }

    /// The intent with the version of its record, if it belongs to the tenant and is live.
    pub(in crate::app) fn find(
        self,
        snapshot: &Snapshot,
        id: &str,
        now: Timestamp,
    ) -> Result<Option<(TokenIntent, Version)>, Error> {
        let Some(id) = TokenIntentId::parse(id) else { return Ok(None) };
        let found = records::find::<TokenIntent>(snapshot, &self.caller.keys, id)?;
        let Some((mut intent, version)) = found.filter(|(it, _)| it.is_live(now)) else {
            return Ok(None);
        };
        let (uuid, expires_at) = (intent.id.uuid(), intent.cvc_expires_at);
        intent.cvc = self.vault.cvcs().find(snapshot, intent.tenant, uuid, expires_at, now)?;
        Ok(Some((intent, version)))
    }

    /// Deletes the intent of a conversion. Its expectation makes a second conversion fail.
    pub(in crate::app) fn consume(
        self,
        snapshot: &Snapshot,
        intent: &TokenIntent,
        now: Timestamp,
    ) -> Result<Change, Error> {
        let found = self.find(snapshot, &intent.id.to_string(), now)?;
        let (intent, version) = found.ok_or_else(no_intent)?;
        Ok(records::remove(&self.caller.keys, &intent, version))
    }

    pub(in crate::app) fn show_intent(self, intent: TokenIntent) -> TokenIntentView {
        let card = intent.kind.card_details(&intent.data, &self.vault.bins());
        let bank = intent.kind.bank_details(&intent.data);
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
        // The token that the intent becomes is in this container unless its conversion names others.
        let home: Vec<_> = Container::parse(kind.default_container()).into_iter().collect();
        draft.source.require_place(Some(kind), Some(data), &home)?;
        let mut data = Secret::new(data.expose().clone());
        check_data(kind, self.caller.tenant.kind, &mut data, &mut mistakes);
        mistakes.into_result()?;
        let quotas = &self.caller.tenant.quotas;
        let cvc = kind.take_cvc(data.expose_mut());
        let expires_at = now.plus(quotas.token_intent_retention);
        // A code must not outlive its intent.
        let retention = self.vault.cvc_retention(&self.caller.tenant);
        let cvc_expires_at = now.plus(retention).min(expires_at);
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
            answer_seed: AnswerSeed::new(self.vault.random().bytes()),
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
        let mut change = self.vault.create_record(keys, intent)?;
        if let (Some(code), Some(at)) = (&intent.cvc, intent.cvc_expires_at) {
            change =
                change.and(self.vault.cvcs().keep(intent.tenant, intent.id.uuid(), code, at)?);
        }
        Ok(change)
    }
}

impl TokenRows<'_> {
    /// Deletes the code of an intent.
    pub(in crate::app) fn forget_intent_cvc(
        self,
        mut intent: TokenIntent,
        version: Version,
        keys: &TenantKeys,
        end: CodeEnd,
    ) -> Result<Change, Error> {
        let old = intent.entries(keys);
        intent.cvc_expires_at = None;
        let change = self.vault.replace_record(keys, &old, &intent, version)?;
        Ok(change.count(tables::code_ends(intent.tenant, end), 1))
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
