//! The routing table. A literal path comes before one whose parameter would match it too.

use hyper::Method;

#[cfg(test)]
use crate::app::Error;
use crate::domain::id::{
    ApplicationId, ClientKeyId, KeyId, ProxyId, ReactorId, ReactorRequestId, WebhookId,
};
use crate::domain::page_group::PageGroup;
use crate::domain::permission::Permission;
use crate::domain::proxy::Proxy;
use crate::domain::reactor::Reactor;
use crate::http::exchange::OperationCall;
use crate::http::operations::{
    applications, client_keys, console, enrichments, fields, logs, named, reactors, results,
    sessions, tenants, webhooks,
};
use crate::http::pages::{PageCall, PageContent, PageRequest};
use crate::http::path::{
    AnyApplication, AnyFormula, FormulaName, PathParameter, PathReader, SessionName, TemplateName,
    TokenIntentName, TokenName, VisitedSession,
};
use crate::http::route::{
    BodyKind, Handler, Idempotency, OperationRoute, PROXY_PATH, PageRoute, Presence, Route,
    Successor,
};
use crate::http::{BoxFuture, Exchange, OperationFailure, Problem, Reply, front, openapi, probes};
use crate::limits;

/// The path to which directory servers send results of challenges.
pub const RESULTS_PATH: &str = "/3ds/results";

const LIST_TOKENS: Successor =
    Successor { path: "/v2/tokens", refusal: "GET /tokens is turned off: use GET /v2/tokens." };
const SEARCH_TOKENS: Successor = Successor {
    path: "/v2/tokens/search",
    refusal: "POST /tokens/search is turned off: use POST /v2/tokens/search.",
};

/// A row of an operation: name, methods, path, permissions, body, idempotency, rate limit, and the
/// method of [`Exchange`] with the path parameters that it takes. A function that needs nothing
/// else of the request has `fn` before it, and a function that takes the exchange has `with` before
/// it. `on` names the groups of pages; a server without any of them does not have the row.
macro_rules! operation {
    (
        $name:ident $($method:ident)|+ $($literal:literal $({$parameter:ident: $kind:ty})?)+
        [$($permission:ident)*] $body:ident $idempotency:ident $limit:ident $(successor $successor:ident)?
        $(on $($group:ident)+)? => $($call:tt)+
    ) => {
        Route {
            name: stringify!($name),
            methods: &[$(Method::$method),+],
            path: concat!($($literal $(, "{", stringify!($parameter), "}")?),+),
            parameters: &[
                $($((stringify!($parameter), <$kind as PathParameter>::schema),)?)+
            ],
            presence: presence!($($($group)+)?),
            body: BodyKind::$body,
            handler: Handler::Operation(OperationRoute {
                permissions: &[$(Permission::$permission),*],
                idempotency: Idempotency::$idempotency,
                limit: limits::Operation::$limit,
                successor: optional!($(&$successor)?),
                bind: |path| {
                    let mut reader = PathReader::new(path);
                    $(
                        reader.literal($literal)?;
                        $(let $parameter = reader.parameter::<$kind>()?;)?
                    )+
                    reader.end()?;
                    Some(operation_call(move |exchange| Box::pin(async move {
                        $($(let $parameter = $parameter?;)?)+
                        call!(exchange, $($call)+)
                    })))
                },
                #[cfg(test)]
                future_bytes: || {
                    future_bytes(
                        |exchange: Exchange<'static>,
                         ($($($parameter,)?)+): ($($(Result<$kind, Error>,)?)+)| async move {
                            $($(let $parameter = $parameter?;)?)+
                            call!(exchange, $($call)+)
                        },
                    )
                },
            }),
        }
    };
}

