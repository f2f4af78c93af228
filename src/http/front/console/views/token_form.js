// A token of a test value: a test card, or a text. Real values are put in by programs, not by people.

import { call } from '../api.js';
import { announce, el, fill } from '../dom.js';
import { field, notice, problem, select, sending } from '../parts.js';

const KINDS = [
  ['4242424242424242', 'Test card 4242 4242 4242 4242'],
  ['5555555555554444', 'Test card 5555 5555 5555 4444'],
  ['text', 'A text'],
];

/** The body of a test token: a card of next year, or a text. */
export const testToken = (kind, text, now = new Date()) => (kind === 'text'
  ? { type: 'token', data: text }
  : { type: 'card', data: { number: kind, expiration_month: 12, expiration_year: now.getFullYear() + 1 } });

export const tokenForm = (holder, close, again) => {
  const kind = select(KINDS, KINDS[0][0], { onchange: () => {
    textField.hidden = kind.value !== 'text';
    text.required = kind.value === 'text';
  } });
  const text = el('input', { type: 'text', autocomplete: 'off', class: 'long' });
  const textField = field('Text', text);
  textField.hidden = true;
  const told = el('div', {});
  const save = el('button', { type: 'submit', class: 'primary' }, 'Create the token');
  const submit = async () => {
    try {
      await call('POST', '/tokens', { holder, body: testToken(kind.value, text.value), secret: 'both', idempotencyKey: crypto.randomUUID() });
      announce('The token is created.');
      await again();
    } catch (failure) {
      fill(told, problem(failure));
    }
  };
  return el('form', { class: 'card', onsubmit: sending(save, submit) },
    el('h2', {}, 'New test token'),
    notice('warn', el('p', {}, 'For trying things out. Do not type a real card number or personal data here.')),
    field('Value', kind), textField, told,
    el('div', { class: 'row' }, save, el('button', { type: 'button', onclick: close }, 'Cancel')));
};
