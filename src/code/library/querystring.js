// `querystring`.
'use strict';

const { percentDecode } = require('url.js');

// `A` to `z`, digits and `- _ . ! ~ * ' ( )` stay as they are.
const escape = (value) => {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? String(value) : value + '';
  return encodeURIComponent(text.toWellFormed());
};
const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return percentDecode(text);
  }
};

const plain = (value) => {
  switch (typeof value) {
    case 'string': return value;
    case 'number': return Number.isFinite(value) ? String(value) : '';
    case 'bigint': case 'boolean': return String(value);
    default: return '';
  }
};

const stringify = (object, separator = '&', equals = '=', options = {}) => {
  const encode = options && typeof options.encodeURIComponent === 'function'
    ? options.encodeURIComponent : module.exports.escape;
  if (object === null || typeof object !== 'object') { return ''; }
  return Object.keys(object).flatMap((name) => {
    const start = encode(plain(name)) + (equals || '=');
    const value = object[name];
    return Array.isArray(value) ? value.map((it) => start + encode(plain(it)))
      : [start + encode(plain(value))];
  }).join(separator || '&');
};

const parse = (text, separator = '&', equals = '=', options = {}) => {
  const found = Object.create(null);
  if (typeof text !== 'string' || text === '') { return found; }
  const decode = options && typeof options.decodeURIComponent === 'function'
    ? options.decodeURIComponent : module.exports.unescape;
  const most = options && typeof options.maxKeys === 'number' ? options.maxKeys : 1000;
  const safely = (part) => {
    try {
      return decode(part);
    } catch {
      return unescape(part);
    }
  };
  const parts = text.split(separator || '&');
  for (const part of most > 0 ? parts.slice(0, most) : parts) {
    if (part === '') { continue; }
    const at = part.indexOf(equals || '=');
    const spaced = (it) => it.replace(/\+/g, ' ');
    const name = safely(spaced(at < 0 ? part : part.slice(0, at)));
    const value = at < 0 ? '' : safely(spaced(part.slice(at + (equals || '=').length)));
    if (found[name] === undefined) {
      found[name] = value;
    } else if (Array.isArray(found[name])) {
      found[name].push(value);
    } else {
      found[name] = [found[name], value];
    }
  }
  return found;
};

module.exports = { decode: parse, encode: stringify, escape, parse, stringify, unescape };
