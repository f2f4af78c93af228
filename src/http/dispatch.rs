//! From an operation's name to the function that carries it out.

use crate::http::exchange::{Exchange, Instead};
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::route::Operation;
use crate::http::wire;

impl Exchange<'_> {
    /// The state of each operation has memory of its own: together in one future they would all be as
    /// large as the largest.
    pub(super) async fn dispatch(&self, operation: Operation) -> Result<Reply, Instead> {
        Ok(match operation {
            Operation::AuthenticateThreedsSession => {
                Box::pin(self.authenticate_threeds_session()).await?
            }
            Operation::CreateApplication => Box::pin(self.create_application()).await?,
            Operation::CreateApplicationKey => Box::pin(self.create_application_key()).await?,
            Operation::CreateThreedsSession => Box::pin(self.create_threeds_session()).await?,
            Operation::CreateToken => Box::pin(self.create_token()).await?,
            Operation::CreateTokenIntent => Box::pin(self.create_token_intent()).await?,
            Operation::DeleteApplication => Box::pin(self.delete_application()).await?,
            Operation::DeleteApplicationKey => Box::pin(self.delete_application_key()).await?,
            Operation::DeleteToken => Box::pin(self.delete_token()).await?,
            Operation::DeleteTokenIntent => Box::pin(self.delete_token_intent()).await?,
            Operation::Detokenize => Box::pin(self.detokenize()).await?,
            Operation::ListApplicationKeys => self.list_application_keys()?,
            Operation::ListApplicationTemplates => Reply::ok(wire::template::render_all()),
            Operation::ListApplications => self.list_applications()?,
            Operation::ListFormulas => self.list_formulas(),
            Operation::ListLogEntityTypes => Reply::ok(wire::log::render_kinds()),
            Operation::ListLogs => Box::pin(self.list_logs()).await?,
            Operation::ListPermissions => self.list_permissions()?,
            Operation::ListTokens => Box::pin(self.list_tokens()).await?,
            Operation::ListTokensV1 => Box::pin(self.list_tokens_v1()).await?,
            Operation::ReadApplication => self.read_application()?,
            Operation::ReadApplicationByKey => self.read_application_by_key()?,
            Operation::ReadApplicationKey => self.read_application_key()?,
            Operation::ReadApplicationTemplate => self.read_application_template()?,
            Operation::ReadChallengeResult => Box::pin(self.read_challenge_result()).await?,
            Operation::ReadFormula => self.read_formula()?,
            Operation::ReadTenant => self.read_tenant(),
            Operation::ReadThreedsSession => Box::pin(self.read_threeds_session()).await?,
            Operation::ReadToken => Box::pin(self.read_token()).await?,
            Operation::ReadTokenIntent => Box::pin(self.read_token_intent()).await?,
            Operation::RegenerateApplicationKey => return Err(Problem::new(410, REGENERATE).into()),
            Operation::SearchTokens => Box::pin(self.search_tokens()).await?,
            Operation::SearchTokensV1 => Box::pin(self.search_tokens_v1()).await?,
            Operation::Tokenize => Box::pin(self.tokenize()).await?,
            Operation::UpdateApplication => Box::pin(self.update_application()).await?,
            Operation::UpdateTenant => Box::pin(self.update_tenant()).await?,
            Operation::UpdateThreedsSession => Box::pin(self.update_threeds_session()).await?,
            Operation::UpdateToken => Box::pin(self.update_token()).await?,
        })
    }
}

const REGENERATE: &str = "Keys are no longer regenerated: create a new one with POST \
                          /applications/{id}/keys and delete the old one.";

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use hyper::Request;
    use hyper::body::Incoming;

    use super::*;
    use crate::bounds::{ANSWER_BYTES_MAX, OPERATION_BYTES_MAX};
    use crate::http::state::Http;

    type At = &'static Exchange<'static>;

    /// Of the future that the function gives.
    fn size<T, F: Future>(_: impl Fn(T) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_state_of_a_request_in_flight_is_within_its_bounds() {
        let of_answer = size(|(http, request): (&'static Http, Request<Incoming>)| {
            http.answer(request, SocketAddr::from(([127, 0, 0, 1], 0)))
        });
        assert!(of_answer <= ANSWER_BYTES_MAX, "{of_answer}");
        for (name, of_operation) in [
            (
                "authenticate_threeds_session",
                size(|exchange: At| exchange.authenticate_threeds_session()),
            ),
            ("create_application", size(|exchange: At| exchange.create_application())),
            ("create_application_key", size(|exchange: At| exchange.create_application_key())),
            ("create_threeds_session", size(|exchange: At| exchange.create_threeds_session())),
            ("create_token", size(|exchange: At| exchange.create_token())),
            ("create_token_intent", size(|exchange: At| exchange.create_token_intent())),
            ("delete_application", size(|exchange: At| exchange.delete_application())),
            ("delete_application_key", size(|exchange: At| exchange.delete_application_key())),
            ("delete_token", size(|exchange: At| exchange.delete_token())),
            ("delete_token_intent", size(|exchange: At| exchange.delete_token_intent())),
            ("detokenize", size(|exchange: At| exchange.detokenize())),
            ("list_logs", size(|exchange: At| exchange.list_logs())),
            ("list_tokens", size(|exchange: At| exchange.list_tokens())),
            ("list_tokens_v1", size(|exchange: At| exchange.list_tokens_v1())),
            ("read_challenge_result", size(|exchange: At| exchange.read_challenge_result())),
            ("read_threeds_session", size(|exchange: At| exchange.read_threeds_session())),
            ("read_token", size(|exchange: At| exchange.read_token())),
            ("read_token_intent", size(|exchange: At| exchange.read_token_intent())),
            ("search_tokens", size(|exchange: At| exchange.search_tokens())),
            ("search_tokens_v1", size(|exchange: At| exchange.search_tokens_v1())),
            ("tokenize", size(|exchange: At| exchange.tokenize())),
            ("update_application", size(|exchange: At| exchange.update_application())),
            ("update_tenant", size(|exchange: At| exchange.update_tenant())),
            ("update_threeds_session", size(|exchange: At| exchange.update_threeds_session())),
            ("update_token", size(|exchange: At| exchange.update_token())),
        ] {
            assert!(of_operation + of_answer <= OPERATION_BYTES_MAX, "{name}: {of_operation}");
        }
    }
}
