// The search over operations (path, method, summary, permissions, members), the sections of chapters and pages
// with their text, and features that this server does not have.

import { TABLES, headings } from './model.js';
import { memberNames } from './schema.js';

const RESULTS_MAX = 40;
const EXCERPT_CHARACTERS = 160;
/** The chapter with the table of all features. */
const ABSENT = '#chapter/coming-from-basis-theory/features';

/** What the search looks through. It is made once, since the schemas of all operations are walked. */
export function makeIndex(model) {
  const found = [];
  for (const chapter of model.chapters) {
    found.push(...sectionEntries(chapter));
    for (const operation of chapter.operations) found.push(operationEntry(model, operation));
  }
  for (const { name, words, instead } of model.absent) {
    found.push(entry({ kind: 'absent', title: name, text: instead, hash: ABSENT }, [[14, [name]], [6, words.split(' ')]]));
  }
  if (model.errors.length > 0) {
    const statuses = model.errors.map((it) => `${it.status} ${it.title}`);
    found.push(entry({ kind: 'table', title: 'Errors', hash: '#errors' }, [[12, ['errors status problem']], [8, statuses]]));
  }
  if (model.rows.length > 0) {
    const titles = model.rows.map((it) => it.title ?? it.id);
    found.push(entry({ kind: 'table', title: 'Rate limits', hash: '#rate-limits' }, [[12, ['rate limits 429']], [4, titles]]));
  }
  return found;
}

/** The sections of a page: `name` is its title in the navigation, and `address` gives the address of a section. */
export function pageEntries(name, sections, address) {
  return sections.map((it, at) => entry(
    { kind: 'section', title: at === 0 ? name : it.title, chapter: name, text: it.text, hash: address(it) },
    [[at === 0 ? 12 : 7, [at === 0 ? name : it.title]], [at === 0 ? 7 : 1, [it.title]], [1, [it.text]]],
  ));
}

/** The chapter itself with the text below its title, and each of its sections. */
function sectionEntries(chapter) {
  const all = headings(chapter);
  const rest = all.filter((it) => it.level > 1);
  const whole = { kind: 'chapter', title: chapter.name, text: all.find((it) => it.level === 1)?.below ?? '', hash: chapter.hash };
  // The chapter of a table is found with the table.
  const own = TABLES.includes(chapter.slug) ? [] : [entry(whole, [[12, [chapter.name]], [1, [whole.text]]])];
  return [...own, ...rest.map(({ text, anchor, below }) => entry(
    { kind: 'section', title: text, chapter: chapter.name, text: below, hash: `#chapter/${chapter.slug}/${anchor}` },
    [[7, [text]], [3, [chapter.name]], [1, [below]]],
  ))];
}

/** The part of a text around the first word of the query that it has: before, the word, after. */
export function excerpt(text, query) {
  const lower = text.toLowerCase();
  const word = query.toLowerCase().split(/\s+/).find((it) => it !== '' && lower.includes(it));
  if (word === undefined) return [text.slice(0, EXCERPT_CHARACTERS), '', ''];
  const at = lower.indexOf(word);
  const start = Math.max(0, text.lastIndexOf(' ', at - 40));
  const end = start + EXCERPT_CHARACTERS;
  const [before, after] = [text.slice(start, at), text.slice(at + word.length, end)];
  return [(start > 0 ? '...' : '') + before, text.slice(at, at + word.length), after + (end < text.length ? '...' : '')];
}

function operationEntry(model, operation) {
  const names = new Set(operation.parameters.map((it) => it.name));
  const contents = [operation.body, ...operation.answers].flatMap((it) => it?.contents ?? []);
  for (const content of contents) memberNames(model.root, content.schema, names);
  const hash = `#operation/${operation.id}`;
  return entry({ kind: 'operation', operation, title: operation.summary, hash }, [
    [10, [`${operation.method} ${operation.path}`, operation.id]],
    [9, [operation.summary]],
    [6, operation.permissions ?? []],
    [3, [operation.tag]],
    [2, [...names]],
  ]);
}

const entry = (result, weighted) => ({
  ...result,
  fields: weighted.map(([weight, texts]) => ({ weight, texts: texts.map((it) => it.toLowerCase()) })),
});

/** The entries that have every word of the query, the best first, and the member that matched. */
export function search(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter((it) => it !== '');
  if (words.length === 0) return [];
  const scored = [];
  for (const [place, candidate] of index.entries()) {
    const scores = words.map((word) => wordScore(candidate, word));
    if (scores.every((it) => it.score > 0)) {
      const score = scores.reduce((sum, it) => sum + it.score, 0);
      scored.push({ ...candidate, score, place, matched: scores.find((it) => it.isMember)?.text ?? null });
    }
  }
  // Equal scores keep the order of the document.
  scored.sort((a, b) => b.score - a.score || a.place - b.place);
  return scored.slice(0, RESULTS_MAX);
}

function wordScore(candidate, word) {
  let best = { score: 0, isMember: false, text: null };
  for (const { weight, texts } of candidate.fields) {
    for (const text of texts) {
      const score = weight * closeness(text, word);
      if (score > best.score) best = { score, isMember: weight === 2, text };
    }
  }
  return best;
}

/** 3 for the whole text, 2 for the beginning of a word in it, 1 for any other place. */
function closeness(text, word) {
  if (text === word) return 3;
  const at = text.indexOf(word);
  if (at < 0) return 0;
  return at === 0 || /[^a-z0-9]/.test(text[at - 1]) ? 2 : 1;
}
