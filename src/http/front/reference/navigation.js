// The list of chapters and operations beside the content, and the search above it.

import { byId, make } from './dom.js';
import { methodBadge, stateMark } from './operation_view.js';
import { guideSections } from './page_text.js';
import { excerpt, makeIndex, pageEntries, search } from './search.js';

/** Fills the navigation with the parts of the document. */
export function fillNavigation(model) {
  const list = byId('navigation').querySelector('ul');
  for (const [at, group] of [...new Set(model.chapters.map((it) => it.group))].entries()) {
    const chapters = model.chapters.filter((it) => it.group === group).map(chapterEntry);
    // The start page and the help with certificates are in the list already, below the first title.
    if (at === 0) list.prepend(make('li', { class: 'group' }, group));
    else list.append(make('li', { class: 'group' }, group));
    list.append(...chapters);
    // The operator's guide is a page of its own.
    if (group === 'Operate') list.append(make('li', null, make('a', { href: '/guide' }, "Operator's guide")));
  }
}

function chapterEntry(chapter) {
  const link = make('a', { href: chapter.hash }, chapter.name);
  if (chapter.operations.length === 0) return make('li', null, link);
  const operations = chapter.operations.map((it) => make('li', null,
    make('a', { href: `#operation/${it.id}`, title: `${it.method} ${it.path}` }, methodBadge(it.method), make('span', null, it.summary), stateMark(it))));
  const details = make('details', { 'data-chapter': chapter.slug },
    make('summary', null, chapter.name, make('span', { class: 'count', 'aria-hidden': 'true' }, String(operations.length))),
    make('ul', null, make('li', null, make('a', { href: chapter.hash, class: 'overview' }, 'Overview')), operations));
  return make('li', null, details);
}

/** Marks the entry of the view that is shown, and opens its chapter. */
export function markCurrent(hash, chapter) {
  const navigation = byId('navigation');
  for (const link of navigation.querySelectorAll('a')) {
    if (link.getAttribute('href') === hash) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  if (chapter) {
    const details = [...navigation.querySelectorAll('details')].find((it) => it.dataset.chapter === chapter.slug);
    if (details) details.open = true;
  }
  scrollIntoSide(navigation.querySelector('[aria-current]'));
}

/** Moves only the list: `scrollIntoView` would move the page too. */
function scrollIntoSide(link) {
  const side = byId('side');
  if (!link || side.scrollHeight <= side.clientHeight) return;
  const [box, frame] = [link.getBoundingClientRect(), side.getBoundingClientRect()];
  if (box.top < frame.top || box.bottom > frame.bottom) side.scrollTop += box.top - frame.top - frame.height / 3;
}

const GUIDE = "Operator's guide";

/**
 * Connects the search box. `fixed` has the sections of the views that are part of the page, by the hash of each. `open`
 * shows the side on a phone, where results would stay unseen.
 */
export function startSearch(model, fixed, open) {
  const index = makeIndex(model);
  for (const { name, hash, sections } of fixed) index.push(...pageEntries(name, sections, () => hash));
  // The guide is large: only a person who searches needs it.
  let guide = null;
  const loadGuide = async () => {
    guide ??= guideSections();
    const sections = await guide;
    if (sections.length === 0 || index.some((it) => it.chapter === GUIDE)) return;
    index.push(...pageEntries(GUIDE, sections, ({ id }) => (id ? `/guide#${id}` : '/guide')));
    if (query.value.trim() !== '') show();
  };
  const query = byId('query');
  byId('search').hidden = false;
  const show = () => showResults(query.value, search(index, query.value), open);
  query.addEventListener('focus', loadGuide);
  query.addEventListener('input', () => {
    loadGuide();
    show();
  });
  query.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') moveFocus(event, resultLinks()[0]);
    else if (event.key === 'Enter') resultLinks()[0]?.click();
    else if (event.key === 'Escape') clearSearch();
  });
  byId('results').addEventListener('keydown', (event) => resultKey(event, query));
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest?.('input, textarea, select, [contenteditable], dialog') !== null;
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) moveFocus(event, query);
  });
}

const resultLinks = () => [...byId('results').querySelectorAll('a')];

function moveFocus(event, element) {
  if (!element) return;
  event.preventDefault();
  element.focus();
}

function resultKey(event, query) {
  const links = resultLinks();
  const at = links.indexOf(document.activeElement);
  if (event.key === 'ArrowDown') moveFocus(event, links[at + 1]);
  else if (event.key === 'ArrowUp') moveFocus(event, links[at - 1] ?? query);
  else if (event.key === 'Home') moveFocus(event, links[0]);
  else if (event.key === 'End') moveFocus(event, links.at(-1));
  else if (event.key === 'Escape') {
    clearSearch();
    query.focus();
  }
}

export function clearSearch() {
  byId('query').value = '';
  showResults('', []);
}

function showResults(query, results, open) {
  const isSearching = query.trim() !== '';
  byId('found').hidden = !isSearching;
  byId('navigation').hidden = isSearching;
  byId('results').replaceChildren(...results.map((it) => resultElement(it, query)));
  if (isSearching && results.length === 0) byId('results').append(nothingFound());
  const count = results.length === 1 ? '1 result' : `${results.length} results`;
  byId('search-status').textContent = isSearching ? count : '';
  if (isSearching) open();
}

const nothingFound = () => make('li', { class: 'quiet' }, 'Nothing found. Try one word, or a part of it, or look at the ',
  make('a', { href: '#start' }, 'list of topics'), ' and the ', make('a', { href: '/guide' }, "operator's guide"), '.');

const KINDS = { chapter: 'Chapter', absent: 'Not part of this server. Instead', table: 'Table' };

function resultElement(result, query) {
  const title = make('span', null, result.title);
  const matched = result.matched ? make('span', { class: 'quiet small' }, 'member ', make('code', null, result.matched)) : null;
  if (result.kind === 'operation') {
    const { method, path } = result.operation;
    const about = make('span', { class: 'found' }, title, make('code', null, path), matched);
    return make('li', null, make('a', { href: result.hash }, methodBadge(method), about));
  }
  const place = make('span', { class: 'quiet small' }, result.chapter ?? KINDS[result.kind]);
  const [before, word, after] = result.kind === 'absent' ? [result.text, '', ''] : excerpt(result.text ?? '', query);
  const text = make('span', { class: 'small' }, before, word && make('mark', null, word), after);
  return make('li', null, make('a', { href: result.hash }, make('span', { class: 'found' }, title, place, text)));
}
