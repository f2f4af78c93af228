// `node-fetch`: the `fetch` of this library under the package's names.
'use strict';

const { Headers, Request, Response, fetch } = require('fetch.js');
const { AbortController } = require('abort.js');
const { Blob, File, FormData } = require('form_data_web.js');

class FetchError extends Error {
  constructor(message, type, cause) {
    super(message);
    this.name = 'FetchError';
    this.type = type;
    this.code = cause && cause.code;
    this.errno = this.code;
  }
}
class AbortError extends Error {
  constructor(message) {
    super(message);
    this.name = 'AbortError';
    this.type = 'aborted';
  }
}

const nodeFetch = async (input, init = {}) => {
  const { timeout, agent, follow, size, compress, ...rest } = init;
  const controller = timeout > 0 && !rest.signal ? new AbortController() : null;
  if (controller !== null) {
    rest.signal = controller.signal;
    require('timers.js').setTimeout(() => controller.abort(), timeout);
  }
  try {
    return await fetch(input, rest);
  } catch (error) {
    if (controller !== null && controller.signal.aborted) {
      throw new FetchError('network timeout at: ' + input, 'request-timeout');
    }
    if (error && error.name === 'AbortError') { throw new AbortError('The user aborted a request.'); }
    if (error instanceof TypeError && error.cause !== undefined) {
      throw new FetchError(
        `request to ${input && input.url ? input.url : input} failed, reason: ${error.cause.message}`,
        'system', error.cause);
    }
    throw error;
  }
};

module.exports = Object.assign(nodeFetch, {
  AbortError, Blob, FetchError, File, FormData, Headers, Request, Response,
  default: nodeFetch,
  fetch: nodeFetch,
  isRedirect: (status) => [301, 302, 303, 307, 308].includes(status),
});
Object.defineProperty(module.exports, '__esModule', { value: true });
