//! The verification of a bank account. This server has no connection to a bank: test tenants get
//! the documented answers of the test accounts, and every other account is inconclusive.

use crate::app::audit::opened::Opened;
use crate::app::caller::lacks;
use crate::app::error::Error;
use crate::app::tokens::Tokens;
use crate::app::tokens::rows;
use crate::domain::audit::{Act, Entity};
use crate::domain::permission::Permission;
use crate::domain::tenant::TenantKind;
use crate::domain::token::Token;
use crate::domain::token_type::TokenType;

const NO_TOKEN: &str = "There is no such token.";
const NO_ACCOUNT: &str = "The token does not hold a bank account.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BankAccountStatus {
    Disabled,
    Enabled,
    Inconclusive,
}

impl BankAccountStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Enabled => "enabled",
            Self::Inconclusive => "inconclusive",
        }
    }

    fn of_test_account(routing_number: &str, account_number: &str) -> Self {
        match (routing_number, account_number) {
            ("021000021", "00001") => Self::Enabled,
            ("021000020", "00000") => Self::Disabled,
            _ => Self::Inconclusive,
        }
    }
}

impl Tokens<'_> {
    /// `routing_number` completes a token that holds only an account number. The answer depends on
    /// the value, so this is a use of the token: it needs that right and is audited.
    pub async fn verify_bank_account(
        self,
        id: &str,
        routing_number: Option<&str>,
    ) -> Result<BankAccountStatus, Error> {
        let (snapshot, now) = (self.vault.snapshot()?, self.vault.now());
        let found = rows::find(&snapshot, &self.caller.keys, self.caller.tenant.id, id)?;
        let found = found.filter(|found| found.token.is_live(now));
        let Some(token) = found.map(|found| found.token) else {
            self.caller.require_may_name(&[Permission::TokenUse], id)?;
            return Err(Error::invalid("token_id", NO_TOKEN));
        };
        if self.caller.grants(token.target()).usage.is_none() {
            return Err(lacks());
        }
        let opened = Opened::by(self.vault, self.caller);
        opened.add(Act::Read, Entity::token(&token));
        opened.settle(status(&token, self.caller.tenant.kind, routing_number)).await
    }
}

fn status(
    token: &Token,
    tenant: TenantKind,
    routing_number: Option<&str>,
) -> Result<BankAccountStatus, Error> {
    let data = token.data.value();
    let member = |name: &str| data.expose().get(name).and_then(|value| value.as_str());
    let (routing_number, account_number) = match token.kind {
        TokenType::Bank => (member("routing_number"), member("account_number")),
        TokenType::UsBankAccountNumber => (routing_number, data.expose().as_str()),
        TokenType::Card
        | TokenType::CardNumber
        | TokenType::EmployerIdNumber
        | TokenType::NetworkToken
        | TokenType::SocialSecurityNumber
        | TokenType::Token
        | TokenType::UsBankRoutingNumber => {
            return Err(Error::invalid("token_id", NO_ACCOUNT));
        }
    };
    Ok(match (tenant, routing_number, account_number) {
        (TenantKind::Test, Some(routing), Some(account)) => {
            BankAccountStatus::of_test_account(routing, account)
        }
        _ => BankAccountStatus::Inconclusive,
    })
}
