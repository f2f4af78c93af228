// The parts that several views use: buttons that know their permission, notices, tables, fields.

import { announce, append, el, fill, freshId } from './dom.js';
import { ago, clockTime } from './format.js';
import { reasonAgainst } from './rights.js';
import { serverNow } from './server_time.js';
import { signedIn } from './session.js';

/** A button for an action. Without the permissions it is disabled and names the missing ones. */
export const action = (label, needed, run, options = {}) => {
  const reason = reasonAgainst((options.holder ?? signedIn()).permissions, needed);
  const id = freshId('reason');
  const button = el('button', {
    type: 'button',
    class: options.kind,
    disabled: Boolean(reason),
    'aria-describedby': reason ? id : undefined,
    'aria-label': options.name,
    onclick: () => busy(button, run),
  }, label);
  return reason ? el('span', { class: 'refused' }, button, el('small', { id, class: 'quiet' }, reason)) : button;
};

/** Runs an action once at a time. */
export const busy = async (button, run) => {
  if (button.getAttribute('aria-busy') === 'true') return;
  button.setAttribute('aria-busy', 'true');
  try {
    await run();
  } finally {
    button.removeAttribute('aria-busy');
  }
};

/** What a form does when it is sent: `run`, once at a time. */
export const sending = (button, run) => (event) => {
  event.preventDefault();
  busy(button, run);
};

export const copyButton = (text, label = 'Copy') => {
  const button = el('button', {
    type: 'button',
    class: 'small',
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(text());
        said(button, 'Copied');
      } catch {
        said(button, 'Select the text and copy it');
      }
    },
  }, label);
  return button;
};

const said = (button, text) => {
  const before = button.textContent;
  button.textContent = text;
  announce(text);
  setTimeout(() => { button.textContent = before; }, 2000);
};

export const time = (text, now = serverNow()) =>
  text ? el('time', { datetime: text, title: clockTime(text) }, ago(text, now)) : el('span', { class: 'quiet' }, 'never');

export const exactTime = (text) =>
  text ? el('time', { datetime: text }, clockTime(text)) : el('span', { class: 'quiet' }, '-');

export const code = (text) => el('code', {}, text);

/** A block of code that scrolls, also by keyboard. */
export const codeBlock = (label, text) =>
  el('pre', { tabindex: '0', role: 'group', 'aria-label': label }, el('code', {}, text));

export const tag = (text, tone) => el('span', { class: `tag ${tone ?? ''}` }, text);

/** A box that says something: 'good', 'warn', 'bad' or no tone. */
export const notice = (tone, ...children) =>
  el('div', { class: `notice ${tone ?? ''}`, role: tone === 'bad' ? 'alert' : undefined }, children);

/** A refusal of the API: title, detail, mistakes by field, the wait, and the trace id. */
export const problem = (refusal) => {
  const fields = Object.entries(refusal.fields ?? {});
  const box = notice('bad',
    el('p', {}, el('strong', {}, refusal.title ?? 'The page failed'), refusal.title !== refusal.message && ` ${refusal.message}`),
    fields.length > 0 && el('ul', {}, fields.map(([path, texts]) => el('li', {}, code(path), ` ${texts.join(' ')}`))),
    refusal.traceId && el('p', { class: 'quiet' }, 'Trace id ', code(refusal.traceId)));
  if (refusal.retryAfter) append(box, wait(refusal.retryAfter));
  return box;
};

/** Counts the seconds down that the server asks to wait. */
const wait = (seconds) => {
  const text = el('p', { 'aria-live': 'off' });
  let left = seconds;
  const show = () => {
    text.textContent = left > 0 ? `Wait ${left} s, then try again.` : 'You can try again now.';
  };
  show();
  const timer = setInterval(() => {
    left -= 1;
    show();
    if (left <= 0 || !text.isConnected) clearInterval(timer);
  }, 1000);
  return text;
};

/** Fills a place with the result of a loader; shows a note meanwhile, and a refusal if it fails. */
export const loaded = async (place, load) => {
  const note = el('p', { class: 'quiet' }, 'Loading...');
  const timer = setTimeout(() => fill(place, note), place.childElementCount === 0 ? 0 : 300);
  try {
    const content = await load();
    clearTimeout(timer);
    fill(place, content);
    return true;
  } catch (failure) {
    clearTimeout(timer);
    if (failure.name !== 'AbortError') fill(place, problem(failure));
    return false;
  }
};

