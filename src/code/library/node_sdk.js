// `@basis-theory/node-sdk`: operations by name, members in camel case, with this vault as the
// default of every environment.
'use strict';

const ports = require('ports');
const { camel, isPlain, queryOf, segment, send, snake, trimmed } = require('vault_calls.js');

// Members whose content belongs to the program.
const KEPT = ['args', 'configuration', 'data', 'encrypted', 'metadata', 'raw'];

// Operations: the method, the path, and how the request goes. `raw` renames nothing.
const OPERATIONS = {
  'applications.create': 'POST /applications',
  'applications.delete': 'DELETE /applications/{id}',
  'applications.get': 'GET /applications/{id}',
  'applications.getByKey': 'GET /applications/key',
  'applications.list': 'LIST /applications',
  'applications.update': 'PUT /applications/{id}',
  'applicationKeys.create': 'POST /applications/{id}/keys',
  'applicationKeys.delete': 'DELETE /applications/{id}/keys/{keyId}',
  'applicationKeys.get': 'GET /applications/{id}/keys/{keyId}',
  'applicationKeys.list': 'GET /applications/{id}/keys',
  'applicationTemplates.get': 'GET /application-templates/{id}',
  'applicationTemplates.list': 'GET /application-templates',
  'keys.create': 'POST /keys',
  'keys.delete': 'DELETE /keys/{id}',
  'keys.get': 'GET /keys/{id}',
  'keys.list': 'GET /keys',
  'logs.getEntityTypes': 'GET /logs/entity-types',
  'logs.list': 'LIST /logs',
  'permissions.list': 'GET /permissions',
  'proxies.create': 'POST /proxies',
  'proxies.delete': 'DELETE /proxies/{id}',
  'proxies.get': 'GET /proxies/{id}',
  'proxies.list': 'LIST /proxies',
  'proxies.patch': 'PATCH /proxies/{id}',
  'proxies.update': 'PUT /proxies/{id}',
  'reactors.create': 'POST /reactors',
  'reactors.delete': 'DELETE /reactors/{id}',
  'reactors.get': 'GET /reactors/{id}',
  'reactors.list': 'LIST /reactors',
  'reactors.patch': 'PATCH /reactors/{id}',
  'reactors.react': 'POST /reactors/{id}/react',
  'reactors.reactAsync': 'POST /reactors/{id}/react-async',
  'reactors.results.get': 'GET /reactors/{id}/results/{requestId} raw',
  'reactors.update': 'PUT /reactors/{id}',
  'roles.list': 'GET /roles',
  'sessions.authorize': 'POST /sessions/authorize',
  'sessions.create': 'POST /sessions',
  'tenants.self.get': 'GET /tenants/self',
  'tenants.self.update': 'PUT /tenants/self',
  'threeds.sessions.authenticate': 'POST /3ds/sessions/{id}/authenticate',
  'threeds.sessions.create': 'POST /3ds/sessions',
  'threeds.sessions.get': 'GET /3ds/sessions/{id}',
  'threeds.sessions.getChallengeResult': 'GET /3ds/sessions/{id}/challenge-result',
  'tokenIntents.create': 'POST /token-intents',
  'tokenIntents.delete': 'DELETE /token-intents/{id}',
  'tokenIntents.get': 'GET /token-intents/{id}',
  'tokens.create': 'POST /tokens',
  'tokens.delete': 'DELETE /tokens/{id}',
  'tokens.detokenize': 'POST /detokenize raw',
  'tokens.get': 'GET /tokens/{id}',
  'tokens.list': 'LIST /tokens',
  'tokens.listV2': 'LIST /v2/tokens',
  'tokens.search': 'SEARCH /tokens/search',
  'tokens.searchV2': 'SEARCH /v2/tokens/search',
  'tokens.tokenize': 'POST /tokenize raw',
  'tokens.update': 'PATCH /tokens/{id}',
  'webhooks.create': 'POST /webhooks',
  'webhooks.delete': 'DELETE /webhooks/{id}',
  'webhooks.events.list': 'GET /event-types',
  'webhooks.get': 'GET /webhooks/{id}',
  'webhooks.list': 'GET /webhooks',
  'webhooks.ping': 'GET /webhooks/ping',
  'webhooks.update': 'PUT /webhooks/{id}',
};

class BasisTheoryError extends Error {
  constructor({ message, statusCode, body, rawResponse } = {}) {
    super([
      message,
      statusCode === undefined ? undefined : `Status code: ${statusCode}`,
      body === undefined || body === null ? undefined : `Body: ${JSON.stringify(body, undefined, 2)}`,
    ].filter((line) => line !== undefined && line !== null).join('\n'));
    this.statusCode = statusCode;
    this.body = body;
    this.rawResponse = rawResponse;
  }
}
class BasisTheoryTimeoutError extends Error {}

