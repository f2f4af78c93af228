//! Reactors with programs that a test answers for: arguments, rights, keys and results.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::app::program_calls::identity::ProgramIdentity;
use crate::app::program_calls::{HostedCall, ProgramFailure, ProgramHosts};
use crate::app::programs::{
    Contract, FetchFailure, Fetching, LineLevel, ProgramCall, ProgramHost, ProgramOutcome,
    ProgramRequest, ProgramState, Programs, Running, Stop, Thrown, Walls,
};
use crate::app::reactors::react::{InvocationKind, PreparedReaction, Reacted};
use crate::app::reactors::results::ResultState;
use crate::app::tests::sessions::{authorize, public};
use crate::app::tests::{TestVault, card, everything, new_caller};
use crate::app::{ApplicationDraft, Caller, Credential, Error, Write, configure_programs};
use crate::bounds::{
    REACTOR_RESULT_RETENTION, REACTOR_RESULTS_MAX, REACTOR_TOKENS_MAX, REACTORS_MAX,
};
use crate::clock::Clock;
use crate::domain::access::Access;
use crate::domain::id::ReactorId;
use crate::domain::mistakes::Mistakes;
use crate::domain::permission::Permission;
use crate::domain::program::Runtime;
use crate::domain::proxy::Configuration;
use crate::domain::reactor::{Reactor, ReactorSettings};
use crate::idempotency::{OwnHead, RememberedAnswer};
use crate::secret::Secret;
use crate::store::tables::{self, CountKind};
use crate::store::tests::block_on;
use crate::store::{Change, Verdict};

/// Notes the calls, and answers each with the next outcome.
#[derive(Debug, Default)]
struct Fake {
    calls: Mutex<Vec<ProgramCall>>,
    outcomes: Mutex<Vec<Result<ProgramOutcome, Error>>>,
    obstacle: Option<&'static str>,
}

impl Programs for Fake {
    fn run(&self, call: ProgramCall, _: Arc<dyn ProgramHost>) -> Running<'_> {
        self.calls.lock().unwrap().push(call);
        let outcome = self.outcomes.lock().unwrap().pop();
        Box::pin(async move {
            outcome.unwrap_or_else(|| Ok(ProgramOutcome::Returned(Secret::new(b"{}".to_vec()))))
        })
    }

    fn state(&self) -> ProgramState {
        let walls = Walls { landlock: true, seccomp: true };
        self.obstacle.map_or(ProgramState::Runs(walls), ProgramState::Refused)
    }
}

/// Notes the identities of calls.
#[derive(Debug, Default)]
struct Hosts(Mutex<Vec<Arc<ProgramIdentity>>>);

impl ProgramHosts for Hosts {
    fn host(&self, call: HostedCall) -> Result<Arc<dyn ProgramHost>, Error> {
        self.0.lock().unwrap().extend(call.identity);
        Ok(Arc::new(NoHost))
    }
}

#[derive(Debug)]
struct NoHost;

impl ProgramHost for NoHost {
    fn fetch(&self, _: ProgramRequest) -> Fetching<'_> {
        Box::pin(async { Err(FetchFailure("there is no network in this test")) })
    }

    fn caller_address(&self) -> IpAddr {
        IpAddr::V4(Ipv4Addr::LOCALHOST)
    }

    fn line(&self, _: LineLevel, _: Secret<String>) {}
}

struct Scene {
    vault: TestVault,
    fake: Arc<Fake>,
    hosts: Hosts,
}

impl Scene {
    fn with(fake: Fake) -> Self {
        let (vault, fake) = (TestVault::new(), Arc::new(fake));
        configure_programs(&vault.app, Arc::<Fake>::clone(&fake));
        Self { vault, fake, hosts: Hosts::default() }
    }

    fn new() -> Self {
        Self::with(Fake::default())
    }

    fn reactor(&self, change: impl Fn(&mut ReactorSettings) + Sync) -> Reactor {
        let settings = || {
            let mut settings = settings();
            change(&mut settings);
            Ok::<_, Mistakes>(settings)
        };
        let (app, write) = (&self.vault.app, Write::plain());
        let made = block_on(app.create_named(&self.vault.caller, &settings, &write));
        made.unwrap().outcome
    }

    fn caller(&self, permissions: &[Permission]) -> Arc<Caller> {
        let access = Access::new(permissions.to_vec(), Vec::new());
        let draft = ApplicationDraft { access, ..everything() };
        block_on(new_caller(&self.vault.app, self.vault.caller.tenant.id, &draft))
    }

