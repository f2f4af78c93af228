// Tokens by id, metadata or fingerprint, exactly as the key may see them. Neither the searches nor
// the answers are shown in the list of calls, since both may hold values.

import { call } from '../api.js';
import { el, fill } from '../dom.js';
import { withQuery } from '../format.js';
import { code, codeBlock, exactTime, facts, field, growing, heading, loaded, notice, select, sending, table, tag } from '../parts.js';
import { reasonAgainst } from '../rights.js';
import { tokenHolder } from '../session.js';
import { tokenKeyPart } from '../token_key.js';

const KINDS = [
  ['id', 'Id'], ['metadata', 'Metadata'], ['fingerprint', 'Fingerprint'], ['container', 'Container'],
];
const PAGE_SIZE = 20;

/** The call that a search makes. */
export const tokenCall = (kind, value, name, start) => {
  if (kind === 'id') return { path: `/tokens/${encodeURIComponent(value)}` };
  const filter = kind === 'metadata' ? { [`metadata.${name}`]: value } : { [kind]: value };
  return { path: withQuery('/v2/tokens', { ...filter, size: PAGE_SIZE, start }) };
};

export const tokens = async ({ place, again }) => {
  const holder = tokenHolder();
  fill(place,
    heading('Tokens', 'As the key may see them: masked, redacted or in plain.'),
    tokenKeyPart(again),
    holder && searchPart(holder));
};

const searchPart = (holder) => {
  const reason = reasonAgainst(holder.permissions, ['token:read']);
  if (reason) return notice('warn', el('p', {}, `This key cannot read tokens. ${reason}`));
  const kind = select(KINDS, 'id', { onchange: () => {
    nameField.hidden = kind.value !== 'metadata';
    name.required = kind.value === 'metadata';
  } });
  const name = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false' });
  const nameField = field('Key of the entry', name);
  nameField.hidden = true;
  const value = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', required: true, class: 'long' });
  const submit = el('button', { type: 'submit', class: 'primary' }, 'Find');
  const result = el('div', { class: 'results' });
  const find = () => search(result, holder, { kind: kind.value, value: value.value.trim(), name: name.value.trim() });
  return [
    el('form', { class: 'filters', role: 'search', onsubmit: sending(submit, find) },
      field('Find by', kind), nameField, field('Value', value), submit),
    result,
  ];
};

const search = (result, holder, { kind, value, name }) => {
  const load = async (start) => {
    const answer = await call('GET', tokenCall(kind, value, name, start).path, { holder, secret: 'both' });
    return kind === 'id' ? { data: [answer] } : answer;
  };
  return loaded(result, () => growing('Show more', load, (found) => tokenList(found, holder)));
};

const tokenList = (found, holder) => {
  if (found.length === 1) return tokenCard(found[0]);
  const detail = el('div', {});
  const open = async (id) => {
    await loaded(detail, async () => tokenCard(await call('GET', tokenCall('id', id).path, { holder, secret: 'both' })));
    detail.querySelector('h2')?.focus();
  };
  return [
    table('Tokens', ['Id', 'Type', 'Containers', 'Created'], found.map((token) => [
      el('button', { type: 'button', class: 'link', onclick: () => open(token.id) }, token.id),
      tag(token.type),
      (token.containers ?? []).map((it) => [code(it), ' ']),
      exactTime(token.created_at),
    ]), 'No token matches.'),
    detail,
  ];
};

/** The members of a token that have a place of their own; the card shows any other as JSON. */
const tokenCard = (token) => {
  const metadata = Object.entries(token.metadata ?? {});
  return el('section', { class: 'card token' },
    el('h2', { tabindex: '-1' }, 'Token'),
    facts([
      ['Id', code(token.id)],
      ['Type', tag(token.type)],
      ['Containers', (token.containers ?? []).map((it) => [code(it), ' '])],
      ['Fingerprint', token.fingerprint ? code(token.fingerprint) : 'not shown to this key'],
      ['Created', exactTime(token.created_at)],
      token.modified_at && ['Changed', exactTime(token.modified_at)],
      token.expires_at && ['Expires', exactTime(token.expires_at)],
    ]),
    el('h3', {}, 'Data, as this key sees it'),
    token.data === undefined || token.data === null
      ? el('p', { class: 'quiet' }, 'Not shown to this key.')
      : codeBlock('Data', JSON.stringify(token.data, null, 2)),
    el('h3', {}, 'Metadata'),
    table('Metadata', ['Key', 'Value'], metadata.map(([key, value]) => [code(key), String(value)]), 'None.'));
};
