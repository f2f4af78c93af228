// Reactors with their calls and last failures since the start of the server.

import { call } from '../api.js';
import { el, fill } from '../dom.js';
import { clockTime, count, oneLine, withQuery } from '../format.js';
import { action, code, heading, loaded, notice, pager, table, tag, time } from '../parts.js';

const PAGE_SIZE = 20;

export const reactors = async ({ place, signal, go }) => {
  const list = el('div', {});
  fill(place,
    heading('Reactors', 'Programs that run in the vault with values in their hands.',
      action('New reactor', ['reactor:create'], () => go('/reactors/new'), { kind: 'primary' })),
    list);
  const draw = (page) => loaded(list, async () => {
    const [settings, counts] = await Promise.all([
      call('GET', withQuery('/reactors', { page, size: PAGE_SIZE }), { signal }),
      call('GET', '/console/data/reactors', { signal }),
    ]);
    const byId = new Map(counts.data.map((it) => [it.id, it]));
    return [
      obstacleNotice(counts),
      notice('', el('p', {}, `Calls and failures are counted since ${clockTime(counts.since)}.`)),
      table('Reactors', ['Name', 'Image', 'Calls', 'Failures', 'Last failure'], settings.data.map((it) => row(it, byId.get(it.id))), 'There are no reactors.'),
      pager({ page, pages: settings.pagination.total_pages, total: settings.pagination.total_items, go: draw }),
    ];
  });
  await draw(1);
};

/** Says that no program runs on this server, and which setting decides. */
export const obstacleNotice = ({ runs_programs: runs, obstacle }) => !runs && notice('warn',
  el('p', {}, el('strong', {}, 'No program runs here'), `: ${obstacle}. Calls of reactors are refused; reactors can be made and changed.`),
  el('p', {}, 'The operator decides with ', code('enabled'), ' and ', code('allow_without_sandbox'), ' in the section ', code('[code]'), ' of the settings.'));

export const imageOf = (reactor) => reactor.runtime?.image || 'node-bt';

const row = (reactor, counts) => [
  el('a', { href: `#/reactors/${reactor.id}` }, oneLine(reactor.name) || '(no name)'),
  tag(imageOf(reactor)),
  count(counts?.calls ?? 0),
  count(counts?.failures ?? 0),
  failure(counts?.last_failures[0]),
];

const failure = (last) => (last ? [time(last.at), ': ', last.reason] : el('span', { class: 'quiet' }, 'none'));
