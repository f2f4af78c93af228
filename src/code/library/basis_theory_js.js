// `bt`, and the package `@basis-theory/basis-theory-js`: members in camel case, answers as their data.
//
// The base URL is this vault unless the program names another: with the published default, card data
// would go elsewhere.
'use strict';

const ports = require('ports');
const { camel, queryOf, segment, send, snake, trimmed } = require('vault_calls.js');

const JSON_TYPE = 'application/json';
const PATCH_TYPE = 'application/merge-patch+json';

class BasisTheoryApiError extends Error {
  constructor(message, status, data, debug) {
    super(message);
    this.name = 'BasisTheoryApiError';
    this.status = status;
    this.data = data;
    this._debug = debug;
  }
}
class BasisTheoryValidationError extends Error {
  constructor(message, details, validation) {
    super(message);
    this.name = 'BasisTheoryValidationError';
    this.details = details;
    this.validation = validation;
  }
}

// One call. `kept` are members whose content is not renamed; `null` renames nothing.
const call = async (client, method, path, { model, options = {}, kept, type = JSON_TYPE }) => {
  const headers = {
    'BT-API-KEY': options.apiKey || client.apiKey,
    'BT-TRACE-ID': options.correlationId,
    'BT-IDEMPOTENCY-KEY': options.idempotencyKey,
    Accept: 'application/json, text/plain, */*',
    ...(model === undefined ? {} : { 'Content-Type': type }),
    ...(options.headers || {}),
  };
  const body = model === undefined || kept === null ? model : snake(model, kept);
  let answer;
  try {
    answer = await send(method, client.baseUrl + path, headers, body);
  } catch (error) {
    throw new BasisTheoryApiError(error.message, -1, undefined);
  }
  if (answer.status < 200 || answer.status > 299) {
    throw new BasisTheoryApiError(`Request failed with status code ${answer.status}`, answer.status,
      answer.data);
  }
  return { ...answer, data: kept === null ? answer.data : camel(answer.data, kept) };
};

// The operations of a resource by the names that they have in the package.
const resource = (client, path, kept, operations) => {
  const at = (id) => `${path}/${segment(id)}`;
  const data = async (...given) => (await call(client, ...given)).data;
  const all = {
    create: (model, options) => data('POST', path, { model, options, kept }),
    retrieve: (id, options) => data('GET', at(id), { options, kept }),
    update: (id, model, options) => data('PUT', at(id), { model, options, kept }),
    patch: (id, model, options) => data('PATCH', at(id), { model, options, kept, type: PATCH_TYPE }),
    delete: async (id, options) => { await call(client, 'DELETE', at(id), { options, kept }); },
    list: (query = {}, options = {}) => data('GET', path + queryOf(snake(query, ['metadata'])),
      { options, kept }),
  };
  return Object.fromEntries(operations.map((name) => [name, all[name]]));
};

const TOKEN = ['data', 'metadata'];
const CONFIGURED = ['configuration'];

