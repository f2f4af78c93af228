//! From an operation's name to the function that carries it out.

use crate::app::Write;
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::route::Operation;
use crate::http::{Exchange, Instead, wire};
use crate::idempotency::Answer;

impl Exchange<'_> {
    pub(super) async fn dispatch(&self, operation: Operation) -> Result<Reply, Instead> {
        Ok(match operation {
            Operation::AuthenticateThreedsSession => self.authenticate_threeds_session().await?,
            Operation::CreateApplication => self.create_application().await?,
            Operation::CreateApplicationKey => self.create_application_key().await?,
            Operation::CreateThreedsSession => self.create_threeds_session().await?,
            Operation::CreateToken => self.create_token().await?,
            Operation::CreateTokenIntent => self.create_token_intent().await?,
            Operation::DeleteApplication => self.delete_application().await?,
            Operation::DeleteApplicationKey => self.delete_application_key().await?,
            Operation::DeleteToken => self.delete_token().await?,
            Operation::DeleteTokenIntent => self.delete_token_intent().await?,
            Operation::Detokenize => self.detokenize().await?,
            Operation::ListApplicationKeys => self.list_application_keys()?,
            Operation::ListApplicationTemplates => Reply::ok(wire::template::render_all()),
            Operation::ListApplications => self.list_applications()?,
            Operation::ListFormulas => self.list_formulas(),
            Operation::ListLogEntityTypes => Reply::ok(wire::log::render_kinds()),
            Operation::ListLogs => self.list_logs().await?,
            Operation::ListPermissions => self.list_permissions()?,
            Operation::ListTokens => self.list_tokens().await?,
            Operation::ListTokensV1 => self.list_tokens_v1().await?,
            Operation::ReadApplication => self.read_application()?,
            Operation::ReadApplicationByKey => self.read_application_by_key()?,
            Operation::ReadApplicationKey => self.read_application_key()?,
            Operation::ReadApplicationTemplate => self.read_application_template()?,
            Operation::ReadChallengeResult => self.read_challenge_result().await?,
            Operation::ReadFormula => self.read_formula()?,
            Operation::ReadTenant => self.read_tenant(),
            Operation::ReadThreedsSession => self.read_threeds_session().await?,
            Operation::ReadToken => self.read_token().await?,
            Operation::ReadTokenIntent => self.read_token_intent().await?,
            Operation::RegenerateApplicationKey => return Err(Problem::new(410, REGENERATE).into()),
            Operation::SearchTokens => self.search_tokens().await?,
            Operation::SearchTokensV1 => self.search_tokens_v1().await?,
            Operation::Tokenize => self.tokenize().await?,
            Operation::UpdateApplication => self.update_application().await?,
            Operation::UpdateTenant => self.update_tenant().await?,
            Operation::UpdateThreedsSession => self.update_threeds_session().await?,
            Operation::UpdateToken => self.update_token().await?,
        })
    }

    /// A write whose answer is remembered if the request has an idempotency key.
    pub(super) fn write<'w, T>(
        &'w self,
        answer: &'w (dyn Fn(&T) -> Answer + Sync),
    ) -> Write<'w, T> {
        Write { once: self.once.as_ref(), answer }
    }

    /// What stood in the place of the route's braces.
    pub(super) fn parameter(&self, at: usize) -> &str {
        self.parameters.get(at).map_or("", String::as_str)
    }
}

const REGENERATE: &str = "Keys are no longer regenerated: create a new one with POST \
                          /applications/{id}/keys and delete the old one.";
