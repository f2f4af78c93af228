// Starts the page: asks for the document, and shows the view that the address names.

import { chapterView, errorsView, failureView, limitsView, unknownView, waitingView } from './chapter_view.js';
import { byId, coloured, copyButton, make } from './dom.js';
import { readDocument, route } from './model.js';
import { clearSearch, fillNavigation, markCurrent, startSearch } from './navigation.js';
import { operationView } from './operation_view.js';
import { pageSections } from './page_text.js';
import { keysOf } from './own_keys.js';
import { useOwn } from './own_values.js';
import { shell } from './quoting.js';
import { upgradeTabs } from './tabs.js';
import { offerKeys } from './try_view.js';

let model = null;
let failure = null;

const fixedViews = ['start', 'trust'];

/** Shows the view of the address. After a navigation, the focus goes to its title. */
function showView(isNavigation) {
  const found = route(model, location.hash);
  for (const name of fixedViews) byId(`view-${name}`).hidden = found.view !== name;
  const holder = byId('view-document');
  holder.hidden = fixedViews.includes(found.view);
  holder.replaceChildren(...(holder.hidden ? [] : [documentView(found)]));
  const title = [...document.querySelectorAll('main h1')].find((it) => it.offsetParent !== null);
  document.title = title && found.view !== 'start' ? `${title.textContent} - Strongroom` : 'Strongroom';
  const chapter = found.operation?.chapter ?? found.chapter;
  markCurrent(found.view === 'start' ? '#start' : found.chapter?.hash ?? location.hash, chapter);
  const part = found.anchor ? byId(`text-${found.anchor}`) : null;
  if (isNavigation) {
    closeMenu();
    window.scrollTo(0, 0);
    title?.setAttribute('tabindex', '-1');
    (part ?? title)?.focus({ preventScroll: true });
  }
  part?.scrollIntoView();
}

function documentView(found) {
  switch (found.view) {
    case 'operation':
      return operationView(model, found.operation);
    case 'chapter':
      return chapterView(found.chapter);
    case 'errors':
      return errorsView(model);
    case 'rate-limits':
      return limitsView(model);
    case 'waiting':
      return failure === null ? waitingView() : failureView(failure);
    default:
      return unknownView();
  }
}

function openMenu() {
  document.body.classList.add('menu-open');
  byId('menu').setAttribute('aria-expanded', 'true');
}

function closeMenu() {
  document.body.classList.remove('menu-open');
  byId('menu').setAttribute('aria-expanded', 'false');
}

const NAMES = { start: 'Start', trust: 'Trust the certificate' };

/** The text of the fixed views for the search. It is read before their sections become tabs. */
const fixedSections = fixedViews.map((view) => (
  { name: NAMES[view], hash: `#${view}`, sections: pageSections(byId(`view-${view}`)) }));

/** The parts of the page that need no document. */
function prepare() {
  for (const element of document.querySelectorAll('.origin')) element.textContent = location.origin;
  for (const holder of document.querySelectorAll('.tabs')) upgradeTabs(holder);
  for (const block of document.querySelectorAll('main pre')) addCopyButton(block);
  byId('menu').hidden = false;
  byId('menu').addEventListener('click', () => (document.body.classList.contains('menu-open') ? closeMenu() : openMenu()));
  byId('skip').addEventListener('click', (event) => {
    // Its address would be taken for one of a view.
    event.preventDefault();
    byId('main').focus();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !document.body.classList.contains('menu-open') || event.target === byId('query')) return;
    closeMenu();
    byId('menu').focus();
  });
  window.addEventListener('hashchange', () => {
    clearSearch();
    showView(true);
  });
  // A click on the link of the view that is shown changes no address.
  byId('side').addEventListener('click', (event) => {
    const link = event.target.closest('a');
    if (link && link.getAttribute('href') === location.hash) {
      clearSearch();
      showView(true);
    }
  });
}

/** Shows the keys that the address has, and takes them out of it. */
function takeKeys() {
  const keys = keysOf(location);
  if (keys === null) return;
  history.replaceState(null, '', '#start');
  offerKeys(keys);
  useOwn({ publicKey: keys.public });
  const values = {
    URL: location.origin, CA: keys.ca ?? 'strongroom-dev/ca.pem', KEY: keys.private, PUBLIC_KEY: keys.public, MANAGEMENT_KEY: keys.management,
  };
  byId('variables').replaceChildren(...Object.entries(values).map(([name, value]) => `export ${name}=${shell(value)}\n`));
  byId('own-keys').hidden = false;
  if (keys.ca) {
    byId('ca-variable').textContent = shell(keys.ca);
    for (const element of document.querySelectorAll('.ca')) element.textContent = keys.ca;
  }
  window.addEventListener('pagehide', () => byId('variables').replaceChildren());
}

function addCopyButton(block) {
  const code = block.querySelector('code');
  code.replaceChildren(...coloured(code.textContent, block.dataset.language ?? 'sh'));
  const frame = make('div', { class: 'code' });
  block.replaceWith(frame);
  block.setAttribute('tabindex', '0');
  block.setAttribute('role', 'group');
  block.setAttribute('aria-label', 'Commands');
  frame.append(block, copyButton(() => code.textContent, 'Commands'));
}

async function loadDocument() {
  try {
    const answer = await fetch('/openapi.json', { credentials: 'omit' });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    model = readDocument(await answer.json());
  } catch {
    failure = 'The server did not send its OpenAPI document. Load the page again.';
    showView(false);
    return;
  }
  byId('fact-version').textContent = model.version;
  byId('version').textContent = model.version;
  byId('version').hidden = false;
  fillNavigation(model);
  startSearch(model, fixedSections, openMenu);
  fillTopics();
  showView(false);
}

function fillTopics() {
  const topics = model.chapters.filter((it) => it.description !== '');
  byId('topics').hidden = topics.length === 0;
  byId('topics').querySelector('ul').append(...topics.map((it) => make('li', null, make('a', { href: it.hash }, it.name))),
    make('li', null, make('a', { href: '/guide' }, "Operator's guide")));
}

/** Readiness of the server, as load balancers see it. */
async function showState() {
  const state = byId('fact-state');
  const isReady = await isThere('/readyz');
  state.textContent = isReady ? 'ready' : 'not ready';
  state.className = isReady ? 'good' : 'bad';
}

/** Links to pages that this server may not have. */
async function showProbedLinks() {
  for (const entry of document.querySelectorAll('[data-probe]')) {
    if (await isThere(entry.dataset.probe)) entry.hidden = false;
  }
}

async function isThere(path) {
  try {
    const answer = await fetch(path, { method: 'HEAD', credentials: 'omit', cache: 'no-store' });
    return answer.ok;
  } catch {
    return false;
  }
}

takeKeys();
prepare();
showView(false);
await Promise.all([loadDocument(), showState(), showProbedLinks()]);