const attach = (target, client) => {
  const data = async (...given) => (await call(client, ...given)).data;
  const proxied = (method) => async (options = {}) => {
    const { path = '', query, body, includeResponseHeaders, ...rest } = options;
    const start = path === '' || path.startsWith('/') ? path : '/' + path;
    const answer = await call(client, method, '/proxy' + start + queryOf(query), {
      model: body === null ? undefined : body, options: rest, kept: null,
    });
    return includeResponseHeaders ? { data: answer.data, headers: answer.headers } : answer.data;
  };
  const members = {
    tokens: {
      ...resource(client, '/tokens', TOKEN, ['create', 'retrieve', 'delete', 'list']),
      // Tokens change by merge patch under the name `update`.
      update: (id, model, options) => data('PATCH', '/tokens/' + segment(id),
        { model, options, kept: TOKEN, type: PATCH_TYPE }),
      search: (model, options) => data('POST', '/tokens/search', { model, options, kept: TOKEN }),
      createAssociation: () => { throw new Error('Associations of tokens do not exist any more'); },
    },
    tokenize: (model, options) => data('POST', '/tokenize', { model, options, kept: null }),
    tokenIntents: resource(client, '/token-intents', TOKEN, ['create', 'retrieve', 'delete']),
    applications: {
      ...resource(client, '/applications', [], ['create', 'retrieve', 'update', 'delete', 'list']),
      retrieveByKey: (options) => data('GET', '/applications/key', { options, kept: [] }),
      regenerateKey: (id, options) => data('POST', `/applications/${segment(id)}/regenerate`,
        { options, kept: [] }),
    },
    applicationKeys: {
      create: (id, options) => data('POST', `/applications/${segment(id)}/keys`, { options, kept: [] }),
      list: (id, options) => data('GET', `/applications/${segment(id)}/keys`, { options, kept: [] }),
      retrieve: (id, key, options) => data('GET',
        `/applications/${segment(id)}/keys/${segment(key)}`, { options, kept: [] }),
      delete: async (id, key, options) => {
        await call(client, 'DELETE', `/applications/${segment(id)}/keys/${segment(key)}`,
          { options, kept: [] });
      },
    },
    applicationTemplates: resource(client, '/application-templates', [], ['retrieve', 'list']),
    tenants: {
      retrieve: (options) => data('GET', '/tenants/self', { options, kept: [] }),
      update: (model, options) => data('PUT', '/tenants/self', { model, options, kept: [] }),
    },
    logs: resource(client, '/logs', [], ['list']),
    permissions: resource(client, '/permissions', [], ['list']),
    proxies: resource(client, '/proxies', CONFIGURED,
      ['create', 'retrieve', 'update', 'patch', 'delete', 'list']),
    proxy: {
      get: proxied('GET'), post: proxied('POST'), put: proxied('PUT'), patch: proxied('PATCH'),
      delete: proxied('DELETE'),
    },
    reactors: {
      ...resource(client, '/reactors', CONFIGURED,
        ['create', 'retrieve', 'update', 'patch', 'delete', 'list']),
      react: (id, model, options) => data('POST', `/reactors/${segment(id)}/react`,
        { model, options, kept: null }),
      reactAsync: (id, model, options) => data('POST', `/reactors/${segment(id)}/react-async`,
        { model, options, kept: null }),
      retrieveAsyncResult: (id, request, options) => data('GET',
        `/reactors/${segment(id)}/results/${segment(request)}`, { options, kept: null }),
    },
    sessions: {
      create: (options) => data('POST', '/sessions', { options, kept: [] }),
      authorize: (model, options) => data('POST', '/sessions/authorize', { model, options, kept: [] }),
    },
    threeds: {
      createSession: (model, options) => data('POST', '/3ds/sessions', { model, options, kept: [] }),
      retrieveSession: (id, options) => data('GET', `/3ds/sessions/${segment(id)}`,
        { options, kept: [] }),
      authenticateSession: (id, model, options) => data('POST',
        `/3ds/sessions/${segment(id)}/authenticate`, { model, options, kept: [] }),
      getChallengeResult: (id, options) => data('GET',
        `/3ds/sessions/${segment(id)}/challenge-result`, { options, kept: [] }),
    },
  };
  // Not listed, so that a program which returns or clones its argument does not meet them.
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(target, name, { value, writable: true, configurable: true });
  }
  Object.defineProperty(target, 'toJSON', { value: () => undefined, configurable: true });
  return target;
};

const clientOf = (apiKey, baseUrl) => attach({}, { apiKey, baseUrl });

class BasisTheory {
  async init(apiKey, options = {}) {
    return attach(this, {
      apiKey: apiKey === undefined ? ports.key : apiKey,
      baseUrl: options.apiBaseUrl ? trimmed(options.apiBaseUrl) : ports.baseUrl,
    });
  }
}

module.exports = { BasisTheory, BasisTheoryApiError, BasisTheoryValidationError, clientOf };
Object.defineProperty(module.exports, 'clientOf', { enumerable: false });
