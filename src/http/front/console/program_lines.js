// The lines that programs wrote with `console` and `logger`. They may hold values, so the list of calls has none of
// them.

import { call } from './api.js';
import { el, fill } from './dom.js';
import { withQuery } from './format.js';
import { code, exactTime, field, growing, loaded, notice, select, table, tag } from './parts.js';
import { reasonAgainst } from './rights.js';
import { signedIn } from './session.js';

const PAGE_SIZE = 50;

const LEVELS = [['', 'all'], ['debug', 'debug'], ['info', 'info'], ['warn', 'warn'], ['error', 'error']];
const TONES = { warn: 'warn', error: 'bad' };

/** The reason for which there are no lines to show, or nothing. */
export const noLines = (isKept) => reasonAgainst(signedIn().permissions, ['log:read'])
  ?? (isKept ? undefined : 'None are kept. To keep them, change the reactor and choose a level for its lines.');

/** A page of lines as the server gives it, newest first. */
export const loadLines = (path, { level, trace, start, signal }) =>
  call('GET', withQuery(path, { level, trace_id: trace, start, size: PAGE_SIZE }), { signal, secret: 'both', series: 'lines' });

export const linesTable = (found, empty) => table('Lines', ['Time', 'Level', 'Line', 'Trace id'], found.map((line) => [
  exactTime(line.occurred_at),
  tag(line.level, TONES[line.level]),
  el('span', { class: 'line' }, line.message),
  code(line.trace_id),
]), empty);

/** A section with the lines of a program; `show({ trace })` shows those of one call. */
export const programLines = (path, isKept, signal) => {
  const place = el('div', { 'aria-live': 'polite' });
  const of = el('div', { class: 'row' });
  let shown = {};
  const level = select(LEVELS, '', { onchange: () => show({ ...shown, level: level.value }) });
  const refresh = el('button', { type: 'button', onclick: () => show(shown) }, 'Refresh');
  const show = async (wanted) => {
    shown = wanted;
    if (reason) return;
    fill(of, wanted.trace && ['Of the call with the trace id ', code(wanted.trace), '.',
      el('button', { type: 'button', class: 'small', onclick: () => show({ level: level.value }) }, 'Show all calls')]);
    const load = (start) => loadLines(path, { ...wanted, start, signal });
    await loaded(place, () => growing('Show older lines', load, (found) => linesTable(found, 'There are no lines.')));
    if (wanted.trace) element.scrollIntoView({ block: 'nearest' });
  };
  const reason = noLines(isKept);
  const element = el('section', { class: 'card' }, el('h2', {}, 'Lines'),
    reason ? notice('', el('p', {}, reason)) : [el('div', { class: 'filters' }, field('Level', level), refresh), of, place]);
  return { element, show };
};
