// Webhooks with the events that wait for them and their last failures: testing, disabling, deleting.

import { call } from '../api.js';
import { confirmed } from '../dialogs.js';
import { announce, el, fill } from '../dom.js';
import { count, oneLine, plural, withQuery } from '../format.js';
import { action, code, heading, loaded, notice, problem, table, tag, time } from '../parts.js';

const KINDS = {
  broken: 'the answer was cut off or malformed',
  refused: 'the destination is not allowed',
  status: 'the receiver answered with an error',
  timed_out: 'the receiver took too long',
  unreachable: 'the receiver could not be reached',
};

export const webhooks = async ({ place, signal, go, again }) => {
  const list = el('div', {});
  const told = el('div', { 'aria-live': 'polite' });
  fill(place,
    heading('Webhooks', 'Receivers of events, with what waits for them.',
      action('New webhook', ['webhooks:create'], () => go('/webhooks/new'), { kind: 'primary' })),
    told, list);
  const attempt = async (run) => {
    try {
      await run();
    } catch (failure) {
      fill(told, problem(failure));
    }
  };
  await loaded(list, async () => {
    const [settings, states] = await Promise.all([
      call('GET', withQuery('/webhooks', { size: 100 }), { signal }),
      call('GET', '/console/data/webhooks', { signal }),
    ]);
    const byId = new Map(states.data.map((it) => [it.id, it]));
    return table('Webhooks', ['Name', 'Receiver', 'Events', 'Status', 'Waiting', 'Failing', ''],
      settings.data.map((it) => [...row(it, byId.get(it.id)), actions(it, { told, attempt, again, go })]), 'There are no webhooks.');
  });
};

const row = (webhook, state) => [
  oneLine(webhook.name) || '(no name)',
  code(webhook.url),
  el('ul', { class: 'tags' }, webhook.events.map((it) => el('li', {}, code(it)))),
  [tag(webhook.status, webhook.status === 'enabled' ? 'good' : 'warn'), state?.disabled_since && [' ', time(state.disabled_since)]],
  waiting(state),
  failing(state),
];

const waiting = (state) => [
  count(state?.waiting ?? 0),
  state?.oldest_waiting_at && [', oldest ', time(state.oldest_waiting_at)],
];

const failing = (state) => {
  const last = state?.last_failure;
  if (!last) return el('span', { class: 'quiet' }, 'no failure known');
  return [
    time(last.at), ': ', KINDS[last.kind] ?? last.kind, last.status ? ` (${last.status})` : '',
    state.failing_since ? [`; ${plural(state.failed_attempts, 'attempt')} failed since `, time(state.failing_since)] : '; delivered since then',
  ];
};

/** A webhook as a change sends it: all of its settings. */
export const webhookBody = ({ name, url, events, notify_email }) => ({ name, url, events, ...(notify_email ? { notify_email } : {}) });

const actions = (webhook, { told, attempt, again, go }) => {
  const { id, name } = webhook;
  const isOn = webhook.status === 'enabled';
  const small = (label) => ({ kind: 'small', name: `${label} ${name}` });
  const test = () => attempt(async () => {
    const sent = await call('POST', `/webhooks/${id}/test`);
    fill(told, notice('good', el('p', {}, 'A test event is on its way to ', el('strong', {}, name), ': ', code(sent.id), '.')));
  });
  const toggle = () => attempt(async () => {
    await call('PUT', `/webhooks/${id}`, { body: { ...webhookBody(webhook), status: isOn ? 'disabled' : 'enabled' } });
    announce(isOn ? 'The webhook is disabled.' : 'The webhook is enabled.');
    await again();
  });
  const remove = () => confirmed({
    title: 'Delete the webhook',
    text: el('p', {}, 'Events that wait for it are lost. This cannot be undone.'),
    label: 'Delete for ever',
    typed: oneLine(name) || id,
    run: async () => {
      await call('DELETE', `/webhooks/${id}`);
      announce('The webhook is deleted.');
      await again();
    },
  });
  return el('div', { class: 'row end' },
    action('Change', ['webhooks:update'], () => go(`/webhooks/${id}/edit`), small('Change')),
    isOn && action('Test', ['webhooks:update'], test, small('Test')),
    action(isOn ? 'Disable' : 'Enable', ['webhooks:update'], toggle, small(isOn ? 'Disable' : 'Enable')),
    action('Delete', ['webhooks:delete'], remove, { kind: 'danger small', name: `Delete ${name}` }));
};
