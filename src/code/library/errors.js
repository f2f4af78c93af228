// The error classes of the package `@basis-theory/basis-theory-reactor-formulas-sdk-js`.
'use strict';

const ports = require('ports');

const { parse, stringify } = JSON;
const { isArray } = Array;
const { entries, fromEntries } = Object;

// Texts of a value: each is one message of the answer.
const jsonText = (value) => {
  const above = [];
  return stringify(value, function (name, member) {
    if (typeof member === 'bigint') { return String(member); }
    if (typeof member !== 'object' || member === null) { return member; }
    while (above.length > 0 && above[above.length - 1] !== this) { above.pop(); }
    if (above.includes(member)) { return '[Circular]'; }
    above.push(member);
    return member;
  });
};
const textOf = (value) => {
  if (typeof value === 'string') { return value; }
  if (value instanceof Error) { return ports.thrown.messageOf(value); }
  if (typeof value === 'object' && value !== null) { return jsonText(value); }
  return String(value);
};
const listOf = (value) => (isArray(value) ? value : [value]).map(textOf);

const errorsOf = (given, fallback) => {
  if (given === undefined || given === null || given === '') { return { error: [fallback] }; }
  if (typeof given === 'object' && !isArray(given) && !(given instanceof Error)) {
    return fromEntries(entries(given).map(([name, value]) => [name, listOf(value)]));
  }
  return { error: listOf(given) };
};

class BasisTheoryReactorError extends Error {
  constructor(given, status = 500, detail = 'Reactor Runtime Error') {
    const errors = errorsOf(given, 'The program gave no reason.');
    super(typeof given === 'string' ? given : detail);
    this.name = new.target.name;
    this.status = status;
    this.title = detail;
    this.detail = detail;
    this.errors = errors;
    this.data = { title: detail, status, detail, errors };
  }
}

const make = (name, status, detail) => {
  const kinds = {
    [name]: class extends BasisTheoryReactorError {
      constructor(given) { super(given, status, detail); }
    },
  };
  return kinds[name];
};

class CustomHttpResponseError extends Error {
  constructor({ status, headers = {}, body } = {}) {
    if (!Number.isInteger(status) || status < 100 || status > 599) {
      throw new TypeError('CustomHttpResponseError: status must be an integer from 100 to 599');
    }
    super('Custom HTTP response');
    this.name = 'CustomHttpResponseError';
    this.status = status;
    this.headers = headers === null ? {} : headers;
    this.body = body;
  }
}

const numberOf = (status) => (Number.isInteger(status) && status >= 100 && status <= 599 ? status : 500);
const isOwn = Function.prototype[Symbol.hasInstance];

// The members of an outcome, as JSON without the braces around it.
ports.thrown.describe = (error) => {
  if (isOwn.call(CustomHttpResponseError, error)) {
    const headers = [];
    for (const [name, value] of entries(error.headers)) {
      for (const one of isArray(value) ? value : [value]) {
        if (one !== undefined && one !== null) { headers.push([name, textOf(one)]); }
      }
    }
    const body = stringify(error.body === undefined ? null : parse(jsonText(error.body) || 'null'));
    return '"response":{"status":' + error.status + ',"headers":' + stringify(headers)
      + ',"body":' + body + '}';
  }
  if (isOwn.call(BasisTheoryReactorError, error)) {
    return '"class":{"status":' + numberOf(error.status) + ',"title":' + stringify(String(error.title))
      + ',"detail":' + stringify(String(error.detail)) + ',"errors":'
      + stringify(errorsOf(error.errors, 'The program gave no reason.')) + '}';
  }
  return null;
};

module.exports = {
  AuthenticationError: make('AuthenticationError', 401, 'Authentication Failed'),
  AuthorizationError: make('AuthorizationError', 403, 'Forbidden'),
  BadRequestError: make('BadRequestError', 400, 'Bad Request'),
  BasisTheoryReactorError,
  CustomHttpResponseError,
  InvalidPaymentMethodError: make('InvalidPaymentMethodError', 402, 'Invalid Payment Method'),
  InvalidReactorConfigurationError:
    make('InvalidReactorConfigurationError', 400, 'Invalid Reactor Configuration'),
  RateLimitError: make('RateLimitError', 429, 'Rate Limit Exceeded'),
  ReactorRuntimeError: make('ReactorRuntimeError', 500, 'Reactor Runtime Error'),
  ServiceUnavailableError: make('ServiceUnavailableError', 503, 'Service Unavailable'),
};
// A page of the published documentation has this spelling.
module.exports.ServiceUnavailable = module.exports.ServiceUnavailableError;
