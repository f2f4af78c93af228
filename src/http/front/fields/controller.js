// The hidden frame of a group of fields, for pages with card fields and for pages with Elements. It alone has the key. It asks the vault if the page's origin
// is allowed, collects the values of the fields and sends the card to the vault.
//
// Two kinds of windows may speak to it: the page around it, whose origin the browser states with each
// message, and the fields, which are frames of the vault's origin beside it.

import { BadOption, CARD_ELEMENTS, FIELD_NAMES, cleanAnswer, cleanOptions, cleanProblem, cleanStyle } from './rules.js';
import { elementsOf } from './elements.js';
import { languageOf, textsOf } from './texts.js';

const own = location.origin;
const SEND_MS_MAX = 30_000;
const FIELDS_MS_MAX = 5_000;
const RETRY_MS = [1_000, 2_000, 4_000, 8_000, 16_000];

/** The page, after its first message: its origin, its key and the look of its fields. */
let page = null;
/** The vault's verdict on the page: `unknown`, `admitted` or `refused`. */
let verdict = 'unknown';
let refusal = null;
const fields = new Map();
const answersOfFields = new Map();
let asks = 0;
/** Numbers that were sent. They leave this frame with the fields. */
const sentNumbers = [];
const NUMBERS_MAX = 10;
/** Orders of the page to clear the fields, since the last success. */
let clears = 0;
const CLEARS_MAX = 5;
/** The last request: a digest of its content, its idempotency key and its answer. */
let last = { digest: '', key: '', answer: null };

const toPage = (kind, content = {}) => window.parent.postMessage({ strongroom: kind, ...content }, page.origin);
const toField = (target, kind, content = {}) => target.postMessage({ strongroom: kind, ...content }, own);

/** A failure with the members that the page gets. */
class Shown extends Error {
  constructor(members) {
    super(members.title);
    this.members = members;
  }
}

const failure = (code, title, members = {}) => new Shown({ code, title, detail: '', fields: [], ...members });

/**
 * `key` is the page's, unless a request of Elements names another one that the vault has admitted. It is
 * null for a request to another host, which gets no key.
 */
const request = async (path, options = {}, key = page.key) => {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), SEND_MS_MAX);
  const headers = { ...options.headers, ...(key === null ? {} : { 'BT-API-KEY': key }) };
  const fixed = { cache: 'no-store', credentials: 'omit', redirect: 'error', signal: stop.signal };
  try {
    const response = await fetch(path, { ...options, ...fixed, headers });
    const body = await response.json().catch(() => null);
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, body, isJson, trace: response.headers.get('bt-trace-id') };
  } catch {
    const who = key === null ? 'The host cannot be reached, or does not allow requests of the vault\'s origin.' : 'The vault cannot be reached.';
    throw failure('unreachable', `${who} The card is still in the fields: try again.`);
  } finally {
    clearTimeout(timer);
  }
};

/** Asks the vault if pages of this origin may show fields, and to which other hosts they may send values. */
const askForAccess = async (key = page.key) => {
  const { status, body, trace } = await request(`access?origin=${encodeURIComponent(page.origin)}`, {}, key);
  if (status === 200 && body?.allowed === true && typeof body.tenant_id === 'string') {
    // With the key of another tenant, a page would send the values to that tenant.
    page.tenant ??= body.tenant_id;
    if (page.tenant !== body.tenant_id) throw failure('refused', 'The key is not one of the tenant of this page.');
    // Requests to the vault itself have rules of their own.
    return (body.elements_hosts ?? []).filter((origin) => origin !== own);
  }
  const problem = cleanProblem(status, body, trace);
  if (status === 403 && problem.detail.includes('origin')) problem.code = 'origin_not_allowed';
  throw new Shown(problem);
};

const admitField = (target, id) => {
  const { texts, language, style, table } = page;
  toField(target, 'admit', { texts, language, style, table, ...elements.looksOf(id) });
};