    fn prepare(
        &self,
        caller: &Caller,
        id: ReactorId,
        body: &Value,
    ) -> Result<PreparedReaction, Error> {
        block_on(self.vault.app.reactors().prepare(caller, id, body, InvocationKind::Sync))
    }

    fn react(&self, caller: &Caller, id: ReactorId, body: &Value) -> Result<Reacted, Error> {
        let prepared = self.prepare(caller, id, body)?;
        let timeout = prepared.timeout();
        block_on(self.vault.app.reactors().run(caller, &prepared, &self.hosts, timeout))
    }

    /// The argument of the last call.
    fn argument(&self) -> Value {
        let calls = self.fake.calls.lock().unwrap();
        serde_json::from_slice(calls.last().unwrap().argument.expose()).unwrap()
    }

    fn calls(&self) -> usize {
        self.fake.calls.lock().unwrap().len()
    }
}

fn settings() -> ReactorSettings {
    ReactorSettings {
        name: String::from("Charge"),
        code: Secret::new(String::from("module.exports = () => 1")),
        application: None,
        configuration: Configuration(vec![(
            String::from("se\"cret"),
            Secret::new(String::from("s3\ncret")),
        )]),
        runtime: None,
    }
}

fn runtime(value: &Value) -> Option<Runtime> {
    Runtime::read(value, "runtime", &mut Mistakes::new())
}

#[test]
fn a_program_gets_its_arguments_with_values_its_configuration_and_no_key() {
    let scene = Scene::new();
    let token = block_on(scene.vault.create_id(card("123")));
    let reactor = scene.reactor(|_| ());
    let body = json!({"args": {
        "card": format!("{{{{ {token} }}}}"),
        "month": format!("{{{{ {token} | json: '$.expiration_month' }}}}"),
        "plain": "x",
    }, "other": 1});
    scene.react(&scene.vault.caller, reactor.id, &body).unwrap();
    let argument = scene.argument();
    assert_eq!(argument["args"]["card"]["number"], "4242424242424242");
    assert!(argument["args"]["month"].is_number(), "a whole expression keeps its type");
    assert_eq!(argument["args"]["plain"], "x");
    assert_eq!(argument["configuration"], json!({"se\"cret": "s3\ncret"}));
    let options = json!({"apiKey": null, "baseUrl": "https://vault.internal"});
    assert_eq!(argument["applicationOptions"], options);
    assert_eq!(argument.as_object().unwrap().len(), 3);
    let calls = scene.fake.calls.lock().unwrap();
    assert!(calls[0].key.is_none() && calls[0].contract == Contract::Bt);
    assert_eq!(calls[0].timeout, Duration::from_secs(30));
}

#[test]
fn the_newer_contract_gets_the_whole_body() {
    let scene = Scene::new();
    let reactor =
        scene.reactor(|it| it.runtime = runtime(&json!({"image": "node22", "timeout": 12})));
    scene.react(&scene.vault.caller, reactor.id, &json!({"args": 1, "more": [2]})).unwrap();
    assert_eq!(scene.argument()["req"], json!({"args": 1, "more": [2]}));
    let calls = scene.fake.calls.lock().unwrap();
    assert_eq!((calls[0].contract, calls[0].timeout), (Contract::Node, Duration::from_secs(12)));
}

#[test]
fn the_key_of_a_call_has_the_rights_of_its_application_and_ends_with_the_call() {
    let scene = Scene::new();
    let maker = scene.caller(&[Permission::TokenCreate]);
    let reactor = scene.reactor(|it| it.application = Some(maker.application.id));
    scene.react(&scene.vault.caller, reactor.id, &json!({"args": 1})).unwrap();
    let key = scene.argument()["applicationOptions"]["apiKey"].as_str().map(String::from).unwrap();
    let identity = Arc::clone(&scene.hosts.0.lock().unwrap()[0]);
    assert!(identity.is_key(key.as_bytes()) && !identity.is_key(b"another"));
    let access = scene.vault.app.access();
    assert!(matches!(access.program(&identity), Err(Error::Unauthenticated)), "the call is over");
    // The key is unknown outside of its call.
    let text = crate::domain::key_text::KeyText::parse(&key).unwrap();
    assert!(matches!(access.authenticate(&text), Err(Error::Unauthenticated)));
}

