// Recent tokens, and tokens by id, metadata or fingerprint, exactly as the key or the person may see
// them. Neither the searches nor the answers are shown in the list of calls, since both may hold values.

import { call } from '../api.js';
import { el, fill } from '../dom.js';
import { withQuery } from '../format.js';
import { action, code, exactTime, field, growing, heading, loaded, notice, select, sending, table, tag } from '../parts.js';
import { reasonAgainst } from '../rights.js';
import { signedIn, tokenReader } from '../session.js';
import { tokenKeyPart } from '../token_key.js';
import { tokenCard } from './token_card.js';
import { tokenForm } from './token_form.js';

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

/** The data of a token in one line, as the holder sees it. */
export const shortData = (data) => {
  if (data === undefined || data === null) return 'not shown';
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
};

export const tokens = async ({ place, again }) => {
  const holder = tokenReader();
  const make = el('div', {});
  const begin = () => fill(make, tokenForm(holder, () => fill(make), again));
  fill(place,
    heading('Tokens', signedIn().person ? 'The newest first. Values are masked.' : 'As the key may see them: masked, redacted or in plain.',
      holder && action('New test token', ['token:create'], begin, { holder, kind: 'primary' })),
    holder?.person ? undefined : tokenKeyPart(again),
    make,
    holder && searchPart(holder));
  if (holder) await place.querySelector('.results')?.begin?.();
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
  const recent = el('button', { type: 'button', onclick: () => showRecent(result, holder) }, 'Recent');
  const result = el('div', { class: 'results' });
  const find = () => search(result, holder, { kind: kind.value, value: value.value.trim(), name: name.value.trim() });
  result.begin = () => showRecent(result, holder);
  return [
    el('form', { class: 'filters', role: 'search', onsubmit: sending(submit, find) },
      field('Find by', kind), nameField, field('Value', value), submit, recent),
    result,
  ];
};

/** Numbered pages have the newest tokens of all containers first; pages with cursors go by container. */
const showRecent = (result, holder) => {
  const load = async (page = 1) => {
    const { data, pagination } = await call('GET', withQuery('/tokens', { size: PAGE_SIZE, page }), { holder, secret: 'both' });
    return { data, pagination: { next: page < pagination.total_pages ? page + 1 : undefined } };
  };
  return loaded(result, () => growing('Show older tokens', load, (found) => tokenList(found, holder, 'There are no tokens.')));
};

const search = (result, holder, { kind, value, name }) => {
  const load = async (start) => {
    const answer = await call('GET', tokenCall(kind, value, name, start).path, { holder, secret: 'both' });
    return kind === 'id' ? { data: [answer] } : answer;
  };
  const draw = (found) => (found.length === 1 ? tokenCard(found[0], holder) : tokenList(found, holder, 'No token matches.'));
  return loaded(result, () => growing('Show more', load, draw));
};

const tokenList = (found, holder, empty) => {
  const detail = el('div', {});
  const open = async (id) => {
    await loaded(detail, async () => tokenCard(await call('GET', tokenCall('id', id).path, { holder, secret: 'both' }), holder));
    detail.scrollIntoView({ block: 'nearest' });
    detail.querySelector('h2')?.focus({ preventScroll: true });
  };
  return [
    table('Tokens', ['Id', 'Type', 'Data', 'Containers', 'Created'], found.map((token) => [
      el('button', { type: 'button', class: 'link', onclick: () => open(token.id) }, token.id),
      tag(token.type),
      code(shortData(token.data)),
      (token.containers ?? []).map((it) => [code(it), ' ']),
      exactTime(token.created_at),
    ]), empty),
    detail,
  ];
};
