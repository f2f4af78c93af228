// The OpenAPI document as the page shows it: chapters with their operations, references resolved.

import { parse, plainText, slug } from './markdown.js';
import { resolve, target } from './schema.js';

/** Chapters that are shown together with a table of the document, at the address of the table. */
export const TABLES = ['errors', 'rate-limits'];

/** Names of files whose chapters have other words in their names. Chapters link to files. */
const FILES = { promises: 'what-you-can-rely-on', threeds: '3-d-secure' };

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'];

/** Everything that the page shows of a document. */
export function readDocument(root) {
  const rows = new Map((root['x-rate-limit-rows'] ?? []).map((row) => [row.id, row]));
  const operations = [];
  for (const [path, item] of Object.entries(root.paths ?? {})) {
    for (const method of METHODS) {
      if (!item[method]) continue;
      const operation = readOperation(root, rows, path, item, method);
      if (!isPageFile(operation)) operations.push(operation);
    }
  }
  return {
    root,
    title: root.info?.title ?? 'Strongroom',
    version: root.info?.version ?? '',
    description: root.info?.description ?? '',
    chapters: readChapters(root, operations),
    operations: new Map(operations.map((it) => [it.id, it])),
    errors: root['x-errors'] ?? [],
    rows: [...rows.values()],
    absent: root['x-absent-features'] ?? [],
  };
}

/** True for the scripts, styles and pages of the server's own front: no program calls them. */
const isPageFile = (operation) => operation.pageGroup !== null && operation.permissions === null
  && operation.answers.some((it) => it.contents.some(({ type }) => /^(text\/|\*\/\*)/.test(type)));

/** The tags in the order of the document; an operation without a known tag goes into the last one. */
function readChapters(root, operations) {
  const chapters = (root.tags ?? []).map((tag) => newChapter(tag.name, tag.description ?? '', tag['x-group']));
  for (const operation of operations) {
    let chapter = chapters.find((it) => it.name === operation.tag);
    if (!chapter) {
      chapter = newChapter(operation.tag, '');
      chapters.push(chapter);
    }
    operation.chapter = chapter;
    chapter.operations.push(operation);
  }
  const isOld = (it) => Number(it.isDeprecated) + 2 * Number(it.isUnusable);
  for (const chapter of chapters) chapter.operations.sort((a, b) => isOld(a) - isOld(b));
  return chapters;
}

function newChapter(name, description, group = 'API') {
  const own = slug(name);
  const hash = TABLES.includes(own) ? `#${own}` : `#chapter/${own}`;
  return { name, group, slug: own, hash, description, blocks: parse(description), operations: [] };
}

/** The chapter of a slug, or of the name of a file, which may leave words out. */
export function findChapter(model, name) {
  const letters = (text) => text.replaceAll('-', '');
  const has = (chapter) => name.split('-').every((word) => chapter.slug.split('-').includes(word));
  return model.chapters.find((it) => letters(it.slug) === letters(FILES[name] ?? name)) ?? model.chapters.find(has);
}

function readOperation(root, rows, path, item, method) {
  const own = item[method];
  return {
    id: own.operationId ?? `${method}-${path}`,
    method: method.toUpperCase(),
    path,
    tag: own.tags?.[0] ?? 'Other',
    summary: own.summary ?? own.operationId ?? '',
    description: own.description ?? '',
    isDeprecated: own.deprecated === true,
    // `null`: the operation needs no key. An empty list: any key will do.
    permissions: own['x-permissions'] ?? null,
    // The kind of key that the examples have: `private`, `public` or `management`.
    key: own['x-key'] ?? null,
    isIdempotent: own['x-idempotent'],
    limits: (own['x-rate-limits'] ?? []).map((id) => rows.get(id) ?? { id, title: id }),
    pageGroup: own['x-page-group'] ?? null,
    parameters: readParameters(root, item, own),
    body: readBody(root, own.requestBody),
    answers: Object.entries(own.responses ?? {}).map(([status, answer]) => readAnswer(root, status, answer)),
    // No request succeeds.
    isUnusable: Object.keys(own.responses ?? {}).every((it) => /^[45]/.test(it)) && Object.keys(own.responses ?? {}).length > 0,
  };
}

