// Counts over time, from the server's own metrics.

import { call } from '../api.js';
import { chart } from '../chart.js';
import { el, fill } from '../dom.js';
import { clockTime, count } from '../format.js';
import { heading, loaded, notice, table } from '../parts.js';

export const activity = async ({ place, signal }) => {
  const body = el('div', {});
  const refresh = () => loaded(body, async () => {
    const found = await call('GET', '/console/data/activity', { signal });
    return [
      notice('', el('p', {}, `Requests of this tenant with a valid key, counted since ${clockTime(found.since)}. The counts are in memory: a restart of the server begins again.`)),
      el('section', { class: 'card' }, chart('The last hour', found.minutes, 'minute')),
      el('section', { class: 'card' }, chart('The last day', found.hours, 'hour')),
      el('section', { class: 'card' }, el('h2', {}, 'Most used operations of the day'),
        table('Operations', ['Operation', 'Requests'], found.routes.map((it) => [it.route, count(it.requests)]), 'None yet.')),
    ];
  });
  fill(place, heading('Activity', 'Requests and their answers over time.', el('button', { type: 'button', onclick: refresh }, 'Refresh')), body);
  await refresh();
};
