//! 3-D Secure sessions over HTTP.

use crate::http::path::SessionName;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::threeds::authenticate;
use crate::http::wire::threeds::outcome::{self, Extent};
use crate::http::wire::threeds::session::{self, SessionAnswer};
use crate::http::{Answer, Exchange, Problem, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};
use crate::threeds::session::ThreedsSession;

impl Exchange<'_> {
    pub(in crate::http) async fn create_threeds_session(&self) -> WriteAnswer {
        let draft = session::parse_draft(self.body.expose());
        let client = self.http.client(self.parts, self.address);
        let answer = |made: &ThreedsSession| {
            let body = session::render_created(made, &client.base);
            RememberedAnswer::new(AnswerStatus::Created, body)
                .at(format!("/3ds/sessions/{}", made.id))
        };
        let write = self.write(&answer);
        let made = self.app.threeds().create_session(self.caller, &draft, &client, &write).await?;
        Ok(Reply::from(made.answer))
    }

    pub(in crate::http) async fn read_threeds_session(&self, id: &SessionName) -> Answer {
        let found = self.app.threeds().read_session(self.caller, id.as_str()).await?;
        Ok(Reply::ok(SessionAnswer::render(&found)))
    }

    /// Takes the mobile SDK's description of its device.
    pub(in crate::http) async fn update_threeds_session(&self, id: &SessionName) -> WriteAnswer {
        let device = session::parse_device(self.body.expose()).map_err(Problem::from)?;
        let client = self.http.client(self.parts, self.address);
        let answer = |changed: &ThreedsSession| {
            let body = session::render_created(changed, &client.base);
            RememberedAnswer::new(AnswerStatus::Ok, body)
        };
        let write = self.write(&answer);
        let id = id.as_str();
        let changed = self.app.threeds().describe_device(self.caller, id, &device, &write).await?;
        Ok(Reply::from(changed.answer))
    }

    pub(in crate::http) async fn authenticate_threeds_session(
        &self,
        id: &SessionName,
    ) -> WriteAnswer {
        let (request, mistakes) = authenticate::parse(self.body.expose());
        let answer = |found: &ThreedsSession| {
            RememberedAnswer::new(AnswerStatus::Ok, outcome::render(found, Extent::Authenticate))
        };
        let write = self.write(&answer);
        let id = id.as_str();
        let client = self.http.client(self.parts, self.address);
        let app = self.app;
        let found = app
            .threeds()
            .authenticate_session(self.caller, id, &request, mistakes, &client, &write)
            .await?;
        Ok(Reply::from(found.answer))
    }

    pub(in crate::http) async fn read_challenge_result(&self, id: &SessionName) -> Answer {
        let found = self.app.threeds().challenge_result(self.caller, id.as_str()).await?;
        Ok(Reply::ok(outcome::render(&found, Extent::ChallengeResult)))
    }
}
