// The start of the console: the operator's sign-on or a key, signing out, and forgetting the key.

import { ask, onCall, onUnauthorized, send, useSignOn } from './api.js';
import { addCall, clearCalls, mountCalls } from './calls.js';
import { closeDialogs } from './dialogs.js';
import { announce, el, fill } from './dom.js';
import { field, notice, problem, select } from './parts.js';
import { isReadOnly } from './rights.js';
import { forgetRoute, mountRouter, show } from './router.js';
import { dropTokenKey, forget, isIdle, signIn, signOn, signedIn, tokenHolder } from './session.js';

const at = (id) => document.getElementById(id);

let lastUse = Date.now();

/** What the server says about the ways to sign on, and about the person in front of the page. */
let ways = { management_keys: true };

const start = () => {
  mountCalls(at('calls'));
  mountRouter(at('main'), at('views'), at('menu'));
  onCall(addCall);
  onUnauthorized(refused);
  at('sign-out').addEventListener('click', () => leave('You are signed out.'));
  at('tenant').addEventListener('click', () => {
    stop();
    chooseTenant();
  });
  at('skip').addEventListener('click', (event) => {
    // The fragment of the address names the view, so the link must not change it.
    event.preventDefault();
    at('main').focus();
  });
  for (const use of ['pointerdown', 'keydown', 'wheel']) {
    window.addEventListener(use, () => { lastUse = Date.now(); }, { passive: true });
  }
  // A page that the browser keeps for its back button would keep the key too.
  window.addEventListener('pagehide', () => signedIn() && stop());
  window.addEventListener('pageshow', (event) => event.persisted && begin());
  document.addEventListener('visibilitychange', checkIdle);
  setInterval(checkIdle, 10_000);
  begin();
};

/** Asks who is in front of the page: a person of the sign-on, or somebody who will paste a key. */
const begin = async () => {
  fill(at('main'), el('p', { class: 'quiet' }, 'Loading...'));
  try {
    ways = await send({}, 'GET', '/console/data/sign-on');
  } catch (failure) {
    fill(at('main'), problem(failure));
    return;
  }
  if (ways.sign_on) useSignOn();
  if (!ways.person) {
    askForKey();
  } else if (ways.tenants.length === 1) {
    openTenant(ways.tenants[0].id, at('main'));
  } else {
    chooseTenant();
  }
};

const chooseTenant = () => {
  const place = el('div', {});
  const list = select(ways.tenants.map((it) => [it.id, it.name]), undefined, { id: 'tenants' });
  const open = el('button', { type: 'submit', class: 'primary' }, 'Open');
  fill(at('main'), el('form', {
    class: 'sign-in card',
    onsubmit: (event) => {
      event.preventDefault();
      openTenant(list.value, place);
    },
  }, el('h1', { tabindex: '-1' }, 'Tenant'),
  el('p', { class: 'quiet' }, 'You are signed on as ', el('strong', {}, ways.person), '.'),
  place, ways.tenants.length === 0 ? notice('bad', el('p', {}, 'No tenant of the settings exists.')) : [field('Tenant', list), open]));
  document.title = 'Tenant - Strongroom console';
};

const openTenant = async (id, place) => {
  try {
    signOn(await send({ 'Strongroom-Console': id }, 'POST', '/console/data/sign-on'));
    lastUse = Date.now();
    showConsole();
  } catch (failure) {
    fill(place, problem(failure));
  }
};

const checkIdle = () => {
  if (signedIn() && isIdle(lastUse, Date.now())) leave('You were signed out after 15 minutes without use.');
};

/** Signs out. The sign-on of a person ends at its own address, if the settings name it. */
const leave = (text) => {
  const isPerson = Boolean(signedIn()?.person);
  if (!isPerson) {
    signOut(text);
  } else if (ways.sign_out) {
    stop();
    window.location.assign(ways.sign_out);
  } else {
    stop();
    paused(text);
  }
};

/** The vault cannot end the sign-on of a person: the page only forgets what it showed. */
const paused = (text) => {
  const again = el('button', { type: 'button', class: 'primary', onclick: begin }, 'Open the console');
  fill(at('main'), el('div', { class: 'sign-in card' }, el('h1', { tabindex: '-1' }, 'Closed'), notice('', el('p', {}, text)),
    el('p', { class: 'quiet' }, 'The sign-on in front of this page may still know you.'), again));
  again.focus();
  announce(text);
};

const refused = (holder) => {
  if (holder === signedIn() && holder.person) {
    stop();
    paused('The sign-on does not answer for you any more.');
  } else if (holder === signedIn()) {
    signOut('The server does not accept the key any more. It may have been deleted.');
  } else if (holder === tokenHolder()) {
    dropTokenKey();
  }
};

const signOut = (text) => {
  stop();
  askForKey(text);
};

/** Forgets the key or the person, and everything that the page showed. */
const stop = () => {
  forget();
  forgetRoute();
  closeDialogs();
  clearCalls();
  for (const id of ['who', 'views', 'menu', 'calls', 'read-only']) at(id).hidden = true;
  at('who-name').textContent = '';
  fill(at('main'));
};

const NO_PERSON = 'This console is for people who sign on. Open it at the address of the sign-on, or ask the operator of the vault.';

const askForKey = (text) => {
  const refusal = ways.refusal && notice('bad', el('p', {}, ways.refusal));
  document.title = 'Sign in - Strongroom console';
  if (!ways.management_keys) {
    fill(at('main'), el('div', { class: 'sign-in card' }, el('h1', { tabindex: '-1' }, 'Sign in'),
      refusal ? [refusal, signOutLink()] : notice('', el('p', {}, NO_PERSON))));
    return;
  }
  const input = el('input', { type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, name: 'key', id: 'key' });
  const place = el('div', {}, refusal, text && notice('', el('p', {}, text)));
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
  fill(at('main'), form);
  input.focus();
  if (text) announce(text);
};

const signOutLink = () => ways.sign_out && el('p', {}, el('a', { href: ways.sign_out }, 'Sign out'));

const PUBLIC_KEY = 'This is the key of a public application, which can only put values in. Use a management key.';

const UNKNOWN_KEY = 'This is not a key of this server.';

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
    showConsole();
  } catch (failure) {
    // The answer is about a header, which the form does not have.
    fill(place, failure.status === 401 ? problem({ title: UNKNOWN_KEY, message: UNKNOWN_KEY, traceId: failure.traceId }) : problem(failure));
  }
};

const showConsole = () => {
  const { application, permissions, person } = signedIn();
  for (const id of ['who', 'views', 'calls']) at(id).hidden = false;
  at('menu').hidden = false;
  at('read-only').hidden = !isReadOnly(permissions);
  fill(at('read-only'), el('strong', {}, 'Read only.'), person
    ? ' Your groups let you look at everything here and change nothing.'
    : ' This key holds no permission that changes anything.');
  at('tenant').hidden = !person || ways.tenants.length < 2;
  fill(at('who-name'), application.name, el('span', { class: 'tag' }, application.type));
  show();
};

start();
