// `axios` over the port of the host.
'use strict';

const { Buffer } = require('buffer.js');
const { DOMException } = require('abort.js');
const { STATUS_CODES } = require('http.js');
const { bodyOf } = require('fetch.js');
const { URL, URLSearchParams } = require('url.js');
const { decode } = require('bytes.js');
const ports = require('ports');
const timers = require('timers.js');

// The package follows as many.
const REDIRECTS_MAX = 21;

class AxiosError extends Error {
  constructor(message, code, config, request, response) {
    super(message);
    this.name = 'AxiosError';
    this.code = code;
    this.config = config;
    this.request = request;
    if (response) {
      this.response = response;
      this.status = response.status;
    }
  }

  get isAxiosError() { return true; }

  toJSON() {
    return { message: this.message, name: this.name, code: this.code, status: this.status };
  }
}
for (const name of ['ERR_BAD_REQUEST', 'ERR_BAD_RESPONSE', 'ERR_NETWORK', 'ECONNABORTED', 'ETIMEDOUT',
  'ERR_CANCELED', 'ERR_INVALID_URL', 'ERR_BAD_OPTION']) {
  AxiosError[name] = name;
}
class CanceledError extends AxiosError {
  constructor(message, config) {
    super(message || 'canceled', 'ERR_CANCELED', config);
    this.name = 'CanceledError';
    this.__CANCEL__ = true;
  }
}

// Headers: looked up without regard to case.
class AxiosHeaders {
  constructor(init) { this.set(init); }

  static from(init) { return init instanceof AxiosHeaders ? init : new AxiosHeaders(init); }

  set(name, value) {
    if (typeof name === 'object' && name !== null) {
      const pairs = typeof name[Symbol.iterator] === 'function' ? [...name] : Object.entries(name);
      for (const [key, member] of pairs) { this.set(key, member); }
      return this;
    }
    if (name === undefined || value === undefined || value === null || value === false) { return this; }
    const before = find(this, name);
    if (before !== undefined) { delete this[before]; }
    this[before === undefined ? name : before] = Array.isArray(value) ? value.map(String) : String(value);
    return this;
  }

  get(name) {
    const found = find(this, name);
    return found === undefined ? undefined : this[found];
  }

  has(name) { return find(this, name) !== undefined; }

  delete(name) {
    const found = find(this, name);
    return found !== undefined && delete this[found];
  }

  setContentType(value) { return this.set('Content-Type', value); }

  getContentType() { return this.get('content-type'); }

  toJSON() { return { ...this }; }

  [Symbol.iterator]() { return Object.entries(this)[Symbol.iterator](); }
}
const find = (headers, name) => Object.keys(headers).find(
  (own) => own.toLowerCase() === String(name).toLowerCase());

const encode = (text) => encodeURIComponent(text).replace(/%3A/gi, ':').replace(/%24/g, '$')
  .replace(/%2C/gi, ',').replace(/%20/g, '+');

const paramPairs = (params) => {
  const pairs = [];
  const add = (name, value) => {
    if (value === null || value === undefined) { return; }
    if (Array.isArray(value)) {
      value.forEach((one, at) => add(
        typeof one === 'object' && one !== null ? `${name}[${at}]` : `${name}[]`, one));
    } else if (value instanceof Date) {
      pairs.push([name, value.toISOString()]);
    } else if (typeof value === 'object') {
      for (const [inner, member] of Object.entries(value)) { add(`${name}[${inner}]`, member); }
    } else {
      pairs.push([name, String(value)]);
    }
  };
  for (const [name, value] of Object.entries(params)) { add(name, value); }
  return pairs;
};