/// A call that is under way: its identity is kept alive by not ending it.
fn identity_of(scene: &Scene, reactor: &Reactor) -> Arc<ProgramIdentity> {
    use crate::app::program_calls::identity::{ProgramOwner, ProgramRights};
    use crate::domain::application::ApplicationKind;
    use crate::domain::key_text::KeyText;
    use crate::domain::tenant::TenantKind;
    let key = KeyText::new(TenantKind::Test, ApplicationKind::Private, &[7; 32]);
    let rights = match (reactor.settings.application, &reactor.settings.runtime) {
        (Some(id), _) => ProgramRights::Application(id),
        (None, Some(runtime)) => ProgramRights::Permissions(runtime.permissions.clone()),
        (None, None) => panic!("the program has no rights"),
    };
    let (tenant, owner) = (scene.vault.caller.tenant.id, ProgramOwner::Reactor(reactor.id));
    Arc::new(ProgramIdentity::new(key, tenant, owner, (rights, Credential::Secret)))
}

#[test]
fn a_program_has_the_rights_of_its_application_until_that_or_the_reactor_is_deleted() {
    let scene = Scene::new();
    let access = scene.vault.app.access();
    let maker = scene.caller(&[Permission::TokenCreate]);
    let reactor = scene.reactor(|it| it.application = Some(maker.application.id));
    let identity = identity_of(&scene, &reactor);
    let caller = access.program(&identity).unwrap();
    assert_eq!(caller.application.id, maker.application.id);
    assert!(caller.require_one_somewhere(&[Permission::TokenCreate]).is_ok());
    assert!(caller.require_one_somewhere(&[Permission::TokenRead]).is_err());
    assert!(access.authenticate_again(&caller).is_ok());
    let owner = &scene.vault.caller;
    block_on(access.delete_application(owner.tenant.id, maker.application.id, Some(owner)))
        .unwrap();
    assert!(matches!(access.program(&identity), Err(Error::Unauthenticated)));
    assert!(matches!(access.authenticate_again(&caller), Err(Error::Unauthenticated)));
    let by_runtime = json!({"image": "node22", "permissions": ["token:read"]});
    let reactor = scene.reactor(|it| it.runtime = runtime(&by_runtime));
    let identity = identity_of(&scene, &reactor);
    let caller = access.program(&identity).unwrap();
    assert!(caller.require_one_somewhere(&[Permission::TokenRead]).is_ok());
    assert!(caller.require_one_somewhere(&[Permission::TokenCreate]).is_err());
    block_on(scene.vault.app.delete_named::<Reactor>(owner, reactor.id)).unwrap();
    assert!(matches!(access.program(&identity), Err(Error::Unauthenticated)));
}

#[test]
fn arguments_are_refused_before_the_program_starts() {
    let scene = Scene::new();
    let token = block_on(scene.vault.create_id(card("123")));
    let reactor = scene.reactor(|_| ());
    let invoker = scene.caller(&[Permission::ReactorInvoke]);
    let uses = json!({"args": format!("{{{{ {token} }}}}")});
    let refused = scene.react(&invoker, reactor.id, &uses);
    assert!(matches!(refused, Err(Error::Forbidden(_))), "{refused:?}");
    let unknown = json!({"args": "{{ 0190a1b2-c3d4-4e5f-8a6b-7c8d9e0f1a2b }}"});
    let refused = scene.react(&scene.vault.caller, reactor.id, &unknown);
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    let many: Vec<_> = (0..=REACTOR_TOKENS_MAX)
        .map(|number| format!("{{{{ 0190a1b2-c3d4-4e5f-8a6b-{number:012x} }}}}"))
        .collect();
    let refused = scene.react(&scene.vault.caller, reactor.id, &json!({"args": many}));
    let Err(Error::Invalid(mistakes)) = refused else { panic!("{refused:?}") };
    assert!(format!("{mistakes:?}").contains("At most 100"), "{mistakes:?}");
    let missing = ReactorId::new(uuid::Uuid::from_u128(7));
    let refused = scene.react(&scene.vault.caller, missing, &json!({}));
    assert!(matches!(refused, Err(Error::NotFound(_))));
    assert_eq!(scene.calls(), 0);
    scene.react(&invoker, reactor.id, &json!({"args": "no expression"})).unwrap();
}

