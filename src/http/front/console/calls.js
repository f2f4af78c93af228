// The list of API calls that the page made, so that a person can do the same with a program.

import { el, fill } from './dom.js';
import { curlLine } from './format.js';
import { codeBlock, copyButton } from './parts.js';

const CALLS_MAX = 50;

let calls = [];
let list;
let summary;
let note;

/**
 * Adds a call. The same call right after itself is counted instead, and so is the next one of a
 * series (a live tail, a preview while typing), so that it does not push all others out.
 */
export const added = (known, call, max = CALLS_MAX) => {
  const [newest, ...older] = known;
  const isEqual = (name) => newest[name] === call[name];
  const isSame = newest && isEqual('method') && isEqual('status') && isEqual('series')
    && (call.series !== undefined || (isEqual('path') && isEqual('body')));
  return isSame
    ? [{ ...call, times: newest.times + 1 }, ...older]
    : [{ ...call, times: 1 }, ...known].slice(0, max);
};

export const mountCalls = (panel) => {
  list = el('ol', { class: 'call-list', reversed: true });
  summary = el('span', { class: 'call-newest' });
  note = el('p', { class: 'quiet' }, 'No calls yet.');
  const body = el('div', { class: 'call-body', id: 'call-body', tabindex: '0', role: 'group', 'aria-label': 'Calls, newest first', hidden: true }, note, list);
  const button = el('button', {
    type: 'button',
    class: 'call-toggle',
    'aria-expanded': 'false',
    'aria-controls': 'call-body',
    onclick: () => {
      body.hidden = !body.hidden;
      button.setAttribute('aria-expanded', String(!body.hidden));
    },
  }, 'API calls');
  fill(panel, el('div', { class: 'call-bar' }, button, summary), body);
};

export const addCall = (call) => {
  const before = calls;
  calls = added(calls, call);
  const repeats = calls.length === before.length && calls[1] === before[1] && calls[0].times > 1;
  const open = repeats && list.firstElementChild?.querySelector('details')?.open;
  if (repeats) list.firstElementChild?.remove();
  list.prepend(row(calls[0], open));
  while (list.childElementCount > calls.length) list.lastElementChild.remove();
  note.hidden = true;
  fill(summary, ...headline(calls[0]));
};

export const clearCalls = () => {
  calls = [];
  list.replaceChildren();
  summary.replaceChildren();
  note.hidden = false;
};

const tone = (status) => (status >= 200 && status < 400 ? 'good' : 'bad');

const headline = (call) => [
  el('code', { class: 'call-path' }, `${call.method} ${call.path}`),
  el('span', { class: tone(call.status) }, call.status === 0 ? 'no answer' : String(call.status)),
  el('span', { class: 'quiet' }, `${Math.round(call.ms)} ms`),
  call.times > 1 && el('span', { class: 'quiet' }, `${call.times} times`),
].filter(Boolean);

const row = (call, open) => {
  const curl = curlLine(window.location.origin, call);
  const part = (title, text) => text !== undefined && [el('p', { class: 'part-title' }, title), codeBlock(title, text)];
  return el('li', {}, el('details', { open: Boolean(open) },
    el('summary', {}, headline(call)),
    el('p', { class: 'quiet' }, `${call.at.toLocaleTimeString()}`, call.traceId && [', trace id ', el('code', {}, call.traceId)]),
    el('div', { class: 'row' }, el('span', { class: 'part-title' }, 'As a command'), copyButton(() => curl)),
    codeBlock('As a command', curl),
    part('Body', call.body),
    part('Answer', call.answer)));
};
