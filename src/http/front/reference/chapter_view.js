// The views beside those of operations: chapters, errors, rate limits and unknown addresses.

import { make, table } from './dom.js';
import { parse, plainText } from './markdown.js';
import { methodBadge, rateText, stateMark } from './operation_view.js';
import { line, prose } from './prose.js';

/** For a document without a chapter about its table. */
const INTRODUCTIONS = {
  errors: 'An error is a problem document (RFC 9457). A 400 lists all mistakes in `errors`, each under its path. '
    + 'No error repeats a value of the request.',
  'rate-limits': 'Every row that covers a request counts it. A request over a limit is answered 429, and `Retry-After` has '
    + 'the seconds to wait.',
};

const heading = (text) => make('h1', { id: 'view-title', tabindex: '-1' }, text);

export function chapterView(chapter) {
  const [introduction, rest] = divided(untitled(chapter.blocks));
  return make('article', { class: 'chapter', 'aria-labelledby': 'view-title' },
    heading(chapter.name),
    prose(introduction, 2),
    chapter.operations.length > 0 ? operationList(chapter) : null,
    prose(rest, 2));
}

/** The first paragraphs and lists say what the thing is, with the code that they announce. The operations follow. */
function divided(blocks) {
  let at = blocks.findIndex((it) => !['paragraph', 'list'].includes(it.kind));
  if (at < 0) return [blocks, []];
  const before = blocks[at - 1];
  if (before?.kind === 'paragraph' && plainText(before.inline).endsWith(':')) at += 1;
  return [blocks.slice(0, at), blocks.slice(at)];
}

/** A chapter begins with its own title, which the page shows already. */
const untitled = ([first, ...rest]) => (first === undefined || (first.kind === 'heading' && first.level === 1) ? rest : [first, ...rest]);

function operationList(chapter) {
  const row = (operation) => make('li', null,
    make('a', { href: `#operation/${operation.id}` }, methodBadge(operation.method),
      make('code', null, operation.path), make('span', { class: 'quiet' }, operation.summary), stateMark(operation)));
  return make('section', null, make('h2', { class: 'unseen' }, 'Operations'),
    make('ul', { class: 'operations' }, chapter.operations.map(row)));
}

export function errorsView(model) {
  const rows = model.errors.map((it) => [
    [make('strong', null, String(it.status)), ' ', it.title ?? ''], line(it.when), line(it.what_to_do),
  ]);
  return tableView(model, 'errors', 'Errors', table('Errors', ['Status', 'When', 'What to do'], rows, { stacked: true }));
}

export function limitsView(model) {
  const rows = model.rows.map((row) => [
    make('strong', null, line(row.title ?? row.id)),
    row.counted_by ?? '',
    rateText(row),
    row.block_seconds ? `blocked for ${row.block_seconds} s` : 'wait',
    operationsOf(model, row),
  ]);
  return tableView(model, 'rate-limits', 'Rate limits', table('Rate limits', ['Requests', 'Counted by', 'At most', 'Beyond that', 'Operations'], rows, { stacked: true }));
}

/** A table of the document, with the text of the chapter of the same name. */
function tableView(model, slug, title, content) {
  const blocks = untitled(model.chapters.find((it) => it.slug === slug)?.blocks ?? parse(INTRODUCTIONS[slug]));
  // The first table of the chapter says the same as that of the document.
  const repeated = blocks.findIndex((it) => it.kind === 'table');
  const rest = blocks.filter((_, at) => at !== repeated);
  const [intro, further] = repeated < 0 ? [rest, []] : [rest.slice(0, repeated), rest.slice(repeated)];
  return make('article', { class: 'chapter', 'aria-labelledby': 'view-title' }, heading(title), prose(intro, 2), content, prose(further, 2));
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
