// Calls of the vault's interface, which both clients share: names of members, and the request.
'use strict';

const { bytesOf, decode } = require('bytes.js');
const ports = require('ports');

const snakeName = (name) => name.replace(/([a-z0-9])([A-Z])/g, '$1_$2')
  .replace(/([A-Z])([A-Z][a-z])/g, '$1_$2').toLowerCase();
// `_extras` becomes `extras`, as in the published clients.
const camelName = (name) => name.replace(/^_+/, '')
  .replace(/_+([a-z0-9])/g, (whole, letter) => letter.toUpperCase());

const isPlain = (value) => typeof value === 'object' && value !== null
  && (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null);

// Renames members at every depth. The content of the members in `kept` belongs to the program.
const renamed = (value, rename, kept) => {
  if (Array.isArray(value)) { return value.map((it) => renamed(it, rename, kept)); }
  if (!isPlain(value)) { return value; }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [
    rename(name), kept.includes(name) ? member : renamed(member, rename, kept),
  ]));
};
const snake = (value, kept) => renamed(value, snakeName, kept);
// The members of a list are renamed one by one, as an answer that is one of them.
const camel = (value, kept) => {
  if (isPlain(value) && value.pagination !== undefined && Array.isArray(value.data)) {
    return {
      ...renamed({ ...value, data: undefined }, camelName, kept),
      data: value.data.map((it) => renamed(it, camelName, kept)),
    };
  }
  return renamed(value, camelName, kept);
};

const queryOf = (query) => {
  const parts = [];
  for (const [name, value] of Object.entries(query || {})) {
    if (value === undefined || value === null) { continue; }
    if (isPlain(value)) {
      for (const [inner, member] of Object.entries(value)) {
        parts.push(encodeURIComponent(`${name}.${inner}`) + '=' + encodeURIComponent(member));
      }
      continue;
    }
    for (const one of Array.isArray(value) ? value : [value]) {
      const text = one instanceof Date ? one.toISOString() : String(one);
      parts.push(encodeURIComponent(name) + '=' + encodeURIComponent(text));
    }
  }
  return parts.length === 0 ? '' : '?' + parts.join('&');
};

// Answers of the vault: status, headers by lower-case name, and the parsed body.
const send = async (method, url, headers, body) => {
  const pairs = Object.entries(headers).filter(([, value]) => value !== undefined && value !== null);
  const bytes = body === undefined ? null
    : typeof body === 'object' && ArrayBuffer.isView(body) ? bytesOf(body)
      : bytesOf(typeof body === 'string' && !isJson(headers) ? body : JSON.stringify(body));
  const answer = await ports.send(method, url, pairs, bytes);
  const found = Object.fromEntries(answer.headers.map(([name, value]) => [name.toLowerCase(), value]));
  return { status: answer.status, headers: found, data: dataOf(answer.body, found['content-type']) };
};
const isJson = (headers) => Object.entries(headers).some(
  ([name, value]) => name.toLowerCase() === 'content-type' && /\bjson\b/.test(String(value)));
const dataOf = (bytes, type = '') => {
  const text = decode(bytes, 'utf8');
  if (text === '') { return undefined; }
  if (!/json/.test(type)) {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
  return JSON.parse(text);
};

const trimmed = (url) => String(url).replace(/\/+$/, '');
const segment = (id) => encodeURIComponent(String(id));

module.exports = { camel, isPlain, queryOf, segment, send, snake, trimmed };
