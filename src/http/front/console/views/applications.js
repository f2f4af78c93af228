// The list of applications.

import { allApplications, keyUses, matching, newestUse } from '../directory.js';
import { el, fill } from '../dom.js';
import { oneLine, plural } from '../format.js';
import { action, exactTime, field, heading, loaded, pager, select, table, tag, time } from '../parts.js';

const PAGE_SIZE = 20;
const TYPES = [['', 'All types'], ['private', 'Private'], ['public', 'Public'], ['management', 'Management']];

export const applications = async ({ place, signal, go }) => {
  const search = el('input', { type: 'search', autocomplete: 'off', placeholder: 'Name or id' });
  const type = select(TYPES, '');
  const list = el('div', {});
  fill(place,
    heading('Applications', 'Each program that calls the vault has an application, with rights and API keys of its own.',
      action('New application', ['application:create'], () => go('/applications/new'), { kind: 'primary' })),
    el('form', { class: 'filters', role: 'search', onsubmit: (event) => event.preventDefault() },
      field('Search', search), field('Type', type)),
    list);
  await loaded(list, async () => {
    const [all, uses] = await Promise.all([allApplications(signal), keyUses(signal)]);
    const rows = el('div', {});
    const draw = (page = 1) => {
      const found = matching(all, search.value, type.value);
      const shown = found.slice((page - 1) * PAGE_SIZE, page * PAGE_SIZE);
      fill(rows,
        el('p', { class: 'quiet', 'aria-live': 'polite' }, plural(found.length, 'application')),
        table('Applications', ['Name', 'Type', 'Keys', 'Last use', 'Created'], shown.map((it) => row(it, uses)), 'No application matches.'),
        pager({ page, pages: Math.ceil(found.length / PAGE_SIZE), total: found.length, go: draw }));
    };
    search.addEventListener('input', () => draw());
    type.addEventListener('change', () => draw());
    draw();
    return rows;
  });
};

const row = (application, uses) => [
  el('a', { href: `#/applications/${application.id}` }, oneLine(application.name) || '(no name)'),
  tag(application.type),
  String(application.keys.length),
  time(newestUse(uses.get(application.id))),
  exactTime(application.created_at),
];
