// One reactor: its settings without the values of its configuration, its last failures and lines, and deleting it.

import { call } from '../api.js';
import { confirmed } from '../dialogs.js';
import { applicationNames } from '../directory.js';
import { announce, el, fill } from '../dom.js';
import { count, oneLine } from '../format.js';
import { action, code, codeBlock, exactTime, facts, heading, table } from '../parts.js';
import { programLines } from '../program_lines.js';
import { signedIn } from '../session.js';
import { runPart } from './reactor_run.js';
import { imageOf, obstacleNotice } from './reactors.js';

export const reactor = async ({ place, signal, id, go, again }) => {
  const [found, counts, names] = await Promise.all([
    call('GET', `/reactors/${id}`, { signal }),
    call('GET', '/console/data/reactors', { signal }),
    applicationNames(signedIn(), signal),
  ]);
  const calls = counts.data.find((it) => it.id === id);
  const lines = programLines(`/reactors/${id}/logs`, keepsLines(found), signal);
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/reactors' }, 'Reactors'), ' / '),
    heading(oneLine(found.name) || '(no name)', undefined,
      action('Change', ['reactor:update'], () => go(`/reactors/${id}/edit`)),
      action('Delete', ['reactor:delete'], () => remove(found, go), { kind: 'danger' })),
    obstacleNotice(counts),
    reactorFacts(found, calls, names),
    el('section', { class: 'card' }, el('h2', {}, 'Code'),
      found.code === undefined ? el('p', { class: 'quiet' }, 'Not shown to you.') : codeBlock('Code', found.code)),
    runPart(found, counts, { again, isKept: keepsLines(found) }),
    failures(calls?.last_failures ?? [], lines),
    lines.element);
  await lines.show({});
};

export const keepsLines = (found) => Boolean(found.runtime?.logs?.enabled);

const reactorFacts = (found, calls, names) => {
  const { application, configuration, runtime = {} } = found;
  const entries = Object.keys(configuration ?? {});
  const texts = (list) => list.map((it) => [code(it), ' ']);
  return facts([
    ['Image', code(imageOf(found))],
    ['Application', application ? names.get(application.id) ?? code(application.id) : 'none: the program has no key'],
    runtime.permissions?.length > 0 && ['Permissions', texts(runtime.permissions)],
    runtime.timeout > 0 && ['Time', `${count(runtime.timeout)} s`],
    ['Lines', keepsLines(found) ? ['kept from the level ', code(runtime.logs.level || 'info')] : 'not kept'],
    ['Configuration', configuration === undefined ? 'not shown to you' : entries.length === 0 ? 'none' : [texts(entries), el('small', { class: 'quiet block' }, 'The console does not show the values.')]],
    ['Id', code(found.id)],
    ['Created', exactTime(found.created_at)],
    found.modified_at && ['Changed', exactTime(found.modified_at)],
    ['Calls', `${count(calls?.calls ?? 0)}, ${count(calls?.failures ?? 0)} failed`],
  ]);
};

const failures = (last, lines) => el('section', { class: 'card' }, el('h2', {}, 'Last failures'),
  table('Last failures', ['Time', 'Reason', 'Trace id'], last.map((it) => [
    exactTime(it.at),
    it.reason,
    it.trace_id ? el('button', { type: 'button', class: 'link', onclick: () => lines.show({ trace: it.trace_id }) }, it.trace_id) : '-',
  ]), 'None since the start of the server.'));

const remove = (found, go) =>
  confirmed({
    title: 'Delete the reactor',
    text: el('p', {}, 'Calls of this reactor are refused from the next request on. This cannot be undone.'),
    label: 'Delete for ever',
    typed: oneLine(found.name) || found.id,
    run: async () => {
      await call('DELETE', `/reactors/${found.id}`);
      announce('The reactor is deleted.');
      go('/reactors');
    },
  });
