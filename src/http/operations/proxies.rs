//! Pre-configured proxies over HTTP.

use crate::app::Error;
use crate::domain::id::ProxyId;
use crate::domain::proxy::Proxy;
use crate::http::exchange::{Exchange, OperationFailure};
use crate::http::problem::Problem;
use crate::http::reply::Reply;
use crate::http::wire::proxy;
use crate::idempotency::{AnswerStatus, RememberedAnswer};

const HOSTNAMES: &str = "This server has no hostnames for single proxies: call /proxy with the \
                         header BT-PROXY-KEY.";

impl Exchange<'_> {
    pub(in crate::http) async fn create_proxy(&self) -> Result<Reply, OperationFailure> {
        let settings = || proxy::parse(self.body.expose(), None);
        // The mistakes of the body come before the limits of the tenant.
        settings()?;
        let answer = |new: &Proxy| {
            proxy::answer(new, AnswerStatus::Created).at(format!("/proxies/{}", new.id))
        };
        let (caller, write) = (self.caller, self.write(&answer));
        let made = self.app.proxies().create(caller, &settings, &write).await?;
        Ok(Reply::from(made.answer))
    }

    pub(in crate::http) async fn list_proxies(&self) -> Result<Reply, Problem> {
        let (query, page) = proxy::parse_query(&self.query)?;
        let found = self.app.proxies().list(self.caller, &query).await?;
        let items: Vec<_> = found.proxies.iter().map(proxy::render).collect();
        Ok(Reply::ok(page.render(found.total, &items)))
    }

    pub(in crate::http) async fn read_proxy(&self, id: &ProxyId) -> Result<Reply, Problem> {
        let found = self.app.proxies().read(self.caller, *id).await?;
        Ok(Reply::ok(proxy::render(&found)))
    }

    pub(in crate::http) async fn replace_proxy(
        &self,
        id: &ProxyId,
    ) -> Result<Reply, OperationFailure> {
        let revise = |known: &Proxy| proxy::parse(self.body.expose(), Some(known));
        let answer = |changed: &Proxy| proxy::answer(changed, AnswerStatus::Ok);
        let (caller, write) = (self.caller, self.write(&answer));
        let changed = self.app.proxies().update(caller, *id, &revise, &write).await?;
        Ok(Reply::from(changed.answer))
    }

    pub(in crate::http) async fn patch_proxy(&self, id: &ProxyId) -> Result<Reply, Problem> {
        let revise = |known: &Proxy| proxy::parse_patch(self.body.expose(), known);
        let answer = |_: &Proxy| RememberedAnswer::empty(AnswerStatus::Ok);
        let write = self.write(&answer);
        self.app.proxies().update(self.caller, *id, &revise, &write).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) async fn delete_proxy(&self, id: &ProxyId) -> Result<Reply, Problem> {
        self.app.proxies().delete(self.caller, *id).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) fn set_proxy_hostname(&self, id: &ProxyId) -> Result<Reply, Problem> {
        self.app.proxies().require(self.caller, *id)?;
        Err(Error::Unprocessable(HOSTNAMES).into())
    }
}
