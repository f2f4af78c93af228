// The border between a page with Elements and the frames. Every request of the page passes
// `admitRequest`, which decides where elements may stand and what may stand beside them, and every
// answer passes `showAnswer`. Pure functions, tested as tables.

import { CARD_ELEMENTS, cleanStyle, cleaners, isForCards, isPlain, pick } from './rules.js';
import { maskOf, patternOf, transformOf } from './patterns.js';

/** The name of the member that stands for an element in a request of the page. */
export const ELEMENT = 'strongroom:element';

/** The types of elements by their kinds of frames. */
export const KINDS = {
  card: 'card',
  cardNumber: 'number',
  cardExpirationDate: 'expiry',
  cardVerificationCode: 'cvc',
  text: 'text',
  copyButton: 'copy',
};

/** A mistake of the page's program. The message says what to do instead. */
export class BadRequest extends Error {}

const DEPTH_MAX = 20;
const NODES_MAX = 5_000;
const METHODS = ['month', 'year', 'format'];
const ID = /^e[0-9]{1,6}$/;

export const isElement = (value) => isPlain(value) && Object.hasOwn(value, ELEMENT);

const markerOf = (value) => {
  const { [ELEMENT]: id, method, format } = value;
  const isKnown = typeof id === 'string' && ID.test(id) && (method === undefined || METHODS.includes(method));
  if (!isKnown || (method === 'format' && !isDateFormat(format))) {
    throw new BadRequest('An element of the request is not one of this page, or has a format that is not known.');
  }
  return { id, method, format };
};

/** Formats of an expiry date: M, MM, yy and yyyy with separators. */
export const isDateFormat = (format) => typeof format === 'string' && /^(?:MM?(?!M)|(?:yyyy|yy)(?!y)|[ /.-]){1,10}$/.test(format);

export const formatDate = (format, { month, year }) => format.replace(/MM|M|yyyy|yy/g, (part) => ({
  MM: String(month).padStart(2, '0'), M: String(month), yyyy: String(year), yy: String(year).slice(-2),
})[part]);

/** Walks a value with its path; `visit` returns a replacement, or undefined to go on inside. */
const walk = (value, visit, path = [], count = { nodes: 0 }) => {
  count.nodes += 1;
  if (path.length > DEPTH_MAX || count.nodes > NODES_MAX) throw new BadRequest('The request is too deep or too large.');
  const replaced = visit(value, path);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((item, at) => walk(item, visit, [...path, at], count));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, walk(member, visit, [...path, name], count)]));
};

/** The elements of a value, each with the path of its place. */
export const elementsIn = (value) => {
  const found = [];
  walk(value, (it, path) => {
    if (!isElement(it)) return undefined;
    found.push({ ...markerOf(it), path });
    return null;
  });
  return found;
};

/** The value with `valueOf(marker)` in the place of each element. */
export const fillElements = (value, valueOf) => walk(value, (it) => (isElement(it) ? valueOf(markerOf(it)) : undefined));

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name) => (name.startsWith('_') ? name : name.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()));

/** Names inside these members are the shop's own. */
const UNTOUCHED = ['data', 'metadata', 'mask'];

const renamed = (value, rename) => {
  if (Array.isArray(value)) return value.map((item) => renamed(item, rename));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) =>
    [rename(name), UNTOUCHED.includes(name) ? member : renamed(member, rename)]));
};

export const toSnake = (value) => renamed(value, snake);
export const toCamel = (value) => renamed(value, camel);

/** Members that the vault evaluates over the value, or that compare it with other values. */
const INSTEAD = 'Set it with PATCH /tokens/{id} from your server, where no page can read the answer.';

const objectOr = (value, text) => {
  if (!isPlain(value)) throw new BadRequest(text);
  return value;
};

/**
 * A token request that holds elements. The vault computes over the value whatever the request tells it
 * to, so only members that are no expressions may stand beside an element.
 */
const admitToken = (model) => {
  const { type, data, privacy, encryption, ...others } = model;
  const token = {};
  if (type !== undefined) token.type = type;
  if (data !== undefined) token.data = data;
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined || value === null || name === '_debug') continue;
    if (!Object.hasOwn(cleaners, name)) throw new BadRequest(`A request with elements does not take ${name}. ${INSTEAD}`);
    const copy = cleaners[name](value);
    if (copy === undefined) throw new BadRequest(`The member ${name} has a wrong type or size.`);
    token[name] = copy;
  }
  const outside = elementsIn({ ...token, data: null, privacy: privacy ?? null, encryption: encryption ?? null });
  if (outside.length > 0 || isElement(type)) throw new BadRequest('An element may stand in data alone.');
  if (privacy !== undefined) token.privacy = toSnake(privacy);
  return token;
};