#[test]
fn nothing_is_opened_where_no_program_can_run() {
    let scene = Scene::with(Fake { obstacle: Some("no room"), ..Fake::default() });
    let reactor = scene.reactor(|_| ());
    let refused = scene.react(&scene.vault.caller, reactor.id, &json!({"args": 1}));
    assert!(matches!(refused, Err(Error::NoPrograms("no room"))), "{refused:?}");
    assert_eq!(scene.calls(), 0);
}

#[test]
fn every_outcome_reaches_the_caller() {
    let scene = Scene::new();
    let reactor = scene.reactor(|_| ());
    let react = |outcome| {
        scene.fake.outcomes.lock().unwrap().push(outcome);
        scene.react(&scene.vault.caller, reactor.id, &json!({"args": 1}))
    };
    let text = || Secret::new(String::from("why"));
    let thrown = Thrown::Other { message: text() };
    let threw = react(Ok(ProgramOutcome::Threw(thrown))).unwrap();
    assert!(matches!(threw.result, Err(ProgramFailure::Threw(Thrown::Other { .. }))));
    let stopped = react(Ok(ProgramOutcome::Stopped(Stop::TimedOut))).unwrap();
    assert!(matches!(stopped.result, Err(ProgramFailure::Stopped(Stop::TimedOut))));
    let not = react(Ok(ProgramOutcome::NotAProgram(text()))).unwrap();
    assert!(matches!(not.result, Err(ProgramFailure::NotAProgram(_))));
    assert!(matches!(react(Err(Error::Busy)), Err(Error::Busy)));
}

#[test]
fn tokens_of_a_result_are_made_only_while_the_reactor_and_its_maker_exist() {
    let scene = Scene::new();
    let (owner, reactors) = (&scene.vault.caller, scene.vault.app.reactors());
    let body = json!({"args": 1});
    let delete = |caller: &Caller| {
        let access = scene.vault.app.access();
        let application = caller.application.id;
        block_on(access.delete_application(owner.tenant.id, application, Some(owner))).unwrap();
    };
    let id = |made: Result<Arc<Caller>, Error>| match made {
        Ok(maker) => Some(maker.application.id),
        Err(Error::Forbidden(_)) => None,
        Err(other) => panic!("{other:?}"),
    };
    // Without an application the caller makes them.
    let caller = scene.caller(&[Permission::ReactorInvoke, Permission::TokenCreate]);
    let plain = scene.reactor(|_| ());
    let prepared = scene.prepare(&caller, plain.id, &body).unwrap();
    assert_eq!(id(reactors.maker(&caller, &prepared)), Some(caller.application.id));
    delete(&caller);
    assert_eq!(id(reactors.maker(&caller, &prepared)), None, "the caller was deleted");
    let prepared = scene.prepare(owner, plain.id, &body).unwrap();
    block_on(scene.vault.app.delete_named::<Reactor>(owner, plain.id)).unwrap();
    assert_eq!(id(reactors.maker(owner, &prepared)), None, "the reactor was deleted");
    let maker = scene.caller(&[Permission::TokenCreate]);
    let with = || scene.reactor(|it| it.application = Some(maker.application.id));
    let (first, second) = (with(), with());
    let prepare = |reactor: &Reactor| scene.prepare(owner, reactor.id, &body).unwrap();
    let (of_first, of_second) = (prepare(&first), prepare(&second));
    assert_eq!(id(reactors.maker(owner, &of_first)), Some(maker.application.id));
    block_on(scene.vault.app.delete_named::<Reactor>(owner, first.id)).unwrap();
    assert_eq!(id(reactors.maker(owner, &of_first)), None, "the reactor was deleted");
    delete(&maker);
    assert_eq!(id(reactors.maker(owner, &of_second)), None, "its application was deleted");
}

#[test]
fn a_repeated_call_has_the_time_that_is_left() {
    let scene = Scene::new();
    let (caller, reactors) = (&scene.vault.caller, scene.vault.app.reactors());
    let reactor = scene.reactor(|_| ());
    let prepared = scene.prepare(caller, reactor.id, &json!({"args": 1})).unwrap();
    let left = Duration::from_secs(7);
    block_on(reactors.run(caller, &prepared, &scene.hosts, left)).unwrap();
    assert_eq!(scene.fake.calls.lock().unwrap()[0].timeout, left);
}

#[test]
fn a_tenant_has_so_many_reactors() {
    let scene = Scene::new();
    for _ in 0..REACTORS_MAX {
        scene.reactor(|_| ());
    }
    let settings = || Ok::<_, Mistakes>(settings());
    let (app, write) = (&scene.vault.app, Write::<Reactor>::plain());
    let refused = block_on(app.create_named(&scene.vault.caller, &settings, &write));
    assert!(matches!(refused, Err(Error::Conflict(_))));
}

