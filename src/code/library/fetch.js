// `fetch`, `Headers`, `Request` and `Response`.
'use strict';

const { bytesOf, concat, decode, isBuffer, isView } = require('bytes.js');
const { Blob, FormData, encodeForm } = require('form_data_web.js');
const { URL, URLSearchParams } = require('url.js');
const { DOMException } = require('abort.js');
const { STATUS_CODES } = require('http.js');
const ports = require('ports');

// The browser follows as many.
const REDIRECTS_MAX = 20;

const nameOf = (name) => {
  const text = String(name);
  if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(text)) {
    throw new TypeError(`Headers: ${JSON.stringify(text)} is an invalid header name.`);
  }
  return text.toLowerCase();
};
const valueOf = (value) => {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, '');
  if (/[\0\n\r]/.test(text)) { throw new TypeError('Headers: the value is an invalid header value.'); }
  return text;
};

class Headers {
  #pairs = [];

  constructor(init) {
    if (init === undefined || init === null) { return; }
    const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
    for (const pair of pairs) {
      const [name, value] = [...pair];
      // Packages give lists, as Node's headers have them.
      for (const one of Array.isArray(value) ? value : [value]) { this.append(name, one); }
    }
  }

  append(name, value) { this.#pairs.push([nameOf(name), valueOf(value)]); }

  delete(name) { this.#pairs = this.#pairs.filter((pair) => pair[0] !== nameOf(name)); }

  get(name) {
    const found = this.#pairs.filter((pair) => pair[0] === nameOf(name));
    return found.length === 0 ? null : found.map((pair) => pair[1]).join(', ');
  }

  getSetCookie() {
    return this.#pairs.filter((pair) => pair[0] === 'set-cookie').map((pair) => pair[1]);
  }

  has(name) { return this.#pairs.some((pair) => pair[0] === nameOf(name)); }

  set(name, value) {
    const text = valueOf(value);
    this.delete(name);
    this.#pairs.push([nameOf(name), text]);
  }

  forEach(work, self) { for (const [name, value] of this) { work.call(self, value, name, this); } }

  * entries() {
    for (const name of [...new Set(this.#pairs.map((pair) => pair[0]))].sort()) {
      if (name === 'set-cookie') {
        for (const cookie of this.getSetCookie()) { yield [name, cookie]; }
      } else {
        yield [name, this.get(name)];
      }
    }
  }

  * keys() { for (const [name] of this.entries()) { yield name; } }

  * values() { for (const [, value] of this.entries()) { yield value; } }

  [Symbol.iterator]() { return this.entries(); }

  // As node-fetch has it.
  raw() {
    const all = {};
    for (const [name, value] of this.#pairs) { all[name] = [...(all[name] || []), value]; }
    return all;
  }

  get [Symbol.toStringTag]() { return 'Headers'; }
}

// The bytes of a body, and the type that it has by itself. Streams are read to their end.
const bodyOf = async (body) => {
  if (body === null || body === undefined) { return { bytes: null, type: null }; }
  if (typeof body === 'string') { return { bytes: bytesOf(body), type: 'text/plain;charset=UTF-8' }; }
  if (body instanceof URLSearchParams) {
    return {
      bytes: bytesOf(body.toString()), type: 'application/x-www-form-urlencoded;charset=UTF-8',
    };
  }
  if (isView(body) || isBuffer(body)) { return { bytes: bytesOf(body), type: null }; }
  if (body instanceof Blob) { return { bytes: await body.bytes(), type: body.type || null }; }
  if (body instanceof FormData) { return encodeForm(body); }
  if (typeof body.getBuffer === 'function' && typeof body.getHeaders === 'function') {
    return { bytes: body.getBuffer(), type: body.getHeaders()['content-type'] };
  }
  if (typeof body[Symbol.asyncIterator] === 'function') {
    const pieces = [];
    for await (const piece of body) { pieces.push(bytesOf(piece)); }
    return { bytes: concat(pieces), type: null };
  }
  return { bytes: bytesOf(String(body)), type: 'text/plain;charset=UTF-8' };
};

class Body {
  #given;
  #isUsed = false;

  constructor(body) {
    this.#given = body;
    const tag = Object.prototype.toString.call(body);
    this.bodyType = typeof body === 'string' ? 'text/plain;charset=UTF-8'
      : tag === '[object URLSearchParams]' ? 'application/x-www-form-urlencoded;charset=UTF-8'
        : body instanceof Blob && body.type !== '' ? body.type : null;
    Object.defineProperty(this, 'bodyType', { enumerable: false });
  }

  get bodyUsed() { return this.#isUsed; }

  get body() {
    if (this.#given === null || this.#given === undefined) { return null; }
    const take = () => this.bytes();
    const { Readable } = require('stream.js');
    const stream = new Readable();
    let isAsked = false;
    stream._read = () => {
      if (isAsked) { return; }
      isAsked = true;
      take().then((bytes) => { stream.push(bytes); stream.push(null); }, (error) => stream.destroy(error));
    };
    stream.getReader = () => {
      let isRead = false;
      return {
        read: async () => {
          if (isRead) { return { done: true, value: undefined }; }
          isRead = true;
          return { done: false, value: await take() };
        },
        cancel: async () => {},
        releaseLock: () => {},
      };
    };
    stream.cancel = async () => {};
    return stream;
  }

  async encoded() {
    if (this.#isUsed) { throw new TypeError('Body is unusable: Body has already been read'); }
    if (this.#given !== null && this.#given !== undefined) { this.#isUsed = true; }
    return bodyOf(this.#given);
  }

  async bytes() {
    const { bytes } = await this.encoded();
    return bytes === null ? new Uint8Array(0) : bytes;
  }

  async arrayBuffer() {
    const bytes = Uint8Array.from(await this.bytes());
    return bytes.buffer;
  }

  async buffer() { return require('buffer.js').Buffer.from(await this.bytes()); }

  async blob() {
    return new Blob([await this.bytes()], { type: this.headers.get('content-type') || '' });
  }

  async text() {
    const text = decode(await this.bytes(), 'utf8');
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }

  async json() { return JSON.parse(await this.text()); }

  async formData() {
    const form = new FormData();
    for (const [name, value] of new URLSearchParams(await this.text())) { form.append(name, value); }
    return form;
  }

  given() { return this.#given; }
}

class Request extends Body {
  constructor(input, init = {}) {
    const before = input instanceof Request ? input : null;
    super(init.body !== undefined ? init.body : before === null ? null : before.given());
    const address = before === null ? new URL(typeof input === 'object' && 'href' in input ? input.href : input)
      : new URL(before.url);
    if (address.username !== '' || address.password !== '') {
      throw new TypeError('Request cannot be constructed from a URL that includes credentials');
    }
    this.url = address.href;
    const method = String(init.method || (before === null ? 'GET' : before.method));
    this.method = /^(?:delete|get|head|options|post|put)$/i.test(method) ? method.toUpperCase() : method;
    this.headers = new Headers(init.headers || (before === null ? undefined : before.headers));
    if (this.bodyType !== null && !this.headers.has('content-type')) {
      this.headers.set('content-type', this.bodyType);
    }
    this.redirect = init.redirect || (before === null ? 'follow' : before.redirect);
    this.signal = init.signal || (before === null ? null : before.signal);
    if ((this.method === 'GET' || this.method === 'HEAD') && this.given() !== null
      && this.given() !== undefined) {
      throw new TypeError('Request with GET/HEAD method cannot have body.');
    }
  }

  clone() { return new Request(this, {}); }
}

class Response extends Body {
  constructor(body = null, init = {}) {
    super(body);
    this.status = init.status === undefined ? 200 : init.status;
    this.statusText = init.statusText === undefined ? '' : String(init.statusText);
    this.headers = new Headers(init.headers);
    if (this.bodyType !== null && !this.headers.has('content-type')) {
      this.headers.set('content-type', this.bodyType);
    }
    this.url = init.url || '';
    this.redirected = Boolean(init.redirected);
    this.type = 'basic';
  }

  get ok() { return this.status >= 200 && this.status < 300; }

  clone() {
    if (this.bodyUsed) { throw new TypeError('Response.clone: Body has already been consumed.'); }
    return new Response(this.given(), this);
  }

  static json(value, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has('content-type')) { headers.set('content-type', 'application/json'); }
    return new Response(JSON.stringify(value), { ...init, headers });
  }

  static error() { return new Response(null, { status: 0 }); }

  static redirect(url, status = 302) {
    return new Response(null, { status, headers: { location: new URL(url).href } });
  }
}

const failed = (error) => {
  const failure = new TypeError('fetch failed');
  failure.cause = error;
  failure.message = 'fetch failed: ' + String(error && error.message);
  return failure;
};

// One after the other, as long as the answer sends the request elsewhere.
const follow = async (request, body) => {
  let { method, url } = request;
  let headers = request.headers;
  let { bytes } = body;
  for (let redirects = 0; ; redirects++) {
    let answer;
    try {
      answer = await ports.send(method, url.replace(/#.*$/, ''), [...headers], bytes);
    } catch (error) {
      throw failed(error);
    }
    const response = new Response(answer.body.length === 0 ? null : answer.body, {
      status: answer.status, statusText: STATUS_CODES[answer.status] || '',
      headers: answer.headers, url, redirected: redirects > 0,
    });
    const location = response.headers.get('location');
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === null
      || request.redirect === 'manual') {
      return response;
    }
    if (request.redirect === 'error') { throw failed(new Error('unexpected redirect')); }
    if (redirects >= REDIRECTS_MAX) { throw failed(new Error('redirect count exceeded')); }
    const next = new URL(location, url);
    const isPost = method === 'POST' && (answer.status === 301 || answer.status === 302);
    if (isPost || (answer.status === 303 && method !== 'HEAD' && method !== 'GET')) {
      method = 'GET';
      bytes = null;
      headers = new Headers([...headers].filter(([name]) => !name.startsWith('content-')));
    }
    // Secrets are for the first destination alone.
    if (next.origin !== new URL(url).origin) {
      headers = new Headers([...headers].filter(
        ([name]) => !['authorization', 'bt-api-key', 'cookie', 'proxy-authorization'].includes(name)));
    }
    url = next.href;
  }
};

const fetch = async (input, init) => {
  const request = new Request(input, init);
  const { signal } = request;
  if (signal && signal.aborted) { throw signal.reason; }
  const body = await request.encoded();
  if (body.type !== null && !request.headers.has('content-type')) {
    request.headers.set('content-type', body.type);
  }
  if (!request.headers.has('accept')) { request.headers.set('accept', '*/*'); }
  const answered = follow(request, body);
  if (!signal) { return answered; }
  const stopped = new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(
      signal.reason || new DOMException('This operation was aborted', 'AbortError')));
  });
  return Promise.race([answered, stopped]);
};

module.exports = { Headers, Request, Response, bodyOf, fetch };