const isTokenRequest = (value) => isPlain(value)
  && ((Object.hasOwn(value, 'type') && Object.hasOwn(value, 'data')) || Object.hasOwn(value, 'token_intent_id') || Object.hasOwn(value, 'encrypted'));

const admitTokenize = (value, path = []) => {
  if (path.length > DEPTH_MAX) throw new BadRequest('The request is too deep or too large.');
  if (isElement(value)) return value;
  if (Array.isArray(value)) return value.map((item) => admitTokenize(item, [...path, 0]));
  if (!isPlain(value)) return value;
  const model = toSnake(value);
  if (isTokenRequest(model) && elementsIn(model).length > 0) return admitToken(model);
  if (isTokenRequest(model)) return model;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, admitTokenize(member, [...path, name])]));
};

/** Types whose tokens are below `/pci/` unless the request names another container. */
const CARD_TYPES = ['card', 'card_number', 'network_token'];
/** The only places of elements that hold a verification code, in a token request of the type card. */
const CODE_PLACES = { card: 'data', cvc: 'data.cvc' };

const staysBelowPci = ({ type, containers, privacy }) => {
  if (Array.isArray(containers) && containers.length > 0) return containers.every(isForCards);
  const classification = privacy?.classification ?? null;
  return classification === null ? CARD_TYPES.includes(type) : String(classification).toLowerCase() === 'pci';
};

/**
 * True if a token request holds a value of a card. Such a value stays below `/pci/`: a key that may reveal
 * other containers must not show the page what a person typed. A patch has no type, and may have no
 * container: the vault decides about the token that is there.
 */
const holdsCard = (token, kindOf, isPatch = false) => {
  const cards = elementsIn(token).filter(({ id }) => kindOf(id) !== 'text');
  if (cards.length === 0) return false;
  const isDecidedByVault = isPatch && token.containers === undefined;
  if (!isPatch && typeof token.type !== 'string') throw new BadRequest('A token request has a type and data.');
  if (!isDecidedByVault && !staysBelowPci(token)) {
    throw new BadRequest('The value of a card element stays below /pci/: use a type for cards, or name containers that are /pci/ or inside it.');
  }
  for (const { id, path } of cards) {
    const place = CODE_PLACES[kindOf(id)];
    if (place !== undefined && (path.join('.') !== place || (!isPatch && token.type !== 'card'))) {
      throw new BadRequest('A verification code goes to data.cvc of a card, and a card element is the whole data of a card.');
    }
  }
  return true;
};

/** The token requests of a tokenize body that hold values of a card, by the names that the vault has for their places. */
const cardPlacesIn = (value, kindOf, place = '$') => {
  if (isElement(value)) {
    if (kindOf(value[ELEMENT]) === 'text') return [];
    throw new BadRequest("In tokenize, a card element stands in the data of a token request, such as { type: 'card_number', data: element }.");
  }
  if (Array.isArray(value)) return value.flatMap((item, at) => cardPlacesIn(item, kindOf, `${place}[${at}]`));
  if (!isPlain(value)) return [];
  if (isTokenRequest(value)) return holdsCard(value, kindOf) ? [place] : [];
  return Object.entries(value).flatMap(([name, member]) => cardPlacesIn(member, kindOf, `${place}.${name}`));
};

/** The header by which the vault holds the same rule: `true`, or the places in a tokenize body. */
const cardHeader = (service, body, kindOf) => {
  if (service === 'tokenize') return cardPlacesIn(body, kindOf).map(encodeURIComponent).join(',');
  const isStored = service === 'tokens.create' || service === 'tokens.update' || service === 'tokenIntents.create';
  return isStored && holdsCard(body, kindOf, service === 'tokens.update') ? 'true' : '';
};

const METHODS_OF_REQUESTS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Headers that name the destination, or ask for the plain answer. */
const OPENING = ['bt-proxy-url', 'bt-expose-raw-proxy-response', 'bt-encrypted'];
const OWN = ['bt-api-key', 'bt-trace-id', 'bt-idempotency-key', CARD_ELEMENTS.toLowerCase(), 'host', 'cookie', 'origin'];

