// `http` and `https`: requests through the port of the host.
//
// The host sends a request when it is complete and gives the whole answer. There is no socket: the
// one that packages get has the members that they look at.
'use strict';

const EventEmitter = require('events.js');
const { Readable, Writable } = require('stream.js');
const { Buffer } = require('buffer.js');
const { URL } = require('url.js');
const { urlToHttpOptions } = require('url_module.js');
const ports = require('ports');
const timers = require('timers.js');

const STATUS_CODES = {
  100: 'Continue', 101: 'Switching Protocols', 200: 'OK', 201: 'Created', 202: 'Accepted',
  203: 'Non-Authoritative Information', 204: 'No Content', 205: 'Reset Content',
  206: 'Partial Content', 207: 'Multi-Status', 300: 'Multiple Choices', 301: 'Moved Permanently',
  302: 'Found', 303: 'See Other', 304: 'Not Modified', 307: 'Temporary Redirect',
  308: 'Permanent Redirect', 400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required',
  403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable',
  407: 'Proxy Authentication Required', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone',
  411: 'Length Required', 412: 'Precondition Failed', 413: 'Payload Too Large',
  414: 'URI Too Long', 415: 'Unsupported Media Type', 416: 'Range Not Satisfiable',
  417: 'Expectation Failed', 418: "I'm a Teapot", 421: 'Misdirected Request',
  422: 'Unprocessable Entity', 423: 'Locked', 424: 'Failed Dependency', 425: 'Too Early',
  426: 'Upgrade Required', 428: 'Precondition Required', 429: 'Too Many Requests',
  431: 'Request Header Fields Too Large', 451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway',
  503: 'Service Unavailable', 504: 'Gateway Timeout', 505: 'HTTP Version Not Supported',
};
const METHODS = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT'];

class Agent extends EventEmitter {
  constructor(options = {}) {
    super();
    // Ignoring them would send a request that its program believes to be authenticated.
    if (options.cert || options.key || options.pfx) {
      throw new Error('Client certificates are not available to programs');
    }
    this.options = { ...options };
    this.keepAlive = Boolean(options.keepAlive);
    this.maxSockets = options.maxSockets || Infinity;
    this.sockets = {};
    this.requests = {};
    this.freeSockets = {};
  }

  destroy() {}
}

const socketOf = () => {
  const socket = new EventEmitter();
  return Object.assign(socket, {
    connecting: false, encrypted: true, authorized: true, writable: true, readable: true,
    destroyed: false,
    setKeepAlive: () => socket, setNoDelay: () => socket, setTimeout: () => socket,
    ref: () => socket, unref: () => socket, destroy: () => socket,
    getPeerCertificate: () => ({}), remoteAddress: undefined,
  });
};

// Node joins repeated headers, apart from cookies, and keeps the first of some.
const FIRST = ['age', 'authorization', 'content-length', 'content-type', 'etag', 'expires', 'from',
  'host', 'if-modified-since', 'if-unmodified-since', 'last-modified', 'location', 'max-forwards',
  'proxy-authorization', 'referer', 'retry-after', 'server', 'user-agent'];
const headersOf = (pairs) => {
  const headers = {};
  for (const [given, value] of pairs) {
    const name = given.toLowerCase();
    if (name === 'set-cookie') {
      headers[name] = [...(headers[name] || []), value];
    } else if (!Object.hasOwn(headers, name)) {
      headers[name] = value;
    } else if (!FIRST.includes(name)) {
      headers[name] += (name === 'cookie' ? '; ' : ', ') + value;
    }
  }
  return headers;
};

class IncomingMessage extends Readable {
  constructor(answer, socket) {
    super();
    this.statusCode = answer.status;
    this.statusMessage = STATUS_CODES[answer.status] || '';
    this.headers = headersOf(answer.headers);
    this.rawHeaders = answer.headers.flat();
    this.headersDistinct = {};
    this.trailers = {};
    this.rawTrailers = [];
    this.httpVersion = '1.1';
    this.httpVersionMajor = 1;
    this.httpVersionMinor = 1;
    this.complete = true;
    this.aborted = false;
    this.socket = socket;
    this.connection = socket;
    if (answer.body.length > 0) { this.push(Buffer.from(answer.body)); }
    this.push(null);
  }

  setTimeout() { return this; }
}

class ClientRequest extends Writable {
  #headers = new Map();
  #pieces = [];
  #options;
  #isSent = false;