#[test]
fn a_result_is_for_the_application_that_asked_until_it_expires() {
    let clock = Clock::stopped_at(Clock::new().now());
    let scene = {
        let (image, _) = crate::app::tests::prepared();
        let disk = crate::store::tests::disk::TestDisk::holding(image.clone());
        let vault = TestVault::on(disk, clock.clone()).unwrap();
        let fake = Arc::new(Fake::default());
        configure_programs(&vault.app, Arc::<Fake>::clone(&fake));
        Scene { vault, fake, hosts: Hosts::default() }
    };
    let reactors = scene.vault.app.reactors();
    let reactor = scene.reactor(|_| ());
    let caller = &scene.vault.caller;
    let accept = || {
        let id = reactors.new_request();
        let kind = InvocationKind::Async(id);
        let prepared =
            block_on(reactors.prepare(caller, reactor.id, &json!({"args": 1}), kind)).unwrap();
        block_on(reactors.accept(caller, &prepared, &Write::plain())).unwrap();
        (id, prepared)
    };
    let read = |caller: &Caller, id| block_on(reactors.result(caller, reactor.id, id));
    let (id, prepared) = accept();
    assert!(matches!(read(caller, id), Ok(ResultState::Pending)));
    let headers = vec![(String::from("x-a"), Secret::new(String::from("b")))];
    let head = OwnHead { status: 402, headers };
    let answer = RememberedAnswer::of_program(head, b"{\"raw\":1}");
    block_on(reactors.settle(caller, &prepared, &answer, Some("failed"))).unwrap();
    let Ok(ResultState::Answered(found)) = read(caller, id) else { panic!("no answer") };
    let head = found.head.as_ref().unwrap();
    assert_eq!((head.status, head.headers.len()), (402, 1));
    assert_eq!(found.body.expose(), b"{\"raw\":1}");
    let stored = || reactors.stored_body(caller.tenant.id, id).unwrap();
    assert_eq!(stored().unwrap().expose(), b"{\"raw\":1}");
    let other = scene.caller(&[Permission::ReactorInvoke]);
    assert!(matches!(read(&other, id), Err(Error::NotFound(_))));
    let wrong = ReactorId::new(uuid::Uuid::from_u128(7));
    assert!(matches!(block_on(reactors.result(caller, wrong, id)), Err(Error::NotFound(_))));
    // A call whose server was stopped has a failure after its deadline.
    let (lost, _) = accept();
    clock.advance(Duration::from_secs(320));
    assert!(matches!(read(caller, lost), Ok(ResultState::Lost)));
    assert!(reactors.stored_body(caller.tenant.id, lost).unwrap().is_none());
    clock.advance(REACTOR_RESULT_RETENTION);
    assert!(matches!(read(caller, id), Err(Error::NotFound(_))));
    assert!(stored().is_none(), "a callback does not outlive the result");
    block_on(scene.vault.app.upkeep().sweep_all()).unwrap();
    scene.vault.assert_clean();
}

/// The number is counted with the rows: an accepted call reads no stored answer.
#[test]
fn a_tenant_has_so_many_results() {
    let scene = Scene::new();
    let (caller, reactors) = (&scene.vault.caller, scene.vault.app.reactors());
    let reactor = scene.reactor(|_| ());
    let accept = || {
        let (body, kind) = (json!({"args": 1}), InvocationKind::Async(reactors.new_request()));
        let prepared = block_on(reactors.prepare(caller, reactor.id, &body, kind)).unwrap();
        block_on(reactors.accept(caller, &prepared, &Write::plain())).map(|_| ())
    };
    let key = tables::counts(caller.tenant.id, CountKind::ReactorResults);
    let add = |by: i64| {
        let change = Change::new().count(key.clone(), by);
        assert!(matches!(block_on(scene.vault.app.store().commit(change)), Ok(Verdict::Applied)));
    };
    accept().unwrap();
    assert_eq!(scene.vault.app.snapshot().unwrap().count(&key).unwrap(), 1);
    let others = i64::try_from(REACTOR_RESULTS_MAX).unwrap() - 2;
    add(others);
    accept().unwrap();
    assert!(matches!(accept(), Err(Error::Conflict(_))));
    add(-others);
    accept().unwrap();
    scene.vault.assert_clean();
}

