// Dialogs: confirmation of what cannot be undone, and the one showing of a new key.

import { el } from './dom.js';
import { oneLine } from './format.js';
import { busy, copyButton, notice, problem } from './parts.js';
import { signedIn } from './session.js';

/** Opens a modal dialog and gives its element; closing removes it from the page. */
const open = (title, content, buttons) => {
  const dialog = el('dialog', { 'aria-labelledby': 'dialog-title' },
    el('form', { method: 'dialog', onsubmit: (event) => event.preventDefault() },
      el('h2', { id: 'dialog-title' }, title), content, el('div', { class: 'row end' }, buttons)));
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
};

/** Closes all dialogs, for a sign-out. */
export const closeDialogs = () => {
  document.querySelectorAll('dialog').forEach((dialog) => dialog.close());
};

/**
 * Asks before an action. With `typed`, the person has to type that text. The dialog stays open while
 * `run` works and shows its refusal.
 */
export const confirmed = ({ title, text, label, typed, run }) => {
  const place = el('div', {});
  const go = el('button', { type: 'submit', class: 'danger', disabled: typed !== undefined }, label);
  const input = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', id: 'confirm-text' });
  input.addEventListener('input', () => { go.disabled = oneLine(input.value) !== typed; });
  const cancel = el('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel');
  const content = [
    el('div', {}, text),
    typed !== undefined && el('div', { class: 'field' }, el('label', { for: 'confirm-text' }, 'Type ', el('strong', {}, typed), ' to confirm'), input),
    place,
  ];
  const dialog = open(title, content, [cancel, go]);
  dialog.querySelector('form').addEventListener('submit', () => busy(go, async () => {
    try {
      await run();
      dialog.close();
    } catch (failure) {
      place.replaceChildren(problem(failure));
    }
  }));
  (typed === undefined ? cancel : input).focus();
};

/** Shows the text of a new key. It is in the page only while this dialog is open. */
export const showNewKey = (key, note) =>
  new Promise((resolve) => {
    if (!signedIn()) {
      // The person signed out while the server made the key.
      resolve();
      return;
    }
    // A property of an input: the key is not in the markup of the page.
    const shown = el('textarea', { class: 'new-key', readonly: true, rows: '2', spellcheck: 'false', 'aria-label': 'The new key' });
    shown.value = key;
    const content = [
      notice('warn', 'This is the only time that the key is shown. Store it where the program reads its secrets, not in a chat or a ticket.'),
      el('div', { class: 'row' }, shown, copyButton(() => key, 'Copy the key')),
      note && el('p', {}, note),
    ];
    const done = el('button', { type: 'submit', class: 'primary' }, 'I have stored it');
    const dialog = open('The new key', content, [done]);
    dialog.querySelector('form').addEventListener('submit', () => dialog.close());
    dialog.addEventListener('close', () => {
      shown.value = '';
      resolve();
    });
  });
