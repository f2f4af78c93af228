// 3DS sessions: the newest with their states, and the details of one with a private key.

import { call } from '../api.js';
import { applicationNames } from '../directory.js';
import { el, fill } from '../dom.js';
import { shortId, withQuery } from '../format.js';
import { codeBlock, exactTime, field, growing, heading, loaded, notice, sending, table, tag } from '../parts.js';
import { reasonAgainst } from '../rights.js';
import { signedIn, tokenHolder } from '../session.js';
import { tokenKeyPart } from '../token_key.js';

const GOOD = ['successful', 'attempted'];
const BAD = ['failed', 'rejected'];

export const threeds = async ({ place, signal, again }) => {
  const list = el('div', {});
  const detail = el('div', {});
  fill(place,
    heading('3DS sessions', 'Authentications of cardholders, newest first.'),
    list, lookup(detail, again));
  const reason = reasonAgainst(signedIn().permissions, ['log:read']);
  if (reason) {
    fill(list, notice('', el('p', {}, `The list of sessions is not shown. ${reason}`)));
    return;
  }
  await loaded(list, () => sessionList(signal, (id) => showSession(detail, id)));
};

const sessionList = async (signal, open) => {
  const names = await applicationNames(signedIn(), signal);
  const load = (start) => call('GET', withQuery('/console/data/3ds-sessions', { start }), { signal });
  return growing('Show older sessions', load, (found) => sessionTable(found, names, open));
};

const sessionTable = (found, names, open) => {
  const id = (session) => (tokenHolder()
    ? el('button', { type: 'button', class: 'link', onclick: () => open(session.id) }, shortId(session.id))
    : el('code', { title: session.id }, shortId(session.id)));
  return table('3DS sessions', ['Id', 'Created', 'By', 'Type', 'Step', 'Outcome'], found.map((session) => [
    id(session),
    exactTime(session.created_at),
    names.get(session.created_by) ?? el('code', {}, shortId(session.created_by)),
    [session.type, session.device && ` (${session.device})`],
    session.step,
    session.outcome ? tag(session.outcome, tone(session.outcome)) : '-',
  ]), 'There are no sessions.');
};

const tone = (outcome) => (GOOD.includes(outcome) ? 'good' : BAD.includes(outcome) ? 'bad' : '');

const lookup = (detail, again) => {
  const holder = tokenHolder();
  if (!holder) return [el('h2', {}, 'Details of a session'), tokenKeyPart(again)];
  const input = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', required: true, class: 'long' });
  const submit = el('button', { type: 'submit' }, 'Show');
  return [
    el('h2', {}, 'Details of a session'),
    tokenKeyPart(again),
    el('form', { class: 'filters', onsubmit: sending(submit, () => showSession(detail, input.value.trim())) },
      field('Id of the session', input), submit),
    detail,
  ];
};

/** The answer may hold facts about the cardholder, so the list of calls does not have it. */
const showSession = async (detail, id) => {
  await loaded(detail, async () => {
    const session = await call('GET', `/3ds/sessions/${encodeURIComponent(id)}`, { holder: tokenHolder(), secret: 'both' });
    return el('section', { class: 'card' },
      el('h3', { tabindex: '-1' }, `Session ${session.id}`),
      codeBlock('Session', JSON.stringify(session, null, 2)));
  });
  detail.scrollIntoView({ block: 'nearest' });
  detail.querySelector('h3')?.focus();
};