const JSON_TYPE = /^application\/(?:[a-z0-9.-]+\+)?json(?:;.*)?$/i;

const textMembers = (value) => Object.entries(isPlain(value) ? value : {}).filter(([, text]) => typeof text === 'string');

/** The headers of the page's request without those of `left`. */
const headersWithout = (headers, left) => Object.fromEntries(textMembers(headers).filter(([name]) => !left.includes(name.toLowerCase())));

/** Values go where their members are filled in, and into the body alone. */
const refuseOutsideBody = ({ method, ...others }) => {
  if (!METHODS_OF_REQUESTS.includes(method)) throw new BadRequest('There is no such method.');
  if (elementsIn(others).length > 0) throw new BadRequest('An element may stand in the body alone.');
};

/**
 * The path and the query of a call through a proxy, as the browser sends them. A browser reads `%2e%2e` and `..\`
 * like `../`, so the path is judged after it was resolved: the other paths of the vault compute over values.
 */
const belowProxy = (path, query) => {
  const segments = String(path ?? '').split('/').filter((part) => part !== '');
  const url = new URL(['proxy', ...segments].join('/'), 'https://vault.invalid/');
  if (url.host !== 'vault.invalid' || !`${url.pathname}/`.startsWith('/proxy/')) throw new BadRequest('The path of a call through a proxy has no dot segments.');
  for (const [name, text] of textMembers(query)) url.searchParams.append(name, text);
  return url.pathname.slice(1) + url.search;
};

const admitProxy = ({ method, path, query, headers, body }) => {
  refuseOutsideBody({ method, path, query, headers });
  const types = textMembers(headers).filter(([name]) => name.toLowerCase() === 'content-type').map(([, type]) => type);
  // Two spellings of the name would be sent as one value.
  const sent = { ...headersWithout(headers, [...OWN, 'content-type']), ...(types.length > 0 ? { 'Content-Type': types[0] } : {}) };
  const names = Object.keys(sent).map((name) => name.toLowerCase());
  const hasElements = elementsIn(body ?? null).length > 0;
  if (hasElements && names.some((name) => OPENING.includes(name))) {
    throw new BadRequest('A request with elements goes to a pre-configured proxy, by BT-PROXY-KEY: the page does not choose where the values go, nor see the plain answer.');
  }
  if (hasElements && types.some((type) => !JSON_TYPE.test(type))) {
    throw new BadRequest('The body of a request with elements is JSON: the vault would read another type as one text, with the expressions of the page around the values.');
  }
  if (hasElements && Object.values(sent).some((value) => value.includes('{{'))) {
    throw new BadRequest('The headers of a request with elements hold no expressions: an expression could compute over the values of the body. Put the expression into the body, as a member of its own.');
  }
  const isOpen = !hasElements && names.includes('bt-expose-raw-proxy-response');
  return { method, path: belowProxy(path, query), headers: sent, body, answer: isOpen ? 'open' : 'hidden' };
};

const urlOf = (text) => {
  try {
    const url = new URL(text);
    url.hash = '';
    return url.protocol === 'https:' && url.username === '' && url.password === '' ? url : null;
  } catch {
    return null;
  }
};

/**
 * A request to another host. The operator's list decides where values go: the page writes the path, the
 * headers and the rest of the body. The host gets no key of the vault, and the page no value of the answer.
 */
const admitClient = ({ method, url, headers, body }, hosts) => {
  refuseOutsideBody({ method, url, headers });
  const target = typeof url === 'string' ? urlOf(url) : null;
  if (target === null || !hosts.includes(target.origin)) {
    throw new BadRequest('This vault sends values of elements to no host but those of its setting pages.elements_hosts, by HTTPS: create a proxy and call proxy.post with its key, or let the operator list the host.');
  }
  const sent = headersWithout(headers, [...OWN, ...OPENING, 'content-type']);
  const hasBody = method !== 'GET' && method !== 'DELETE';
  return { method, url: target.href, headers: sent, body: hasBody ? body : undefined, answer: 'hidden' };
};

const idOf = (id) => {
  if (typeof id !== 'string' || id === '' || id.length > 400) throw new BadRequest('The id of the token is required.');
  return encodeURIComponent(id);
};

const model = (input) => toSnake(objectOr(input?.model, 'The request is an object.'));
const tokenOf = (input) => {
  const given = model(input);
  return elementsIn(given).length > 0 ? admitToken(given) : given;
};

