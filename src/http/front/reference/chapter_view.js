// The views beside those of operations: chapters, errors, rate limits and unknown addresses.

import { make, table } from './dom.js';
import { methodBadge, rateText } from './operation_view.js';
import { line, prose } from './prose.js';

const heading = (text) => make('h1', { id: 'view-title', tabindex: '-1' }, text);

export function chapterView(chapter) {
  // A chapter begins with its own title, which the page shows already.
  const [first, ...rest] = chapter.blocks;
  const blocks = first?.kind === 'heading' && first.level === 1 ? rest : chapter.blocks;
  return make('article', { class: 'chapter', 'aria-labelledby': 'view-title' },
    heading(chapter.name),
    chapter.operations.length > 0 ? operationList(chapter) : null,
    prose(blocks, 2));
}

function operationList(chapter) {
  const row = (operation) => make('li', null,
    make('a', { href: `#operation/${operation.id}` }, methodBadge(operation.method),
      make('code', null, operation.path), make('span', { class: 'quiet' }, operation.summary)));
  return make('section', null, make('h2', { class: 'unseen' }, 'Operations'),
    make('ul', { class: 'operations' }, chapter.operations.map(row)));
}

export function errorsView(model) {
  const rows = model.errors.map((it) => [make('strong', null, String(it.status)), it.title ?? '', line(it.when), line(it.what_to_do)]);
  return make('article', { 'aria-labelledby': 'view-title' }, heading('Errors'),
    make('p', { class: 'lead' }, 'An error is a problem document (RFC 9457) with ', make('code', null, 'title'), ', ',
      make('code', null, 'status'), ', ', make('code', null, 'detail'), ' and ', make('code', null, 'trace_id'),
      '. Mistakes of a body or a query are all listed in ', make('code', null, 'errors'), ', each under its path. No error repeats a value of the request.'),
    rows.length > 0 ? table('Errors', ['Status', 'Title', 'When', 'What to do'], rows) : make('p', null, 'The document lists no errors.'));
}

export function limitsView(model) {
  const rows = model.rows.map((row) => [row.title ?? row.id, line(row.applies_to), rateText(row), operationsOf(model, row)]);
  return make('article', { 'aria-labelledby': 'view-title' }, heading('Rate limits'),
    make('p', { class: 'lead' }, 'A request is counted in every row that covers it. Beyond a row the answer is 429 with ',
      make('code', null, 'Retry-After'), ', ', make('code', null, 'X-RateLimit-Limit'), ', ', make('code', null, 'X-RateLimit-Remaining'), ' and ',
      make('code', null, 'X-RateLimit-Reset'), '. A request that was refused can be sent again after that time.'),
    rows.length > 0 ? table('Rate limits', ['Row', 'Counted', 'Limit', 'Operations'], rows) : make('p', null, 'The document lists no rate limits.'));
}

/** A row that covers most operations is not worth a list of them. */
const LISTED_MAX = 8;

function operationsOf(model, row) {
  const covered = [...model.operations.values()].filter((it) => it.limits.some(({ id }) => id === row.id));
  if (covered.length === 0) return '';
  if (covered.length > LISTED_MAX) return `${covered.length} operations`;
  return covered.flatMap((it, at) => [at === 0 ? '' : ', ', make('a', { href: `#operation/${it.id}` }, it.id)]);
}

export const unknownView = () => make('article', { 'aria-labelledby': 'view-title' }, heading('Not found'),
  make('p', null, 'The reference has no such part. Search for it, or go to the ', make('a', { href: '#start' }, 'start'), '.'));

export const failureView = (text) => make('article', { 'aria-labelledby': 'view-title' }, heading('The reference is not there'),
  make('p', { class: 'bad' }, text), make('p', null, make('a', { href: '/openapi.json' }, 'OpenAPI document')));

export const waitingView = () => make('p', { class: 'quiet' }, 'Loading the reference ...');
