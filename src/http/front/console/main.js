// The start of the console: signing in and out, the choice of the view, and forgetting the key.

import { ask, onCall, onUnauthorized } from './api.js';
import { addCall, clearCalls, mountCalls } from './calls.js';
import { closeDialogs } from './dialogs.js';
import { announce, el, fill } from './dom.js';
import { field, notice, problem } from './parts.js';
import { isReadOnly } from './rights.js';
import { forgetRoute, mountRouter, show } from './router.js';
import { dropTokenKey, forget, isIdle, signIn, signedIn, tokenHolder } from './session.js';

const at = (id) => document.getElementById(id);

let lastUse = Date.now();

const start = () => {
  mountCalls(at('calls'));
  mountRouter(at('main'), at('views'), at('menu'));
  onCall(addCall);
  onUnauthorized(refused);
  at('sign-out').addEventListener('click', () => signOut('You are signed out.'));
  at('skip').addEventListener('click', (event) => {
    // The fragment of the address names the view, so the link must not change it.
    event.preventDefault();
    at('main').focus();
  });
  for (const use of ['pointerdown', 'keydown', 'wheel']) {
    window.addEventListener(use, () => { lastUse = Date.now(); }, { passive: true });
  }
  // A page that the browser keeps for its back button would keep the key too.
  window.addEventListener('pagehide', () => signedIn() && signOut());
  document.addEventListener('visibilitychange', checkIdle);
  setInterval(checkIdle, 10_000);
  askForKey();
};

const checkIdle = () => {
  if (signedIn() && isIdle(lastUse, Date.now())) signOut('You were signed out after 15 minutes without use.');
};

const refused = (holder) => {
  if (holder === signedIn()) {
    signOut('The server does not accept the key any more. It may have been deleted.');
  } else if (holder === tokenHolder()) {
    dropTokenKey();
  }
};

const signOut = (text) => {
  forget();
  forgetRoute();
  closeDialogs();
  clearCalls();
  for (const id of ['who', 'views', 'menu', 'calls', 'read-only']) at(id).hidden = true;
  at('who-name').textContent = '';
  askForKey(text);
};

const askForKey = (text) => {
  const input = el('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, name: 'key', id: 'key' });
  const place = el('div', {}, text && notice('', el('p', {}, text)));
  const form = el('form', {
    class: 'sign-in card',
    onsubmit: (event) => {
      event.preventDefault();
      const key = input.value.trim();
      input.value = '';
      trySignIn(key, place);
    },
  },
  el('h1', { tabindex: '-1' }, 'Sign in'),
  el('p', { class: 'quiet' }, 'The console works with the API key that you paste here, and can do what this key may do.'),
  !window.isSecureContext && notice('bad', el('p', {}, 'This page did not come over a connection that the browser trusts. Do not enter a key here.')),
  place,
  field('Management key', input, 'It stays in the memory of this page. Signing out, a reload or 15 minutes without use forget it.'),
  el('button', { type: 'submit', class: 'primary' }, 'Sign in'));
  document.title = 'Sign in - Strongroom console';
  fill(at('main'), form);
  input.focus();
  if (text) announce(text);
};

const PUBLIC_KEY = 'This is the key of a public application, which can only put values in. Use a management key.';

const trySignIn = async (key, place) => {
  if (!/^[\x21-\x7e]+$/.test(key)) {
    fill(place, notice('bad', el('p', {}, 'A key has only visible ASCII characters.')));
    return;
  }
  try {
    const application = await ask(key, 'GET', '/applications/key');
    if (application.type === 'public') {
      fill(place, notice('bad', el('p', {}, PUBLIC_KEY)));
      return;
    }
    signIn(key, application);
    lastUse = Date.now();
    begin();
  } catch (failure) {
    fill(place, problem(failure));
  }
};

const begin = () => {
  const { application, permissions } = signedIn();
  for (const id of ['who', 'views', 'calls']) at(id).hidden = false;
  at('menu').hidden = false;
  at('read-only').hidden = !isReadOnly(permissions);
  fill(at('who-name'), application.name, el('span', { class: 'tag' }, application.type));
  show();
};

start();