const SERVICES = {
  'tokens.create': (input) => ({ method: 'POST', path: 'tokens', body: tokenOf(input), answer: 'token' }),
  'tokens.update': (input) => ({
    method: 'PATCH', path: `tokens/${idOf(input.id)}`, body: tokenOf(input), answer: 'token',
    headers: { 'Content-Type': 'application/merge-patch+json' },
  }),
  'tokens.retrieve': (input) => ({ method: 'GET', path: `tokens/${idOf(input.id)}`, answer: 'reveal' }),
  'tokenIntents.create': (input) => {
    const { type, data, ...others } = tokenOf(input);
    const hasElements = elementsIn(data ?? null).length > 0;
    return { method: 'POST', path: 'token-intents', body: hasElements ? { type, data } : { type, data, ...others }, answer: 'token' };
  },
  tokenize: (input) => ({ method: 'POST', path: 'tokenize', body: admitTokenize(input?.model ?? null), answer: 'tokens' }),
  'sessions.create': () => ({ method: 'POST', path: 'sessions', body: {}, answer: 'plain' }),
  proxy: (input) => admitProxy(input),
  client: (input, hosts) => admitClient(input, hosts),
};

const isType = (value) => typeof value === 'string' && /^[a-z_]{1,40}$/.test(value);

/** The token requests of `encrypt`: one, or several by their names. Elements may stand in data. */
export const admitEncryption = (input, kindOf) => {
  const { tokenRequests, publicKeyPem, public_key: oldPem, keyId, key_id: oldId } = objectOr(input?.model, 'The request is an object.');
  const isOne = isTokenRequest(tokenRequests);
  const all = Object.entries(isOne ? { one: tokenRequests } : objectOr(tokenRequests, 'tokenRequests is an object.'));
  const requests = all.map(([name, request]) => {
    if (!isTokenRequest(request) || !isType(request.type)) throw new BadRequest('A token request has a type and data.');
    const { type, data } = request;
    // The message names the type, and the vault lets no public key store a card outside of `/pci/`.
    holdsCard({ type, data }, kindOf);
    return { name, type, data };
  });
  if (requests.length === 0 || requests.length > 20) throw new BadRequest('There are 1 to 20 token requests.');
  return { isOne, requests, pem: publicKeyPem ?? oldPem, keyId: keyId ?? oldId, elements: requests.flatMap(({ data }) => elementsIn(data)) };
};

/**
 * The one decision about a request of the page: its method, path, headers and body, the elements that
 * it holds, and how much of its answer the page sees. `kindOf` has the kinds of elements: all but `text` hold
 * values of a card. `hosts` are the origins of the operator's list; a request to one of them has a `url` in
 * place of a path.
 */
export const admitRequest = (service, input, kindOf, hosts = []) => {
  if (!Object.hasOwn(SERVICES, service)) throw new BadRequest('This vault does not have this call.');
  const admitted = SERVICES[service](isPlain(input) ? input : {}, hosts);
  const elements = elementsIn(admitted.body ?? null);
  const cards = cardHeader(service, admitted.body, kindOf);
  return { ...admitted, headers: { ...admitted.headers, ...(cards === '' ? {} : { [CARD_ELEMENTS]: cards }) }, elements };
};

/**
 * True if the number of the token at `place` is typed into an element for numbers, so that the answer may
 * show its end. A text element may have a transform of the page, which could bring any digits to the end.
 */
export const showsCard = (elements, kindOf, place = []) => !elements.some(({ id, path }) => {
  const isInside = [...place, 'data'].every((name, at) => path[at] === name);
  const rest = path.slice(place.length + 1);
  return isInside && kindOf(id) === 'text' && (rest.length === 0 || rest[0] === 'number');
});

/** The part of a stored token that a page sees whose request held elements. */
const outline = (answer, isCardShown) => {
  const shown = pick(answer, ['id', 'type', 'tenant_id', 'created_at', 'created_by', 'modified_at', 'modified_by', 'expires_at']);
  if (isCardShown && isPlain(answer?.card)) {
    shown.card = pick(answer.card, ['brand', 'last4', 'expiration_month', 'expiration_year', 'funding']);
    const additional = Array.isArray(answer.card.additional) ? answer.card.additional : [];
    if (additional.length > 0) shown.card.additional = additional.map((it) => pick(it, ['brand', 'funding']));
  }
  if (Array.isArray(answer?.containers)) shown.containers = answer.containers.filter((it) => typeof it === 'string');
  if (isPlain(answer?.metadata)) shown.metadata = pick(answer.metadata, Object.keys(answer.metadata));
  return shown;
};

