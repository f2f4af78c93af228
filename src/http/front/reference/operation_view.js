// The view of one operation: facts, parameters, body and answers on one side, examples and try-it on
// the other.

import { codeBlock, make, table } from './dom.js';
import { examplesPanel } from './examples_view.js';
import { line, prose } from './prose.js';
import { schemaTree } from './schema_view.js';
import { limitTexts, resolve, typeText } from './schema.js';
import { tryPanel } from './try_view.js';

const PLACES = { path: 'Path', query: 'Query', header: 'Headers' };

export const methodBadge = (method) => make('span', { class: `method ${method.toLowerCase()}` }, method);

/** How many requests a row of the limits allows. */
export const rateText = (row) => (row.requests === undefined ? '' : `${row.requests} requests in ${row.seconds} s`);

export function operationView(model, operation) {
  const { root } = model;
  return make('article', { class: 'operation', 'aria-labelledby': 'view-title' },
    make('header', null,
      make('p', { class: 'crumb' }, make('a', { href: operation.chapter.hash }, operation.chapter.name)),
      make('h1', { id: 'view-title', tabindex: '-1' }, operation.summary),
      make('p', { class: 'address' }, methodBadge(operation.method), ' ', make('code', null, breakable(operation.path))),
      stateMark(operation)),
    make('div', { class: 'columns' },
      make('div', { class: 'intro' }, prose(operation.description, 2),
        make('dl', { class: 'facts' }, fact('Permission', permissionFact(operation)))),
      make('div', { class: 'aside' }, examplesPanel(operation), tryPanel(operation)),
      make('div', { class: 'rest' },
        parameterSections(root, operation), bodySection(root, operation), factsSection(operation), answersSection(root, operation))));
}

/** A word beside an operation that programs should not call, or nothing. */
export function stateMark(operation) {
  const word = operation.isUnusable ? 'shut down' : operation.isDeprecated && 'deprecated';
  return word ? make('span', { class: 'mark' }, word) : null;
}

const fact = (name, value) => make('div', null, make('dt', null, name), make('dd', null, value));

/** A long path may break before each of its parts. */
const breakable = (path) => path.split(/(?=\/)/).flatMap((part) => [make('wbr'), part]);

function factsSection(operation) {
  const facts = [
    operation.limits.length > 0 ? fact('Rate limits', limitFacts(operation)) : null,
    operation.isIdempotent === undefined ? null : fact('Idempotency', operation.isIdempotent
      ? ['A repetition with the same ', make('code', null, 'BT-IDEMPOTENCY-KEY'), ' gets the first answer.']
      : ['The header ', make('code', null, 'BT-IDEMPOTENCY-KEY'), ' has no effect.']),
    operation.pageGroup ? fact('Presence', `Only on servers with the pages "${operation.pageGroup}".`) : null,
  ].filter((it) => it !== null);
  return facts.length > 0 ? make('section', null, make('h2', null, 'Limits'), make('dl', { class: 'facts' }, facts)) : null;
}

function permissionFact(operation) {
  if (operation.permissions === null) return 'No key is needed.';
  if (operation.permissions.length === 0) return 'Any key.';
  const names = operation.permissions.map((it) => make('code', null, it));
  return names.flatMap((it, at) => (at === 0 ? [it] : [' or ', it]));
}

function limitFacts(operation) {
  const row = (it) => make('li', null, line(it.title ?? it.id), rateText(it) ? `: ${rateText(it)}` : '');
  return [make('ul', { class: 'plain' }, operation.limits.map(row)), make('a', { href: '#rate-limits' }, 'All rate limits')];
}

function parameterSections(root, operation) {
  return Object.entries(PLACES).map(([place, title]) => {
    const listed = operation.parameters.filter((it) => it.place === place);
    if (listed.length === 0) return null;
    return make('section', null, make('h2', null, title),
      make('div', { class: 'schema' }, make('ul', null, listed.map((it) => parameterRow(root, it)))));
  });
}

function parameterRow(root, parameter) {
  const { schema } = resolve(root, parameter.schema);
  const limits = limitTexts(schema);
  return make('li', null,
    make('div', { class: 'leaf' }, make('code', { class: 'name' }, parameter.name), ' ',
      make('span', { class: 'type' }, typeText(root, parameter.schema)),
      parameter.isRequired ? make('span', { class: 'mark required' }, 'required') : null),
    parameter.description || schema.description ? make('div', { class: 'about' }, line(parameter.description || schema.description)) : null,
    schema.enum ? make('div', { class: 'about' }, 'One of: ', schema.enum.map((it) => [make('code', null, String(it)), ' '])) : null,
    limits.length > 0 ? make('div', { class: 'about quiet' }, `${limits.join('; ')}.`) : null);
}

function bodySection(root, operation) {
  if (!operation.body) return null;
  return make('section', null,
    make('h2', null, 'Body', operation.body.isRequired ? '' : ' (optional)'),
    prose(operation.body.description),
    operation.body.contents.map((content) => contentPart(root, content, 'Other members are refused.')));
}

function contentPart(root, content, closedText) {
  const { schema } = resolve(root, content.schema);
  return [
    make('p', { class: 'content-type' }, make('code', null, content.type), ' ', make('span', { class: 'type' }, typeText(root, content.schema))),
    schema.description ? make('p', null, line(schema.description)) : null,
    schemaTree(root, content.schema, { closedText }),
  ];
}

function answersSection(root, operation) {
  const [good, bad] = [[], []];
  for (const answer of operation.answers) (/^[123]/.test(answer.status) ? good : bad).push(answer);
  return [
    good.length > 0 ? make('section', null, make('h2', null, 'Answers'), good.map((it) => answerPart(root, it, good.length === 1))) : null,
    bad.length > 0 ? make('section', null, make('h2', null, 'Errors'),
      bad.map((it) => answerPart(root, it, false)),
      make('p', null, make('a', { href: '#errors' }, 'All errors, and what to do about them'))) : null,
  ];
}

/** An answer that opens. Its content is made then: a page has hundreds of them. */
function answerPart(root, answer, isOpen) {
  const kind = { 2: 'good', 3: 'quiet', 4: 'warn', 5: 'bad' }[answer.status[0]] ?? 'quiet';
  const head = [make('strong', { class: kind }, answer.status), ' ', make('span', null, line(answer.description))];
  if (answer.contents.length === 0 && answer.headers.length === 0) return make('div', { class: 'answer leaf' }, head);
  const details = make('details', { class: 'answer' }, make('summary', null, head));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(...answerContent(root, answer));
  });
  details.open = isOpen;
  return details;
}

function answerContent(root, answer) {
  const headers = answer.headers.map((it) => [make('code', null, it.name), line(it.description ?? '')]);
  return [
    headers.length > 0 ? table(`Headers of the answer ${answer.status}`, ['Header', 'Meaning'], headers) : null,
    ...answer.contents.flatMap((content) => [...contentPart(root, content), ...answerExamples(answer, content)]),
  ].filter((it) => it !== null);
}

function answerExamples(answer, content) {
  return content.examples.flatMap((example) => {
    const label = `Example of the answer ${answer.status}`;
    const title = content.examples.length > 1 ? make('p', { class: 'small' }, example.summary) : null;
    const text = typeof example.value === 'string' ? example.value : JSON.stringify(example.value, null, 2);
    return [title, codeBlock(text, label, typeof example.value === 'string' ? 'text' : 'json')];
  });
}
