//! All answers of a vault as sets of texts, and the judgement of a damaged vault's answers.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::tests::faults::scene::{IDEMPOTENT, Known, key_text};
use crate::app::tests::prepared_key;
use crate::app::tokens::evaluations::Work;
use crate::app::{
    ApplicationQuery, Caller, CursorStart, Error, ExportCursor, ExportQuery, NamedQuery, PageRange,
    Vault, show_nothing,
};
use crate::domain::permission::Permission;
use crate::domain::proxy::Proxy;
use crate::domain::token_query::{LegacyTokenQuery, TokenFilter, TokenQuery};
use crate::store::tests::block_on;

/// The items of an answer, or the reason for a missing answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Items(BTreeSet<String>),
    Failed(String),
}

pub(super) type Answers = BTreeMap<String, Answer>;

/// The comparison with the answers of an undamaged vault.
#[derive(Debug, Default)]
pub(super) struct Judgement {
    /// Items that were never stored, or that belong to another record.
    pub(super) wrong: Vec<String>,
    /// Items that are missing without an error.
    pub(super) missing: Vec<String>,
    pub(super) failed: usize,
}

fn answer<T>(read: Result<T, Error>, items: impl FnOnce(T) -> Vec<String>) -> Answer {
    match read {
        Ok(read) => Answer::Items(items(read).into_iter().collect()),
        Err(Error::NotFound(_) | Error::Unauthenticated) => Answer::Items(BTreeSet::new()),
        Err(error @ (Error::Storage(_) | Error::Internal(_) | Error::Stopped)) => {
            Answer::Failed(format!("{error:?}"))
        }
        Err(other) => Answer::Items(BTreeSet::from([format!("{other:?}")])),
    }
}

pub(super) fn ask(app: &Vault, known: &Known) -> Answers {
    let mut all = Answers::new();
    all.insert(String::from("audit"), answer(block_on(audit(app)), |it| it));
    match app.access().authenticate(&prepared_key()) {
        Ok(caller) => {
            block_on(tokens(app, &caller, known, &mut all));
            block_on(others(app, &caller, known, &mut all));
        }
        refused => drop(all.insert(String::from("caller"), answer(refused, |_| vec![]))),
    }
    let threeds = || -> Result<_, Error> {
        let caller = app.access().authenticate(&key_text(&known.threeds_key))?;
        block_on(app.threeds().read_session(&caller, &known.threeds))
    };
    all.insert(String::from("3DS session"), answer(threeds(), |it| vec![format!("{it:?}")]));
    for (at, key) in known.sessions.iter().enumerate() {
        let caller = app.access().authenticate(&key_text(key));
        let shown = |it: std::sync::Arc<Caller>| vec![format!("{:?}", it.session.is_some())];
        all.insert(format!("session {at}"), answer(caller, shown));
    }
    let proxy = app.proxies().find_by_key(&known.proxy_key);
    let shown = |it: Option<_>| it.iter().map(|it| format!("{it:?}")).collect();
    all.insert(String::from("proxy by key"), answer(proxy, shown));
    let tenants = app.access().list_tenants();
    let shown = |it: Vec<_>| it.iter().map(|it| format!("{it:?}")).collect();
    all.insert(String::from("tenants"), answer(tenants, shown));
    all
}

async fn audit(app: &Vault) -> Result<Vec<String>, Error> {
    let (mut entries, mut next) = (Vec::new(), Some(ExportCursor::default()));
    while next.is_some() {
        let page = app.audit().export(ExportQuery { next, ..ExportQuery::default() }).await?;
        entries.extend(page.entries.iter().map(|it| format!("{it:?}")));
        next = page.next;
    }
    Ok(entries)
}

async fn tokens(app: &Vault, caller: &Caller, known: &Known, all: &mut Answers) {
    let tokens = app.tokens(caller);
    for id in &known.tokens {
        let shown = tokens.show_token(id, app.now(), &Work::Read.budget());
        let text = |it: crate::app::TokenView| {
            let cvc = it.token.cvc.as_ref().map(|it| it.expose().clone());
            let value = it.token.data.value();
            let value = value.expose();
            vec![
                format!("{value} {:?} {:?}", it.token.metadata, it.token.containers),
                format!("cvc {cvc:?}"),
            ]
        };
        all.insert(format!("token {id}"), answer(shown, text));
    }
    let filters = [
        ("all", TokenFilter::Everything),
        ("by metadata", TokenFilter::Metadata(String::from("Key"), String::from("merged 1"))),
    ];
    for (name, filter) in filters {
        let query = TokenQuery { container: None, filter };
        let start = CursorStart { after: None, size: 100 };
        let page = tokens.list(Permission::TokenRead, &query, &start).await;
        let ids = |it: crate::app::tokens::lists::cursor::TokenPage| {
            it.tokens.iter().map(|it| it.token.public_id()).collect()
        };
        all.insert(format!("list {name}"), answer(page, ids));
    }
    let range = PageRange { skip: 0, take: 100 };
    let query = LegacyTokenQuery::default();
    let page = tokens.list_by_number(Permission::TokenRead, &query, range).await;
    let ids = |it: crate::app::tokens::lists::numbered::LegacyTokenPage| {
        it.tokens.iter().map(|it| it.token.public_id()).collect()
    };
    all.insert(String::from("list by number"), answer(page, ids));
    let count = app.access().count_tokens(caller.tenant.id);
    all.insert(String::from("count"), answer(count, |it| vec![it.to_string()]));
}

