// `assert`.
'use strict';

const { inspect, isDeepStrictEqual } = require('util.js');

class AssertionError extends Error {
  constructor({ message, actual, expected, operator }) {
    super(message || `${inspect(actual)} ${operator} ${inspect(expected)}`);
    this.name = 'AssertionError';
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
  }
}

const fail = (message, actual, expected, operator) => {
  if (message instanceof Error) { throw message; }
  throw new AssertionError({ message, actual, expected, operator });
};
const assert = (value, message) => {
  if (!value) { fail(message || 'The expression evaluated to a falsy value', value, true, '=='); }
};

Object.assign(assert, {
  AssertionError,
  ok: assert,
  equal: (one, other, message) => { if (one != other) { fail(message, one, other, '=='); } },
  notEqual: (one, other, message) => { if (one == other) { fail(message, one, other, '!='); } },
  strictEqual: (one, other, message) => {
    if (!Object.is(one, other)) { fail(message, one, other, '==='); }
  },
  notStrictEqual: (one, other, message) => {
    if (Object.is(one, other)) { fail(message, one, other, '!=='); }
  },
  deepStrictEqual: (one, other, message) => {
    if (!isDeepStrictEqual(one, other)) { fail(message, one, other, 'deepStrictEqual'); }
  },
  notDeepStrictEqual: (one, other, message) => {
    if (isDeepStrictEqual(one, other)) { fail(message, one, other, 'notDeepStrictEqual'); }
  },
  deepEqual: (one, other, message) => {
    if (!isDeepStrictEqual(one, other)) { fail(message, one, other, 'deepEqual'); }
  },
  fail: (message) => fail(message || 'Failed', undefined, undefined, 'fail'),
  match: (text, pattern, message) => { if (!pattern.test(text)) { fail(message, text, pattern, 'match'); } },
  throws: (work, expected, message) => {
    try {
      work();
    } catch (error) {
      if (expected instanceof RegExp && !expected.test(String(error))) { throw error; }
      return;
    }
    fail(typeof expected === 'string' ? expected : message || 'Missing expected exception.',
      undefined, expected, 'throws');
  },
  rejects: async (work, expected, message) => {
    try {
      await (typeof work === 'function' ? work() : work);
    } catch {
      return;
    }
    fail(message || 'Missing expected rejection.', undefined, expected, 'rejects');
  },
  ifError: (value) => { if (value !== null && value !== undefined) { throw value; } },
});
assert.strict = assert;

module.exports = assert;
