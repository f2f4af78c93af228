// One token: its facts, its data as the holder sees it, its metadata with an editor, and deleting it.

import { call } from '../api.js';
import { confirmed } from '../dialogs.js';
import { announce, el, fill } from '../dom.js';
import { action, code, codeBlock, exactTime, facts, field, notice, problem, sending, table, tag } from '../parts.js';

export const tokenCard = (token, holder) => {
  const card = el('section', { class: 'card token' });
  draw(card, token, holder);
  return card;
};

const draw = (card, token, holder) => {
  const place = el('div', {});
  const metadata = Object.entries(token.metadata ?? {});
  const edit = () => fill(place, metadataForm(card, token, holder, () => fill(place)));
  fill(card,
    el('div', { class: 'heading' }, el('h2', { tabindex: '-1' }, 'Token'),
      el('div', { class: 'row' },
        action('Change metadata', ['token:update'], edit, { holder, kind: 'small' }),
        action('Delete token', ['token:delete'], () => remove(card, token, holder), { holder, kind: 'danger small' }))),
    facts([
      ['Id', code(token.id)],
      ['Type', tag(token.type)],
      ['Containers', (token.containers ?? []).map((it) => [code(it), ' '])],
      ['Fingerprint', token.fingerprint ? code(token.fingerprint) : 'not shown to you'],
      ['Created', exactTime(token.created_at)],
      token.modified_at && ['Changed', exactTime(token.modified_at)],
      token.expires_at && ['Expires', exactTime(token.expires_at)],
    ]),
    el('h3', {}, 'Data, as you see it'),
    token.data === undefined || token.data === null
      ? el('p', { class: 'quiet' }, 'Not shown to you.')
      : codeBlock('Data', JSON.stringify(token.data, null, 2)),
    el('h3', {}, 'Metadata'),
    table('Metadata', ['Key', 'Value'], metadata.map(([key, value]) => [code(key), String(value)]), 'None.'),
    place);
};

/** Lines such as "order = 1234" as entries; the text before the first equals sign is the key. */
export const entriesOf = (text) => {
  const entries = {};
  for (const line of text.split('\n').filter((it) => it.trim() !== '')) {
    const at = line.indexOf('=');
    if (at < 1) throw new Error(`"${line.trim()}" has no key: write one entry a line, such as order = 1234.`);
    entries[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return entries;
};

/** A merge patch: entries that are gone become null. */
export const metadataPatch = (before, after) => ({
  metadata: { ...Object.fromEntries(Object.keys(before ?? {}).filter((key) => !(key in after)).map((key) => [key, null])), ...after },
});

const metadataForm = (card, token, holder, close) => {
  const area = el('textarea', { rows: '5', spellcheck: 'false' });
  area.value = Object.entries(token.metadata ?? {}).map(([key, value]) => `${key} = ${value}`).join('\n');
  const told = el('div', {});
  const save = el('button', { type: 'submit', class: 'primary' }, 'Save');
  const submit = async () => {
    let body;
    try {
      body = metadataPatch(token.metadata, entriesOf(area.value));
    } catch (mistake) {
      fill(told, notice('bad', el('p', {}, mistake.message)));
      return;
    }
    try {
      await call('PATCH', `/tokens/${encodeURIComponent(token.id)}`, { holder, body, secret: 'both' });
      const fresh = await call('GET', `/tokens/${encodeURIComponent(token.id)}`, { holder, secret: 'both' });
      announce('The metadata is changed.');
      draw(card, fresh, holder);
    } catch (failure) {
      fill(told, problem(failure));
    }
  };
  const form = el('form', { onsubmit: sending(save, submit) },
    field('Metadata', area, 'One entry a line, such as order = 1234. Metadata is not masked: put no card numbers here.'),
    told, el('div', { class: 'row' }, save, el('button', { type: 'button', onclick: close }, 'Cancel')));
  setTimeout(() => area.focus());
  return form;
};

const remove = (card, token, holder) =>
  confirmed({
    title: 'Delete the token',
    text: el('p', {}, 'Its value is gone for ever, also for the programs that use it.'),
    label: 'Delete for ever',
    typed: token.id,
    run: async () => {
      await call('DELETE', `/tokens/${encodeURIComponent(token.id)}`, { holder });
      announce('The token is deleted.');
      fill(card, el('p', {}, 'The token ', code(token.id), ' is deleted.'));
    },
  });