/** One attempt. A refusal is final; a vault that cannot be reached is asked again. */
const decide = async () => {
  try {
    page.hosts = await askForAccess();
    page.table = await fetch('brands.json', { credentials: 'omit' }).then((response) => response.json());
    verdict = 'admitted';
    fields.forEach(admitField);
    toPage('admitted');
  } catch (error) {
    const members = error instanceof Shown ? error.members : failure('unreachable', 'The vault failed.').members;
    toPage('error', { error: members });
    if (members.code === 'unreachable' || members.code === 'too_many_requests') throw error;
    verdict = 'refused';
    refusal = members;
    fields.forEach((target) => toField(target, 'refuse', { text: page.texts.not_allowed }));
  }
};

const start = async ({ key, locale, texts, placeholders, style, surface }, origin) => {
  if (page !== null || typeof key !== 'string') return;
  const named = Object.entries(placeholders ?? {}).map(([name, text]) => [`placeholder_${name}`, text]);
  const all = textsOf(locale, { ...texts, ...Object.fromEntries(named) });
  page = { origin, key, texts: all, language: languageOf(locale), style: cleanStyle(style), table: null, hosts: [], isElements: surface === 'elements' };
  const { label_number: number, label_expiry: expiry, label_cvc: cvc } = all;
  toPage('titles', { titles: { number, expiry, cvc, card: [number, expiry, cvc].join(', ') } });
  for (const wait of [...RETRY_MS, null]) {
    try {
      await decide();
      return;
    } catch {
      if (wait === null || verdict !== 'unknown') return;
      await new Promise((done) => setTimeout(done, wait));
      if (verdict !== 'unknown') return;
    }
  }
};

/** Asks one field for its values. */
const valuesOf = (target) => new Promise((resolve, reject) => {
  asks += 1;
  const ask = asks;
  const gone = () => {
    answersOfFields.delete(ask);
    reject(failure('fields_missing', 'A card field is no longer on the page.'));
  };
  const timer = setTimeout(gone, FIELDS_MS_MAX);
  answersOfFields.set(ask, { target, resolve: (answer) => { clearTimeout(timer); resolve(answer); } });
  toField(target, 'collect', { ask });
});

/** `order` is that in which the page mounted its fields; they join as their frames are ready. */
const collect = async (order) => {
  const names = Array.isArray(order) ? order : [];
  const entries = [...fields].sort(([one], [other]) => names.indexOf(one) - names.indexOf(other));
  const values = (await Promise.all(entries.map(([, target]) => valuesOf(target)))).map((answer) => answer.values);
  const missing = entries.filter((_, at) => values[at] === null).map(([name]) => name);
  if (missing.length > 0) {
    toField(fields.get(missing[0]), 'focus');
    throw failure('incomplete', 'The card is not complete.', { fields: missing });
  }
  const card = Object.assign({}, ...values);
  if (card.number === undefined) throw failure('fields_missing', 'The page has no field for the card number.');
  return card;
};

/**
 * Refuses a number that begins with one that was sent, or is the beginning of one. A page could send a
 * card while it is typed, and read the last four digits of each beginning that is valid by chance.
 */
const refuseBeginnings = (number) => {
  if (sentNumbers.includes(number)) return;
  const isRelated = sentNumbers.some((sent) => sent.startsWith(number) || number.startsWith(sent));
  if (isRelated || sentNumbers.length >= NUMBERS_MAX) {
    throw failure('too_many_numbers', 'These fields took other numbers before. Load the page again.');
  }
  sentNumbers.push(number);
};

const digestOf = async (text) => {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
};

const PATHS = { token: '../../tokens', intent: '../../token-intents' };

const post = async (kind, body, key) => {
  const headers = { 'Content-Type': 'application/json', 'BT-IDEMPOTENCY-KEY': key, [CARD_ELEMENTS]: 'true' };
  const answer = await request(PATHS[kind], { method: 'POST', headers, body });
  if (answer.status === 200 || answer.status === 201) return cleanAnswer(kind, answer.body);
  const problem = cleanProblem(answer.status, answer.body, answer.trace);
  fields.forEach((target) => toField(target, 'mark', { parts: problem.fields }));
  throw new Shown(problem);
};