/** A list that grows by pages: `load(start)` gives a page, and `draw` shows all items so far. */
export const growing = async (label, load, draw) => {
  const rows = el('div', {});
  const place = el('div', {});
  const more = el('button', { type: 'button', onclick: () => busy(more, add) }, label);
  let found = [];
  let next;
  const add = async () => {
    try {
      const page = await load(next);
      found = [...found, ...page.data];
      next = page.pagination?.next;
      fill(rows, draw(found));
    } catch (failure) {
      fill(place, problem(failure));
    }
    more.hidden = !next;
  };
  await add();
  return [place, rows, more];
};

/**
 * A table. On a phone every row becomes a block, with the column's title before each value. With
 * `opened`, rows open: it has the ids of the open ones, `id(at)`, `name(at)` and `content(at)`.
 */
export const table = (caption, columns, rows, empty, opened) => {
  if (rows.length === 0) return el('p', { class: 'quiet empty' }, empty);
  if (opened) return openingTable(caption, columns, rows, opened);
  const cell = (content, at) => el('td', { 'data-title': columns[at] || false }, el('div', {}, content));
  return el('table', { class: 'rows' },
    el('caption', { class: 'unseen' }, caption),
    el('thead', {}, el('tr', {}, columns.map((title) => el('th', { scope: 'col' }, title || el('span', { class: 'unseen' }, 'Actions'))))),
    el('tbody', {}, rows.map((row) => el('tr', {}, row.map(cell)))));
};

const openingTable = (caption, columns, rows, { open, id, name, content }) => {
  const pair = (row, at) => {
    const detail = el('tr', { class: 'detail', id: freshId('detail') },
      el('td', { colspan: columns.length + 1 }));
    const set = (isOpen) => {
      detail.hidden = !isOpen;
      button.setAttribute('aria-expanded', String(isOpen));
      if (isOpen) fill(detail.firstElementChild, content(at));
    };
    const button = el('button', {
      type: 'button',
      class: 'opener',
      'aria-controls': detail.id,
      'aria-label': `Details: ${name(at)}`,
      onclick: () => {
        const isOpen = !open.has(id(at));
        if (isOpen) open.add(id(at)); else open.delete(id(at));
        set(isOpen);
      },
    });
    set(open.has(id(at)));
    const cells = row.map((cell, column) => el('td', { 'data-title': columns[column] || false }, el('div', {}, cell)));
    return [el('tr', {}, el('td', { class: 'opens' }, button), cells), detail];
  };
  return el('table', { class: 'rows opening' },
    el('caption', { class: 'unseen' }, caption),
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, el('span', { class: 'unseen' }, 'Details')), columns.map((title) => el('th', { scope: 'col' }, title)))),
    el('tbody', {}, rows.map(pair)));
};

/** Names and values of one thing. */
export const facts = (pairs) =>
  el('dl', { class: 'facts' }, pairs.filter(Boolean).map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value ?? '-'))));

/** A labelled input. */
export const field = (label, input, hint) => {
  input.id ||= freshId('field');
  const hintId = hint && freshId('hint');
  if (hint) input.setAttribute('aria-describedby', hintId);
  return el('div', { class: 'field' }, el('label', { for: input.id }, label), input, hint && el('small', { id: hintId, class: 'quiet' }, hint));
};

export const select = (options, value, attributes = {}) =>
  el('select', attributes, options.map(([key, text]) => el('option', { value: key, selected: key === value }, text)));

export const checkbox = (label, checked, onchange, description) => {
  const input = el('input', { type: 'checkbox', onchange: () => onchange(input.checked) });
  input.checked = checked;
  return el('label', { class: 'check' }, input, el('span', {}, label, description && el('small', { class: 'quiet' }, description)));
};

/** Buttons for the pages of a list. */
export const pager = ({ page, pages, total, go }) =>
  pages > 1 && el('div', { class: 'pager', role: 'group', 'aria-label': 'Pages' },
    el('button', { type: 'button', disabled: page <= 1, onclick: () => go(page - 1) }, 'Previous'),
    el('span', { class: 'quiet' }, `Page ${page} of ${pages}, ${total} in all`),
    el('button', { type: 'button', disabled: page >= pages, onclick: () => go(page + 1) }, 'Next'));

/** The head of a view. The router moves the focus to the heading. */
export const heading = (title, lead, ...actions) =>
  el('div', { class: 'heading' }, el('div', {}, el('h1', { tabindex: '-1' }, title), lead && el('p', { class: 'quiet' }, lead)), el('div', { class: 'row' }, actions));