const urlOf = (config) => {
  let url = config.url || '';
  if (config.baseURL && !/^([a-z][a-z\d+\-.]*:)?\/\//i.test(url)) {
    url = url === '' ? config.baseURL
      : config.baseURL.replace(/\/?\/$/, '') + '/' + url.replace(/^\/+/, '');
  }
  const { params, paramsSerializer } = config;
  if (params === undefined || params === null) { return url; }
  const serialize = typeof paramsSerializer === 'function' ? paramsSerializer
    : paramsSerializer && paramsSerializer.serialize;
  const query = serialize ? serialize(params)
    : params instanceof URLSearchParams ? params.toString()
      : paramPairs(params).map(([name, value]) => encode(name) + '=' + encode(value)).join('&');
  if (query === '') { return url; }
  const bare = url.replace(/#.*$/, '');
  return bare + (bare.includes('?') ? '&' : '?') + query;
};

const isPlain = (value) => typeof value === 'object' && value !== null
  && (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null);

// As the package does it: objects become JSON, or a form if the header says so.
const transformRequest = (data, headers) => {
  if (data === undefined || data === null) { return data; }
  const type = String(headers.getContentType() || '');
  if (data instanceof URLSearchParams) {
    if (!type) { headers.setContentType('application/x-www-form-urlencoded;charset=utf-8'); }
    return data.toString();
  }
  const isObject = isPlain(data) || Array.isArray(data);
  if (isObject && type.includes('application/x-www-form-urlencoded')) {
    return new URLSearchParams(paramPairs(data)).toString();
  }
  if (isObject || type.includes('application/json')) {
    if (!type) { headers.setContentType('application/json'); }
    return typeof data === 'string' ? data : JSON.stringify(data);
  }
  return data;
};
const transformResponse = function (data) {
  const isJson = this.responseType === undefined || this.responseType === null
    || this.responseType === 'json';
  if (typeof data !== 'string' || data === '' || !isJson) { return data; }
  try {
    return JSON.parse(data);
  } catch (error) {
    if (this.responseType === 'json') {
      throw new AxiosError(error.message, 'ERR_BAD_RESPONSE', this, null, this.response);
    }
    return data;
  }
};

const defaults = {
  headers: {
    common: { Accept: 'application/json, text/plain, */*' },
    delete: {}, get: {}, head: {}, patch: {}, post: {}, put: {},
  },
  maxRedirects: REDIRECTS_MAX,
  timeout: 0,
  transformRequest: [transformRequest],
  transformResponse: [transformResponse],
  validateStatus: (status) => status >= 200 && status < 300,
};

const merged = (one, other) => {
  const result = { ...one };
  for (const [name, value] of Object.entries(other || {})) {
    if (value === undefined) { continue; }
    result[name] = isPlain(value) && isPlain(result[name]) ? merged(result[name], value)
      : isPlain(value) ? merged({}, value) : value;
  }
  return result;
};

const answerOf = async (config, url, body) => {
  let { method } = config;
  let next = url;
  let { bytes } = body;
  let pairs = [...config.headers].flatMap(
    ([name, value]) => (Array.isArray(value) ? value.map((it) => [name, it]) : [[name, value]]));
  for (let redirects = 0; ; redirects++) {
    const answer = await ports.send(method.toUpperCase(), next, pairs, bytes);
    const location = answer.headers.find(([name]) => name.toLowerCase() === 'location');
    if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined
      || config.maxRedirects === 0) {
      return answer;
    }
    if (redirects >= config.maxRedirects) {
      throw new AxiosError('Maximum number of redirects exceeded', 'ERR_FR_TOO_MANY_REDIRECTS', config);
    }
    const target = new URL(location[1], next);
    const isPost = method === 'post' && (answer.status === 301 || answer.status === 302);
    if (isPost || (answer.status === 303 && method !== 'head')) {
      method = 'get';
      bytes = null;
      pairs = pairs.filter(([name]) => !/^content-/i.test(name));
    }
    // Secrets are for the first destination alone.
    if (target.origin !== new URL(next).origin) {
      pairs = pairs.filter(([name]) => !/^(?:(?:proxy-)?authorization|bt-api-key|cookie)$/i.test(name));
    }
    next = target.href;
  }
};

const dataOf = (config, bytes) => {
  switch (config.responseType) {
    case 'arraybuffer': return Buffer.from(bytes);
    case 'blob': return new (require('form_data_web.js').Blob)([bytes]);
    case 'stream': return require('stream.js').Readable.from(Buffer.from(bytes));
    default: return decode(bytes, config.responseEncoding || 'utf8').replace(/^\ufeff/, '');
  }
};

const stopper = (config) => new Promise((resolve, reject) => {
  const cancel = (message) => reject(new CanceledError(message, config));
  if (config.timeout > 0) {
    timers.setTimeout(() => reject(new AxiosError(
      config.timeoutErrorMessage || `timeout of ${config.timeout}ms exceeded`, 'ECONNABORTED', config)),
    config.timeout);
  }
  if (config.signal) {
    if (config.signal.aborted) { cancel(); }
    config.signal.addEventListener('abort', () => cancel());
  }
  if (config.cancelToken) { config.cancelToken.promise.then((reason) => cancel(reason.message)); }
});

const listOf = (value) => (value === undefined || value === null ? []
  : Array.isArray(value) ? value : [value]);

const dispatch = async (config) => {
  config.headers = AxiosHeaders.from(config.headers);
  for (const transform of listOf(config.transformRequest)) {
    config.data = transform.call(config, config.data, config.headers);
  }
  if (config.auth) {
    const { username = '', password = '' } = config.auth;
    config.headers.set('Authorization',
      'Basic ' + Buffer.from(`${username}:${password}`).toString('base64'));
  }
  const body = await bodyOf(config.data);
  if (!config.headers.has('content-type') && body.type !== null) {
    config.headers.setContentType(typeof config.data === 'string' ? 'application/x-www-form-urlencoded'
      : body.type);
  }
  if (body.bytes === null) { config.headers.delete('content-type'); }
  const url = urlOf(config);
  const request = { method: config.method.toUpperCase(), path: url };
  let answer;
  try {
    answer = await Promise.race([answerOf(config, url, body), stopper(config)]);
  } catch (error) {
    if (error instanceof AxiosError) { throw error; }
    throw new AxiosError(String(error && error.message), 'ERR_NETWORK', config, request);
  }
  const response = {
    data: dataOf(config, answer.body),
    status: answer.status,
    statusText: STATUS_CODES[answer.status] || '',
    headers: AxiosHeaders.from(groupedOf(answer.headers)),
    config,
    request,
  };
  for (const transform of listOf(config.transformResponse)) {
    response.data = transform.call({ ...config, response }, response.data, response.headers,
      response.status);
  }
  const { validateStatus } = config;
  if (!validateStatus || validateStatus(response.status)) { return response; }
  const code = response.status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE';
  throw new AxiosError(`Request failed with status code ${response.status}`, code, config, request,
    response);
};
const groupedOf = (pairs) => {
  const headers = {};
  for (const [given, value] of pairs) {
    const name = given.toLowerCase();
    headers[name] = name === 'set-cookie' ? [...(headers[name] || []), value]
      : headers[name] === undefined ? value : headers[name] + ', ' + value;
  }
  return headers;
};