async fn others(app: &Vault, caller: &std::sync::Arc<Caller>, known: &Known, all: &mut Answers) {
    for id in &known.intents {
        let read = app.token_intents(caller).read(id).await;
        let text = |it: crate::app::TokenIntentView| {
            let cvc = it.intent.cvc.as_ref().map(|it| it.expose().clone());
            vec![it.intent.data.value().expose().to_string(), format!("cvc {cvc:?}")]
        };
        all.insert(format!("intent {id}"), answer(read, text));
    }
    let replay = match app.idempotency().begin(caller, IDEMPOTENT, show_nothing).await {
        Err(Error::Replayed(it)) => Ok(vec![format!("{:?} {:?}", it.status, it.body.expose())]),
        Ok(_) => Ok(vec![]),
        Err(error) => Err(error),
    };
    all.insert(String::from("replay"), answer(replay, |it| it));
    let query = ApplicationQuery { take: 100, ..ApplicationQuery::default() };
    let listed = app.access().list_applications(known.tenant, &query);
    let shown = |it: crate::app::access::applications::ApplicationPage| {
        let text = |(application, keys): &(_, Vec<_>)| {
            let keys = keys.iter().map(|key| format!("{key:?}"));
            std::iter::once(format!("{application:?}")).chain(keys).collect::<Vec<_>>()
        };
        it.applications.iter().flat_map(text).collect()
    };
    all.insert(String::from("applications"), answer(listed, shown));
    let listed = app.named_page(caller, &NamedQuery::first(100));
    let shown = |it: crate::app::named::NamedPage<Proxy>| {
        it.records.iter().map(|it| format!("{it:?}")).collect()
    };
    all.insert(String::from("proxies"), answer(listed, shown));
    let read = app.read_named::<Proxy>(caller, known.proxy).await;
    all.insert(String::from("proxy"), answer(read, |it| vec![format!("{it:?}")]));
    let listed = app.client_keys().list(caller);
    let shown = |it: Vec<_>| it.iter().map(|it| format!("{it:?}")).collect();
    all.insert(String::from("client keys"), answer(listed, shown));
    let read = app.webhooks().read(caller, known.webhook);
    all.insert(String::from("webhook"), answer(read, |it| vec![format!("{it:?}")]));
    let pending = app.webhooks().pending(known.tenant, known.webhook).await;
    let shown = |it: Vec<crate::app::PendingEvent>| {
        // The schedule is in clear, so only records that open count.
        let opened = it.iter().filter(|it| it.kind.is_some());
        opened.map(|it| format!("{} {:?}", it.id, it.kind)).collect()
    };
    all.insert(String::from("webhook events"), answer(pending, shown));
}

/// Compares answers with the answers of the undamaged vault. Tokens in `new` were created later.
pub(super) fn judge(expected: &Answers, got: &Answers, new: &[String]) -> Judgement {
    let mut judgement = Judgement::default();
    for (question, expected) in expected {
        let Answer::Items(expected) = expected else { panic!("{question}: {expected:?}") };
        let items = match got.get(question) {
            Some(Answer::Items(items)) => items,
            Some(Answer::Failed(_)) => {
                judgement.failed += 1;
                continue;
            }
            // The caller is unknown, which another question reports.
            None => {
                judgement.missing.push(question.clone());
                continue;
            }
        };
        let grows = !new.is_empty() && (question == "count" || question == "webhook events");
        let is_known = |item: &String| {
            expected.contains(item) || new.contains(item) || item == "cvc None" || grows
        };
        // Numbers in clear can be wrong, and audit entries can be in other places; `verify` finds
        // both.
        let is_clear = question == "count" || question == "audit";
        let wrong = items.iter().filter(|item| !is_clear && !is_known(item));
        judgement.wrong.extend(wrong.map(|item| format!("{question}: {item}")));
        let missing = expected.iter().filter(|item| !items.contains(*item) && !grows);
        judgement.missing.extend(missing.map(|item| format!("{question}: {item}")));
    }
    judgement
}
