// Proxies with their calls and last failures since the start of the server.

import { call } from '../api.js';
import { el, fill } from '../dom.js';
import { clockTime, count, oneLine, withQuery } from '../format.js';
import { action, code, heading, loaded, notice, pager, table, tag, time } from '../parts.js';

const PAGE_SIZE = 20;

const KINDS = {
  answer_transform: 'the answer could not be transformed',
  broken: 'the answer was cut off or malformed',
  destination_status: 'the destination answered with an error',
  invalid: 'the call or one of its expressions is wrong',
  program: 'a program of the proxy failed',
  refused: 'the destination is not allowed',
  timed_out: 'the destination took too long',
  unreachable: 'the destination could not be reached',
  vault: 'the vault refused or could not',
};

export const proxies = async ({ place, signal, go }) => {
  const list = el('div', {});
  fill(place,
    heading('Proxies', 'Destinations that get plain values through the vault.',
      action('New proxy', ['proxy:create'], () => go('/proxies/new'), { kind: 'primary' })),
    list);
  const draw = (page) => loaded(list, async () => {
    const [settings, counts] = await Promise.all([
      call('GET', withQuery('/proxies', { page, size: PAGE_SIZE }), { signal }),
      call('GET', '/console/data/proxies', { signal }),
    ]);
    const byId = new Map(counts.data.map((it) => [it.id, it]));
    return [
      notice('', el('p', {}, `Calls and failures are counted since ${clockTime(counts.since)}.`)),
      table('Proxies', ['Name', 'Destination', 'Access', 'Calls', 'Failures', 'Last failure'], settings.data.map((it) => row(it, byId.get(it.id))), 'There are no proxies.'),
      pager({ page, pages: settings.pagination.total_pages, total: settings.pagination.total_items, go: draw }),
    ];
  });
  await draw(1);
};

const row = (proxy, counts) => [
  el('a', { href: `#/proxies/${proxy.id}` }, oneLine(proxy.name) || '(no name)'),
  code(proxy.destination_url),
  access(proxy),
  count(counts?.calls ?? 0),
  count(counts?.failures ?? 0),
  failureOf(counts),
];

export const access = (proxy) => (proxy.require_auth ? 'API key' : tag('without a key', 'warn'));

export const failureOf = (counts) => {
  const last = counts?.last_failure;
  if (!last) return el('span', { class: 'quiet' }, 'none');
  return [time(last.at), ': ', KINDS[last.kind] ?? last.kind, last.destination_status ? ` (${last.destination_status})` : ''];
};
