// The audit log: filters, pages, and a live tail.

import { call } from '../api.js';
import { allApplications, distinctNames } from '../directory.js';
import { announce, el, fill } from '../dom.js';
import { apiTime, plural, shortId, withQuery } from '../format.js';
import { busy, code, exactTime, facts, field, heading, loaded, problem, select, sending, table, tag } from '../parts.js';
import { signedIn } from '../session.js';
import { ROWS_MAX, hasGap, merged, nextWait, ofActor, startDate } from '../tail.js';

const PAGE_SIZE = 50;
/** A page with a filter by actor reads more entries, since the server does not filter by it. */
const ACTOR_PAGE_SIZE = 500;
const TAIL_PAGE_SIZE = 100;

export const logs = async ({ place, signal }) => {
  const [types, applications] = await Promise.all([
    call('GET', '/logs/entity-types', { signal }),
    signedIn().permissions.has('application:read') ? allApplications(signal) : [],
  ]);
  // The names of actors and of kinds of resources, for the table.
  const actors = distinctNames(applications);
  const names = new Map([...actors, ...types.map((it) => [it.value, it.display_name])]);
  const filters = logFilters(types, actors);
  const list = el('div', {});
  const tail = liveTail(list, filters, names, signal);
  const search = () => {
    tail.stop();
    return showPages(list, filters, names, signal);
  };
  filters.form.addEventListener('submit', sending(filters.submit, search));
  fill(place,
    heading('Logs', 'Each access to token data and each change, newest first. Entries have no values.', tail.button),
    filters.form, tail.note, list);
  await search();
};

const logFilters = (types, actors) => {
  const type = select([['', 'All'], ...types.map((it) => [it.value, it.display_name])], '');
  const entity = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const from = el('input', { type: 'datetime-local', step: '1' });
  const to = el('input', { type: 'datetime-local', step: '1' });
  const actor = select([['', 'Everyone'], ...actors], '');
  const submit = el('button', { type: 'submit' }, 'Apply');
  const form = el('form', { class: 'filters', role: 'search' },
    field('Resource', type), field('Id of the resource', entity), field('From', from), field('Until', to),
    actors.size > 0 && field('Actor', actor), submit);
  const query = () => ({ entity_type: type.value, entity_id: entity.value.trim(), start_date: apiTime(from.value), end_date: apiTime(to.value) });
  return { form, submit, query, actor: () => actor.value };
};

/** Pages by cursor: each page is added below the others. */
const showPages = (list, filters, names, signal) =>
  loaded(list, async () => {
    const rows = el('div', {});
    const more = el('button', { type: 'button', onclick: () => busy(more, load) }, 'Show older entries');
    const note = el('p', { class: 'quiet', 'aria-live': 'polite' });
    const actor = filters.actor();
    const size = actor ? ACTOR_PAGE_SIZE : PAGE_SIZE;
    let entries = [];
    let next;
    let read = 0;
    const load = async () => {
      try {
        const page = await call('GET', withQuery('/logs', { ...filters.query(), size, start: next }), { signal });
        read += page.data.length;
        next = page.pagination.next;
        entries = [...entries, ...ofActor(page.data, actor)];
        draw();
      } catch (failure) {
        if (failure.name !== 'AbortError') fill(note, problem(failure));
      }
    };
    const draw = () => {
      fill(rows, entryTable(entries, names));
      more.hidden = !next;
      fill(note, actor ? `${plural(entries.length, 'entry', 'entries')} of this actor among the newest ${read}.` : `${plural(entries.length, 'entry', 'entries')} shown.`);
    };
    await load();
    return [note, rows, more];
  });

