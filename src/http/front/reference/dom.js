// Building of elements. Texts become text nodes, never HTML, so a document cannot add markup.

import { highlighted } from './highlight.js';

/**
 * An element. An attribute that is `true` has no value, one that is `false`, `null` or `undefined` is
 * left out, and a function listens for the event of its name.
 */
export function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') element.addEventListener(attribute, value);
    else if (value === true) element.setAttribute(attribute, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(attribute, String(value));
  }
  element.append(...children.flat(Infinity).filter((it) => it !== null && it !== undefined && it !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

let count = 0;

/** An id that the page does not have yet. */
export function newId(prefix) {
  count += 1;
  return `${prefix}-${count}`;
}

/** Says a sentence to screen readers. */
export function announce(text) {
  const region = byId('announcement');
  // The same sentence twice is said twice only if the region was empty in between.
  region.textContent = '';
  setTimeout(() => { region.textContent = text; }, 50);
}

/** A block of code with a button that copies it, with colours if its language is known. */
export function codeBlock(text, label, language) {
  const code = make('code', null, coloured(text, language));
  const block = make('pre', { tabindex: '0', role: 'group', 'aria-label': label }, code);
  return make('div', { class: 'code' }, block, copyButton(() => code.textContent, label));
}

export const coloured = (text, language) =>
  highlighted(text, language).map(([kind, part]) => (kind === null ? part : make('span', { class: `is-${kind}` }, part)));

export function copyButton(read, label) {
  const button = make('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${label}` }, 'Copy');
  button.addEventListener('click', async () => {
    const isCopied = await copied(read());
    button.textContent = isCopied ? 'Copied' : 'Not copied';
    announce(isCopied ? `${label} copied.` : 'The browser did not allow copying.');
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * A table that scrolls on its own when it is wider than the window. On a phone every row of a
 * `stacked` table becomes a block, with the title of the column before each value.
 */
export function table(caption, head, rows, { stacked = false } = {}) {
  const line = (cells, cell) => make('tr', null, cells.map(cell));
  return make('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption },
    make('table', { class: stacked && 'stacked' },
      make('thead', null, line(head, (it) => make('th', { scope: 'col' }, it))),
      make('tbody', null, rows.map((row) => line(row, (it, at) => make('td', { 'data-title': stacked && head[at] }, it))))));
}
