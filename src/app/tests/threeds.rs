//! 3-D Secure on a nearly full disk: sessions that have begun come to their end.
#![expect(clippy::similar_names, reason = "the messages have these names in the protocol")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use crate::app::open::start;
use crate::app::tests::floor::{FLOOR, Free};
use crate::app::tests::{everything, master, new_application, prepared, tenant_draft};
use crate::app::{
    Asking, Caller, ChallengeReply, Client, DirectoryServers, Error, Introduction, Reply,
    ResponseKind, SessionDraft, TenantDraft, TokenDraft, Vault, Write,
};
use crate::bounds::{PROCESS_POLL, THREEDS_RETENTION};
use crate::clock::Clock;
use crate::crypto::Random;
use crate::domain::id::SessionId;
use crate::domain::mistakes::Mistakes;
use crate::domain::process::ProcessRole;
use crate::domain::tenant::{TenantKind, Threeds};
use crate::domain::token_type::TokenType;
use crate::secret::Secret;
use crate::store::tests::disk::TestDisk;
use crate::store::tests::{block_on, shared_copies};
use crate::store::{Authority, CvcKeys};
use crate::threeds::codes::{AuthenticationType, Category, TransactionStatus, WindowSize};
use crate::threeds::message::{Creq, Cres};
use crate::threeds::ranges::PreqResult;
use crate::threeds::request::{AuthenticationRequest, Cardholder, Requestor};
use crate::threeds::scheme::Scheme;
use crate::threeds::session::{CardSource, Device, SessionKind, ThreedsSession};
use crate::threeds::simulator::acs::CardholderInput;

const SCHEMES: [Scheme; 2] = [Scheme::Visa, Scheme::Mastercard];

/// Directory servers that know every card, and record the types of messages that they get.
#[derive(Debug, Default)]
pub(super) struct Servers {
    asked: Mutex<Vec<(Scheme, String)>>,
    /// Notified when a request for an authentication has come. It is answered after `answering` is
    /// notified.
    requested: Notify,
    answering: Notify,
}

impl Servers {
    fn take_asked(&self) -> Vec<(Scheme, String)> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl DirectoryServers for Servers {
    fn schemes(&self) -> Vec<Scheme> {
        SCHEMES.to_vec()
    }

    fn introduction(&self, _: Scheme) -> Option<Introduction> {
        let text = || String::from("https://vault.example");
        Some(Introduction {
            reference: String::from("REF-1"),
            operator: None,
            results_url: text(),
            base: text(),
        })
    }

    fn ask<'a>(
        &'a self,
        scheme: Scheme,
        message: &'a Secret<Vec<u8>>,
        _: ResponseKind,
    ) -> Asking<'a> {
        let message: Value = serde_json::from_slice(message.expose()).unwrap();
        let kind = String::from(message["messageType"].as_str().unwrap());
        self.asked.lock().unwrap().push((scheme, kind));
        let is_request = message["messageType"] == "AReq";
        let told = if is_request { challenge(&message) } else { pres(&message) };
        let bytes = Secret::new(told.to_string().into_bytes());
        Box::pin(async move {
            if is_request {
                self.requested.notify_one();
                self.answering.notified().await;
            }
            Ok(Reply { bytes, simulated: None })
        })
    }
}

/// Every Visa card; or no change, if the request asks for changes.
fn pres(preq: &Value) -> Value {
    let ranges = json!([{
        "startRange": "4000000000000000", "endRange": "4999999999999999",
        "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0",
    }]);
    let mut pres = json!({
        "messageType": "PRes", "messageVersion": preq["messageVersion"],
        "threeDSServerTransID": preq["threeDSServerTransID"], "dsTransID": Uuid::max(),
        "dsStartProtocolVersion": "2.1.0", "dsEndProtocolVersion": "2.2.0", "serialNum": "1",
    });
    if preq.get("serialNum").is_none() {
        pres["cardRangeData"] = ranges;
    }
    pres
}

fn challenge(areq: &Value) -> Value {
    json!({
        "messageType": "ARes", "messageVersion": areq["messageVersion"],
        "threeDSServerTransID": areq["threeDSServerTransID"], "acsTransID": Uuid::max(),
        "dsTransID": Uuid::max(), "acsReferenceNumber": "ACS-1", "dsReferenceNumber": "DS-1",
        "transStatus": "C", "acsChallengeMandated": "Y", "authenticationType": "02",
        "acsURL": "https://acs.example/challenge",
    })
}

fn rreq(session: SessionId) -> Vec<u8> {
    let rreq = json!({
        "messageType": "RReq", "messageVersion": "2.2.0", "threeDSServerTransID": session.uuid(),
        "acsTransID": Uuid::max(), "dsTransID": Uuid::max(), "messageCategory": "02",
        "transStatus": "Y", "authenticationType": "02", "authenticationMethod": "02",
        "interactionCounter": "02",
    });
    rreq.to_string().into_bytes()
}

