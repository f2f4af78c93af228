//! Applications and their keys over HTTP.

use crate::app::{Error, NewKey};
use crate::domain::application::{ApiKey, Application, ApplicationKind};
use crate::domain::id::{ApplicationId, KeyId};
use crate::domain::mistakes::Mistakes;
use crate::http::path::{AnyApplication, TemplateName};
use crate::http::wire::json::list;
use crate::http::wire::{application, key, permission, template};
use crate::http::{Answer, Exchange, Problem, Reply, WriteAnswer};
use crate::idempotency::{AnswerStatus, RememberedAnswer};

impl Exchange<'_> {
    pub(in crate::http) async fn create_application(&self) -> WriteAnswer {
        let draft = application::parse_draft(self.body.expose())?;
        let answer =
            |(new, key): &(Application, Option<NewKey>)| application::answer(new, key.as_ref());
        let (tenant, caller) = (self.caller.tenant.id, Some(self.caller));
        let write = self.write(&answer);
        let made = self.app.access().create_application(tenant, &draft, caller, &write).await?;
        Ok(Reply::from(made.answer))
    }

    pub(in crate::http) fn list_applications(&self) -> Answer {
        let (query, page) = application::parse_query(&self.query)?;
        let found = self.app.access().list_applications(self.caller.tenant.id, &query)?;
        let render = |(listed, keys): &(_, Vec<_>)| application::render(listed, keys);
        let items: Vec<_> = found.applications.iter().map(render).collect();
        Ok(Reply::ok(page.render(found.total, &items)))
    }

    pub(in crate::http) fn read_application(&self, id: &ApplicationId) -> Answer {
        self.application(*id)
    }

    /// The application of the key that this request carries.
    pub(in crate::http) fn read_application_by_key(&self) -> Answer {
        if self.caller.role().is_some() {
            // A person has no key.
            return Err(Error::Unauthenticated.into());
        }
        self.application(self.caller.application.id)
    }

    pub(in crate::http) async fn update_application(&self, id: &ApplicationId) -> WriteAnswer {
        let (tenant, id) = (self.caller.tenant.id, *id);
        let body = self.body.expose();
        let wanted =
            |known: &Application| application::parse_update(body, known.kind).map_err(Error::from);
        let answer = |(changed, keys): &(Application, Vec<ApiKey>)| {
            RememberedAnswer::new(AnswerStatus::Ok, application::render(changed, keys))
        };
        let (caller, write) = (Some(self.caller), self.write(&answer));
        let access = self.app.access();
        let changed = access.update_application(tenant, id, caller, &wanted, &write).await?;
        Ok(Reply::from(changed.answer))
    }

    pub(in crate::http) async fn delete_application(&self, id: &ApplicationId) -> Answer {
        let tenant = self.caller.tenant.id;
        self.app.access().delete_application(tenant, *id, Some(self.caller)).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) async fn create_application_key(&self, id: &ApplicationId) -> WriteAnswer {
        let (tenant, id) = (self.caller.tenant.id, *id);
        let answer: fn(&NewKey) -> RememberedAnswer = key::answer;
        let (caller, write) = (Some(self.caller), self.write(&answer));
        let new = self.app.access().create_key(tenant, id, None, caller, &write).await?;
        Ok(Reply::from(new.answer))
    }

    pub(in crate::http) fn list_application_keys(&self, id: &ApplicationId) -> Answer {
        let keys = self.app.access().list_keys(self.caller.tenant.id, *id)?;
        let items: Vec<_> = keys.iter().map(key::render).collect();
        Ok(Reply::ok(list(&items)))
    }

    pub(in crate::http) fn read_application_key(&self, id: &ApplicationId, key: &KeyId) -> Answer {
        let keys = self.app.access().list_keys(self.caller.tenant.id, *id)?;
        let found = keys.iter().find(|listed| listed.id == *key);
        Ok(Reply::ok(key::render(found.ok_or(Error::NotFound("key"))?)))
    }

    pub(in crate::http) async fn delete_application_key(
        &self,
        id: &ApplicationId,
        key: &KeyId,
    ) -> Answer {
        let tenant = self.caller.tenant.id;
        self.app.access().delete_key(tenant, *id, *key, Some(self.caller)).await?;
        Ok(Reply::nothing())
    }

    pub(in crate::http) fn list_permissions(&self) -> Answer {
        let wanted = self.query.first("application_type").filter(|text| !text.is_empty());
        let kind = wanted.map(ApplicationKind::parse);
        if kind == Some(None) {
            let message = "The type must be private, public or management.";
            return Err(Mistakes::one("application_type", message).into());
        }
        Ok(Reply::ok(permission::render_all(kind.flatten())))
    }

    fn application(&self, id: ApplicationId) -> Answer {
        let (found, keys) = self.app.access().read_application(self.caller.tenant.id, id)?;
        Ok(Reply::ok(application::render(&found, &keys)))
    }
}

pub(in crate::http) fn regenerate_application_key(_: &AnyApplication) -> Answer {
    Err(Problem::new(410, REGENERATE))
}

pub(in crate::http) fn list_application_templates() -> Reply {
    Reply::ok(template::render_all())
}

pub(in crate::http) fn read_application_template(id: &TemplateName) -> Answer {
    let found = template::render_one(id.as_str());
    Ok(Reply::ok(found.ok_or(Error::NotFound("template"))?))
}

const REGENERATE: &str = "Keys are no longer regenerated: create a new one with POST \
                          /applications/{id}/keys and delete the old one.";