const ERRORS = {
  400: 'BadRequestError', 401: 'UnauthorizedError', 403: 'ForbiddenError', 404: 'NotFoundError',
  409: 'ConflictError', 422: 'UnprocessableEntityError', 500: 'InternalServerError',
  503: 'ServiceUnavailableError',
};
const namespace = {};
for (const [status, name] of Object.entries(ERRORS)) {
  const kinds = {
    [name]: class extends BasisTheoryError {
      constructor(body, rawResponse) {
        super({ message: name, statusCode: Number(status), body, rawResponse });
      }
    },
  };
  namespace[name] = kinds[name];
}

// A page of a list, which goes on by itself in `for await`.
class Page {
  constructor(response, next) {
    this.response = response;
    this.data = response.data || [];
    this.pagination = response.pagination;
    Object.defineProperty(this, 'next', { value: next });
  }

  hasNextPage() {
    const { pagination = {} } = this;
    return Boolean(pagination.next) || (pagination.pageNumber || 0) < (pagination.totalPages || 0);
  }

  async getNextPage() {
    if (!this.hasNextPage()) { throw new Error('No next page available'); }
    return this.next(this.pagination);
  }

  async loadNextPage() {
    const page = await this.getNextPage();
    Object.assign(this, page);
    return this;
  }

  getItems() { return this.data; }

  async * [Symbol.asyncIterator]() {
    for (let page = this; ; page = await page.getNextPage()) {
      yield* page.data;
      if (!page.hasNextPage()) { return; }
    }
  }
}

const settled = async (value) => (typeof value === 'function' ? value() : value);

class BasisTheoryClient {
  #options;

  constructor(options = {}) {
    this.#options = options;
    for (const [name, description] of Object.entries(OPERATIONS)) {
      const [method, path, mode] = description.split(' ');
      const parts = name.split('.');
      const last = parts.pop();
      let target = this;
      for (const part of parts) {
        if (target[part] === undefined) {
          Object.defineProperty(target, part, { value: {}, writable: true, configurable: true });
        }
        target = target[part];
      }
      target[last] = (...given) => withRaw(this.#call(method, path, mode, given));
    }
    // Older names.
    this.tokens.retrieve = this.tokens.get;
  }

  async #call(method, path, mode, given) {
    const rest = [...given];
    const place = path.replace(/\{\w+\}/g, () => segment(rest.shift()));
    const [request, options = {}] = rest;
    if (method === 'LIST' || method === 'SEARCH') {
      return this.#page(method, place, request || {}, options);
    }
    const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
    const isRaw = mode === 'raw';
    const body = !hasBody ? undefined : isRaw ? request
      : snake(request === undefined ? {} : request, KEPT);
    const query = hasBody || !isPlain(request) ? '' : queryOf(snake(request, ['metadata']));
    const answer = await this.#send(method, place + query, body, options);
    return { ...answer, data: isRaw ? answer.data : camel(answer.data, KEPT) };
  }

  async #page(method, place, request, options) {
    const answer = method === 'SEARCH'
      ? await this.#send('POST', place, snake(request, KEPT), options)
      : await this.#send('GET', place + queryOf(snake(request, ['metadata'])), undefined, options);
    const next = async (pagination) => {
      const more = pagination.next ? { start: pagination.next }
        : { page: (pagination.pageNumber || 1) + 1 };
      return (await this.#page(method, place, { ...request, ...more }, options)).data;
    };
    return { ...answer, data: new Page(camel(answer.data, KEPT), next) };
  }

  async #send(method, path, body, options) {
    const { apiKey, baseUrl, correlationId, environment, headers } = this.#options;
    const key = await settled(options.apiKey || apiKey);
    const base = await settled(baseUrl || environment);
    const sent = {
      'BT-API-KEY': key === undefined ? ports.key : key,
      'BT-TRACE-ID': await settled(options.correlationId || correlationId),
      'BT-IDEMPOTENCY-KEY': options.idempotencyKey,
      ...(body === undefined ? {} : {
        'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      }),
      ...(headers || {}),
      ...(options.headers || {}),
    };
    let answer;
    try {
      answer = await send(method, (base ? trimmed(base) : ports.baseUrl) + path, sent, body);
    } catch (error) {
      throw new BasisTheoryError({ message: error.message });
    }
    const rawResponse = { status: answer.status, headers: answer.headers };
    if (answer.status < 200 || answer.status > 299) {
      const Kind = namespace[ERRORS[answer.status]];
      throw Kind === undefined
        ? new BasisTheoryError({ statusCode: answer.status, body: answer.data, rawResponse })
        : new Kind(answer.data, rawResponse);
    }
    return { ...answer, rawResponse };
  }
}

// A promise of the data, which can give the response as well.
const withRaw = (answered) => {
  const promise = answered.then((answer) => answer.data);
  promise.withRawResponse = () => answered.then(({ data, rawResponse }) => ({ data, rawResponse }));
  return promise;
};

module.exports = {
  BasisTheory: namespace,
  BasisTheoryClient,
  // Every environment is this vault.
  get BasisTheoryEnvironment() {
    const { baseUrl } = ports;
    return { Default: baseUrl, Eu: baseUrl, Test: baseUrl, Us: baseUrl };
  },
  BasisTheoryError,
  BasisTheoryTimeoutError,
};