fn client() -> Client {
    let address = std::net::Ipv4Addr::LOCALHOST.into();
    let base = String::from("https://vault.example");
    Client { base, address, accept: None, user_agent: None }
}

async fn caller(app: &Vault, kind: TenantKind) -> Arc<Caller> {
    caller_with_key(app, kind).await.0
}

/// With the text of its API key.
pub(super) async fn caller_with_key(app: &Vault, kind: TenantKind) -> (Arc<Caller>, String) {
    let draft = TenantDraft { kind, threeds: Threeds::Enabled, ..tenant_draft("threeds") };
    let tenant = app.access().create_tenant(draft).await.unwrap().id;
    let key = new_application(app, tenant, &everything()).await.1.text;
    (app.access().authenticate(&key).unwrap(), String::from(key.expose()))
}

pub(super) async fn create(
    app: &Vault,
    caller: &Caller,
    number: &str,
) -> Result<ThreedsSession, Error> {
    let draft = TokenDraft {
        kind: Some(TokenType::CardNumber),
        data: Some(Secret::new(json!(number))),
        ..TokenDraft::default()
    };
    let token = app.tokens(caller).create(draft, &Write::plain()).await?.outcome.shown.token;
    let draft = SessionDraft {
        card: Some(CardSource::Token(token.public_id())),
        kind: Some(SessionKind::Customer),
        device: Some(Device::Browser),
        ..SessionDraft::default()
    };
    Ok(app.threeds().create_session(caller, &draft, &client(), &Write::plain()).await?.outcome)
}

async fn authenticate(
    app: &Vault,
    caller: &Caller,
    id: SessionId,
) -> Result<ThreedsSession, Error> {
    let text = |text: &str| Some(String::from(text));
    let request = AuthenticationRequest {
        category: Some(Category::NonPayment),
        kind: Some(AuthenticationType::AddCard),
        requestor: Some(Requestor { id: text("id"), name: text("name"), url: text("https://a") }),
        cardholder: Some(Cardholder {
            name: text("John Doe"),
            email: text("john@me.example"),
            ..Cardholder::default()
        }),
        ..AuthenticationRequest::default()
    };
    let (id, mistakes) = (id.to_string(), Mistakes::default());
    let threeds = app.threeds();
    let write = Write::plain();
    let authenticated =
        threeds.authenticate_session(caller, &id, &request, mistakes, &client(), &write).await?;
    Ok(authenticated.outcome)
}

/// A vault with directory servers and a disk that a test can fill.
fn vault(clock: &Clock) -> (Vault, Free, Arc<Servers>) {
    let mut app = Vault::on_disk(&TestDisk::new(), master(), clock.clone()).unwrap();
    let (free, servers) = (Free::default(), Arc::new(Servers::default()));
    free.watched_by(&mut app);
    free.set(&app, FLOOR);
    app.threeds().configure_threeds(THREEDS_RETENTION, Some(Arc::<Servers>::clone(&servers)));
    (app, free, servers)
}

#[test]
fn ranges_that_cannot_be_kept_are_used_and_not_asked_for_again() {
    let clock = Clock::new();
    let (app, free, servers) = vault(&clock);
    free.set(&app, FLOOR - 1);
    let refused = block_on(app.card_ranges().refresh_all());
    // Each scheme is asked, whatever the result of the other.
    assert_eq!(refused.iter().map(|(scheme, _)| *scheme).collect::<Vec<_>>(), SCHEMES);
    assert!(refused.iter().all(|(_, it)| matches!(it, Err(Error::ReadOnly(_)))), "{refused:?}");
    assert_eq!(servers.take_asked().len(), 2);
    clock.advance(Duration::from_hours(1));
    assert!(block_on(app.card_ranges().refresh_all()).is_empty());
    assert!(servers.take_asked().is_empty());
    free.set(&app, 2 * FLOOR);
    clock.advance(Duration::from_hours(22));
    for (_, refreshed) in block_on(app.card_ranges().refresh_all()) {
        let refreshed = refreshed.unwrap();
        assert_eq!((refreshed.asked, refreshed.ranges), (PreqResult::Answered, 1));
    }
    assert!(app.verification().verify().unwrap().is_clean());
}

