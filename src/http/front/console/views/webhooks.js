// Webhooks with the events that wait for them and their last failures.

import { call } from '../api.js';
import { el, fill } from '../dom.js';
import { count, plural, withQuery } from '../format.js';
import { code, heading, loaded, table, tag, time } from '../parts.js';

const KINDS = {
  broken: 'the answer was cut off or malformed',
  refused: 'the destination is not allowed',
  status: 'the receiver answered with an error',
  timed_out: 'the receiver took too long',
  unreachable: 'the receiver could not be reached',
};

export const webhooks = async ({ place, signal }) => {
  const list = el('div', {});
  fill(place, heading('Webhooks', 'Receivers of events, with what waits for them.'), list);
  await loaded(list, async () => {
    const [settings, states] = await Promise.all([
      call('GET', withQuery('/webhooks', { size: 100 }), { signal }),
      call('GET', '/console/data/webhooks', { signal }),
    ]);
    const byId = new Map(states.data.map((it) => [it.id, it]));
    return table('Webhooks', ['Name', 'Receiver', 'Events', 'Status', 'Waiting', 'Failing'],
      settings.data.map((it) => row(it, byId.get(it.id))), 'There are no webhooks.');
  });
};

const row = (webhook, state) => [
  webhook.name,
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