/// Anybody can have a public key or a session, so they leave half of the results to private keys.
#[test]
fn public_keys_and_sessions_have_half_of_the_results() {
    let scene = Scene::new();
    let (vault, reactors) = (&scene.vault, scene.vault.app.reactors());
    let reactor = scene.reactor(|_| ());
    let accept = |caller: &Caller| {
        let (body, kind) = (json!({"args": 1}), InvocationKind::Async(reactors.new_request()));
        let prepared = block_on(reactors.prepare(caller, reactor.id, &body, kind)).unwrap();
        block_on(reactors.accept(caller, &prepared, &Write::plain())).map(|_| ())
    };
    let key = |kind| tables::counts(vault.caller.tenant.id, kind);
    let add = |kind, by: i64| {
        let change = Change::new().count(key(kind), by);
        assert!(matches!(block_on(vault.app.store().commit(change)), Ok(Verdict::Applied)));
    };
    let (page, max) = (block_on(public(vault)), i64::try_from(REACTOR_RESULTS_MAX).unwrap());
    let session = {
        let access = vault.app.access();
        let made = block_on(access.create_session(&page)).unwrap();
        block_on(authorize(vault, &made)).unwrap();
        access.authenticate(&made.text).unwrap()
    };
    for (all, of_public, public_gets, private_gets) in [
        (0, 0, true, true),
        (max / 2 - 1, max / 2 - 1, true, true),
        (max / 2, max / 2, false, true),
        (max - 2, max / 2, false, true),
        (max - 2, max / 2 - 1, true, true),
        (max, 0, false, false),
    ] {
        for (caller, gets) in
            [(&page, public_gets), (&session, public_gets), (&vault.caller, private_gets)]
        {
            // Without the results that earlier turns of this loop have stored.
            let stored = |kind| vault.app.snapshot().unwrap().count(&key(kind)).unwrap();
            let kinds = [CountKind::ReactorResults, CountKind::PublicReactorResults];
            let [before, public_before] = kinds.map(stored);
            add(kinds[0], all - before);
            add(kinds[1], of_public - public_before);
            let accepted = accept(caller);
            let by = i64::from(accepted.is_ok());
            assert_eq!(accepted.is_ok(), gets, "{all} {of_public}: {accepted:?}");
            let is_public = i64::from(caller.credential() == Credential::Public);
            assert_eq!(kinds.map(stored), [all + by, of_public + by * is_public]);
            add(kinds[0], before - all);
            add(kinds[1], public_before - of_public);
        }
    }
    vault.assert_clean();
}

#[test]
fn a_result_is_for_the_session_that_asked() {
    let scene = Scene::new();
    let (vault, reactors) = (&scene.vault, scene.vault.app.reactors());
    let reactor = scene.reactor(|_| ());
    let page = block_on(public(vault));
    let session = || {
        let access = vault.app.access();
        let made = block_on(access.create_session(&page)).unwrap();
        block_on(authorize(vault, &made)).unwrap();
        access.authenticate(&made.text).unwrap()
    };
    let (asked, other) = (session(), session());
    let id = reactors.new_request();
    let (body, kind) = (json!({"args": 1}), InvocationKind::Async(id));
    let prepared = block_on(reactors.prepare(&asked, reactor.id, &body, kind)).unwrap();
    block_on(reactors.accept(&asked, &prepared, &Write::plain())).unwrap();
    let read = |caller: &Caller| block_on(reactors.result(caller, reactor.id, id));
    assert!(matches!(read(&asked), Ok(ResultState::Pending)));
    for stranger in [&other, &page, &vault.caller] {
        assert!(matches!(read(stranger), Err(Error::NotFound(_))));
    }
}

/// A reactor, and a call of it that waits for its answer.
pub(super) async fn reactor_with_result(vault: &TestVault) {
    configure_programs(&vault.app, Arc::new(Fake::default()));
    let reactors = vault.app.reactors();
    let settings = || Ok::<_, Mistakes>(settings());
    let made = vault.app.create_named(&vault.caller, &settings, &Write::plain()).await;
    let made: Reactor = made.unwrap().outcome;
    let kind = InvocationKind::Async(reactors.new_request());
    let prepared = reactors.prepare(&vault.caller, made.id, &json!({}), kind).await.unwrap();
    reactors.accept(&vault.caller, &prepared, &Write::plain()).await.unwrap();
}
