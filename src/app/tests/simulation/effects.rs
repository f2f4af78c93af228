//! The effect of one request on the model, and the check that the model allows its answer.

use std::rc::Rc;

use crate::app::tests::simulation::asks::{Application, Ask, NewToken};
use crate::app::tests::simulation::clients::card;
use crate::app::tests::simulation::invariants::Observed;
use crate::app::tests::simulation::lists::View;
use crate::app::tests::simulation::model::{
    Intent, Kind, Life, Model, Session, THREEDS_RETENTION, Tenant, Token, Window,
};
use crate::app::tests::simulation::search::Sent;
use crate::app::tests::simulation::seen::{Outcome, Refusal, Seen};
use crate::app::{DiskState, TokenOrigin};

impl Sent {
    /// Applies an answered request. False if the model does not allow the answer.
    pub(super) fn apply_told(&self, model: &mut Model, told: &Outcome, window: Window) -> bool {
        match told {
            // The writer's queue is full, or too many requests change one record.
            Outcome::Refused(Refusal::Busy) => return true,
            Outcome::Refused(Refusal::ReadOnly) => return self.disk != DiskState::Writable,
            Outcome::Refused(Refusal::InFlight) => return self.shares_key,
            _ => (),
        }
        if self.request.ask.is_upkeep() {
            if matches!(self.request.ask, Ask::Sweep) && self.disk != DiskState::Full {
                model.tenants.iter_mut().for_each(|tenant| tenant.sweep(window.from));
            }
            return matches!(told, Outcome::Done | Outcome::Refused(Refusal::Conflict));
        }
        let tenant = &mut model.tenants[self.request.tenant];
        match &self.request.ask {
            // Answered like a token that does not exist.
            Ask::ReadForeign(_) => matches!(told, Outcome::Refused(Refusal::NotFound)),
            Ask::Create(new) => self.create(tenant, new, told, window),
            Ask::Convert(intent, key) => self.convert(tenant, intent, key.as_deref(), told, window),
            Ask::List(..) | Ask::Number => self.list(tenant, told, window),
            Ask::Read(_) | Ask::Patch(..) | Ask::Delete(_) => self.token(tenant, told, window),
            _ => self.others(tenant, told, window),
        }
    }

    fn create(&self, tenant: &mut Tenant, new: &NewToken, told: &Outcome, window: Window) -> bool {
        let answered = new.key.as_ref().map(|key| tenant.answer_life(key, window));
        let is_first = answered.is_none_or(Life::may_be_over);
        match told {
            Outcome::Token(seen, origin) => {
                let token = Token::new(new, seen.created_at);
                let right = match origin {
                    TokenOrigin::New => tenant.takes_new(new, &token, seen, window),
                    TokenOrigin::Read => tenant.has_duplicate(new, &token, seen, window),
                    TokenOrigin::Updated => false,
                };
                let is_written = self.disk == DiskState::Writable;
                if !(right && is_first && is_written) {
                    return false;
                }
                if *origin == TokenOrigin::New {
                    tenant.tokens.insert(seen.id.clone(), Rc::new(token));
                }
                if let Some(key) = &new.key {
                    tenant.remember(key, vec![seen.id.clone()], window, true);
                }
                true
            }
            Outcome::Replayed(id) => {
                new.key.as_ref().is_some_and(|key| tenant.replay(key, id, window))
            }
            Outcome::Refused(Refusal::Conflict) => {
                is_first && new.name.as_ref().is_some_and(|it| tenant.life(it, window).may_live())
            }
            Outcome::Refused(Refusal::Invalid) => {
                // A repeated request may come after its own expiry.
                let is_late = new.expires_at.is_some_and(|at| at <= window.to);
                is_first && (is_late || tenant.may_be_full(window))
            }
            _ => false,
        }
    }

    fn convert(
        &self,
        tenant: &mut Tenant,
        intent: &str,
        key: Option<&str>,
        told: &Outcome,
        window: Window,
    ) -> bool {
        let is_first = key.is_none_or(|key| tenant.answer_life(key, window).may_be_over());
        match told {
            Outcome::Token(seen, TokenOrigin::New) => {
                let life = tenant.intent_life(intent, window);
                let Some(found) = tenant.intents.remove(intent).filter(|_| life.may_live()) else {
                    return false;
                };
                let token = converted(&found, seen.created_at);
                let is_right = token.is(seen, window) && window.contains(seen.created_at);
                let is_new = tenant.tokens.insert(seen.id.clone(), Rc::new(token)).is_none();
                if let Some(key) = key {
                    tenant.remember(key, vec![seen.id.clone()], window, true);
                }
                is_first && is_right && is_new && self.disk == DiskState::Writable
            }
            Outcome::Replayed(id) => key.is_some_and(|key| tenant.replay(key, id, window)),
            Outcome::Refused(Refusal::Invalid) => {
                is_first && tenant.intent_life(intent, window).may_be_over()
            }
            _ => false,
        }
    }

