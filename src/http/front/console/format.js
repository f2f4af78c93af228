// Texts from values. Nothing here touches the page, so that the tests run without a browser.

const SECOND = 1000;
const STEPS = [
  [60 * SECOND, SECOND, 's'],
  [3600 * SECOND, 60 * SECOND, 'min'],
  [48 * 3600 * SECOND, 3600 * SECOND, 'h'],
  [Infinity, 24 * 3600 * SECOND, 'days'],
];

/** The distance of a time from now, such as "12 s ago". */
export const ago = (text, now) => {
  const distance = now - Date.parse(text);
  if (Number.isNaN(distance)) return '';
  const size = Math.abs(distance);
  const [, unit, name] = STEPS.find(([limit]) => size < limit);
  const amount = `${Math.floor(size / unit)} ${name}`;
  return distance < 0 ? `in ${amount}` : `${amount} ago`;
};

/** A date and a time of day in the zone of the browser. */
export const clockTime = (text) => {
  const at = new Date(text);
  return Number.isNaN(at.getTime())
    ? ''
    : at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
};

export const count = (number) =>
  typeof number === 'number' ? number.toLocaleString('en-US') : '';

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

/** A share of a limit in whole percent; a limit of 0 is used up. */
export const percent = (used, limit) =>
  limit > 0 ? Math.min(100, Math.floor((used / limit) * 100)) : 100;

/** The end of a long id: ids begin with a time, so that those of one minute begin alike. */
export const shortId = (id) => (id.length > 13 ? `...${id.slice(-8)}` : id);

/** A name on one line, as a person can read and type it. */
export const oneLine = (name) => name.replace(/\s+/g, ' ').trim();

/** A path with a query string; parameters without a value are left out. */
export const withQuery = (path, parameters) => {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '' && value !== null);
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query ? `${path}?${query}` : path;
};

/** A word of a shell command, in single quotes. */
export const shellWord = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The call as a curl command. The key is always the variable of the shell, never a key. */
export const curlLine = (origin, { method, path, body }) => {
  const parts = ['curl'];
  if (method !== 'GET') parts.push('-X', method);
  parts.push(shellWord(origin + path), '-H', '"BT-API-KEY: $KEY"');
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  if (body !== undefined) parts.push('-H', shellWord(`Content-Type: ${type}`), '-d', shellWord(body));
  return parts.join(' ');
};

// Texts of keys, and settings of proxies and reactors that may hold passwords of a destination.
const SECRET_MEMBERS = new Set([
  'key', 'code', 'configuration', 'client_certificate', 'request_transform', 'request_transforms',
  'response_transform', 'response_transforms', 'nonce',
]);
const HIDDEN = '(not shown)';

/** A copy of a JSON value whose secret members are replaced. */
export const withoutSecrets = (value) => {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (value === null || typeof value !== 'object') return value;
  const shown = ([name, inner]) => [name, SECRET_MEMBERS.has(name) ? HIDDEN : withoutSecrets(inner)];
  return Object.fromEntries(Object.entries(value).map(shown));
};

/** A path as the list of calls shows it: the values of a secret query are replaced. */
export const shownPath = (path, isSecret) => {
  const [address, query] = path.split('?');
  if (!isSecret || query === undefined) return path;
  const names = [...new URLSearchParams(query).keys()];
  return `${address}?${names.map((name) => `${encodeURIComponent(name)}=...`).join('&')}`;
};

const BODY_CHARS_MAX = 4000;

/** A body as the list of calls shows it. */
export const shownBody = (value, isSecret) => {
  if (value === undefined || value === null) return undefined;
  if (isSecret) return HIDDEN;
  const text = JSON.stringify(withoutSecrets(value), null, 2);
  return text.length > BODY_CHARS_MAX ? `${text.slice(0, BODY_CHARS_MAX)}\n... (cut)` : text;
};

/** A time of an <input type="datetime-local"> as the API takes it. */
export const apiTime = (local) => {
  const at = new Date(local);
  return local && !Number.isNaN(at.getTime()) ? at.toISOString() : '';
};
