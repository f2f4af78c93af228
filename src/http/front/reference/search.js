// The search over operations and chapters: path, method, summary, permissions and names of members.

import { TABLES, headings } from './model.js';
import { memberNames } from './schema.js';

const RESULTS_MAX = 40;

/** What the search looks through. It is made once, since the schemas of all operations are walked. */
export function makeIndex(model) {
  const found = [];
  for (const chapter of model.chapters) {
    const texts = headings(chapter).map((it) => it.text);
    // Chapters of a table are found with the table below.
    if (!TABLES.includes(chapter.slug)) {
      found.push(entry({ kind: 'chapter', chapter, title: chapter.name, hash: chapter.hash }, [[12, [chapter.name]], [5, texts]]));
    }
    for (const operation of chapter.operations) found.push(operationEntry(model, operation));
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
