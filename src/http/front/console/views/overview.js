// The first view: the tenant, the server, the key, and what needs attention.

import { call } from '../api.js';
import { chart } from '../chart.js';
import { el, fill } from '../dom.js';
import { count, percent } from '../format.js';
import { meter, words } from '../meter.js';
import { action, code, facts, heading, notice, problem, tag, time } from '../parts.js';
import { isReadOnly } from '../rights.js';
import { signedIn } from '../session.js';

/** A use that fills its limit this far needs attention. */
const NEARLY_FULL_PERCENT = 80;

export const overview = async ({ place, signal, go }) => {
  const { application, permissions, person } = signedIn();
  const has = (...names) => names.some((it) => permissions.has(it));
  const part = async (isAllowed, path) => {
    if (!isAllowed) return undefined;
    try {
      return await call('GET', path, { signal });
    } catch (failure) {
      if (failure.name === 'AbortError') throw failure;
      return failure;
    }
  };
  const [tenant, limits, activity, webhooks, proxies] = await Promise.all([
    part(has('tenant:read'), '/tenants/self'),
    part(has('tenant:read'), '/console/data/limits'),
    part(has('log:read', 'report:read'), '/console/data/activity'),
    part(has('webhooks:read'), '/console/data/webhooks'),
    part(has('proxy:read'), '/console/data/proxies'),
  ]);
  fill(place,
    heading(good(tenant)?.name ?? 'Overview', undefined,
      action('New application', ['application:create'], () => go('/applications/new'))),
    [tenant, limits, activity, webhooks, proxies].filter((it) => it instanceof Error).slice(0, 1).map(problem),
    attention(good(limits), good(webhooks), good(proxies)),
    el('div', { class: 'cards' },
      el('section', { class: 'card' }, el('h2', {}, person ? 'You' : 'This key'), keyFacts(application, permissions, person)),
      good(tenant) && el('section', { class: 'card' }, el('h2', {}, 'Tenant'), tenantFacts(tenant, good(activity))),
      good(limits) && el('section', { class: 'card' }, el('h2', {}, 'Use'), usageFacts(limits))),
    good(activity) && el('section', { class: 'card' }, chart('Requests in the last hour', activity.minutes, 'minute')));
};

const good = (answer) => (answer instanceof Error ? undefined : answer);

const SIGN_ON = { proxy: 'the sign-on in front of this server', certificate: 'a client certificate' };

const keyFacts = (application, permissions, person) => facts([
  [person ? 'Name' : 'Application', application.name],
  [person ? 'Role' : 'Type', tag(application.type)],
  person && ['Signed on by', SIGN_ON[person.way] ?? person.way],
  ['May', isReadOnly(permissions) ? 'read only' : 'read and change'],
  ['Permissions', el('details', {}, el('summary', {}, count(permissions.size)), el('ul', { class: 'tags' }, [...permissions].sort().map((it) => el('li', {}, code(it)))))],
]);

const tenantFacts = (tenant, activity) => facts([
  ['Kind', tag(tenant.type, tenant.type === 'production' ? 'warn' : '')],
  ['Id', code(tenant.id)],
  activity && ['Server', [`Strongroom ${activity.server.version} `, activity.server.ready ? tag('ready', 'good') : tag('not ready', 'bad')]],
  activity && ['Started', time(activity.server.started_at)],
]);

const SHOWN = ['tokens_and_token_intents', 'applications', 'proxies', 'webhooks'];

const usageFacts = (limits) => facts(limits.usage.filter((it) => SHOWN.includes(it.name))
  .map((it) => [words(it.name), meter(it.used, it.limit, words(it.name))]));

/** The things that a person should look at, with links to their views. */
export const concerns = (limits, webhooks, proxies) => [
  ...(limits?.usage ?? []).filter((it) => it.limit > 0 && percent(it.used, it.limit) >= NEARLY_FULL_PERCENT)
    .map((it) => ({ view: 'limits', text: `${words(it.name)}: ${count(it.used)} of ${count(it.limit)} are used.` })),
  ...(webhooks?.data ?? []).filter((it) => it.failing_since)
    .map((it) => ({ view: 'webhooks', text: `The webhook ${it.name} fails; ${count(it.waiting)} events wait.` })),
  ...(webhooks?.data ?? []).filter((it) => it.disabled_since)
    .map((it) => ({ view: 'webhooks', text: `The webhook ${it.name} is disabled.` })),
  ...(proxies?.data ?? []).filter((it) => it.last_failure)
    .map((it) => ({ view: 'proxies', text: `The proxy ${it.name} failed ${count(it.failures)} of ${count(it.calls)} times.` })),
];

const CONCERNS_MAX = 5;

const attention = (limits, webhooks, proxies) => {
  const found = concerns(limits, webhooks, proxies);
  return found.length > 0 && notice('warn',
    el('p', {}, el('strong', {}, 'Needs attention')),
    el('ul', {}, found.slice(0, CONCERNS_MAX).map(({ view, text }) => el('li', {}, el('a', { href: `#/${view}` }, text)))),
    found.length > CONCERNS_MAX && el('p', {}, `and ${found.length - CONCERNS_MAX} more`));
};
