//! Tokens that transforms create, through the ordinary operation with its checks, rights and audit
//! entries.

use serde_json::Value;

use crate::app::Proxies;
use crate::app::commit::commit_loop::Write;
use crate::app::error::Error;
use crate::app::proxies::transforms::{Surroundings, TransformFailure};
use crate::app::tokens::references::whole_token;

const NO_APPLICATION: &str = "The proxy has no application that could make a token.";
const INVALID: &str = "The token that a transform of the proxy makes has mistakes.";

impl Proxies<'_> {
    /// Takes the body of a create request. Returns the token without its data, for the expressions
    /// of later transforms: they decide what the caller of the proxy sees.
    pub(super) async fn tokenize(
        self,
        around: &Surroundings<'_>,
        body: &Value,
    ) -> Result<Value, TransformFailure> {
        let draft = (around.draft)(body);
        let caller = around.caller.ok_or(TransformFailure::Failed(NO_APPLICATION))?;
        let made = self.vault.tokens(caller).create(draft, &Write::plain()).await;
        // The mistakes may name members of the destination's answer.
        let made = made.map_err(|error| {
            if matches!(error, Error::Invalid(_)) {
                TransformFailure::Failed(INVALID)
            } else {
                TransformFailure::App(error)
            }
        })?;
        let mut token = whole_token(&made.outcome.shown);
        if let Some(members) = token.as_object_mut() {
            members.remove("data");
        }
        Ok(token)
    }
}