/** Two requests with the same content are one, also if the first has not been answered. */
const create = async (kind, options, order) => {
  if (verdict === 'unknown') await decide();
  if (verdict !== 'admitted') throw new Shown(refusal);
  const cleaned = cleanOptions(kind, options);
  const card = await collect(order);
  refuseBeginnings(card.number);
  const body = JSON.stringify({ ...cleaned, type: 'card', data: card });
  const digest = await digestOf(`${kind} ${body}`);
  if (last.digest !== digest) last = { digest, key: crypto.randomUUID(), answer: null };
  const mine = last;
  mine.answer ??= post(kind, body, mine.key);
  try {
    const answer = await mine.answer;
    clears = 0;
    return answer;
  } catch (error) {
    // The next attempt asks again, with the same idempotency key.
    mine.answer = null;
    throw error;
  }
};

const submit = async ({ id, kind, options, order }) => {
  if (!Object.hasOwn(PATHS, kind)) return;
  try {
    toPage('answer', { id, value: await create(kind, options, order) });
  } catch (error) {
    const bad = error instanceof BadOption ? failure('bad_option', error.message) : error;
    const shownError = bad instanceof Shown ? bad : failure('failed', 'The request failed.');
    toPage('answer', { id, error: shownError.members });
  }
};

const elements = elementsOf({
  askForAccess, decide, failure, refuseBeginnings, request, toField, toPage, valuesOf,
  Shown,
  fields,
  page: () => page,
  verdict: () => verdict,
  refusal: () => refusal,
});

const fromPage = {
  start,
  submit: (content) => (page.isElements ? undefined : submit(content)),
  clear: () => {
    clears += 1;
    if (clears > CLEARS_MAX) return;
    last = { digest: '', key: '', answer: null };
    fields.forEach((target) => toField(target, 'clear'));
  },
  ...elements.fromPage,
  focus: ({ field }) => {
    const target = fields.get(field);
    if (target) toField(target, 'focus');
  },
};

const join = (name, source, kind) => {
  const isTaken = fields.has(name) && fields.get(name) !== source;
  const isKnown = page?.isElements ? elements.has(name, kind) : FIELD_NAMES.includes(name) && kind === name;
  if (isTaken || !isKnown) return;
  fields.set(name, source);
  if (verdict === 'admitted') admitField(source, name);
  if (verdict === 'refused') toField(source, 'refuse', { text: page.texts.not_allowed });
};

const stateOf = ({ empty, valid, complete, brand, part, error, message }) =>
  ({ empty, valid, complete, brand, part, error, message });

const fromField = {
  shown: (field) => {
    elements.joined(field);
    toPage('shown', { field });
  },
  state: (field, { state }) => {
    if (page.isElements) elements.told(field, state);
    else if (field === 'number' && fields.has('cvc')) toField(fields.get('cvc'), 'brand', { brand: state.brand });
    toPage('change', { field, state: { ...stateOf(state), ...elements.stateOf(state) } });
  },
  focus: (field) => toPage('focus', { field }),
  blur: (field) => toPage('blur', { field }),
  height: (field, { height }) => toPage('height', { field, height }),
  ...elements.fromField,
  values: (field, { ask, values, failed, isRevealed }, source) => {
    const waiting = answersOfFields.get(ask);
    if (waiting?.target !== source) return;
    answersOfFields.delete(ask);
    waiting.resolve({ values, failed, isRevealed });
  },
};

const isSibling = (source) => source !== null && source !== window && source.parent === window.parent;

window.addEventListener('message', (event) => {
  const { data, origin, source } = event;
  const kind = data?.strongroom;
  if (typeof kind !== 'string' || window.parent === window) return;
  if (source === window.parent) {
    const isSame = page === null ? kind === 'start' : origin === page.origin;
    if (isSame && origin !== 'null' && Object.hasOwn(fromPage, kind)) fromPage[kind](data, origin);
  } else if (origin === own && isSibling(source)) {
    const isKnown = fields.get(data.field) === source && Object.hasOwn(fromField, kind);
    if (kind === 'join') join(data.field, source, data.kind);
    else if (isKnown) fromField[kind](data.field, data, source);
  }
});