/** A tail that asks every two seconds while the page is visible. */
const liveTail = (list, filters, names, signal) => {
  const note = el('p', { class: 'quiet live-note', hidden: true });
  let isOn = false;
  let timer;
  let rows = [];
  let failures = 0;
  let isBroken = false;
  const schedule = (wait) => {
    clearTimeout(timer);
    if (isOn && !document.hidden && !signal.aborted) timer = setTimeout(poll, wait);
  };
  const poll = async () => {
    let wait;
    try {
      const query = { ...filters.query(), end_date: '', start_date: startDate(rows), size: TAIL_PAGE_SIZE };
      const page = await call('GET', withQuery('/logs', query), { signal, series: 'tail' });
      failures = 0;
      isBroken ||= !filters.actor() && hasGap(rows, page);
      draw(merged(rows, ofActor(page.data, filters.actor())));
      wait = nextWait(0);
    } catch (failure) {
      failures += 1;
      wait = nextWait(failures, failure.retryAfter);
      say(`The last question failed (${failure.title ?? 'no answer'}). Asking again in ${Math.round(wait / 1000)} s.`);
    }
    schedule(wait);
  };
  const draw = (next) => {
    const isNew = next !== rows || list.childElementCount === 0;
    rows = next;
    say(`Live: ${plural(rows.length, 'entry', 'entries')} shown, at most the newest ${ROWS_MAX}.${isBroken ? ' There were too many entries to show all of them.' : ''}`);
    if (isNew) fill(list, entryTable(rows, names, 'Waiting for entries...'));
  };
  const say = (text) => { if (isOn) note.textContent = text; };
  const set = (on) => {
    isOn = on;
    button.textContent = on ? 'Pause the tail' : 'Live tail';
    button.setAttribute('aria-pressed', String(on));
    note.hidden = !on;
    clearTimeout(timer);
  };
  const button = el('button', {
    type: 'button',
    'aria-pressed': 'false',
    onclick: () => {
      set(!isOn);
      announce(isOn ? 'The live tail runs.' : 'The live tail is paused.');
      if (isOn) {
        failures = 0;
        list.replaceChildren();
        draw(rows);
        poll();
      }
    },
  }, 'Live tail');
  document.addEventListener('visibilitychange', () => isOn && (document.hidden ? clearTimeout(timer) : schedule(0)), { signal });
  signal.addEventListener('abort', () => set(false));
  return {
    button,
    note,
    stop: () => {
      rows = [];
      isBroken = false;
      set(false);
    },
  };
};

/** The entries whose rows are open; a live tail draws them again. */
const open = new Set();

const entryTable = (entries, names, empty = 'No entry matches. The log goes back as far as the quota log_retention allows.') =>
  table('Log entries', ['Time', 'Actor', 'Action', 'Resource', 'Message'], entries.map((entry) => [
    exactTime(entry.created_at),
    actorOf(entry, names),
    el('code', { class: 'name' }, entry.operation),
    [names.get(entry.entity_type) ?? entry.entity_type, ' ', el('code', { title: entry.entity_id }, shortId(entry.entity_id))],
    entry.outcome === 'failure' ? [tag('failure', 'bad'), ' ', entry.message] : entry.message,
  ]), empty, {
    open,
    id: (at) => entries[at].id,
    name: (at) => entries[at].message,
    content: (at) => details(entries[at], names),
  });

const actorOf = (entry, names) => {
  const actor = names.get(entry.actor_id) ?? [entry.actor_type, entry.actor_id && [' ', code(shortId(entry.actor_id))]];
  return entry.person ? [el('strong', {}, entry.person), entry.actor_id && [' with ', actor]] : actor;
};

const SIGN_ON = { proxy: 'by the sign-on in front of the vault', certificate: 'by a client certificate' };

/** Everything that an entry has, with whole ids. */
const details = (entry, names) => facts([
  entry.person && ['Person', [entry.person, ` ${SIGN_ON[entry.sign_on] ?? entry.sign_on}`]],
  ['Actor', [names.get(entry.actor_id) ?? entry.actor_type, entry.actor_id && [' ', code(entry.actor_id)]]],
  ['Key', entry.key_id ? code(entry.key_id) : 'none'],
  ['Address', entry.address ? code(entry.address) : 'none'],
  ['Trace', entry.trace_id ? code(entry.trace_id) : 'none'],
  ['Outcome', tag(entry.outcome, entry.outcome === 'failure' ? 'bad' : 'good')],
  ['Action', [code(entry.operation), ` ${entry.message}`]],
  ['Resource', [names.get(entry.entity_type) ?? entry.entity_type, ' ', code(entry.entity_id)]],
  entry.count && ['Attempts', [String(entry.count), ', from ', exactTime(entry.first_at), ' to ', exactTime(entry.last_at)]],
  entry.reason && ['Reason', code(entry.reason)],
  ['Time', [exactTime(entry.created_at), ' ', code(entry.created_at)]],
  ['Entry', code(entry.id)],
]);
