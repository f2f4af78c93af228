// The keys of an application: making, rotating with an overlap, and deleting them.
//
// A rotation has two steps, with any time between them: a new key is made and the programs get it;
// when the old key is not used any more, a person deletes it.

import { call, create } from './api.js';
import { confirmed, showNewKey } from './dialogs.js';
import { keyUses } from './directory.js';
import { announce, el, fill } from './dom.js';
import { shortId } from './format.js';
import { action, exactTime, notice, problem, table, tag, time } from './parts.js';

/** The server keeps at most three keys for an application. */
const KEYS_MAX = 3;

/** Rotations that began on this page: the id of the old key, and that of the new one. */
const rotations = new Map();

/** Where a rotation stands, from the uses of both keys. */
export const rotationState = (oldKey, newKey) => {
  if (!newKey?.last_used_at) {
    return { tone: 'warn', text: 'The new key has not been used yet. Give it to the programs first.' };
  }
  if (oldKey.last_used_at && oldKey.last_used_at >= newKey.last_used_at) {
    return { tone: 'warn', text: 'Programs still use the old key.' };
  }
  return { tone: 'good', text: 'The new key was used after the old one.' };
};

/** Draws the keys into a section, and again after each change. */
export const keySection = (section, application, uses, signal) => {
  const place = el('div', {});
  const again = async () => {
    const fresh = (await keyUses(signal)).get(application.id) ?? [];
    keySection(section, application, fresh, signal);
  };
  const attempt = async (run) => {
    try {
      await run();
    } catch (failure) {
      fill(place, problem(failure));
    }
  };
  const isFull = uses.length >= KEYS_MAX;
  const row = (use) => [
    el('div', { class: 'row' }, el('code', { title: use.key_id }, shortId(use.key_id)), use.is_current && tag('this session'), state(use, uses)),
    exactTime(use.created_at),
    use.last_used_at ? time(use.last_used_at) : el('span', { class: 'quiet' }, 'never'),
    el('div', { class: 'row end' },
      !isFull && !rotations.has(use.key_id) && action('Rotate', ['application:create'], () => attempt(() => rotate(application, use, again)), { kind: 'small', name: `Rotate key ${shortId(use.key_id)}` }),
      action('Delete', ['application:delete'], () => remove(application, use, again), { kind: 'danger small', name: `Delete key ${shortId(use.key_id)}` })),
  ];
  fill(section,
    el('div', { class: 'heading' }, el('h2', { id: 'keys-title' }, 'Keys'),
      el('div', { class: 'row' },
        el('button', { type: 'button', class: 'small', onclick: () => attempt(again) }, 'Refresh'),
        !isFull && action('Add a key', ['application:create'], () => attempt(() => add(application, again)), { kind: 'small' }))),
    place,
    uses.map((use) => rotationNotice(use, uses)),
    table('Keys', ['Key', 'Created', 'Last use', ''], uses.map(row), 'This application has no key.'),
    el('p', { class: 'quiet' }, 'Last uses are known to the minute. ', isFull && 'An application has at most three keys: delete one before you make another.'));
};

const state = (use, uses) => {
  if (rotations.has(use.key_id)) return tag('old', 'warn');
  const isNew = uses.some((it) => rotations.get(it.key_id) === use.key_id);
  return isNew && tag('new', 'good');
};

const rotationNotice = (use, uses) => {
  if (!rotations.has(use.key_id)) return undefined;
  const { tone, text } = rotationState(use, uses.find((it) => it.key_id === rotations.get(use.key_id)));
  return notice(tone, el('p', {}, el('strong', {}, `Rotation of ${shortId(use.key_id)}: `), text, ' Both keys work until you delete the old one below.'));
};

const add = async (application, again) => {
  const made = await create(`/applications/${application.id}/keys`);
  await showNewKey(made.key);
  await again();
};

const rotate = async (application, use, again) => {
  const made = await create(`/applications/${application.id}/keys`);
  rotations.set(use.key_id, made.id);
  await showNewKey(made.key, 'The old key still works. Delete it here when its last use is older than that of the new key.');
  announce('The rotation has begun: both keys work.');
  await again();
};

const remove = (application, use, again) =>
  confirmed({
    title: 'Delete the key',
    text: [
      el('p', {}, 'Programs that use this key are refused from the next request on.'),
      el('p', {}, 'Last use: ', use.last_used_at ? time(use.last_used_at) : 'never', '.'),
      use.is_current && notice('bad', el('p', {}, 'You are signed in with this key: deleting it signs you out.')),
    ],
    label: 'Delete the key',
    run: async () => {
      await call('DELETE', `/applications/${application.id}/keys/${use.key_id}`);
      rotations.delete(use.key_id);
      announce('The key is deleted.');
      await again();
    },
  });