    fn token(&self, tenant: &mut Tenant, told: &Outcome, window: Window) -> bool {
        let (Ask::Read(id) | Ask::Patch(id, _) | Ask::Delete(id)) = &self.request.ask else {
            return false;
        };
        let life = tenant.life(id, window);
        let known = tenant.tokens.get(id).cloned();
        let is_hidden = self.request.by == Application::Part
            && known.as_ref().is_none_or(|it| View::all(Application::Part).place(it).is_none());
        match (&self.request.ask, told) {
            (_, Outcome::Refused(Refusal::NotFound)) => life.may_be_over(),
            (Ask::Read(_), Outcome::Refused(Refusal::Forbidden)) => is_hidden,
            (Ask::Read(_), Outcome::Token(seen, _)) => {
                life.may_live() && !is_hidden && known.is_some_and(|it| it.is(seen, window))
            }
            (Ask::Patch(_, patch), Outcome::Token(seen, TokenOrigin::New)) => {
                let Some(known) = known.filter(|_| life.may_live()) else { return false };
                let mut patched = known.patched(patch, window.from);
                let is_right = patched.is(seen, window) && self.disk == DiskState::Writable;
                // A change writes the code again only while it lives.
                patched.cvc.take_if(|_| seen.cvc.is_none());
                tenant.tokens.insert(id.clone(), Rc::new(patched));
                is_right
            }
            (Ask::Delete(_), Outcome::Done) => {
                tenant.remove(id);
                life.may_live()
            }
            _ => false,
        }
    }

    fn list(&self, tenant: &Tenant, told: &Outcome, window: Window) -> bool {
        match (&self.request.ask, told) {
            (Ask::List(view, _), Outcome::Page(seen, next)) => {
                view.gives(tenant, seen, next.is_some(), self.progress.as_ref(), window)
            }
            (Ask::Number, Outcome::Numbered(seen, total)) => {
                View::gives_numbered(tenant, seen, *total, window)
            }
            _ => false,
        }
    }

    fn others(&self, tenant: &mut Tenant, told: &Outcome, window: Window) -> bool {
        match &self.request.ask {
            Ask::CreateIntent(..) | Ask::ReadIntent(_) | Ask::DeleteIntent(_) => {
                self.intent(tenant, told, window)
            }
            Ask::OpenSession | Ask::Authorize(_) | Ask::UseSession(..) => {
                self.session(tenant, told, window)
            }
            _ => self.threeds(tenant, told, window),
        }
    }

    fn intent(&self, tenant: &mut Tenant, told: &Outcome, window: Window) -> bool {
        match (&self.request.ask, told) {
            (Ask::CreateIntent(number, code), Outcome::Intent(seen)) => {
                let intent = Intent::new(card(number), code, seen.created_at);
                let is_right = intent.is(seen, window)
                    && window.contains(seen.created_at)
                    && tenant.has_room(window)
                    && self.disk == DiskState::Writable;
                is_right && tenant.intents.insert(seen.id.clone(), Rc::new(intent)).is_none()
            }
            (Ask::CreateIntent(..), Outcome::Refused(Refusal::Invalid)) => {
                tenant.may_be_full(window)
            }
            (Ask::ReadIntent(id), Outcome::Intent(seen)) => {
                tenant.intent_life(id, window).may_live()
                    && tenant.intents.get(id).is_some_and(|it| it.is(seen, window))
            }
            (Ask::DeleteIntent(id), Outcome::Done) => {
                let life = tenant.intent_life(id, window);
                life.may_live() && tenant.intents.remove(id).is_some()
            }
            (Ask::ReadIntent(id) | Ask::DeleteIntent(id), Outcome::Refused(Refusal::NotFound)) => {
                tenant.intent_life(id, window).may_be_over()
            }
            _ => false,
        }
    }