function readParameters(root, item, own) {
  const found = new Map();
  for (const listed of [...(item.parameters ?? []), ...(own.parameters ?? [])]) {
    const parameter = followed(root, listed);
    found.set(`${parameter.in} ${parameter.name}`, {
      name: parameter.name,
      place: parameter.in,
      isRequired: parameter.required === true,
      description: parameter.description ?? '',
      schema: parameter.schema ?? {},
      example: exampleOf(root, parameter),
    });
  }
  return [...found.values()];
}

const followed = (root, value) => (value?.$ref ? target(root, value.$ref) : value ?? {});

/** The value that the document gives as an example, or `undefined`. */
function exampleOf(root, holder) {
  if (holder.example !== undefined) return holder.example;
  const named = Object.values(holder.examples ?? {})[0];
  if (named !== undefined) return followed(root, named).value;
  const { schema } = resolve(root, holder.schema);
  return schema.example ?? schema.examples?.[0] ?? schema.default ?? schema.enum?.[0];
}

function readBody(root, listed) {
  if (!listed) return null;
  const body = followed(root, listed);
  return {
    isRequired: body.required === true,
    description: body.description ?? '',
    contents: readContents(root, body.content),
  };
}

function readAnswer(root, status, listed) {
  const answer = followed(root, listed);
  return {
    status,
    description: answer.description ?? '',
    headers: Object.entries(answer.headers ?? {}).map(([name, header]) => ({ name, ...followed(root, header) })),
    contents: merged(readContents(root, answer.content)),
  };
}

/** Media types of the same schema as one: a problem has two. */
function merged(contents) {
  const found = new Map();
  for (const content of contents) {
    const text = JSON.stringify([content.schema, content.examples]);
    const known = found.get(text);
    if (known) known.type += ` or ${content.type}`;
    else found.set(text, content);
  }
  return [...found.values()];
}

function readContents(root, content) {
  return Object.entries(content ?? {}).map(([type, held]) => {
    const named = Object.entries(held.examples ?? {}).map(([name, listed]) => {
      const example = followed(root, listed);
      return { name, summary: example.summary ?? name, value: example.value };
    });
    const { schema } = resolve(root, held.schema);
    const single = held.example ?? schema.example ?? schema.examples?.[0];
    const examples = named.length === 0 && single !== undefined ? [{ name: 'example', summary: 'Example', value: single }] : named;
    return { type, schema: held.schema ?? {}, examples };
  });
}

/** The headings of a chapter with their anchors, and the text below each. */
export function headings(chapter) {
  const found = [];
  for (const block of chapter.blocks) {
    if (block.kind !== 'heading') {
      if (found.length > 0) found.at(-1).below += `${blockText(block)} `;
      continue;
    }
    const text = plainText(block.inline);
    found.push({ level: block.level, text, anchor: slug(text), below: '' });
  }
  return found;
}

function blockText(block) {
  if (block.kind === 'list') return block.items.flat().map(blockText).join(' ');
  if (block.kind === 'table') return [block.head, ...block.rows].map((row) => row.map(plainText).join(' | ')).join(' / ');
  return block.text ?? plainText(block.inline);
}

/** The view that the hash of an address names. */
export function route(model, hash) {
  const [name, ...rest] = hash.replace(/^#/, '').split('/');
  const value = decoded(rest.join('/'));
  if (['', 'start', 'trust'].includes(name)) return { view: name || 'start' };
  if (!model) return { view: 'waiting' };
  if (TABLES.includes(name)) return { view: name };
  if (name === 'operation' && model.operations.has(value)) return { view: 'operation', operation: model.operations.get(value) };
  const [file, anchor = null] = value.split('/');
  const chapter = name === 'chapter' ? findChapter(model, file) : undefined;
  if (chapter) return chapterRoute(chapter, anchor);
  const holder = model.chapters.find((it) => headings(it).some(({ anchor }) => anchor === name));
  return holder ? chapterRoute(holder, name) : { view: 'unknown' };
}

const chapterRoute = (chapter, anchor) =>
  ({ view: TABLES.includes(chapter.slug) ? chapter.slug : 'chapter', chapter, anchor });

/** An address that somebody mistyped must not stop the page. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
