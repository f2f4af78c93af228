// `url`: the classes of the WHATWG and the older functions.
'use strict';

const { URL, URLSearchParams } = require('url.js');
const querystring = require('querystring.js');

const SLASHED = ['http:', 'https:', 'ftp:', 'file:', 'ws:', 'wss:'];

class Url {
  constructor() {
    for (const name of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search',
      'query', 'pathname', 'path', 'href']) {
      this[name] = null;
    }
  }

  format() { return format(this); }

  resolve(relative) { return resolve(this.href, relative); }
}

const parse = (given, withQuery = false, slashesMeanHost = false) => {
  const url = new Url();
  let rest = String(given).trim();
  const scheme = /^([a-z0-9.+-]+:)/i.exec(rest);
  if (scheme !== null) {
    url.protocol = scheme[1].toLowerCase();
    rest = rest.slice(scheme[1].length);
  }
  if (rest.startsWith('//') && (scheme !== null || slashesMeanHost)) {
    url.slashes = true;
    const end = rest.slice(2).search(/[/?#\\]/);
    let authority = end < 0 ? rest.slice(2) : rest.slice(2, end + 2);
    rest = end < 0 ? '' : rest.slice(end + 2).replace(/^\\/, '/');
    const at = authority.lastIndexOf('@');
    if (at >= 0) {
      url.auth = decodeURIComponent(authority.slice(0, at));
      authority = authority.slice(at + 1);
    }
    const port = /:(\d*)$/.exec(authority);
    if (port !== null) {
      url.port = port[1] === '' ? null : port[1];
      authority = authority.slice(0, port.index);
    }
    url.hostname = authority.toLowerCase().replace(/^\[(.*)\]$/, '$1');
    url.host = authority.toLowerCase() + (url.port === null ? '' : ':' + url.port);
    if (rest === '' && SLASHED.includes(url.protocol)) { rest = '/'; }
  }
  const hash = rest.indexOf('#');
  if (hash >= 0) { url.hash = rest.slice(hash); rest = rest.slice(0, hash); }
  const mark = rest.indexOf('?');
  if (mark >= 0) { url.search = rest.slice(mark); rest = rest.slice(0, mark); }
  url.query = url.search === null ? null : url.search.slice(1);
  if (withQuery) {
    url.query = querystring.parse(url.query === null ? '' : url.query);
    if (url.search === null) { url.search = ''; }
  }
  if (rest !== '') { url.pathname = rest; }
  if (url.pathname === null && url.hostname && SLASHED.includes(url.protocol)) { url.pathname = '/'; }
  if (url.pathname !== null || url.search) { url.path = (url.pathname || '') + (url.search || ''); }
  url.href = format(url);
  return url;
};

const format = (given, options = {}) => {
  if (given instanceof URL) {
    const copy = new URL(given.href);
    if (options.fragment === false) { copy.hash = ''; }
    if (options.search === false) { copy.search = ''; }
    if (options.auth === false) { copy.username = ''; copy.password = ''; }
    return copy.href;
  }
  const url = typeof given === 'string' ? parse(given) : given;
  let protocol = url.protocol || '';
  if (protocol !== '' && !protocol.endsWith(':')) { protocol += ':'; }
  const auth = url.auth ? encodeURIComponent(url.auth).replace(/%3A/i, ':') + '@' : '';
  let host = null;
  if (url.host) {
    host = auth + url.host;
  } else if (url.hostname) {
    const name = url.hostname.includes(':') ? '[' + url.hostname + ']' : url.hostname;
    host = auth + name + (url.port ? ':' + url.port : '');
  }
  let query = '';
  if (url.query !== null && typeof url.query === 'object') { query = querystring.stringify(url.query); }
  let search = url.search || (query === '' ? '' : '?' + query);
  if (search !== '' && !search.startsWith('?')) { search = '?' + search; }
  let hash = url.hash || '';
  if (hash !== '' && !hash.startsWith('#')) { hash = '#' + hash; }
  let pathname = url.pathname || '';
  if (url.slashes || ((protocol === '' || SLASHED.includes(protocol)) && host !== null)) {
    host = '//' + (host || '');
    if (pathname !== '' && !pathname.startsWith('/')) { pathname = '/' + pathname; }
  }
  return protocol + (host || '') + pathname.replace(/[?#]/g, encodeURIComponent)
    + search.replace(/#/g, '%23') + hash;
};

// Without a base that is an address, the base is a path.
const resolve = (from, to) => {
  const local = 'resolve://';
  const resolved = new URL(to, new URL(from, local));
  return resolved.protocol === 'resolve:' ? resolved.pathname + resolved.search + resolved.hash
    : resolved.href;
};

// The parts of an address as the options of a request.
const urlToHttpOptions = (url) => {
  const options = {
    protocol: url.protocol,
    hostname: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    hash: url.hash,
    search: url.search,
    pathname: url.pathname,
    path: (url.pathname || '') + (url.search || ''),
    href: url.href,
  };
  if (url.port !== '') { options.port = Number(url.port); }
  if (url.username || url.password) {
    options.auth = decodeURIComponent(url.username) + ':' + decodeURIComponent(url.password);
  }
  return options;
};

module.exports = { URL, URLSearchParams, Url, format, parse, resolve, urlToHttpOptions };
