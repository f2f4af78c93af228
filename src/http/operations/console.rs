//! The console's own operations over HTTP: reads that no published operation gives.

use std::num::NonZeroU32;

use crate::app::{Console, KeyOverview};
use crate::domain::application::{ApplicationKind, KeyForm};
use crate::domain::id::TenantId;
use crate::domain::tenant::TenantKind;
use crate::http::probes::ProbeRequest;
use crate::http::sign_on::SignOn;
use crate::http::wire::answer::Answer as _;
use crate::http::wire::console::activity::{Activity, ServerView};
use crate::http::wire::console::limits::{Limits, LimitsView, RowView};
use crate::http::wire::console::sign_on::SignOnWays;
use crate::http::wire::console::{
    self, ConsoleKeys, ConsoleProxies, ConsoleReactors, ConsoleWebhooks, preview, sign_on,
};
use crate::http::{Answer, Exchange, Http, Reply};
use crate::limits::{CounterKey, KeyHash, ROWS, Row, RowScope};

/// The ways to sign on, for everybody: the page asks before it has a key or a person.
pub(in crate::http) fn sign_on_ways(http: &Http, request: &ProbeRequest<'_>) -> Reply {
    let rules = http.console.sign_on.as_ref();
    let mut ways = SignOnWays {
        takes_keys: http.console.takes_keys,
        has_sign_on: rules.is_some(),
        sign_out: rules.and_then(|rules| rules.sign_out.as_deref()),
        person: None,
        tenants: Vec::new(),
        refusal: None,
    };
    // A page of another site does not learn the person.
    match (request.sign_on, rules) {
        (SignOn::Person(found), Some(rules)) if request.is_own_page => {
            let of = |id: &TenantId| http.app.access().person(*id, &found.person, found.role).ok();
            ways.person = Some((&found.person, found.role));
            ways.tenants = rules.tenants.iter().filter_map(of).collect();
        }
        (sign_on, _) if request.is_own_page => ways.refusal = sign_on.refusal().map(|(_, why)| why),
        _ => (),
    }
    Reply::ok(sign_on::render_ways(&ways))
}

pub(in crate::http) async fn sign_on(exchange: &Exchange<'_>) -> Answer {
    exchange.app.audit().note_sign_on(exchange.caller).await?;
    Ok(Reply::ok(sign_on::render(exchange.caller)))
}

pub(in crate::http) async fn list_keys(exchange: &Exchange<'_>) -> Answer {
    let keys = Console::new(exchange.app, exchange.caller).keys().await?;
    Ok(Reply::ok(ConsoleKeys::render((exchange.caller, &keys))))
}

pub(in crate::http) fn read_activity(exchange: &Exchange<'_>) -> Reply {
    let (http, now) = (exchange.http, exchange.app.now());
    let server = ServerView {
        now,
        started_at: http.activity.started_at(),
        is_ready: http.registry.checks().are_right(),
    };
    let view = http.activity.view(exchange.caller.tenant.id, now);
    Reply::ok(Activity::render((&server, &view)))
}

pub(in crate::http) async fn read_limits(exchange: &Exchange<'_>) -> Answer {
    let console = Console::new(exchange.app, exchange.caller);
    let (usage, keys) = (console.counts().await?, console.keys().await?);
    let quotas = &exchange.caller.tenant.quotas;
    let factor = quotas.rate_limit.factor();
    let rows: Vec<_> = factor.map_or_else(Vec::new, |factor| {
        let applies = |row: &&Row| row_applies(row.scope, exchange.caller.tenant.kind, &keys);
        ROWS.iter().filter(applies).map(|row| row_view(exchange, row, factor, &keys)).collect()
    });
    let is_on = exchange.http.limiter.is_on();
    Ok(Reply::ok(Limits::render(&LimitsView { quotas, usage: &usage, is_on, rows: &rows })))
}

/// True if the row covers requests that the tenant can make.
fn row_applies(scope: RowScope, tenant: TenantKind, keys: &[KeyOverview]) -> bool {
    match scope {
        RowScope::Application(_) | RowScope::Global => true,
        RowScope::LegacyKey => keys.iter().any(|it| it.key.form == KeyForm::Legacy),
        RowScope::Operations(_) | RowScope::Proxy(_) => !scope.is_of_absent_feature(),
        RowScope::TestTenant => tenant == TenantKind::Test,
    }
}

fn row_view<'a>(
    exchange: &Exchange<'_>,
    row: &'static Row,
    factor: NonZeroU32,
    keys: &'a [KeyOverview],
) -> RowView<'a> {
    let (limiter, now) = (&exchange.http.limiter, exchange.app.now());
    let caller = exchange.caller;
    let covers = |kind: ApplicationKind| match row.scope {
        RowScope::Application(of) => of == kind,
        RowScope::Proxy(_) => false,
        RowScope::Global | RowScope::LegacyKey | RowScope::Operations(_) | RowScope::TestTenant => {
            true
        }
    };
    let own = KeyHash::of(&caller.tag);
    let used = || limiter.used(row, own, Some(exchange.address), factor, now);
    let by_key = matches!(row.counter, CounterKey::Key | CounterKey::KeyOrAddress);
    let busiest = keys
        .iter()
        .filter(|it| by_key && covers(it.kind))
        .filter_map(|it| Some((it, limiter.used(row, KeyHash::of(&it.tag), None, factor, now)?)))
        .filter(|(_, used)| *used > 0)
        .max_by_key(|(_, used)| *used);
    RowView {
        row,
        requests: u64::from(row.requests).saturating_mul(u64::from(factor.get())),
        used: covers(caller.application.kind).then(used).flatten(),
        busiest,
    }
}

pub(in crate::http) fn preview_rules(exchange: &Exchange<'_>) -> Reply {
    Reply::ok(preview::answer(exchange.body.expose()))
}

pub(in crate::http) fn list_webhooks(exchange: &Exchange<'_>) -> Answer {
    let found = exchange.app.webhooks().list_with_queues(exchange.caller.tenant.id)?;
    Ok(Reply::ok(ConsoleWebhooks::render(&found)))
}

pub(in crate::http) async fn list_proxies(exchange: &Exchange<'_>) -> Answer {
    let found = exchange.app.proxies().list_calls(exchange.caller).await?;
    let since = exchange.http.activity.started_at();
    Ok(Reply::ok(ConsoleProxies::render((since, &found))))
}

pub(in crate::http) async fn list_reactors(exchange: &Exchange<'_>) -> Answer {
    let found = exchange.app.reactors().list_calls(exchange.caller).await?;
    let since = exchange.http.activity.started_at();
    Ok(Reply::ok(ConsoleReactors::render((exchange.caller.tenant.kind, since, &found))))
}

pub(in crate::http) async fn list_threeds_sessions(exchange: &Exchange<'_>) -> Answer {
    let start = console::parse_start(&exchange.query)?;
    let page = exchange.app.threeds().list(exchange.caller, start).await?;
    Ok(Reply::ok(console::render_sessions(&page)))
}