/// A row of a page: name, method, path, body, presence, and the method of [`PageRequest`].
macro_rules! page {
    (
        $name:ident $method:ident $($literal:literal $({$parameter:ident: $kind:ty})?)+ $presence:ident
        => $function:ident($($argument:ident),*) $(.$wait:tt)?
    ) => {
        Route {
            name: stringify!($name),
            methods: &[Method::$method],
            path: concat!($($literal $(, "{", stringify!($parameter), "}")?),+),
            parameters: &[
                $($((stringify!($parameter), <$kind as PathParameter>::schema),)?)+
            ],
            presence: Presence::$presence,
            body: BodyKind::Form,
            handler: Handler::Page(PageRoute {
                bind: |path| {
                    let mut reader = PathReader::new(path);
                    $(
                        reader.literal($literal)?;
                        $(let $parameter = reader.parameter::<$kind>()?;)?
                    )+
                    reader.end()?;
                    Some(page_call(move |request| Box::pin(async move {
                        $($(let $parameter = $parameter?;)?)+
                        request.$function($(&$argument),*)$(.$wait)?.into_result()
                    })))
                },
            }),
        }
    };
}

/// A row of a probe: the listeners that answer it, name, path and function.
macro_rules! probe {
    ($handler:ident $name:ident $path:literal => $function:path) => {
        Route {
            name: stringify!($name),
            methods: &[Method::GET, Method::HEAD],
            path: $path,
            parameters: &[],
            presence: Presence::All,
            body: BodyKind::Nothing,
            handler: Handler::$handler(|of, request| $function(of, request).into_probed()),
        }
    };
}

/// A row of a file for browsers: the groups of pages that need it, name, path and file.
macro_rules! asset {
    ([$($group:ident)+] $name:ident $path:literal => $asset:path) => {
        Route {
            name: stringify!($name),
            methods: &[Method::GET, Method::HEAD],
            path: $path,
            parameters: &[],
            presence: presence!($($group)+),
            body: BodyKind::Nothing,
            handler: Handler::Asset(&$asset),
        }
    };
}

/// A row of the files below a path: the groups of pages that need them, name, path and files.
macro_rules! folder {
    ([$($group:ident)+] $name:ident $path:literal => $folder:path) => {
        Route {
            name: stringify!($name),
            methods: &[Method::GET, Method::HEAD],
            path: concat!($path, "{file}"),
            parameters: &[],
            presence: presence!($($group)+),
            body: BodyKind::Nothing,
            handler: Handler::Folder(&$folder),
        }
    };
}

macro_rules! presence {
    () => {
        Presence::All
    };
    ($($group:ident)+) => {
        Presence::With(&[$(PageGroup::$group),+])
    };
}

