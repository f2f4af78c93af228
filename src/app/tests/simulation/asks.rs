//! Requests of clients, and the choice of the next one.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::tests::simulation::lists::View;
use crate::app::tests::simulation::model::{Kind, Model, Tenant};
use crate::domain::time::Timestamp;
use crate::store::tests::disk::Dice;

/// Card numbers that the simulated directory servers of 3-D Secure know.
const NUMBERS: [&str; 3] = ["4200000000000004", "5555555555554444", "4242424242424242"];
const PLACES: [&[&str]; 5] = [&["/a/"], &["/a/x/"], &["/b/"], &["/a/", "/b/c/"], &["/b/c/", "/c/"]];
const COLOURS: [&str; 3] = ["red", "green", "blue"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Application {
    /// May do everything everywhere.
    Whole,
    /// May read and search in `/a/` only.
    Part,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    /// Index into the tenants of the model.
    pub(super) tenant: usize,
    pub(super) by: Application,
    pub(super) ask: Ask,
}

#[derive(Debug, Clone)]
pub(super) enum Ask {
    Create(NewToken),
    Read(String),
    Patch(String, Patch),
    Delete(String),
    /// A page of a list. The number names a reader that continues from page to page.
    List(View, Option<usize>),
    Number,
    CreateIntent(String, String),
    ReadIntent(String),
    DeleteIntent(String),
    Convert(String, Option<String>),
    OpenSession,
    Authorize(usize),
    UseSession(usize, String),
    CreateThreeds(String),
    ReadThreeds(String),
    /// The tenant reads a token of the other tenant.
    ReadForeign(String),
    Sweep,
    FlushReads,
    Sign,
    RotateTenant,
    RotateServer,
    RotateMaster,
    RotateStep,
    BackUp,
}

impl Ask {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Create(new) if new.key.is_some() => "create with an idempotency key",
            Self::Create(new) if new.deduplicates => "create deduplicated",
            Self::Create(_) => "create",
            Self::Read(_) => "read",
            Self::Patch(..) => "patch",
            Self::Delete(_) => "delete",
            Self::List(_, None) => "list",
            Self::List(_, Some(_)) => "list from page to page",
            Self::Number => "list by number",
            Self::CreateIntent(..) => "create intent",
            Self::ReadIntent(_) => "read intent",
            Self::DeleteIntent(_) => "delete intent",
            Self::Convert(..) => "convert intent",
            Self::OpenSession => "create session",
            Self::Authorize(_) => "authorize session",
            Self::UseSession(..) => "read with a session",
            Self::CreateThreeds(_) => "create 3DS session",
            Self::ReadThreeds(_) => "read 3DS session",
            Self::ReadForeign(_) => "read of another tenant",
            Self::Sweep => "sweep",
            Self::FlushReads => "write audit of reads",
            Self::Sign => "sign audit chain",
            Self::RotateTenant => "rotate tenant key",
            Self::RotateServer => "rotate server key",
            Self::RotateMaster => "rotate master key",
            Self::RotateStep => "rotation step",
            Self::BackUp => "backup",
        }
    }

    pub(super) fn is_upkeep(&self) -> bool {
        matches!(
            self,
            Self::Sweep
                | Self::FlushReads
                | Self::Sign
                | Self::RotateTenant
                | Self::RotateServer
                | Self::RotateMaster
                | Self::RotateStep
                | Self::BackUp
        )
    }

    /// A background task of the server is not cancelled when a client leaves.
    pub(super) fn may_be_cancelled(&self) -> bool {
        !matches!(self, Self::RotateStep | Self::RotateMaster | Self::BackUp)
    }

    pub(super) fn key(&self) -> Option<&str> {
        match self {
            Self::Create(new) => new.key.as_deref(),
            Self::Convert(_, key) => key.as_deref(),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewToken {
    pub(super) kind: Kind,
    pub(super) data: Value,
    pub(super) cvc: Option<String>,
    pub(super) containers: Vec<String>,
    pub(super) colour: String,
    pub(super) name: Option<String>,
    pub(super) deduplicates: bool,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) key: Option<String>,
}

/// A member that is `None` stays.
#[expect(clippy::option_option, reason = "absent, removed and set are three different things")]
#[derive(Debug, Clone, Default)]
pub(super) struct Patch {
    pub(super) data: Option<Value>,
    /// The inner `None` removes the code.
    pub(super) cvc: Option<Option<String>>,
    pub(super) containers: Option<Vec<String>>,
    pub(super) colour: Option<String>,
    pub(super) expires_at: Option<Option<Timestamp>>,
}

pub(super) struct Chooser<'a> {
    pub(super) dice: &'a mut Dice,
    pub(super) model: &'a Model,
    pub(super) now: Timestamp,
    /// Creates with idempotency keys that were sent before.
    pub(super) keyed: &'a [Request],
    pub(super) readers: usize,
    pub(super) next_key: &'a mut u64,
}

