// The second key, for the views of tokens and 3DS sessions and for runs of reactors: a management key can do none of
// this.

import { ask } from './api.js';
import { el, fill } from './dom.js';
import { field, notice, problem } from './parts.js';
import { addTokenKey, dropTokenKey, signedIn, tokenHolder } from './session.js';

const TO_READ = {
  use: 'Reading with',
  why: 'A management key cannot read tokens. Add the key of a private application for this view; it sees what its rules allow. It stays in the memory of this page, like the first key.',
};

/** The key in use with a button to forget it, or a form to add one. `again` draws the view. */
export const tokenKeyPart = (again, { use, why } = TO_READ) => {
  const holder = tokenHolder();
  if (holder === undefined) return keyForm(again, why);
  return el('p', { class: 'row' },
    el('span', {}, use, ' ', holder === signedIn() ? 'the key that you signed in with' : 'a second key', ' (', el('strong', {}, holder.application.name), ').'),
    holder !== signedIn() && el('button', { type: 'button', class: 'small', onclick: () => {
      dropTokenKey();
      again();
    } }, 'Forget this key'));
};

const keyForm = (again, why) => {
  const input = el('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true });
  const place = el('div', {});
  const submit = async (event) => {
    event.preventDefault();
    const key = input.value.trim();
    input.value = '';
    try {
      const application = await ask(key, 'GET', '/applications/key');
      if (application.type !== 'private') {
        fill(place, notice('bad', el('p', {}, 'This key does not belong to a private application.')));
        return;
      }
      addTokenKey(key, application);
      again();
    } catch (failure) {
      fill(place, problem(failure));
    }
  };
  return el('form', { class: 'card', onsubmit: submit },
    el('h2', {}, 'Add a private key'),
    el('p', { class: 'quiet' }, why),
    place,
    field('Private key', input),
    el('button', { type: 'submit', class: 'primary' }, 'Use this key'));
};