const outlines = (answer, isCardShownAt, place = []) => {
  if (Array.isArray(answer)) return answer.map((item, at) => outlines(item, isCardShownAt, [...place, at]));
  if (!isPlain(answer)) return typeof answer === 'string' ? answer : null;
  if (typeof answer.id === 'string' && typeof answer.tenant_id === 'string') return toCamel(outline(answer, isCardShownAt(place)));
  return Object.fromEntries(Object.entries(answer).map(([name, member]) => [name, outlines(member, isCardShownAt, [...place, name])]));
};

/** A reference in the place of each value. A name that may be a value itself is left out. */
export const referencesOf = (value, refer, path = []) => {
  if (path.length > DEPTH_MAX || value === null || value === undefined) return value ?? null;
  if (Array.isArray(value)) return value.map((item, at) => referencesOf(item, refer, [...path, at]));
  if (!isPlain(value)) return refer(path);
  const members = Object.entries(value).filter(([name]) => !/[0-9][0-9 -]{4,}[0-9]/.test(name));
  return Object.fromEntries(members.map(([name, member]) => [name, referencesOf(member, refer, [...path, name])]));
};

/**
 * The answer as the page sees it. `refer(value)` keeps a value in the controller and gives a function
 * from paths to references.
 */
export const showAnswer = ({ answer: kind, elements }, body, { refer, kindOf }) => {
  const isSecret = elements.length > 0;
  const isCardShownAt = (place) => showsCard(elements, kindOf, place);
  if (kind === 'hidden') return referencesOf(body, refer(body));
  if (kind === 'reveal') return { ...toCamel(body), data: referencesOf(body?.data, refer(body?.data)) };
  if (!isSecret) return kind === 'tokens' || kind === 'open' ? body : toCamel(body);
  if (kind === 'token') return toCamel(outline(body, isCardShownAt([])));
  if (kind === 'tokens') return outlines(body, isCardShownAt);
  return null;
};

/** A member of a kept value by the path of a reference. */
export const memberAt = (value, path) => {
  let found = value;
  for (const name of Array.isArray(path) ? path : []) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return ['string', 'number', 'boolean'].includes(typeof found) ? String(found) : undefined;
};

/** A refusal of the vault. After a request with elements, only the vault's own words. */
export const showProblem = (status, body, isSecret) => {
  if (!isSecret) return isPlain(body) || typeof body === 'string' ? body : null;
  const shown = pick(body, ['title', 'detail', 'status', 'type', 'trace_id']);
  const errors = Object.entries(isPlain(body?.errors) ? body.errors : {});
  if (errors.length > 0) shown.errors = Object.fromEntries(errors.map(([name, texts]) => [name, Array.isArray(texts) ? texts.map(String) : []]));
  return shown;
};

/** The details of a BIN that a page sees: no digits, and not the issuer's name, which few BINs have. */
export const showBin = (details) => {
  const one = (it) => {
    const shown = pick(it, ['brand', 'funding', 'segment']);
    const country = it?.issuer?.country;
    return typeof country === 'string' ? { ...shown, issuer: { country } } : shown;
  };
  const additional = Array.isArray(details?.additional) ? details.additional : [];
  return { ...one(details), additional: additional.map(one) };
};

/** The networks of a card that a person may choose from: its brand, and those others that the page supports. */
export const networksOf = (details, supported) => {
  const nameOf = (it) => (typeof it?.brand === 'string' ? it.brand.toLowerCase().replace(/[ _]+/g, '-') : '');
  const others = (Array.isArray(details?.additional) ? details.additional : []).map(nameOf).filter((name) => supported.includes(name));
  const names = [...new Set([nameOf(details), ...others])].filter((name) => /^[a-z-]{1,40}$/.test(name));
  return names.length > 1 ? names : [];
};

const text = (value, most = 160) => (typeof value === 'string' ? value.slice(0, most) : undefined);
const INPUT_MODES = ['decimal', 'email', 'none', 'numeric', 'search', 'tel', 'text', 'url'];

/** Styles by the names of the packages, as those of the fields. Fonts of other servers are not loaded. */
const SELECTORS = {
  base: { '': 'base', ':focus': 'focus', '::placeholder': 'placeholder', ':hover': 'hover', ':disabled': 'disabled', ':read-only': 'readonly', '::selection': 'selection' },
  invalid: { '': 'invalid' },
  complete: { '': 'complete' },
  empty: { '': 'empty' },
  container: { '': 'container' },
};

