// Try-it: sends the request of an operation to this server with a key that a person pastes. The key
// stays in a variable of this module: not in storage, not in an address, not in an example.

import { announce, byId, codeBlock, make, newId, table } from './dom.js';
import { bodyText, exampleRequest } from './examples.js';
import { confirmation, makeRequest, readable } from './request.js';

/** A longer body would freeze the page while it is laid out. */
const SHOWN_CHARACTERS_MAX = 200_000;

let key = '';
let ownKeys = {};

/** Fills the key of each operation with the one of its kind, until a person writes another. */
export function offerKeys(keys) {
  ownKeys = keys;
}

// A page that is left and shown again from the browser's memory has no key.
window.addEventListener('pagehide', () => {
  key = '';
  ownKeys = {};
  for (const input of document.querySelectorAll('input.key')) input.value = '';
});

export function tryPanel(operation) {
  const request = exampleRequest(operation);
  const inputs = operation.parameters.filter((it) => ['path', 'query', 'header'].includes(it.place))
    .map((it) => parameterInput(it, request));
  if (ownKeys[operation.key]) key = ownKeys[operation.key];
  const keyInput = operation.permissions === null ? null : keyField();
  const body = operation.body ? bodyInput(operation, request) : null;
  const outcome = make('div', { class: 'outcome' });
  const send = make('button', { type: 'submit', class: 'primary' }, 'Send');
  const clear = make('button', { type: 'button' }, 'Clear the answer');
  clear.addEventListener('click', () => {
    outcome.replaceChildren();
    announce('The answer was cleared.');
  });
  const form = make('form', { autocomplete: 'off', novalidate: true },
    inputs.map((it) => it.element), body?.element, make('p', { class: 'buttons' }, send, clear));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit(operation, inputs, body, outcome, send);
  });
  // On a phone it would stand between the example and the description.
  const isOpen = matchMedia('(min-width: 72rem)').matches;
  return make('details', { class: 'panel try', open: isOpen },
    make('summary', null, make('h2', null, 'Try it')),
    make('p', { class: 'small warn' }, 'The request goes to this server and acts on its data. On a production tenant the data is real.'),
    // Outside of the form, so that no browser offers to store it as a password.
    keyInput, form, outcome);
}

function keyField() {
  const id = newId('key');
  const input = make('input', { id, class: 'key', type: 'password', autocomplete: 'off', spellcheck: 'false', 'aria-describedby': `${id}-help` });
  input.value = key;
  input.addEventListener('input', () => {
    key = input.value.trim();
    ownKeys = {};
  });
  const forget = make('button', { type: 'button' }, 'Forget the key');
  forget.addEventListener('click', () => {
    key = '';
    ownKeys = {};
    input.value = '';
    announce('The key was forgotten.');
  });
  return make('div', { class: 'field' }, make('label', { for: id }, 'API key'),
    make('div', { class: 'joined' }, input, forget),
    make('p', { class: 'quiet small', id: `${id}-help` }, 'Stays in the memory of this page until you close or reload it.'));
}

function parameterInput(parameter, request) {
  const id = newId('input');
  const isPath = parameter.place === 'path';
  const shown = isPath || parameter.isRequired ? parameter.example : undefined;
  const input = make('input', {
    id, type: 'text', autocomplete: 'off', spellcheck: 'false', required: parameter.isRequired,
    placeholder: parameter.example === undefined || shown !== undefined ? null : String(parameter.example),
    value: shown === undefined ? '' : String(shown),
  });
  const element = make('div', { class: 'field' },
    make('label', { for: id }, make('code', null, parameter.name), ` ${parameter.place}${parameter.isRequired ? ', required' : ''}`), input);
  return { parameter, element, read: () => input.value, request };
}

function bodyInput(operation, request) {
  const id = newId('body');
  const type = operation.body.contents[0]?.type ?? 'application/json';
  const text = bodyText(request, 2) ?? '';
  const area = make('textarea', { id, rows: Math.min(Math.max(text.split('\n').length, 3), 16), spellcheck: 'false', autocomplete: 'off' });
  area.value = text;
  const examples = operation.body.contents[0]?.examples ?? [];
  const choice = examples.length > 1 ? exampleChoice(operation, examples, area) : null;
  const element = make('div', { class: 'field' }, choice, make('label', { for: id }, 'Body ', make('code', null, type)), area);
  return { element, read: () => ({ text: area.value, type }) };
}

