// The borders between the shop's page and the frames: everything that comes from the page or goes to
// it passes one of these functions, which copy the known members of known types and nothing else.

export const FIELD_NAMES = ['number', 'expiry', 'cvc', 'card'];

const STATES = ['base', 'focus', 'invalid', 'complete', 'placeholder'];
const PROPERTIES = [
  'background-color', 'caret-color', 'color', 'font-family', 'font-size', 'font-style', 'font-variant', 'font-weight',
  'letter-spacing', 'line-height', 'opacity', 'padding', 'padding-bottom', 'padding-left', 'padding-right',
  'padding-top', 'text-align', 'text-decoration', 'text-indent', 'text-shadow', 'text-transform',
  'word-spacing',
];
const VALUE_CHARS_MAX = 120;
// Words, numbers, lists, quoted font names, and the functions that name a colour. Nothing that loads,
// refers or escapes.
const VALUE = /^(?:[A-Za-z0-9 #.,%'"+-]|(?:rgb|rgba|hsl|hsla)\([0-9 .,%/]*\))+$/;

export const isPlain = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const members = (value) => (isPlain(value) ? Object.entries(value) : []);
const dashed = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The declarations of a shop's style that are allowed, as `[state, property, value]`. */
export const cleanStyle = (style, states = STATES) => {
  const found = [];
  for (const [state, declarations] of members(style)) {
    if (!states.includes(state)) continue;
    for (const [name, raw] of members(declarations)) {
      const property = dashed(name);
      const value = typeof raw === 'number' ? String(raw) : raw;
      const isAllowed = PROPERTIES.includes(property) && typeof value === 'string'
        && value.length <= VALUE_CHARS_MAX && VALUE.test(value);
      if (isAllowed) found.push([state, property, value]);
    }
  }
  return found;
};

/** A mistake of the shop's program. */
export class BadOption extends Error {}

const METADATA_MAX = 50;
const CONTAINERS_MAX = 10;
const TEXT_CHARS_MAX = 16384;

const isText = (value) => typeof value === 'string' && value.length <= TEXT_CHARS_MAX;

/** True for `/pci/` and every container inside it. The vault reads containers in lower case. */
export const isForCards = (container) => container.toLowerCase().startsWith('/pci/');

/** Marks a request whose values of a card must stay below `/pci/`. The vault refuses others. */
export const CARD_ELEMENTS = 'Strongroom-Card-Elements';

export const cleaners = {
  metadata: (value) => {
    const entries = members(value);
    const fits = isPlain(value) && entries.length <= METADATA_MAX && entries.every(([, text]) => isText(text));
    return fits ? Object.fromEntries(entries) : undefined;
  },
  containers: (value) => {
    const fits = Array.isArray(value) && value.length <= CONTAINERS_MAX && value.every(isText);
    return fits ? [...value] : undefined;
  },
  expires_at: (value) => (isText(value) ? value : undefined),
  deduplicate_token: (value) => (typeof value === 'boolean' ? value : undefined),
};

/**
 * The options of a request. The vault evaluates `id`, `mask`, `fingerprint_expression` and
 * `search_indexes` as expressions over the card, so a page that could set them would read the number
 * from the answer. An option that is not known is refused, so that no new one slips through.
 */
export const cleanOptions = (kind, options) => {
  if (options === undefined || options === null) return {};
  if (!isPlain(options)) throw new BadOption('The options are an object.');
  const cleaned = {};
  for (const [name, value] of Object.entries(options)) {
    const clean = kind === 'token' && Object.hasOwn(cleaners, name) ? cleaners[name] : null;
    if (!clean) throw new BadOption('There is an option that hosted fields do not take.');
    const copy = clean(value);
    if (copy === undefined) throw new BadOption(`The option ${name} has a wrong type or size.`);
    cleaned[name] = copy;
  }
  if (cleaned.containers?.every(isForCards) === false) {
    throw new BadOption('A card that a person types stays below /pci/: choose containers that are /pci/ or inside it.');
  }
  return cleaned;
};

export const pick = (from, names) => {
  const picked = {};
  for (const name of names) {
    const value = isPlain(from) ? from[name] : undefined;
    if (['string', 'number', 'boolean'].includes(typeof value) || value === null) picked[name] = value;
  }
  return picked;
};

/**
 * The part of the vault's answer that the page gets. It leaves out the fingerprint and the first
 * digits: with those, a page could find the whole number by trying the thousand numbers that remain.
 */
export const cleanAnswer = (kind, answer) => {
  const cleaned = pick(answer, ['id', 'type', 'tenant_id', 'created_at', 'expires_at']);
  cleaned.card = pick(answer?.card, ['brand', 'last4', 'expiration_month', 'expiration_year', 'funding']);
  const additional = Array.isArray(answer?.card?.additional) ? answer.card.additional : [];
  if (additional.length > 0) cleaned.card.additional = additional.map((it) => pick(it, ['brand', 'funding']));
  if (kind === 'token') {
    if (Array.isArray(answer?.containers)) cleaned.containers = answer.containers.filter(isText);
    if (isPlain(answer?.metadata)) cleaned.metadata = pick(answer.metadata, Object.keys(answer.metadata));
  }
  return cleaned;
};

const PARTS = {
  'data.number': 'number',
  'data.expiration_month': 'expiry',
  'data.expiration_year': 'expiry',
  'data.cvc': 'cvc',
};

/** The inputs that a refusal of the vault is about. */
export const partsOfProblem = (problem) => {
  const paths = Object.keys(isPlain(problem?.errors) ? problem.errors : {});
  const parts = paths.map((path) => PARTS[path]).filter((part) => part !== undefined);
  return [...new Set(parts)];
};

/** A refusal of the vault in the form that the page gets. */
export const cleanProblem = (status, problem, trace) => {
  const text = (value, fallback) => (typeof value === 'string' ? value.slice(0, 300) : fallback);
  const codes = { 401: 'key_invalid', 403: 'not_permitted', 429: 'too_many_requests' };
  const code = codes[status] ?? (status >= 500 ? 'unreachable' : 'refused');
  return {
    code,
    status,
    title: text(problem?.title, 'The vault refused the card.'),
    detail: text(problem?.detail, ''),
    trace_id: text(problem?.trace_id ?? trace, ''),
    fields: partsOfProblem(problem),
  };
};
