// `timers/promises`.
'use strict';

const ports = require('ports');

const setTimeout = (ms, value) => ports.wait(Math.max(1, Math.trunc(ms) || 1)).then(() => value);

module.exports = {
  setTimeout,
  setImmediate: (value) => setTimeout(1, value),
  scheduler: { wait: (ms) => setTimeout(ms), yield: () => setTimeout(1) },
};
