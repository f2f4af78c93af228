// A schema as a list of members that open. Deeper members are made when a person opens them, so a
// schema that contains itself costs nothing.

import { make } from './dom.js';
import { line } from './prose.js';
import { choices, entries, limitTexts, members, resolve, typeText, variants } from './schema.js';

/**
 * The tree of a schema, or `null` for one that has neither members nor entries. Only in a request are other members
 * refused: `closedText` says so, and is absent for answers.
 */
export function schemaTree(root, schema, { closedText = null, above = [] } = {}) {
  const { schema: own, name } = resolve(root, schema);
  const path = name ? [...above, name] : above;
  const rows = members(root, schema).map((it) => memberRow(root, it.name, it.schema, it.isRequired, path));
  const inner = entries(root, schema);
  if (inner) rows.push(memberRow(root, inner.label, inner.schema, null, path));
  for (const [at, variant] of variants(root, schema).entries()) {
    const label = resolve(root, variant).schema.title ?? `form ${at + 1}`;
    rows.push(memberRow(root, label, variant, null, path));
  }
  if (rows.length === 0) return null;
  const isClosed = closedText !== null && own.additionalProperties === false;
  return make('div', { class: 'schema' },
    choiceLine(choices(root, schema)),
    make('ul', null, rows),
    isClosed ? make('p', { class: 'quiet small' }, closedText) : null);
}

/** Members of which one set is required. */
function choiceLine(sets) {
  if (sets.length === 0) return null;
  const set = (names) => names.flatMap((it, at) => [at === 0 ? '' : ' and ', make('code', null, it)]);
  return make('p', { class: 'about' }, 'Required: ', sets.map((names, at) => [at === 0 ? '' : ', or ', set(names)]), '.');
}

function memberRow(root, label, schema, isRequired, above) {
  const { schema: own, name } = resolve(root, schema);
  const isMember = isRequired !== null;
  const marks = [
    isRequired ? make('span', { class: 'mark required' }, 'required') : null,
    own.deprecated ? make('span', { class: 'mark' }, 'deprecated') : null,
    own.readOnly ? make('span', { class: 'mark' }, 'answers only') : null,
  ];
  const head = [
    isMember ? make('code', { class: 'name' }, label) : make('span', { class: 'name' }, label),
    ' ', make('span', { class: 'type' }, typeText(root, schema)), ...marks,
  ];
  const isCircle = name !== null && above.includes(name);
  const details = isCircle ? null : openable(root, schema, head, above);
  return make('li', null, details ?? make('div', { class: 'leaf' }, head), about(described(root, schema)),
    isCircle ? make('p', { class: 'quiet small' }, `The same members as ${name} above.`) : null);
}

/** The schema with the words and limits of its only form: a member that may be `null` has one. */
function described(root, schema) {
  const { schema: own } = resolve(root, schema);
  const [only, ...further] = variants(root, schema);
  return only && further.length === 0 ? { ...resolve(root, only).schema, ...own } : own;
}

function openable(root, schema, head, above) {
  const isDeep = hasInside(root, schema);
  if (!isDeep) return null;
  const details = make('details', null, make('summary', null, head));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(schemaTree(root, schema, { above }) ?? '');
  });
  return details;
}

function hasInside(root, schema) {
  const inner = entries(root, schema);
  if (members(root, schema).length > 0 || variants(root, schema).length > 1) return true;
  if (inner) return isCompound(root, inner.schema);
  return variants(root, schema).some((it) => isCompound(root, it));
}

const isCompound = (root, schema) =>
  members(root, schema).length > 0 || entries(root, schema) !== null || variants(root, schema).length > 1
  || (resolve(root, schema).schema.description ?? '') !== '';

function about(own) {
  const values = own.enum?.map((it) => [make('code', null, typeof it === 'string' ? it : JSON.stringify(it)), ' ']);
  const limits = limitTexts(own);
  const parts = [
    own.description ? make('div', { class: 'about' }, line(own.description)) : null,
    values ? make('div', { class: 'about' }, 'One of: ', values) : null,
    limits.length > 0 ? make('div', { class: 'about quiet' }, `${limits.join('; ')}.`) : null,
  ];
  return parts;
}
