// Modules that packages require but programs cannot have: files, processes, sockets. They load, and
// every function of them fails when it is called.
'use strict';

const refuse = (name) => function () {
  throw new Error(`${String(name)} is not available to programs`);
};

const constants = { O_RDONLY: 0, F_OK: 0, R_OK: 4, Z_SYNC_FLUSH: 2, BROTLI_OPERATION_FLUSH: 1 };
const members = { constants, promises: {}, existsSync: () => false, isatty: () => false };

module.exports = new Proxy(members, {
  get: (target, name) => {
    if (name in target || typeof name === 'symbol' || name === '__esModule' || name === 'default') {
      return target[name];
    }
    // A class to inherit from, a function that fails, or a feature that is looked for.
    return /^(?:create|is|Z_|BROTLI)/.test(name) && !/^create[A-Z]/.test(name) ? undefined : refuse(name);
  },
});