  constructor(options, listener) {
    super();
    if (options.cert || options.key || options.pfx) {
      throw new Error('Client certificates are not available to programs');
    }
    this.#options = options;
    this.method = (options.method || 'GET').toUpperCase();
    this.path = options.path || '/';
    this.protocol = options.protocol;
    this.host = options.hostname || options.host || 'localhost';
    this.agent = options.agent;
    this.aborted = false;
    this.finished = false;
    this.reusedSocket = false;
    this.res = null;
    this.socket = socketOf();
    this.connection = this.socket;
    if (Array.isArray(options.headers)) {
      for (let at = 0; at + 1 < options.headers.length; at += 2) {
        this.setHeader(options.headers[at], options.headers[at + 1]);
      }
    } else {
      for (const [name, value] of Object.entries(options.headers || {})) {
        if (value !== undefined) { this.setHeader(name, value); }
      }
    }
    if (options.auth && !this.hasHeader('authorization')) {
      this.setHeader('Authorization', 'Basic ' + Buffer.from(options.auth).toString('base64'));
    }
    if (listener) { this.once('response', listener); }
    if (options.timeout) { this.setTimeout(options.timeout); }
    if (options.signal) {
      const stop = () => this.destroy(options.signal.reason);
      if (options.signal.aborted) { stop(); } else { options.signal.addEventListener('abort', stop); }
    }
    Promise.resolve().then(() => {
      this.emit('socket', this.socket);
      this.socket.emit('connect');
      this.socket.emit('secureConnect');
    });
  }

  setHeader(name, value) {
    this.#headers.set(String(name).toLowerCase(), [String(name), value]);
    return this;
  }

  getHeader(name) {
    const found = this.#headers.get(String(name).toLowerCase());
    return found === undefined ? undefined : found[1];
  }

  hasHeader(name) { return this.#headers.has(String(name).toLowerCase()); }

  removeHeader(name) { this.#headers.delete(String(name).toLowerCase()); }

  getHeaders() {
    return Object.fromEntries([...this.#headers].map(([name, [, value]]) => [name, value]));
  }

  getHeaderNames() { return [...this.#headers.keys()]; }

  getRawHeaderNames() { return [...this.#headers.values()].map(([name]) => name); }

  get headersSent() { return this.#isSent; }

  flushHeaders() {}

  setNoDelay() {}

  setSocketKeepAlive() {}

  setTimeout(ms, listener) {
    if (listener) { this.once('timeout', listener); }
    if (ms > 0) {
      timers.setTimeout(() => {
        if (this.res === null && !this.destroyed) { this.emit('timeout'); }
      }, ms);
    }
    return this;
  }

  abort() {
    if (this.aborted) { return; }
    this.aborted = true;
    this.emit('abort');
    this.destroy();
  }

  _write(piece, encoding, done) {
    this.#pieces.push(Buffer.from(piece));
    done();
  }

  _final(done) {
    this.finished = true;
    done();
    this.#send();
  }

  _destroy(error, done) {
    if (error || this.res !== null) { done(error); return; }
    const hangUp = new Error('socket hang up');
    hangUp.code = 'ECONNRESET';
    done(hangUp);
  }

  #url() {
    const { protocol } = this.#options;
    const isDefault = String(this.#options.port) === { 'http:': '80', 'https:': '443' }[protocol];
    const port = isDefault ? undefined : this.#options.port;
    const name = this.host.includes(':') && !this.host.startsWith('[') ? `[${this.host}]` : this.host;
    const place = /:\d+$/.test(name) && !name.endsWith(']') || !port ? name : `${name}:${port}`;
    return `${protocol}//${place}${this.path.startsWith('/') ? '' : '/'}${this.path}`;
  }

  #pairs() {
    return [...this.#headers.values()].flatMap(([name, value]) => (Array.isArray(value)
      ? value.map((it) => [name, String(it)]) : [[name, String(value)]]));
  }

  async #send() {
    if (this.destroyed) { return; }
    this.#isSent = true;
    const whole = Buffer.concat(this.#pieces);
    const body = whole.length === 0 ? null : whole;
    let answer;
    try {
      answer = await ports.send(this.method, this.#url(), this.#pairs(), body);
    } catch (error) {
      const failure = new Error(String(error && error.message));
      failure.code = 'ECONNREFUSED';
      this.destroy(failure);
      return;
    }
    if (this.destroyed) { return; }
    this.res = new IncomingMessage(answer, this.socket);
    this.res.req = this;
    if (!this.emit('response', this.res)) { this.res.resume(); }
    this.emit('close');
  }
}

const optionsOf = (protocol, given) => {
  let [first, second, listener] = given;
  let options = {};
  if (typeof first === 'string') { first = new URL(first); }
  if (first instanceof URL) {
    options = urlToHttpOptions(first);
  } else {
    listener = second;
    second = first;
  }
  if (typeof second === 'function') {
    listener = second;
  } else if (second !== undefined && second !== null) {
    options = { ...options, ...second };
  }
  // A package may ask `http` for an address with another protocol: that one counts.
  return [{ ...options, protocol: options.protocol || protocol }, listener];
};

const make = (protocol) => {
  const request = (...given) => new ClientRequest(...optionsOf(protocol, given));
  const get = (...given) => {
    const sent = request(...given);
    sent.end();
    return sent;
  };
  const absent = (name) => () => {
    throw new Error(name + ' is not available to programs');
  };
  return {
    Agent,
    ClientRequest,
    IncomingMessage,
    METHODS,
    OutgoingMessage: Writable,
    STATUS_CODES,
    Server: absent('A server'),
    createServer: absent('A server'),
    get,
    globalAgent: new Agent(),
    maxHeaderSize: 16384,
    request,
    validateHeaderName: () => {},
    validateHeaderValue: () => {},
  };
};

module.exports = Object.assign(make('http:'), { make });