function exampleChoice(operation, examples, area) {
  const id = newId('fill');
  const select = make('select', { id }, examples.map((it) => make('option', { value: it.name }, it.summary)));
  select.addEventListener('change', () => {
    area.value = bodyText(exampleRequest(operation, select.value), 2) ?? '';
  });
  return make('div', { class: 'field' }, make('label', { for: id }, 'Fill in the example'), select);
}

async function submit(operation, inputs, body, outcome, button) {
  const values = { path: {}, query: {}, header: {} };
  for (const { parameter, read } of inputs) values[parameter.place][parameter.name] = read();
  const { request, mistakes } = makeRequest(operation, values, body?.read() ?? null, location.origin);
  const needsKey = operation.permissions !== null;
  const wrong = [...(mistakes ?? []), ...(needsKey ? keyMistakes() : [])];
  if (wrong.length > 0) {
    outcome.replaceChildren(make('ul', { class: 'bad' }, wrong.map((it) => make('li', null, it))));
    announce(wrong.join(' '));
    return;
  }
  const question = confirmation(operation, request.path, needsKey ? key : '');
  if (question !== null && !(await isConfirmed(question))) return;
  button.disabled = true;
  outcome.replaceChildren(make('p', { class: 'quiet' }, 'Sending ...'));
  outcome.replaceChildren(...(await answerOf(request, needsKey)));
  button.disabled = false;
}

function keyMistakes() {
  if (key === '') return ['The API key is missing.'];
  return /[^\x21-\x7e]/.test(key) ? ['The API key has a character that no key has.'] : [];
}

/** The dialog's answer. Escape and Cancel both mean no. */
function isConfirmed(question) {
  const dialog = byId('confirm');
  byId('confirm-text').textContent = question;
  return new Promise((done) => {
    byId('confirm-yes').onclick = () => dialog.close('yes');
    byId('confirm-no').onclick = () => dialog.close('no');
    dialog.returnValue = '';
    dialog.addEventListener('close', () => done(dialog.returnValue === 'yes'), { once: true });
    dialog.showModal();
  });
}

async function answerOf(request, needsKey) {
  const begun = performance.now();
  try {
    const answer = await fetch(request.url, {
      method: request.method,
      headers: [...request.headers, ...(needsKey ? [['BT-API-KEY', key]] : [])],
      body: request.body,
      // The key must not follow a redirect, and the answer must not stay in a cache.
      mode: 'same-origin', credentials: 'omit', redirect: 'error', cache: 'no-store', referrerPolicy: 'no-referrer',
    });
    const text = await answer.text();
    return answerElements(answer, text, Math.round(performance.now() - begun));
  } catch {
    announce('The request failed.');
    return [make('p', { class: 'bad' }, 'The request failed: the server gave no answer, or the connection broke.')];
  }
}

function answerElements(answer, text, ms) {
  const status = `${answer.status} ${answer.statusText}`.trim();
  announce(`Answer ${status} after ${ms} milliseconds.`);
  const trace = answer.headers.get('BT-TRACE-ID');
  const headers = [...answer.headers].map(([name, value]) => [make('code', null, name), make('code', null, value)]);
  const shown = readable(text).slice(0, SHOWN_CHARACTERS_MAX);
  return [
    make('p', { class: 'status' }, make('strong', { class: answer.ok ? 'good' : 'bad' }, status), ` in ${ms} ms`),
    trace ? make('p', { class: 'small' }, 'BT-TRACE-ID ', make('code', { class: 'trace' }, trace)) : null,
    shown === '' ? make('p', { class: 'quiet' }, 'The answer has no body.') : codeBlock(shown, 'Body of the answer', 'json'),
    text.length > SHOWN_CHARACTERS_MAX ? make('p', { class: 'quiet small' }, 'The body is longer than shown.') : null,
    make('details', null, make('summary', null, `Headers (${headers.length})`), table('Headers of the answer', ['Header', 'Value'], headers)),
  ].filter((it) => it !== null);
}
