// Timers over the wait of the host.
'use strict';

const ports = require('ports');

const LONGEST = 2 ** 31 - 1;

class Timeout {
  #isActive = true;
  #isRef = true;

  constructor(work, ms, repeats) {
    const delay = ms >= 1 && ms <= LONGEST ? Math.trunc(ms) : 1;
    const wait = () => ports.wait(delay).then(() => {
      if (!this.#isActive) { return; }
      this.#isActive = repeats;
      if (repeats) { wait(); }
      work();
    });
    wait();
    this.refresh = () => this;
  }

  close() { this.#isActive = false; return this; }

  ref() { this.#isRef = true; return this; }

  unref() { this.#isRef = false; return this; }

  hasRef() { return this.#isRef; }

  [Symbol.toPrimitive]() { return numberOf(this); }
}

// Some programs keep the number of a timer.
const numbers = new Map();
const numberOf = (timer) => {
  for (const [number, known] of numbers) { if (known === timer) { return number; } }
  numbers.set(numbers.size + 1, timer);
  return numbers.size;
};

const checked = (work) => {
  if (typeof work !== 'function') {
    const error = new TypeError('The "callback" argument must be of type function');
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  }
};
// A failure in a timer ends no program; it is written to the log.
const guarded = (work, given) => () => {
  try {
    const result = work(...given);
    if (result instanceof Promise) { result.catch(report); }
  } catch (error) {
    report(error);
  }
};
const report = (error) => {
  ports.log('error', 'A timer failed: ' + String(error && error.message ? error.message : error));
};

const setTimeout = (work, ms, ...given) => {
  checked(work);
  return new Timeout(guarded(work, given), Number(ms), false);
};
const setInterval = (work, ms, ...given) => {
  checked(work);
  return new Timeout(guarded(work, given), Number(ms), true);
};
const setImmediate = (work, ...given) => {
  checked(work);
  return new Timeout(guarded(work, given), 1, false);
};
const clear = (timer) => {
  const found = timer instanceof Timeout ? timer : numbers.get(Number(timer));
  if (found !== undefined) { found.close(); }
};
const queueMicrotask = (work) => {
  checked(work);
  Promise.resolve().then(guarded(work, []));
};

module.exports = {
  clearImmediate: clear,
  clearInterval: clear,
  clearTimeout: clear,
  queueMicrotask,
  setImmediate,
  setInterval,
  setTimeout,
};