/// The call of an operation's method or function.
macro_rules! call {
    ($exchange:ident, fn $($function:ident)::+($($argument:ident),*)) => {{
        let _ = $exchange;
        $($function)::+($(&$argument),*).into_result()
    }};
    (
        $exchange:ident,
        with $($function:ident)::+ $(::<$resource:ty>)? ($($argument:ident),*) $(.$wait:tt)?
    ) => {
        $($function)::+$(::<$resource>)?(&$exchange $(, &$argument)*)$(.$wait)?.into_result()
    };
    ($exchange:ident, $function:ident($($argument:ident),*) $(.$wait:tt)?) => {
        $exchange.$function($(&$argument),*)$(.$wait)?.into_result()
    };
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

#[rustfmt::skip]
pub static ROUTES: &[Route] = &[
    operation!(CreateToken POST "/tokens" [TokenCreate] Json Once CreateToken => create_token().await),
    operation!(ListTokensV1 GET "/tokens" [TokenRead] Nothing Ignored ListTokens successor LIST_TOKENS => list_tokens_v1().await),
    operation!(ListTokens GET "/v2/tokens" [TokenRead] Nothing Ignored ListTokens => list_tokens().await),
    operation!(SearchTokensV1 POST "/tokens/search" [TokenSearch] Json Ignored SearchTokens successor SEARCH_TOKENS => search_tokens_v1().await),
    operation!(SearchTokens POST "/v2/tokens/search" [TokenSearch] Json Ignored SearchTokens => search_tokens().await),
    operation!(ReadToken GET "/tokens/" {id: TokenName} [TokenRead] Nothing Ignored Other => read_token(id).await),
    operation!(UpdateToken PATCH "/tokens/" {id: TokenName} [TokenUpdate] MergePatch Once UpdateToken => update_token(id).await),
    operation!(DeleteToken DELETE "/tokens/" {id: TokenName} [TokenDelete] Nothing Ignored DeleteToken => delete_token(id).await),
    operation!(DeleteTokenCvc DELETE "/tokens/" {id: TokenName} "/cvc" [TokenUpdate] Nothing Ignored DeleteToken => delete_token_code(id).await),
    operation!(Tokenize POST "/tokenize" [TokenCreate] Json Once Tokenize => tokenize().await),
    operation!(Detokenize POST "/detokenize" [TokenUse TokenRead] Json Ignored Detokenize => detokenize().await),
    operation!(CreateTokenIntent POST "/token-intents" [TokenIntentCreate] Json Once Other => create_token_intent().await),
    operation!(ReadTokenIntent GET "/token-intents/" {id: TokenIntentName} [TokenIntentRead] Nothing Ignored Other => read_token_intent(id).await),
    operation!(DeleteTokenIntent DELETE "/token-intents/" {id: TokenIntentName} [TokenIntentDelete] Nothing Ignored Other => delete_token_intent(id).await),
    operation!(CreateApplication POST "/applications" [ApplicationCreate] Json Once Other => create_application().await),
    operation!(ListApplications GET "/applications" [ApplicationRead] Nothing Ignored Other => list_applications()),
    operation!(ReadApplicationByKey GET "/applications/key" [] Nothing Ignored Other => read_application_by_key()),
    operation!(ReadApplication GET "/applications/" {id: ApplicationId} [ApplicationRead] Nothing Ignored Other => read_application(id)),
    operation!(UpdateApplication PUT "/applications/" {id: ApplicationId} [ApplicationUpdate] Json Once Other => update_application(id).await),
    operation!(DeleteApplication DELETE "/applications/" {id: ApplicationId} [ApplicationDelete] Nothing Ignored Other => delete_application(id).await),
    operation!(RegenerateApplicationKey POST "/applications/" {id: AnyApplication} "/regenerate" [ApplicationUpdate] Nothing Ignored Other => fn applications::regenerate_application_key(id)),
    operation!(CreateApplicationKey POST "/applications/" {id: ApplicationId} "/keys" [ApplicationCreate] Nothing Once Other => create_application_key(id).await),
    operation!(ListApplicationKeys GET "/applications/" {id: ApplicationId} "/keys" [ApplicationRead] Nothing Ignored Other => list_application_keys(id)),
    operation!(ReadApplicationKey GET "/applications/" {id: ApplicationId} "/keys/" {key: KeyId} [ApplicationRead] Nothing Ignored Other => read_application_key(id, key)),
    operation!(DeleteApplicationKey DELETE "/applications/" {id: ApplicationId} "/keys/" {key: KeyId} [ApplicationDelete] Nothing Ignored Other => delete_application_key(id, key).await),
    probe!(Probe WebhookKey "/keys/webhooks.v1.key" => webhooks::public_key),
    probe!(Probe WebhookKey "/keys/webhooks.v1-test.key" => webhooks::public_key),
    operation!(CreateClientKey POST "/keys" [KeysCreate] Json Once Other => with client_keys::create_client_key().await),
    operation!(ListClientKeys GET "/keys" [KeysRead] Nothing Ignored Other => with client_keys::list_client_keys()),
    operation!(ReadClientKey GET "/keys/" {id: ClientKeyId} [KeysRead] Nothing Ignored Other => with client_keys::read_client_key(id)),
    operation!(DeleteClientKey DELETE "/keys/" {id: ClientKeyId} [KeysDelete] Nothing Ignored Other => with client_keys::delete_client_key(id).await),
    operation!(CreateSession POST "/sessions" [] Nothing Ignored Other => with sessions::create_session().await),
    operation!(AuthorizeSession POST "/sessions/authorize" [] Json Once Other => with sessions::authorize_session().await),
    operation!(ListPermissions GET "/permissions" [] Nothing Ignored Other => list_permissions()),
    operation!(ListApplicationTemplates GET "/application-templates" [] Nothing Ignored Other => fn applications::list_application_templates()),
    operation!(ReadApplicationTemplate GET "/application-templates/" {id: TemplateName} [] Nothing Ignored Other => fn applications::read_application_template(id)),
    operation!(ListLogs GET "/logs" [LogRead] Nothing Ignored Other => list_logs().await),
    operation!(ListLogEntityTypes GET "/logs/entity-types" [LogRead] Nothing Ignored Other => fn logs::list_log_entity_types()),
    operation!(ReadTenant GET "/tenants/self" [TenantRead] Nothing Ignored Other => read_tenant()),
    operation!(UpdateTenant PUT "/tenants/self" [TenantUpdate] Json Once Other => update_tenant().await),
    operation!(DeleteTenant DELETE "/tenants/self" [TenantDelete] Nothing Ignored Other => with tenants::delete_tenant().await),
    operation!(ReadTenantUsage GET "/tenants/self/reports/usage" [ReportRead] Nothing Ignored Other => with tenants::read_tenant_usage().await),
    operation!(ListTenantMembers GET "/tenants/self/members" [TenantMemberRead] Nothing Ignored Other => with tenants::list_no_people()),
    operation!(ListTenantInvitations GET "/tenants/self/invitations" [TenantInvitationRead] Nothing Ignored Other => with tenants::list_no_people()),
    operation!(ListRoles GET "/roles" [] Nothing Ignored Other => fn tenants::list_roles()),
    operation!(ReadCardDetails GET "/enrichments/card-details" [] Nothing Ignored Other => with enrichments::read_card_details()),
    operation!(VerifyBankAccount POST "/enrichments/bank-account-verify" [TokenUse] Json Ignored Other => with enrichments::verify_bank_account().await),
    operation!(CreateThreedsSession POST "/3ds/sessions" [ThreedsSessionCreate] Json Once Other => create_threeds_session().await),
    operation!(ReadThreedsSession GET "/3ds/sessions/" {id: SessionName} [ThreedsSessionRead] Nothing Ignored Other => read_threeds_session(id).await),
    // The mobile SDK describes its device with the key that made the session.
    operation!(UpdateThreedsSession PUT "/3ds/sessions/" {id: SessionName} [ThreedsSessionCreate] Json Once Other => update_threeds_session(id).await),
    operation!(AuthenticateThreedsSession POST "/3ds/sessions/" {id: SessionName} "/authenticate" [ThreedsSessionAuthenticate] Json Once Other => authenticate_threeds_session(id).await),
    operation!(ReadChallengeResult GET "/3ds/sessions/" {id: SessionName} "/challenge-result" [ThreedsSessionAuthenticate] Nothing Ignored Other => read_challenge_result(id).await),
    operation!(CreateProxy POST "/proxies" [ProxyCreate] Json Once Other => with named::create::<Proxy>().await),
    operation!(ListProxies GET "/proxies" [ProxyRead] Nothing Ignored Other => with named::list::<Proxy>().await),
    operation!(ReadProxy GET "/proxies/" {id: ProxyId} [ProxyRead] Nothing Ignored Other => with named::read::<Proxy>(id).await),
    operation!(ReplaceProxy PUT "/proxies/" {id: ProxyId} [ProxyUpdate] Json Once Other => with named::replace::<Proxy>(id).await),
    operation!(PatchProxy PATCH "/proxies/" {id: ProxyId} [ProxyUpdate] MergePatch Ignored Other => with named::patch::<Proxy>(id).await),
    operation!(DeleteProxy DELETE "/proxies/" {id: ProxyId} [ProxyDelete] Nothing Ignored Other => with named::delete::<Proxy>(id).await),
    operation!(ListProxyLogs GET "/proxies/" {id: ProxyId} "/logs" [LogRead] Nothing Ignored Other => with reactors::list_proxy_logs(id).await),
    operation!(CreateReactor POST "/reactors" [ReactorCreate] Json Once Other => with named::create::<Reactor>().await),
    operation!(ListReactors GET "/reactors" [ReactorRead] Nothing Ignored Other => with named::list::<Reactor>().await),
    operation!(ReadReactor GET "/reactors/" {id: ReactorId} [ReactorRead] Nothing Ignored Other => with named::read::<Reactor>(id).await),
    operation!(ReplaceReactor PUT "/reactors/" {id: ReactorId} [ReactorUpdate] Json Once Other => with named::replace::<Reactor>(id).await),
    operation!(PatchReactor PATCH "/reactors/" {id: ReactorId} [ReactorUpdate] MergePatch Ignored Other => with named::patch::<Reactor>(id).await),
    operation!(DeleteReactor DELETE "/reactors/" {id: ReactorId} [ReactorDelete] Nothing Ignored Other => with named::delete::<Reactor>(id).await),
    operation!(React POST "/reactors/" {id: ReactorId} "/react" [ReactorInvoke TokenUse] Arguments Once Other => with reactors::react(id).await),
    operation!(ReactAsync POST "/reactors/" {id: ReactorId} "/react-async" [ReactorInvoke TokenUse] Arguments Once Other => with reactors::react_async(id).await),
    operation!(ReadReactorResult GET "/reactors/" {id: ReactorId} "/results/" {request: ReactorRequestId} [ReactorInvoke TokenUse] Nothing Ignored Other => with reactors::read_result(id, request).await),
    operation!(ListReactorLogs GET "/reactors/" {id: ReactorId} "/logs" [LogRead] Nothing Ignored Other => with reactors::list_reactor_logs(id).await),
    operation!(ReactorFormulas GET|POST "/reactor-formulas" [] Nothing Ignored Other => fn reactors::formulas()),
    operation!(ReactorFormula GET|PUT|PATCH|DELETE "/reactor-formulas/" {id: AnyFormula} [] Nothing Ignored Other => fn reactors::formula(id)),
    operation!(CreateWebhook POST "/webhooks" [WebhooksCreate] Json Once Other => with webhooks::create().await),
    operation!(ListWebhooks GET "/webhooks" [WebhooksRead] Nothing Ignored Other => with webhooks::list()),
    operation!(ListWebhookEventTypes GET "/webhooks/event-types" [WebhooksRead WebhookRead] Nothing Ignored Other => fn webhooks::list_event_types()),
    operation!(ReadWebhook GET "/webhooks/" {id: WebhookId} [WebhooksRead] Nothing Ignored Other => with webhooks::read(id)),
    operation!(UpdateWebhook PUT "/webhooks/" {id: WebhookId} [WebhooksUpdate] Json Once Other => with webhooks::update(id).await),
    operation!(DeleteWebhook DELETE "/webhooks/" {id: WebhookId} [WebhooksDelete] Nothing Ignored Other => with webhooks::delete(id).await),
    operation!(TestWebhook POST "/webhooks/" {id: WebhookId} "/test" [WebhooksUpdate] Nothing Ignored Other => with webhooks::test(id).await),
    operation!(ListFormulas GET|POST "/orchestration/connection_formulas" [ConnectionFormulas] Nothing Ignored Other => list_formulas()),
    operation!(ReadFormula GET|POST "/orchestration/connection_formulas/" {id: FormulaName} [ConnectionFormulas] Nothing Ignored Other => read_formula(id)),
    operation!(ListFormulas GET|POST "/orchestration/connection/formulas" [ConnectionFormulas] Nothing Ignored Other => list_formulas()),
    operation!(ReadFormula GET|POST "/orchestration/connection/formulas/" {id: FormulaName} [ConnectionFormulas] Nothing Ignored Other => read_formula(id)),
    operation!(ConsoleActivity GET "/console/data/activity" [LogRead ReportRead] Nothing Ignored Other on Console => with console::read_activity()),
    operation!(ConsoleKeys GET "/console/data/keys" [ApplicationRead] Nothing Ignored Other on Console => with console::list_keys().await),
    operation!(ConsoleLimits GET "/console/data/limits" [TenantRead] Nothing Ignored Other on Console => with console::read_limits().await),
    operation!(ConsoleProxies GET "/console/data/proxies" [ProxyRead] Nothing Ignored Other on Console => with console::list_proxies().await),
    operation!(ConsoleReactors GET "/console/data/reactors" [ReactorRead] Nothing Ignored Other on Console => with console::list_reactors().await),
    operation!(ConsoleRulesPreview POST "/console/data/rules-preview" [ApplicationRead] Json Ignored Other on Console => with console::preview_rules()),
    operation!(ConsoleSignOn POST "/console/data/sign-on" [] Nothing Ignored Other on Console => with console::sign_on().await),
    Route { name: "ConsoleSignOnWays", methods: &[Method::GET], path: "/console/data/sign-on", parameters: &[], presence: Presence::With(&[PageGroup::Console]), body: BodyKind::Nothing, handler: Handler::Probe(|http, request| console::sign_on_ways(http, request).into_probed()) },
    operation!(ConsoleThreedsSessions GET "/console/data/3ds-sessions" [LogRead] Nothing Ignored Other on Console => with console::list_threeds_sessions().await),
    operation!(ConsoleWebhooks GET "/console/data/webhooks" [WebhooksRead] Nothing Ignored Other on Console => with console::list_webhooks()),
    Route { name: "InvokeProxy", methods: &[Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE], path: PROXY_PATH, parameters: &[], presence: Presence::All, body: BodyKind::Raw, handler: Handler::Proxy },
    page!(MethodPage GET "/pages/method.html" All => method_page()),
    page!(ChallengePage GET "/pages/challenge.html" All => challenge_page()),
    page!(MethodNotification POST "/3ds/sessions/" {id: VisitedSession} "/method-notification" All => method_notification(id).await),
    page!(ChallengeNotification POST "/3ds/sessions/" {id: VisitedSession} "/challenge-notification" All => challenge_notification(id)),
    page!(SimulatedMethod POST "/3ds/sim/acs/method" WithTestTenant => simulated_method()),
    page!(SimulatedChallenge POST "/3ds/sim/acs/challenge" WithTestTenant => simulated_challenge().await),
    asset!([Console Examples Reference] BaseStyle "/pages/base.css" => front::base::STYLE),
    asset!([Reference] OpenApi "/openapi.json" => openapi::DOCUMENT),
    asset!([Reference] PostmanCollection "/postman.json" => openapi::POSTMAN),
    asset!([Reference] ReferencePage "/" => front::reference::PAGE),
    asset!([Reference] GuidePage "/guide" => front::guide::PAGE),
    folder!([Reference] ReferenceFile "/reference/" => front::reference::FILES),
    asset!([Console] ConsolePage "/console" => front::console::PAGE),
    asset!([Console] ConsoleStyle "/console/console.css" => front::console::STYLE),
    folder!([Console] ConsoleFile "/console/" => front::console::FILES),
    folder!([Console] ConsoleView "/console/views/" => front::console::VIEWS),
    asset!([Fields] FieldsScript "/fields/v1.js" => front::fields::SHOP_SCRIPT),
    asset!([Fields Elements] FieldsController "/fields/v1/controller" => front::fields::CONTROLLER),
    asset!([Fields Elements] FieldsField "/fields/v1/field" => front::fields::FIELD),
    asset!([Fields Elements] FieldsBrands "/fields/v1/brands.json" => front::fields::BRANDS),
    operation!(ReadFieldsAccess GET "/fields/v1/access" [TokenCreate TokenIntentCreate TokenRead TokenUpdate TokenUse ProxyInvoke] Nothing Ignored Other on Fields Elements => with fields::read_fields_access()),
    folder!([Fields Elements] FieldsFile "/fields/v1/" => front::fields::FILES),
    folder!([Elements] ElementsClient "/web-elements/{version}/client/" => front::elements::FILES),
    folder!([Elements] ElementsLoader "/web-elements/{version}/" => front::elements::FILES),
    asset!([Examples] CheckoutPage "/examples/checkout" => front::examples::CHECKOUT),
    asset!([Examples] ElementsPage "/examples/elements" => front::examples::ELEMENTS),
    asset!([Examples] GalleryPage "/examples/gallery" => front::examples::GALLERY),
    asset!([Examples] ExampleSources "/examples/sources.json" => front::examples::SOURCES),
    asset!([Examples] ThreedsSdk "/examples/3ds-sdk.js" => front::examples::THREEDS_SDK),
    folder!([Examples] ExamplesFile "/examples/" => front::examples::FILES),
    probe!(Probe Healthz "/healthz" => probes::healthz),
    probe!(Probe Readyz "/readyz" => probes::readyz),
    probe!(Probe Ping "/ping" => probes::ping),
    probe!(Probe SecurityText "/.well-known/security.txt" => probes::security_text),
    Route { name: "Preflight", methods: &[Method::OPTIONS], path: "*", parameters: &[], presence: Presence::All, body: BodyKind::Nothing, handler: Handler::Preflight },
    probe!(Operator Healthz "/healthz" => probes::operator_healthz),
    probe!(Operator Readyz "/readyz" => probes::operator_readyz),
    probe!(Operator Metrics "/metrics" => probes::operator_metrics),
    probe!(Operator Status "/status" => probes::operator_status),
    Route { name: "ThreedsResults", methods: &[Method::POST], path: RESULTS_PATH, parameters: &[], presence: Presence::All, body: BodyKind::Message, handler: Handler::Results(results::take_message) },
];

/// Converts the result of a function to the form that the pipeline expects for its kind.
trait IntoResult<T, E> {
    fn into_result(self) -> Result<T, E>;
}

impl IntoResult<Self, OperationFailure> for Reply {
    fn into_result(self) -> Result<Self, OperationFailure> {
        Ok(self)
    }
}

impl<E: Into<OperationFailure>> IntoResult<Reply, OperationFailure> for Result<Reply, E> {
    fn into_result(self) -> Result<Reply, OperationFailure> {
        self.map_err(Into::into)
    }
}

impl IntoResult<Self, Problem> for PageContent {
    fn into_result(self) -> Result<Self, Problem> {
        Ok(self)
    }
}

impl IntoResult<PageContent, Problem> for Result<PageContent, Problem> {
    fn into_result(self) -> Self {
        self
    }
}

/// As [`IntoResult`], for probes. It is a separate trait, since the compiler could not choose
/// between the errors of probes and operations.
trait IntoProbed {
    fn into_probed(self) -> Result<Reply, Problem>;
}

impl IntoProbed for Reply {
    fn into_probed(self) -> Result<Self, Problem> {
        Ok(self)
    }
}

impl IntoProbed for Result<Reply, Problem> {
    fn into_probed(self) -> Self {
        self
    }
}

/// Gives a closure the signature of a call, which the compiler does not infer inside of `Box::new`.
fn operation_call<C>(call: C) -> OperationCall
where
    C: for<'a> FnOnce(Exchange<'a>) -> BoxFuture<'a, Result<Reply, OperationFailure>>
        + Send
        + 'static,
{
    Box::new(call)
}

fn page_call<C>(call: C) -> PageCall
where
    C: for<'a> FnOnce(&'a PageRequest<'a>) -> BoxFuture<'a, Result<PageContent, Problem>>
        + Send
        + 'static,
{
    Box::new(call)
}

#[cfg(test)]
fn future_bytes<P, F: Future>(_: impl Fn(Exchange<'static>, P) -> F) -> usize {
    size_of::<F>()
}