impl Chooser<'_> {
    fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.dice.roll(u64::try_from(sides).unwrap())).unwrap()
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.roll(sides) == 0
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())].clone()
    }

    pub(super) fn request(&mut self) -> Request {
        let at = self.roll(self.model.tenants.len());
        let tenant = &self.model.tenants[at];
        if self.one_in(12) && !self.keyed.is_empty() {
            // A client repeats a recent request whose answer it may have missed.
            let recent = self.keyed.len().saturating_sub(6);
            return self.pick(&self.keyed[recent..]);
        }
        let by = if self.one_in(6) { Application::Part } else { Application::Whole };
        if by == Application::Part {
            let ask = match self.roll(3) {
                0 => Ask::Read(self.token_id(tenant)),
                _ => self.list(by),
            };
            return Request { tenant: at, by, ask };
        }
        let crowded = tenant.tokens.len() > 24;
        let ask = match self.roll(100) {
            0..26 if !crowded => Ask::Create(self.new_token()),
            0..36 => Ask::Delete(self.token_id(tenant)),
            36..46 => Ask::Read(self.token_id(tenant)),
            46..58 => self.patch(tenant),
            58..70 => self.list(by),
            70..76 => Ask::CreateIntent(self.number(), self.code()),
            76..78 => Ask::ReadIntent(self.intent_id(tenant)),
            78 => Ask::DeleteIntent(self.intent_id(tenant)),
            79..84 => {
                let key = self.one_in(2).then(|| self.key());
                Ask::Convert(self.intent_id(tenant), key)
            }
            84 | 85 => Ask::OpenSession,
            86..88 if !tenant.sessions.is_empty() => {
                Ask::Authorize(self.roll(tenant.sessions.len()))
            }
            88..91 if !tenant.sessions.is_empty() => {
                Ask::UseSession(self.roll(tenant.sessions.len()), self.token_id(tenant))
            }
            91..94 => Ask::CreateThreeds(self.token_id(tenant)),
            94..96 if !tenant.threeds.is_empty() => {
                let known: Vec<_> = tenant.threeds.keys().cloned().collect();
                Ask::ReadThreeds(self.pick(&known))
            }
            96..98 => {
                let other = &self.model.tenants[(at + 1) % self.model.tenants.len()];
                // Names of the pool may exist in both tenants.
                let foreign = self.token_id(other);
                if foreign.starts_with("name") {
                    Ask::Read(foreign)
                } else {
                    Ask::ReadForeign(foreign)
                }
            }
            _ => Ask::Number,
        };
        Request { tenant: at, by, ask }
    }

    pub(super) fn upkeep(&mut self) -> Request {
        let tenant = self.roll(self.model.tenants.len());
        let ask = match self.roll(24) {
            0..5 => Ask::Sweep,
            5..12 => Ask::FlushReads,
            12..14 => Ask::Sign,
            14 => Ask::RotateTenant,
            15 if self.one_in(3) => Ask::RotateServer,
            16 if self.one_in(3) => Ask::RotateMaster,
            17 if self.one_in(3) => Ask::BackUp,
            _ => Ask::RotateStep,
        };
        Request { tenant, by: Application::Whole, ask }
    }

    fn number(&mut self) -> String {
        String::from(self.pick(&NUMBERS))
    }

    fn code(&mut self) -> String {
        (100 + self.roll(900)).to_string()
    }

    fn key(&mut self) -> String {
        *self.next_key += 1;
        format!("key-{}", self.next_key)
    }

    fn token_id(&mut self, tenant: &Tenant) -> String {
        let known: Vec<_> = tenant.tokens.keys().cloned().collect();
        if known.is_empty() || self.one_in(20) {
            let gone: Vec<_> = tenant.gone.iter().rev().take(5).cloned().collect();
            return if gone.is_empty() { String::from("never") } else { self.pick(&gone) };
        }
        self.pick(&known)
    }

    fn intent_id(&mut self, tenant: &Tenant) -> String {
        let known: Vec<_> = tenant.intents.keys().cloned().collect();
        if known.is_empty() { String::from("never") } else { self.pick(&known) }
    }

    fn containers(&mut self) -> Vec<String> {
        self.pick(&PLACES).iter().map(|path| String::from(*path)).collect()
    }

    fn value(&mut self) -> Value {
        json!({ "value": format!("v{}", self.roll(6)), "kept": "always" })
    }

    fn card(&mut self) -> Value {
        let year = 2030 + self.roll(5);
        json!({ "number": self.number(), "expiration_month": 12, "expiration_year": year })
    }

    fn expiry(&mut self) -> Timestamp {
        let minutes = [4, 10, 60, 26 * 60];
        let life = Duration::from_mins(self.pick(&minutes));
        Timestamp::from_seconds(self.now.plus(life).seconds())
    }

    fn new_token(&mut self) -> NewToken {
        let (kind, data, cvc) = if self.one_in(2) {
            (Kind::Card, self.card(), (!self.one_in(3)).then(|| self.code()))
        } else {
            (Kind::Plain, self.value(), None)
        };
        NewToken {
            kind,
            data,
            cvc,
            containers: self.containers(),
            colour: String::from(self.pick(&COLOURS)),
            name: self.one_in(6).then(|| format!("name-{}", self.roll(4))),
            deduplicates: self.one_in(3),
            expires_at: self.one_in(4).then(|| self.expiry()),
            key: self.one_in(3).then(|| self.key()),
        }
    }

    fn patch(&mut self, tenant: &Tenant) -> Ask {
        let id = self.token_id(tenant);
        let is_card = tenant.tokens.get(&id).is_some_and(|token| token.kind == Kind::Card);
        let mut patch = Patch::default();
        if self.one_in(2) {
            let year = 2040 + self.roll(5);
            patch.data = Some(if is_card {
                json!({ "expiration_year": year })
            } else {
                json!({ "value": format!("v{}", self.roll(6)) })
            });
            if is_card && self.one_in(2) {
                patch.cvc = Some((!self.one_in(4)).then(|| self.code()));
            }
        }
        if self.one_in(2) {
            patch.colour = Some(String::from(self.pick(&COLOURS)));
        }
        if self.one_in(4) {
            patch.containers = Some(self.containers());
        }
        if self.one_in(4) {
            patch.expires_at = Some((!self.one_in(3)).then(|| self.expiry()));
        }
        Ask::Patch(id, patch)
    }

    fn view(&mut self, by: Application) -> View {
        let inside = match by {
            Application::Whole => ["/", "/a/", "/b/"],
            Application::Part => ["/a/", "/a/", "/a/x/"],
        };
        let container = self.one_in(3).then(|| String::from(self.pick(&inside)));
        let mut view = View { by, container, size: 1 + self.roll(9), ..View::all(by) };
        match self.roll(6) {
            0 => view.colour = Some(String::from(self.pick(&COLOURS))),
            1 => view.kind = Some(self.pick(&[Kind::Card, Kind::Plain])),
            2 => view.value = Some(format!("v{}", self.roll(6))),
            _ => (),
        }
        view
    }

    fn list(&mut self, by: Application) -> Ask {
        if self.readers > 0 && self.one_in(2) {
            let reader = self.roll(self.readers);
            return Ask::List(View::all(by), Some(reader));
        }
        Ask::List(self.view(by), None)
    }
}
