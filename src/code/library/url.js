// `URL` and `URLSearchParams` by the rules of the WHATWG.
//
// Hosts are ASCII here: a name with other letters is refused, since the host decides where card data
// goes, and no two parsers agree on such names.
'use strict';

const { decode } = require('bytes.js');
const ports = require('ports');

const PORTS = { __proto__: null, 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443',
  'ftp:': '21', 'file:': '' };
const isSpecial = (protocol) => PORTS[protocol] !== undefined;

const invalid = (input) => {
  const error = new TypeError('Invalid URL');
  error.code = 'ERR_INVALID_URL';
  error.input = input;
  return error;
};

// Percent-encodes control characters, everything outside of ASCII, and the given characters.
const encodeSet = (set) => {
  const escaped = new RegExp(`[\\0-\\x1f\\x7f-\\uffff${set}]+`, 'g');
  return (text) => text.replace(escaped, (part) => {
    let out = '';
    for (const byte of ports.utf8(part)) {
      const character = String.fromCharCode(byte);
      const isPlain = byte > 0x1f && byte < 0x7f && !new RegExp(`[${set}]`).test(character);
      out += isPlain ? character : '%' + byte.toString(16).toUpperCase().padStart(2, '0');
    }
    return out;
  });
};
const encodeFragment = encodeSet(' "<>`');
const encodeQuery = encodeSet(' "#<>');
const encodeSpecialQuery = encodeSet(' "#<>\'');
const encodePath = encodeSet(' "#<>?`{}^');
const encodeUser = encodeSet(' "#<>?`{}/:;=@\\[\\]\\\\^|');
const encodeOpaque = encodeSet('');

const percentDecode = (text) => {
  if (!text.includes('%')) { return text; }
  const bytes = [];
  const from = ports.utf8(text);
  for (let at = 0; at < from.length; at++) {
    const pair = String.fromCharCode(from[at + 1], from[at + 2]);
    if (from[at] === 0x25 && /^[0-9a-fA-F]{2}$/.test(pair)) {
      bytes.push(parseInt(pair, 16));
      at += 2;
    } else {
      bytes.push(from[at]);
    }
  }
  return decode(Uint8Array.from(bytes), 'utf8');
};