export const styleOf = (style) => {
  const flat = {};
  for (const [variant, selectors] of Object.entries(SELECTORS)) {
    const declared = isPlain(style?.[variant]) ? style[variant] : {};
    for (const [selector, state] of Object.entries(selectors)) {
      const own = selector === '' ? declared : declared[selector];
      if (isPlain(own)) flat[state] = Object.fromEntries(Object.entries(own).filter(([, value]) => !isPlain(value)));
    }
  }
  return cleanStyle(flat, Object.keys(flat));
};

/** The icon of `enableCopy`: its size, its colour, and its colour after a copy. */
const copyStyleOf = (styles) => cleanStyle({
  copy: { fontSize: styles?.size, color: styles?.color }, copied: { color: styles?.successColor },
}, ['copy', 'copied']);

const NETWORKS = ['cartes-bancaires', 'bancontact', 'dankort'];
const textsIn = (list) => (Array.isArray(list) ? list.filter((it) => typeof it === 'string').slice(0, 20) : []);

/** The brands of `cardTypes`, by their names: patterns of the page would be questions about the number. */
const brandsOf = (types) => {
  const names = Array.isArray(types) ? types.map((it) => it?.type).filter((it) => typeof it === 'string') : [];
  return names.length > 0 ? names.slice(0, 50) : undefined;
};

const cardTexts = (placeholder) => ({
  number: text(placeholder?.cardNumber), expiry: text(placeholder?.cardExpirationDate), cvc: text(placeholder?.cardSecurityCode),
});

/** The options of an element that a frame gets: known members of known types. */
export const cleanElementOptions = (kind, given) => {
  const options = isPlain(given) ? given : {};
  const flag = (name) => options[name] === true;
  const cleaned = {
    label: text(options['aria-label'] ?? options.ariaLabel),
    placeholder: kind === 'card' ? cardTexts(options.placeholder) : text(options.placeholder),
    autocomplete: kind === 'card' ? undefined : text(options.autoComplete, 40),
    inputMode: INPUT_MODES.includes(options.inputMode) ? options.inputMode : undefined,
    disabled: flag('disabled'),
    readOnly: flag('readOnly'),
    skipLuhn: flag('skipLuhnValidation'),
    binLookup: flag('binLookup') || Array.isArray(options.coBadgedSupport),
    networks: textsIn(options.coBadgedSupport).filter((name) => NETWORKS.includes(name)),
    preferredNetworks: textsIn(options.preSelectedNetworks),
    enableCopy: kind !== 'copy' && flag('enableCopy'),
    iconPosition: ['left', 'right', 'none'].includes(options.iconPosition) ? options.iconPosition : undefined,
    brands: brandsOf(options.cardTypes),
    cardBrand: text(options.cardBrand, 40),
    style: [...styleOf(options.style), ...copyStyleOf(options.copyIconStyles)],
    value: valueOf(kind, options.value),
  };
  if (kind === 'copy') cleaned.text = text(options.text) ?? 'Copy';
  if (kind !== 'text') return cleaned;
  return {
    ...cleaned,
    password: flag('password'),
    maxLength: Number.isInteger(options.maxLength) && options.maxLength > 0 ? options.maxLength : undefined,
    mask: isSet(options.mask) ? maskOf(options.mask) : undefined,
    validation: isSet(options.validation) ? patternOf(options.validation) : undefined,
    transform: isSet(options.transform) ? transformOf(options.transform) : undefined,
  };
};

const isSet = (value) => value !== undefined && value !== null;

/** A date as people type it: 03/32. */
export const dateText = (month, year) => `${month.padStart(2, '0')}/${year.replace(/^20(?=[0-9]{2}$)/, '')}`;

/** A value of the page's own, as the texts of the inputs. */
export const valueOf = (kind, value) => {
  const own = (it) => (['string', 'number'].includes(typeof it) ? String(it).slice(0, 200) : undefined);
  const date = (month, year) => (own(month) && own(year) ? dateText(own(month), own(year)) : undefined);
  if (!isSet(value)) return undefined;
  if (kind === 'card') return { number: own(value.number), expiry: date(value.expiration_month, value.expiration_year), cvc: own(value.cvc) };
  if (kind === 'expiry') return { expiry: isPlain(value) ? date(value.month, value.year) : own(value) };
  return kind === 'copy' ? undefined : { [kind]: own(value) };
};
