// Quotas and limits, with the use against each.

import { call } from '../api.js';
import { applicationNames } from '../directory.js';
import { el, fill } from '../dom.js';
import { count } from '../format.js';
import { meter, words } from '../meter.js';
import { code, facts, heading, loaded, notice, table, tag } from '../parts.js';
import { signedIn } from '../session.js';

export const limits = async ({ place, signal }) => {
  const body = el('div', {});
  const refresh = () => loaded(body, async () => {
    const [found, names] = await Promise.all([
      call('GET', '/console/data/limits', { signal }),
      applicationNames(signedIn(), signal),
    ]);
    return [usage(found), rates(found, names), quotas(found)];
  });
  fill(place,
    heading('Limits', 'The use of everything that has a maximum. The operator sets quotas.',
      el('button', { type: 'button', onclick: refresh }, 'Refresh')),
    body);
  await refresh();
};

const usage = (found) => el('section', { class: 'card wide-facts' }, el('h2', {}, 'Use'),
  facts(found.usage.map((it) => [words(it.name), meter(it.used, it.limit, words(it.name))])));

const rates = (found, names) => el('section', { class: 'card' }, el('h2', {}, 'Rate limits'),
  found.limiter === 'off' && notice('', el('p', {}, 'The rate limits are switched off on this server.')),
  found.rate_limits.length === 0
    ? el('p', { class: 'quiet' }, 'No rate limit applies to this tenant.')
    : table('Rate limits', ['What', 'Limit', 'Counted by', 'Beyond it', 'Used now'], found.rate_limits.map((it) => rate(it, found.limiter === 'off', names)), ''),
  found.rate_limit !== 'default' && el('p', { class: 'quiet' }, `The operator set the rate of this tenant to ${found.rate_limit}.`));

/** The words of the rate limits have marks for code, as those of a chapter. */
const plain = (text) => text.replaceAll('`', '');

const sentence = (text) => plain(text).replace(/^./, (first) => first.toUpperCase());

const rate = (row, isOff, names) => [
  sentence(row.title),
  `${count(row.requests)} in ${count(row.seconds)} s`,
  row.counted_by,
  row.action === 'block' ? tag(`blocked for ${row.block_seconds} s`, 'warn') : 'refused until the rate falls',
  isOff ? el('span', { class: 'quiet' }, 'limits are off') : used(row, names),
];

const used = (row, names) => [
  row.used !== undefined && row.used !== null
    ? meter(row.used, row.requests, `Used by this key: ${plain(row.title)}`)
    : el('span', { class: 'quiet' }, 'not known for this key'),
  row.busiest && el('small', { class: 'quiet block' }, `Busiest: ${names.get(row.busiest.application_id) ?? row.busiest.application_id}, ${count(row.busiest.used)}`),
];

const quotas = (found) => el('section', { class: 'card' }, el('h2', {}, 'Quotas'),
  table('Quotas', ['Quota', 'Value', 'Unit'], found.quotas.map((it) => [code(it.name), it.value, it.unit]), 'None.'));