    fn session(&self, tenant: &mut Tenant, told: &Outcome, window: Window) -> bool {
        match (&self.request.ask, told) {
            (Ask::OpenSession, Outcome::Session { text, nonce, expires_at }) => {
                let (text, nonce, expires_at) = (text.clone(), nonce.clone(), *expires_at);
                tenant.sessions.push(Session {
                    text,
                    nonce,
                    expires_at,
                    is_authorized: Some(false),
                });
                true
            }
            (Ask::Authorize(at), told) => {
                let session = &mut tenant.sessions[*at];
                let life = window.life(Some(session.expires_at));
                match told {
                    Outcome::Done | Outcome::Refused(Refusal::Conflict) => {
                        let was_open = matches!(told, Outcome::Done);
                        let before = session.is_authorized.replace(true);
                        before != Some(was_open) && life.may_live()
                    }
                    Outcome::Refused(Refusal::NotFound) => life.may_be_over(),
                    _ => false,
                }
            }
            (Ask::UseSession(at, id), told) => {
                let session = &mut tenant.sessions[*at];
                let life = window.life(Some(session.expires_at));
                let is_known = !matches!(told, Outcome::Refused(Refusal::Unauthenticated));
                let before = session.is_authorized;
                if life == Life::Live {
                    session.is_authorized = Some(is_known);
                }
                match told {
                    Outcome::Refused(Refusal::Unauthenticated) => {
                        before != Some(true) || life.may_be_over()
                    }
                    _ if before == Some(false) || !life.may_live() => false,
                    Outcome::Refused(Refusal::NotFound) => tenant.life(id, window).may_be_over(),
                    Outcome::Token(seen, _) => {
                        tenant.life(id, window).may_live() && tenant.tokens[id].is(seen, window)
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }

    fn threeds(&self, tenant: &mut Tenant, told: &Outcome, window: Window) -> bool {
        let has_card = |token: &String| {
            let is_card = tenant.tokens.get(token).is_some_and(|it| it.kind == Kind::Card);
            (is_card, tenant.life(token, window))
        };
        match (&self.request.ask, told) {
            (Ask::CreateThreeds(token), Outcome::Threeds(id)) => {
                let (is_card, life) = has_card(token);
                tenant.threeds.insert(id.clone(), window.from.plus(THREEDS_RETENTION));
                is_card && life.may_live() && self.disk == DiskState::Writable
            }
            (Ask::CreateThreeds(token), Outcome::Refused(Refusal::Invalid | Refusal::NotFound)) => {
                let (is_card, life) = has_card(token);
                !is_card || life.may_be_over()
            }
            (Ask::ReadThreeds(id), Outcome::Threeds(seen)) => {
                seen == id && tenant.threeds.contains_key(id)
            }
            (Ask::ReadThreeds(id), Outcome::Refused(Refusal::NotFound)) => {
                let kept = tenant.threeds.get(id);
                kept.is_none_or(|until| window.life(Some(*until)).may_be_over())
            }
            _ => false,
        }
    }

    /// The states after an unanswered request: it happened as a whole, or not at all.
    pub(super) fn apply_silent(
        &self,
        model: &Model,
        observed: &Observed,
        window: Window,
    ) -> Vec<Model> {
        let (at, begun) = (self.request.tenant, window.from);
        let tenant = &model.tenants[at];
        let with = |change: &dyn Fn(&mut Tenant)| {
            let mut model = model.clone();
            change(&mut model.tenants[at]);
            model
        };
        let observed = &observed.tenants[at];
        let is_made = |it: &&Seen| it.created_at == begun && !tenant.tokens.contains_key(&it.id);
        let made = observed.tokens.values().find(is_made).map(|it| it.id.clone());
        match &self.request.ask {
            Ask::Create(new) => create_silently(model, at, new, made, window),
            Ask::Convert(intent, key) => match (made, tenant.intents.get(intent)) {
                (Some(id), Some(found)) => vec![with(&|tenant| {
                    tenant.intents.remove(intent);
                    tenant.tokens.insert(id.clone(), Rc::new(converted(found, begun)));
                    if let Some(key) = key {
                        tenant.remember(key, vec![id.clone()], window, true);
                    }
                })],
                _ => vec![model.clone()],
            },
            Ask::Patch(id, patch) if tenant.life(id, window).may_live() => {
                let patched = Rc::new(tenant.tokens[id].patched(patch, begun));
                let patched = with(&|tenant| {
                    tenant.tokens.insert(id.clone(), Rc::clone(&patched));
                });
                vec![patched, model.clone()]
            }
            Ask::Delete(id) if tenant.life(id, window).may_live() => {
                vec![with(&|tenant| tenant.remove(id)), model.clone()]
            }
            Ask::DeleteIntent(id) => {
                vec![with(&|tenant| drop(tenant.intents.remove(id))), model.clone()]
            }
            Ask::CreateIntent(number, code) => {
                let mut intents = observed.intents.values();
                let Some(made) = intents.find(|it| it.created_at == begun) else {
                    return vec![model.clone()];
                };
                let intent = Rc::new(Intent::new(card(number), code, begun));
                vec![with(&|tenant| {
                    tenant.intents.insert(made.id.clone(), Rc::clone(&intent));
                })]
            }
            Ask::Authorize(at) => {
                vec![with(&|tenant| {
                    let session = &mut tenant.sessions[*at];
                    session.is_authorized = session.is_authorized.filter(|it| *it);
                })]
            }
            _ => vec![model.clone()],
        }
    }
}

/// The states after an unanswered create. `made` is the token with its time, if it was found.
fn create_silently(
    model: &Model,
    at: usize,
    new: &NewToken,
    made: Option<String>,
    window: Window,
) -> Vec<Model> {
    let (tenant, begun) = (&model.tenants[at], window.from);
    let (key, token) = (new.key.as_ref(), Token::new(new, begun));
    if key.is_some_and(|key| !tenant.answer_life(key, window).may_be_over()) {
        return vec![model.clone()];
    }
    let applied = |id: &String| {
        let mut model = model.clone();
        let tenant = &mut model.tenants[at];
        tenant.tokens.insert(id.clone(), Rc::new(token.clone()));
        if let Some(key) = key {
            tenant.remember(key, vec![id.clone()], window, true);
        }
        model
    };
    let mut not_applied = model.clone();
    let ids = tenant.duplicates(&token, window);
    if let Some(key) = key.filter(|_| new.deduplicates && !ids.is_empty()) {
        not_applied.tenants[at].remember(key, ids, window, false);
    }
    match (made, &new.name) {
        (Some(id), _) => vec![applied(&id)],
        (None, Some(name)) if tenant.life(name, window).may_be_over() => {
            vec![not_applied, applied(name)]
        }
        (None, _) => vec![not_applied],
    }
}

/// The token that a conversion makes. The code of the intent is not copied.
fn converted(intent: &Intent, at: crate::domain::time::Timestamp) -> Token {
    Token {
        kind: Kind::Card,
        data: intent.data.clone(),
        cvc: None,
        containers: vec![String::from("/a/")],
        colour: String::new(),
        expires_at: None,
        created_at: at,
        placed_at: at,
    }
}

impl Tenant {
    /// True if a create may answer with this new token.
    fn takes_new(&self, new: &NewToken, token: &Token, seen: &Seen, window: Window) -> bool {
        let is_free = match &new.name {
            Some(name) => seen.id == *name && self.life(name, window).may_be_over(),
            None => !self.tokens.contains_key(&seen.id),
        };
        let has_duplicate = self
            .tokens
            .values()
            .any(|it| !window.life(it.expires_at).may_be_over() && it.is_duplicate_of(token));
        is_free
            && token.is(seen, window)
            && window.contains(seen.created_at)
            && self.has_room(window)
            && !(new.deduplicates && has_duplicate)
    }

    /// True if a create may answer with this existing token.
    fn has_duplicate(&self, new: &NewToken, token: &Token, seen: &Seen, window: Window) -> bool {
        new.deduplicates
            && self.duplicates(token, window).contains(&seen.id)
            && self.tokens[&seen.id].is(seen, window)
    }

    pub(super) fn duplicates(&self, token: &Token, window: Window) -> Vec<String> {
        let live = self.tokens.iter().filter(|(_, it)| window.life(it.expires_at).may_live());
        live.filter(|(_, it)| it.is_duplicate_of(token)).map(|(id, _)| id.clone()).collect()
    }

    /// True if this is the remembered answer of the key.
    fn replay(&mut self, key: &str, id: &str, window: Window) -> bool {
        let life = self.answer_life(key, window);
        let Some(answer) = self.answers.get_mut(key).filter(|_| life.may_live()) else {
            return false;
        };
        let is_right = answer.ids.iter().any(|it| it == id);
        answer.ids = vec![String::from(id)];
        answer.is_certain = true;
        is_right
    }
}
