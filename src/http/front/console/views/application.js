// One application: its rights, what they allow, its keys, and deleting it.

import { call } from '../api.js';
import { confirmed } from '../dialogs.js';
import { keyUses } from '../directory.js';
import { announce, el, fill } from '../dom.js';
import { oneLine } from '../format.js';
import { keySection } from '../keys.js';
import { action, code, exactTime, facts, heading, notice, table, tag } from '../parts.js';
import { previewPanel } from '../preview.js';
import { signedIn } from '../session.js';

export const application = async ({ place, signal, id, go }) => {
  const [found, uses] = await Promise.all([call('GET', `/applications/${id}`, { signal }), keyUses(signal)]);
  const isOwn = found.id === signedIn().application.id;
  const keys = el('section', { class: 'card', 'aria-labelledby': 'keys-title' });
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/applications' }, 'Applications'), ' / '),
    heading(found.name, undefined,
      action('Change', ['application:update'], () => go(`/applications/${id}/edit`)),
      action('Delete', ['application:delete'], () => remove(found, isOwn, go), { kind: 'danger' })),
    isOwn && notice('', el('p', {}, 'You are signed in with a key of this application.')),
    facts([
      ['Type', tag(found.type)],
      ['Id', code(found.id)],
      ['Created', exactTime(found.created_at)],
      found.modified_at && ['Changed', exactTime(found.modified_at)],
      found.type === 'public' && ['Allowed origins', origins(found.allowed_origins ?? [])],
    ]),
    keys,
    rights(found));
  keySection(keys, found, uses.get(found.id) ?? [], signal);
};

const origins = (list) =>
  list.length === 0 ? el('span', { class: 'quiet' }, 'none') : el('ul', { class: 'plain' }, list.map((it) => el('li', {}, code(it))));

const rights = (found) => {
  const preview = previewPanel(() => ({ type: found.type, permissions: found.permissions, rules: found.rules }), { container: found.rules?.[0]?.container });
  preview.refresh();
  return el('section', { class: 'card', 'aria-labelledby': 'rights-title' },
    el('h2', { id: 'rights-title' }, 'Rights'),
    el('h3', {}, 'Permissions'),
    found.permissions.length === 0
      ? el('p', { class: 'quiet' }, 'None; its rights come from its rules.')
      : el('ul', { class: 'tags' }, found.permissions.map((it) => el('li', {}, code(it)))),
    found.type !== 'management' && [el('h3', {}, 'Rules'), ruleTable(found.rules)],
    preview.element);
};

const ruleTable = (rules) =>
  table('Rules', ['Priority', 'Container', 'Shows', 'Permissions', 'Description'], rules.map((rule) => [
    String(rule.priority),
    code(rule.container),
    tag(rule.transform, rule.transform === 'reveal' ? 'warn' : ''),
    el('ul', { class: 'tags' }, rule.permissions.map((it) => el('li', {}, code(it)))),
    rule.description ?? '',
  ]), 'None: the permissions hold in every container.');

const remove = (found, isOwn, go) =>
  confirmed({
    title: 'Delete the application',
    text: [
      el('p', {}, 'Programs with its keys are refused from the next request on. This cannot be undone.'),
      isOwn && notice('bad', el('p', {}, 'This is the application that you are signed in with: deleting it signs you out.')),
    ],
    label: 'Delete for ever',
    typed: oneLine(found.name) || found.id,
    run: async () => {
      await call('DELETE', `/applications/${found.id}`);
      announce('The application is deleted.');
      go('/applications');
    },
  });