const hostOf = (text, special, input) => {
  if (text.startsWith('[')) {
    if (!text.endsWith(']')) { throw invalid(input); }
    return '[' + ipv6(text.slice(1, -1), input) + ']';
  }
  if (!special) {
    if (/[\0\t\n\r #/<>?@[\\\]^|]/.test(text)) { throw invalid(input); }
    return encodeOpaque(text);
  }
  const name = percentDecode(text).toLowerCase();
  if (name === '' || /[^!-~]|[\0-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(name)) { throw invalid(input); }
  const parts = name.replace(/\.$/, '').split('.');
  return /^(?:\d+|0x[0-9a-f]*)$/.test(parts[parts.length - 1]) ? ipv4(parts, input) : name;
};

const ipv4 = (parts, input) => {
  if (parts.length > 4) { throw invalid(input); }
  const numbers = parts.map((part) => {
    if (part === '') { throw invalid(input); }
    const isHex = /^0x/.test(part);
    const isOctal = !isHex && part.length > 1 && part.startsWith('0');
    const digits = isHex ? part.slice(2) : part;
    const valid = isHex ? /^[0-9a-f]*$/ : isOctal ? /^[0-7]+$/ : /^\d+$/;
    if (!valid.test(digits)) { throw invalid(input); }
    return digits === '' ? 0 : parseInt(digits, isHex ? 16 : isOctal ? 8 : 10);
  });
  const last = numbers.pop();
  if (numbers.some((number) => number > 255) || last >= 256 ** (4 - numbers.length)) {
    throw invalid(input);
  }
  let value = last;
  numbers.forEach((number, at) => { value += number * 256 ** (3 - at); });
  return [3, 2, 1, 0].map((at) => Math.floor(value / 256 ** at) % 256).join('.');
};

const ipv6 = (text, input) => {
  const halves = text.split('::');
  if (halves.length > 2) { throw invalid(input); }
  const pieces = (half) => (half === '' ? [] : half.split(':').flatMap((part, at, all) => {
    if (part.includes('.') && at === all.length - 1 && /^\d{1,3}(?:\.\d{1,3}){3}$/.test(part)) {
      const bytes = part.split('.').map(Number);
      if (bytes.some((byte) => byte > 255)) { throw invalid(input); }
      return [bytes[0] * 256 + bytes[1], bytes[2] * 256 + bytes[3]];
    }
    if (!/^[0-9a-fA-F]{1,4}$/.test(part)) { throw invalid(input); }
    return [parseInt(part, 16)];
  }));
  const [start, end] = [pieces(halves[0]), halves.length === 2 ? pieces(halves[1]) : []];
  const missing = 8 - start.length - end.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) { throw invalid(input); }
  const all = [...start, ...Array(Math.max(missing, 0)).fill(0), ...end];
  // The longest run of zeros is left out.
  let best = { at: -1, length: 1 };
  for (let at = 0; at < 8; at++) {
    let length = 0;
    while (at + length < 8 && all[at + length] === 0) { length += 1; }
    if (length > best.length) { best = { at, length }; }
  }
  const hex = (list) => list.map((it) => it.toString(16)).join(':');
  return best.at < 0 ? hex(all)
    : hex(all.slice(0, best.at)) + '::' + hex(all.slice(best.at + best.length));
};

const segmentsOf = (path, special, protocol) => {
  const parts = (special ? path.replace(/\\/g, '/') : path).split('/');
  const out = [];
  parts.forEach((part, at) => {
    const isLast = at === parts.length - 1;
    const plain = part.replace(/%2e/gi, '.');
    if (plain === '..') {
      if (!(protocol === 'file:' && out.length === 1 && /^[A-Za-z]:$/.test(out[0]))) { out.pop(); }
      if (isLast) { out.push(''); }
    } else if (plain === '.') {
      if (isLast) { out.push(''); }
    } else {
      out.push(encodePath(part));
    }
  });
  return out;
};

// The parts of an address: protocol, username, password, host, port, path, query, fragment.
const parseUrl = (given, base) => {
  const input = given.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(input);
  if (scheme === null) {
    if (base === null) { throw invalid(given); }
    return relativeTo(input, base, given);
  }
  const protocol = scheme[1].toLowerCase() + ':';
  const rest = input.slice(scheme[0].length);
  const special = isSpecial(protocol);
  if (base !== null && special && protocol === base.protocol && !/^[/\\]/.test(rest)) {
    return relativeTo(rest, base, given);
  }
  return absolute(protocol, rest, special, given);
};

const cut = (text) => {
  const hash = text.indexOf('#');
  const fragment = hash < 0 ? null : text.slice(hash + 1);
  const before = hash < 0 ? text : text.slice(0, hash);
  const mark = before.indexOf('?');
  return {
    fragment,
    query: mark < 0 ? null : before.slice(mark + 1),
    path: mark < 0 ? before : before.slice(0, mark),
  };
};
const queryOf = (query, special) => (query === null ? null
  : (special ? encodeSpecialQuery : encodeQuery)(query));
const fragmentOf = (fragment) => (fragment === null ? null : encodeFragment(fragment));

const absolute = (protocol, rest, special, given) => {
  const { path, query, fragment } = cut(rest);
  const parts = { protocol, username: '', password: '', host: null, port: '', opaque: null, path: [],
    query: queryOf(query, special), fragment: fragmentOf(fragment) };
  const slashes = special && protocol !== 'file:' ? /^[/\\]*/.exec(path)[0]
    : /^[/\\]{2}/.test(path) && (special || path.startsWith('//')) ? '//' : '';
  if (slashes === '' && !(special && protocol !== 'file:')) {
    if (special || path.startsWith('/')) {
      parts.path = segmentsOf(path.replace(/^[/\\]/, ''), special, protocol);
      if (protocol === 'file:') { parts.host = ''; }
    } else {
      parts.opaque = encodeOpaque(path);
    }
    return parts;
  }
  const body = path.slice(slashes.length);
  const end = body.search(special ? /[/\\]/ : /\//);
  authorityInto(parts, end < 0 ? body : body.slice(0, end), special, given);
  const tail = end < 0 ? '' : body.slice(end + 1);
  parts.path = end < 0 && !special ? [] : segmentsOf(tail, special, protocol);
  return parts;
};

const authorityInto = (parts, authority, special, given) => {
  const at = authority.lastIndexOf('@');
  if (at >= 0) {
    const user = authority.slice(0, at);
    const colon = user.indexOf(':');
    parts.username = encodeUser(colon < 0 ? user : user.slice(0, colon));
    parts.password = colon < 0 ? '' : encodeUser(user.slice(colon + 1));
  }
  const place = authority.slice(at + 1);
  const found = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(place);
  if (found === null) { throw invalid(given); }
  const [, host, port = ''] = found;
  if (host === '' && (special && parts.protocol !== 'file:' || at >= 0 || port !== '')) {
    throw invalid(given);
  }
  parts.host = host === '' ? '' : hostOf(host, special, given);
  if (parts.protocol === 'file:' && parts.host === 'localhost') { parts.host = ''; }
  parts.port = portOf(port, parts.protocol, given);
};
const portOf = (text, protocol, given) => {
  if (text === '') { return ''; }
  if (!/^\d+$/.test(text) || Number(text) > 65535) { throw invalid(given); }
  const port = String(Number(text));
  return port === PORTS[protocol] ? '' : port;
};

const relativeTo = (input, base, given) => {
  const special = isSpecial(base.protocol);
  const { path, query, fragment } = cut(input);
  if (base.opaque !== null) {
    if (path !== '' || query !== null) { throw invalid(given); }
    return { ...base, fragment: fragmentOf(fragment) };
  }
  const start = special ? path.replace(/\\/g, '/') : path;
  if (start.startsWith('//')) { return absolute(base.protocol, input, special, given); }
  const parts = { ...base, query: queryOf(query, special), fragment: fragmentOf(fragment) };
  if (start === '') {
    if (query === null) { parts.query = base.query; }
  } else if (start.startsWith('/')) {
    parts.path = segmentsOf(start.slice(1), special, base.protocol);
  } else {
    const above = base.path.slice(0, -1);
    parts.path = segmentsOf([...above, start].join('/'), special, base.protocol);
  }
  return parts;
};

const pathText = (parts) => (parts.opaque !== null ? parts.opaque
  : parts.path.length === 0 ? '' : '/' + parts.path.join('/'));
const hostText = (parts) => (parts.host === null ? '' : parts.host)
  + (parts.port === '' ? '' : ':' + parts.port);
const urlText = (parts) => {
  const user = parts.username + (parts.password === '' ? '' : ':' + parts.password);
  const authority = parts.host === null ? ''
    : '//' + (user === '' ? '' : user + '@') + hostText(parts);
  const path = pathText(parts);
  // Two slashes at the start of a path would read as a host.
  const dot = parts.host === null && parts.opaque === null && path.startsWith('//') ? '/.' : '';
  return parts.protocol + authority + dot + path
    + (parts.query === null ? '' : '?' + parts.query)
    + (parts.fragment === null ? '' : '#' + parts.fragment);
};

const search = (text) => (text === null || text === '' ? '' : text);

class URL {
  #parts;
  #params = null;

  constructor(input, base) {
    const start = base === undefined ? null : parseUrl(String(base), null);
    this.#parts = parseUrl(String(input), start);
  }

  static canParse(input, base) {
    try {
      return Boolean(new URL(input, base));
    } catch {
      return false;
    }
  }

  static parse(input, base) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }

  get href() { return urlText(this.#parts); }

  set href(value) {
    this.#parts = parseUrl(String(value), null);
    this.#refresh();
  }

  get origin() {
    return isSpecial(this.#parts.protocol) && this.#parts.protocol !== 'file:'
      ? this.#parts.protocol + '//' + hostText(this.#parts) : 'null';
  }

  get protocol() { return this.#parts.protocol; }

  set protocol(value) {
    const found = /^([A-Za-z][A-Za-z0-9+.-]*):?/.exec(String(value));
    if (found === null) { return; }
    const protocol = found[1].toLowerCase() + ':';
    if (isSpecial(protocol) !== isSpecial(this.#parts.protocol)) { return; }
    this.#parts.protocol = protocol;
    this.#parts.port = portOf(this.#parts.port, protocol, '');
  }

  get username() { return this.#parts.username; }

  set username(value) { if (this.#parts.host) { this.#parts.username = encodeUser(String(value)); } }

  get password() { return this.#parts.password; }

  set password(value) { if (this.#parts.host) { this.#parts.password = encodeUser(String(value)); } }

  get host() { return hostText(this.#parts); }

  set host(value) {
    const found = /^(\[[^\]]*\]|[^:/?#\\]*)(?::(\d+))?/.exec(String(value));
    this.hostname = found[1];
    if (found[2] !== undefined) { this.port = found[2]; }
  }

  get hostname() { return this.#parts.host === null ? '' : this.#parts.host; }

  set hostname(value) {
    const [name] = /^(?:\[[^\]]*\]|[^:/?#\\]*)/.exec(String(value));
    if (this.#parts.opaque !== null || name === '') { return; }
    try {
      this.#parts.host = hostOf(name, isSpecial(this.#parts.protocol), '');
    } catch {
      // An address keeps its host when the new one is no host.
    }
  }

  get port() { return this.#parts.port; }

  set port(value) {
    if (!this.#parts.host || this.#parts.protocol === 'file:') { return; }
    const [digits] = /^\d*/.exec(String(value));
    if (String(value) === '' || (digits !== '' && Number(digits) <= 65535)) {
      this.#parts.port = portOf(digits, this.#parts.protocol, '');
    }
  }

  get pathname() { return pathText(this.#parts); }

  set pathname(value) {
    if (this.#parts.opaque !== null) { return; }
    const special = isSpecial(this.#parts.protocol);
    const path = String(value).replace(/[\t\n\r]/g, '');
    this.#parts.path = segmentsOf(path.replace(special ? /^[/\\]/ : /^\//, ''), special,
      this.#parts.protocol);
  }

  get search() { return search(this.#parts.query) === '' ? '' : '?' + this.#parts.query; }

  set search(value) {
    const text = String(value);
    this.#parts.query = text === '' ? null
      : queryOf(text.replace(/^\?/, ''), isSpecial(this.#parts.protocol));
    this.#refresh();
  }

  get searchParams() {
    if (this.#params === null) {
      const changed = (text) => { this.#parts.query = text === '' ? null : text; };
      this.#params = new URLSearchParams(this.#parts.query === null ? '' : this.#parts.query);
      watch(this.#params, changed);
    }
    return this.#params;
  }

  get hash() { return search(this.#parts.fragment) === '' ? '' : '#' + this.#parts.fragment; }

  set hash(value) {
    const text = String(value);
    this.#parts.fragment = text === '' ? null : encodeFragment(text.replace(/^#/, ''));
  }

  toString() { return this.href; }

  toJSON() { return this.href; }

  #refresh() {
    if (this.#params !== null) {
      refill(this.#params, this.#parts.query === null ? '' : this.#parts.query);
    }
  }
}
for (const name of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port',
  'pathname', 'search', 'searchParams', 'hash', 'toString', 'toJSON']) {
  const member = Object.getOwnPropertyDescriptor(URL.prototype, name);
  Object.defineProperty(URL.prototype, name, { ...member, enumerable: true });
}
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: 'URL', configurable: true });

const formEncode = (text) => encodeURIComponent(text.toWellFormed()).replace(/%20/g, '+')
  .replace(/[!'()~]/g, (it) => '%' + it.charCodeAt(0).toString(16).toUpperCase());
const formDecode = (text) => percentDecode(text.replace(/\+/g, ' '));
const pairsOf = (text) => text.split('&').filter((part) => part !== '').map((part) => {
  const at = part.indexOf('=');
  return at < 0 ? [formDecode(part), '']
    : [formDecode(part.slice(0, at)), formDecode(part.slice(at + 1))];
});

let watch;
let refill;

class URLSearchParams {
  #pairs = [];
  #changed = null;

  static {
    watch = (params, changed) => { params.#changed = changed; };
    refill = (params, text) => { params.#pairs = pairsOf(text); };
  }

  constructor(init) {
    if (init === undefined || init === null) { return; }
    if (typeof init === 'object' && typeof init[Symbol.iterator] === 'function') {
      this.#pairs = Array.from(init, (pair) => {
        const list = Array.from(pair);
        if (list.length !== 2) {
          throw new TypeError('Each query pair must be an iterable [name, value] tuple');
        }
        return [String(list[0]), String(list[1])];
      });
    } else if (typeof init === 'object') {
      this.#pairs = Object.entries(init).map(([name, value]) => [name, String(value)]);
    } else {
      this.#pairs = pairsOf(String(init).replace(/^\?/, ''));
    }
  }

  get size() { return this.#pairs.length; }

  append(name, value) { this.#change([...this.#pairs, [String(name), String(value)]]); }

  delete(name, value) {
    this.#change(this.#pairs.filter((pair) => pair[0] !== String(name)
      || (value !== undefined && pair[1] !== String(value))));
  }

  get(name) {
    const found = this.#pairs.find((pair) => pair[0] === String(name));
    return found === undefined ? null : found[1];
  }

  getAll(name) {
    return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]);
  }

  has(name, value) {
    return this.#pairs.some((pair) => pair[0] === String(name)
      && (value === undefined || pair[1] === String(value)));
  }

  set(name, value) {
    const at = this.#pairs.findIndex((pair) => pair[0] === String(name));
    if (at < 0) { this.append(name, value); return; }
    this.#change(this.#pairs.filter((pair, place) => place <= at || pair[0] !== String(name))
      .map((pair, place) => (place === at ? [pair[0], String(value)] : pair)));
  }

  sort() {
    this.#change([...this.#pairs].sort((one, other) => (one[0] < other[0] ? -1
      : one[0] > other[0] ? 1 : 0)));
  }

  forEach(work, self) {
    for (const [name, value] of this.#pairs) { work.call(self, value, name, this); }
  }

  * entries() { for (const [name, value] of this.#pairs) { yield [name, value]; } }

  * keys() { for (const [name] of this.#pairs) { yield name; } }

  * values() { for (const [, value] of this.#pairs) { yield value; } }

  [Symbol.iterator]() { return this.entries(); }

  toString() {
    return this.#pairs.map(([name, value]) => formEncode(name) + '=' + formEncode(value)).join('&');
  }

  #change(pairs) {
    this.#pairs = pairs;
    if (this.#changed !== null) { this.#changed(this.toString()); }
  }
}
Object.defineProperty(URLSearchParams.prototype, Symbol.toStringTag, {
  value: 'URLSearchParams', configurable: true,
});

module.exports = { URL, URLSearchParams, percentDecode };