class InterceptorManager {
  handlers = [];

  use(done, failed, options = {}) {
    this.handlers.push({ done, failed, ...options });
    return this.handlers.length - 1;
  }

  eject(id) { this.handlers[id] = null; }

  clear() { this.handlers = []; }
}

class Axios {
  constructor(config = {}) {
    this.defaults = config;
    this.interceptors = { request: new InterceptorManager(), response: new InterceptorManager() };
  }

  async request(first, second) {
    const given = typeof first === 'string' || first instanceof URL
      ? { ...second, url: String(first) } : first || {};
    const config = merged(this.defaults, { ...given, headers: undefined });
    config.method = String(given.method || this.defaults.method || 'get').toLowerCase();
    // The body and the signal are taken as they are.
    config.data = given.data;
    const own = this.defaults.headers || {};
    const plain = Object.fromEntries(Object.entries(own).filter(([, value]) => typeof value !== 'object'));
    config.headers = new AxiosHeaders({ ...own.common, ...own[config.method], ...plain });
    config.headers.set(given.headers instanceof AxiosHeaders ? { ...given.headers } : given.headers);
    let promise = Promise.resolve(config);
    for (const it of [...this.interceptors.request.handlers].reverse()) {
      if (it !== null) { promise = promise.then(it.done, it.failed); }
    }
    promise = promise.then(dispatch);
    for (const it of this.interceptors.response.handlers) {
      if (it !== null) { promise = promise.then(it.done, it.failed); }
    }
    return promise;
  }

  getUri(config) { return urlOf(merged(this.defaults, config)); }
}
for (const method of ['delete', 'get', 'head', 'options']) {
  Axios.prototype[method] = function (url, config = {}) {
    return this.request({ ...config, method, url });
  };
}
for (const method of ['patch', 'post', 'put']) {
  Axios.prototype[method] = function (url, data, config = {}) {
    return this.request({ ...config, method, url, data });
  };
  Axios.prototype[method + 'Form'] = function (url, data, config = {}) {
    const headers = { ...config.headers };
    const { FormData } = require('form_data_web.js');
    let form = data;
    if (isPlain(data)) {
      form = new FormData();
      for (const [name, value] of paramPairs(data)) { form.append(name, value); }
    }
    return this.request({ ...config, headers, method, url, data: form });
  };
}

class CancelToken {
  constructor(executor) {
    this.promise = new Promise((resolve) => {
      executor((message) => {
        this.reason = this.reason || new CanceledError(message);
        resolve(this.reason);
      });
    });
  }

  throwIfRequested() { if (this.reason) { throw this.reason; } }

  static source() {
    let cancel;
    const token = new CancelToken((it) => { cancel = it; });
    return { cancel, token };
  }
}

const instanceOf = (config) => {
  const context = new Axios(config);
  const instance = (...given) => context.request(...given);
  for (const name of Object.getOwnPropertyNames(Axios.prototype)) {
    if (name !== 'constructor') { instance[name] = (...given) => context[name](...given); }
  }
  instance.defaults = context.defaults;
  instance.interceptors = context.interceptors;
  instance.create = (more) => instanceOf(merged(context.defaults, more));
  return instance;
};

const axios = instanceOf(defaults);
module.exports = Object.assign(axios, {
  Axios,
  AxiosError,
  AxiosHeaders,
  Cancel: CanceledError,
  CancelToken,
  CanceledError,
  DOMException,
  HttpStatusCode: Object.fromEntries(Object.entries(STATUS_CODES).map(
    ([status, name]) => [name.replace(/[^A-Za-z]/g, ''), Number(status)])),
  VERSION: '1.0.0',
  all: (promises) => Promise.all(promises),
  default: axios,
  isAxiosError: (error) => error instanceof AxiosError || Boolean(error && error.isAxiosError === true),
  isCancel: (error) => Boolean(error && error.__CANCEL__),
  spread: (work) => (list) => work(...list),
  toFormData: () => { throw new Error('toFormData is not available to programs'); },
});