#[test]
fn a_request_that_is_out_is_answered_and_its_challenge_ends_on_a_disk_that_is_nearly_full() {
    let (app, free, servers) = vault(&Clock::new());
    block_on(async {
        let caller = caller(&app, TenantKind::Production).await;
        app.card_ranges().refresh_all().await;
        let id = create(&app, &caller, "4242424242424242").await.unwrap().id;
        let filling = async {
            servers.requested.notified().await;
            free.set(&app, FLOOR - 1);
            servers.answering.notify_one();
        };
        let (authenticated, ()) = tokio::join!(authenticate(&app, &caller, id), filling);
        let status = |session: &ThreedsSession| session.authentication.as_ref().map(|it| it.status);
        assert_eq!(status(&authenticated.unwrap()), Some(TransactionStatus::Challenge));
        let told = app.threeds().take_message(&rreq(id), &SCHEMES).await.unwrap().unwrap();
        let told: Value = serde_json::from_slice(told.expose()).unwrap();
        assert_eq!(told["messageType"], "RRes", "{told}");
        let session = app.threeds().read_session(&caller, &id.to_string()).await.unwrap();
        assert_eq!(status(&session), Some(TransactionStatus::Successful));
        let new = create(&app, &caller, "4242424242424242").await;
        assert!(matches!(new, Err(Error::ReadOnly(_))), "nothing new is begun");
    });
}

#[test]
fn a_cardholder_ends_a_challenge_on_a_disk_that_is_nearly_full_and_returns_on_a_full_one() {
    let (app, free, _) = vault(&Clock::new());
    block_on(async {
        let caller = caller(&app, TenantKind::Test).await;
        let id = create(&app, &caller, "4200000000000004").await.unwrap().id;
        let session = authenticate(&app, &caller, id).await.unwrap();
        free.set(&app, FLOOR - 1);
        app.threeds().complete_method(&id.to_string(), &id.to_string()).await.unwrap();
        let authentication = session.authentication.unwrap();
        let creq = Creq {
            version: authentication.version,
            server_transaction: id.uuid(),
            acs_transaction: authentication.acs_transaction,
            window_size: WindowSize::Large,
            extensions: None,
        };
        let done =
            app.threeds().challenge_step(&creq, Some(CardholderInput::Code("1234"))).await.unwrap();
        let ChallengeReply::Done { cres, .. } = done else { panic!("{done:?}") };
        free.set(&app, 0);
        let cres = Cres::from_form(&cres).unwrap();
        let visitor = app.threeds().close_challenge(&id.to_string(), Some(&cres)).unwrap();
        assert_eq!(visitor.status, Some(TransactionStatus::Successful));
    });
}

/// Two processes on one database, with directory servers.
fn processes(servers: &Arc<Servers>) -> [Vault; 2] {
    let (stores, _engine) = shared_copies(&TestDisk::holding(prepared().0.clone()));
    stores.map(|store| {
        let keys = CvcKeys::on_volume(TestDisk::new().volume().as_ref());
        let app = start(store, keys, master(), Clock::new(), Random::new()).unwrap();
        app.threeds().configure_threeds(THREEDS_RETENTION, Some(Arc::<Servers>::clone(servers)));
        app
    })
}

#[test]
fn a_result_that_arrives_at_another_process_waits_for_the_answer_to_its_request() {
    let servers = Arc::new(Servers::default());
    let [first, second] = processes(&servers);
    block_on(async {
        let caller = caller(&first, TenantKind::Production).await;
        first.card_ranges().by(Authority::Anyone).refresh_all().await;
        let id = create(&first, &caller, "4242424242424242").await.unwrap().id;
        let result = async {
            servers.requested.notified().await;
            let rreq = rreq(id);
            let mut taking = std::pin::pin!(second.threeds().take_message(&rreq, &SCHEMES));
            tokio::select! {
                taken = &mut taking => panic!("it did not wait: {taken:?}"),
                () = tokio::time::sleep(PROCESS_POLL / 2) => (),
            }
            servers.answering.notify_one();
            taking.await.unwrap().unwrap()
        };
        let (authenticated, told) = tokio::join!(authenticate(&first, &caller, id), result);
        authenticated.unwrap();
        let told: Value = serde_json::from_slice(told.expose()).unwrap();
        assert_eq!(told["messageType"], "RRes", "{told}");
        let session = first.threeds().read_session(&caller, &id.to_string()).await.unwrap();
        let status = session.authentication.map(|it| it.status);
        assert_eq!(status, Some(TransactionStatus::Successful));
    });
}

#[test]
fn card_ranges_that_one_process_fetches_serve_the_other_after_its_next_look() {
    let servers = Arc::new(Servers::default());
    let [first, second] = processes(&servers);
    block_on(async {
        second.processes().join("two.example", ProcessRole::Server).await.unwrap();
        let caller = caller(&second, TenantKind::Production).await;
        let early = create(&second, &caller, "4242424242424242").await;
        assert!(matches!(early, Err(Error::Upstream(_))), "{early:?}");
        first.card_ranges().by(Authority::Anyone).refresh_all().await;
        second.processes().poll().unwrap();
        create(&second, &caller, "4242424242424242").await.unwrap();
        assert_eq!(servers.take_asked().len(), SCHEMES.len(), "only one process has asked");
    });
}
