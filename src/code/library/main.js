// The start of the library: makes the globals, the modules and the ports, and runs one program.
//
// The host object never leaves this file. Other files of the library get ports: functions that take
// plain values. All functions of the language that this file needs later are taken before a program
// runs, so that a program which changes prototypes changes itself alone. Modules are evaluated when
// they are used first, because a worker starts for every call.
'use strict';

(function () {
  const { apply, defineProperty } = Reflect;
  const { call } = Function.prototype;
  const uncurry = call.bind.bind(call);
  const { parse, stringify } = JSON;
  const { create, freeze, keys } = Object;
  const { isArray } = Array;
  const text = String;
  const Bytes = Uint8Array;
  const { Error, Map, TypeError, WeakRef, WeakSet } = globalThis;
  const toBase64 = uncurry(Uint8Array.prototype.toBase64);
  const copyOfBytes = uncurry(Uint8Array.prototype.slice);
  const setBytes = uncurry(Uint8Array.prototype.set);
  const mapGet = uncurry(Map.prototype.get);
  const mapSet = uncurry(Map.prototype.set);
  const setHas = uncurry(WeakSet.prototype.has);
  const setAdd = uncurry(WeakSet.prototype.add);
  const deref = uncurry(WeakRef.prototype.deref);
  const setDelete = uncurry(WeakSet.prototype.delete);
  const toWellFormed = uncurry(String.prototype.toWellFormed);
  const lastIndexOf = uncurry(String.prototype.lastIndexOf);
  const slice = uncurry(String.prototype.slice);
  const toLowerCase = uncurry(String.prototype.toLowerCase);
  const split = uncurry(String.prototype.split);
  const startsWith = uncurry(String.prototype.startsWith);
  const endsWith = uncurry(String.prototype.endsWith);
  const includes = uncurry(String.prototype.includes);
  const indexOf = uncurry(String.prototype.indexOf);
  const isPrototypeOf = uncurry(Object.prototype.isPrototypeOf);
  const ErrorPrototype = Error.prototype;
  // The engine throws only these.
  const ENGINE_ERRORS = [
    globalThis.EvalError, globalThis.InternalError, globalThis.RangeError, globalThis.ReferenceError,
    globalThis.SyntaxError, TypeError, globalThis.URIError,
  ].filter((it) => typeof it === 'function').map((it) => it.prototype);
  const PROBE_BYTES = 16 << 20;

  // Files of the library by the names that programs require.
  const MODULES = {
    __proto__: null,
    '@basis-theory/basis-theory-js': 'basis_theory_js.js',
    '@basis-theory/basis-theory-reactor-formulas-sdk-js': 'errors.js',
    '@basis-theory/node-sdk': 'node_sdk.js',
    '@basis-theory/node-sdk-2': 'node_sdk.js',
    assert: 'assert.js',
    axios: 'axios.js',
    buffer: 'buffer.js',
    console: 'console.js',
    constants: 'empty.js',
    crypto: 'crypto.js',
    events: 'events.js',
    'form-data': 'form_data.js',
    async_hooks: 'absent.js',
    child_process: 'absent.js',
    cluster: 'absent.js',
    dgram: 'absent.js',
    diagnostics_channel: 'absent.js',
    dns: 'absent.js',
    'dns/promises': 'absent.js',
    fs: 'absent.js',
    'fs/promises': 'absent.js',
    module: 'absent.js',
    net: 'absent.js',
    readline: 'absent.js',
    tls: 'absent.js',
    tty: 'absent.js',
    v8: 'absent.js',
    vm: 'absent.js',
    worker_threads: 'absent.js',
    zlib: 'absent.js',
    http: 'http.js',
    http2: 'absent.js',
    https: 'https.js',
    'node-fetch': 'node_fetch.js',
    os: 'os.js',
    path: 'path.js',
    perf_hooks: 'perf_hooks.js',
    process: 'process.js',
    punycode: 'punycode.js',
    querystring: 'querystring.js',
    stream: 'stream.js',
    'stream/promises': 'stream_promises.js',
    string_decoder: 'string_decoder.js',
    timers: 'timers.js',
    'timers/promises': 'timers_promises.js',
    url: 'url_module.js',
    util: 'util.js',
    'util/types': 'util_types.js',
  };

  // Globals by the file that has them.
  const GLOBALS = {
    __proto__: null,
    'abort.js': ['AbortController', 'AbortSignal', 'DOMException', 'Event', 'EventTarget'],
    'buffer.js': ['Buffer', 'atob', 'btoa'],
    'clone.js': ['structuredClone'],
    'console.js': ['console'],
    'encoding.js': ['TextDecoder', 'TextEncoder'],
    'fetch.js': ['Headers', 'Request', 'Response', 'fetch'],
    'form_data_web.js': ['Blob', 'File', 'FormData'],
    'perf_hooks.js': ['performance'],
    'process.js': ['process'],
    'timers.js': [
      'clearImmediate', 'clearInterval', 'clearTimeout', 'queueMicrotask', 'setImmediate',
      'setInterval', 'setTimeout',
    ],
    'url.js': ['URL', 'URLSearchParams'],
    'webcrypto.js': ['crypto', 'CryptoKey'],
  };

  // Before these, the engine names what it complains about without quotes.
  const AFTER_NAMES = [' is not defined', ' is not initialized'];

  // Names of hidden members of errors, which only this file and `errors.js` share.
  const thrown = { __proto__: null, describe: null, messageOf: null };

  return function boot(host) {
    const hostFetch = host.fetch;
    const hostLog = host.log;
    const hostWait = host.wait;
    const hostNow = host.now;
    const hostRandom = host.random;
    const hostSource = host.source;
    const hostLibrary = host.library;
    const hostCompile = host.compile;
    const hostCrypto = host.crypto;

    // Bytes of any view, as a fresh array without a changed prototype.
    const bytesOf = (view) => copyOfBytes(
      new Bytes(view.buffer, view.byteOffset, view.byteLength));
    const encoded = (view) => toBase64(bytesOf(view));

    const crypto = { __proto__: null };
    for (const name of keys(hostCrypto)) {
      const operation = hostCrypto[name];
      crypto[name] = (...given) => {
        const values = [];
        for (let at = 0; at < given.length; at++) {
          const value = given[at];
          const sent = typeof value === 'object' && !isArray(value) ? encoded(value)
            : isArray(value) ? listOf(value) : value;
          defineProperty(values, at, {
            __proto__: null, value: sent, writable: true, enumerable: true, configurable: true,
          });
        }
        return apply(operation, undefined, values);
      };
    }
    const listOf = (views) => {
      const list = [];
      for (let at = 0; at < views.length; at++) {
        defineProperty(list, at, {
          __proto__: null, value: encoded(views[at]), writable: true, enumerable: true,
          configurable: true,
        });
      }
      return list;
    };

    const ports = {
      __proto__: null,
      // Of the call; set before the program runs.
      baseUrl: '',
      key: null,
      crypto: freeze(crypto),
      thrown,
      loadModule: (name) => requireFrom('', name),
      log: (level, line) => { hostLog(text(level), toWellFormed(text(line))); },
      now: () => hostNow(),
      // The host gives a bounded piece at a time.
      random: (count) => {
        if (count <= 65536) { return hostRandom(count); }
        const bytes = new Bytes(count);
        for (let at = 0; at < count; at += 65536) {
          setBytes(bytes, hostRandom(count - at < 65536 ? count - at : 65536), at);
        }
        return bytes;
      },
      // Headers are a list of pairs of texts; the body is bytes or null.
      send: (method, url, headers, body) => {
        const pairs = [];
        for (let at = 0, next = 0; at < headers.length; at++) {
          const pair = [toWellFormed(text(headers[at][0])), toWellFormed(text(headers[at][1]))];
          // There is nothing here that could unpack an answer.
          if (toLowerCase(pair[0]) === 'accept-encoding') { continue; }
          defineProperty(pairs, next++, {
            __proto__: null, value: pair, writable: true, enumerable: true, configurable: true,
          });
        }
        return hostFetch({
          __proto__: null,
          method: text(method),
          url: toWellFormed(text(url)),
          headers: pairs,
          body: body === null || body === undefined ? null : bytesOf(body),
        });
      },
      // `String` with a lone surrogate has no UTF-8.
      utf8: (value) => hostCrypto.utf8(toWellFormed(value)),
      wait: (ms) => hostWait(ms),
    };

    const loaded = new Map();
    // A file of the library. Each is evaluated once.
    const library = (name) => {
      let module = mapGet(loaded, name);
      if (module === undefined) {
        const source = hostLibrary(name);
        if (source === null || source === undefined) {
          throw new Error('The library has no ' + name);
        }
        module = { __proto__: null, exports: {} };
        mapSet(loaded, name, module);
        const wrapper = hostCompile('library/' + name, source);
        apply(wrapper, undefined, [module.exports, internal, module, name, 'library']);
      }
      return module.exports;
    };
    const internal = (name) => (name === 'ports' ? ports : library(name));

    // The code of the program that runs.
    let program = '';
    thrown.messageOf = messageOf;

    const packages = new Map();
    const notFound = (name) => {
      const error = new Error("Cannot find module '" + name + "'");
      defineProperty(error, 'code', {
        __proto__: null, value: 'MODULE_NOT_FOUND', writable: true, enumerable: true,
        configurable: true,
      });
      return error;
    };

    // `..` and `.` are resolved within the directory of packages; nothing leads out of it.
    const joined = (directory, name) => {
      const parts = [];
      let count = 0;
      const given = split(directory + '/' + name, '/');
      for (let at = 0; at < given.length; at++) {
        const part = given[at];
        if (part === '..') {
          if (count === 0) { return null; }
          count -= 1;
          parts.length = count;
        } else if (part !== '' && part !== '.') {
          defineProperty(parts, count, {
            __proto__: null, value: part, writable: true, enumerable: true, configurable: true,
          });
          count += 1;
        }
      }
      let path = '';
      for (let at = 0; at < count; at++) { path += (at === 0 ? '' : '/') + parts[at]; }
      return path;
    };

    // Each file is asked for once: the host has to ask the vault for it.
    const known = new Map();
    const ask = (path) => {
      let source = mapGet(known, path);
      if (source === undefined) {
        source = hostSource(path);
        if (typeof source !== 'string') { source = null; }
        mapSet(known, path, source);
      }
      return source;
    };
    const isFile = (path) => endsWith(path, '.js') || endsWith(path, '.cjs') || endsWith(path, '.json');

    // The file of a path: itself, with an extension, or as the directory of a package.
    const resolve = (path, depth) => {
      if (path === null || depth > 4) { return null; }
      const asked = (name) => {
        const source = ask(name);
        return source === null ? null : { path: name, source };
      };
      if (isFile(path)) {
        const exact = asked(path);
        if (exact !== null) { return exact; }
      }
      const script = asked(path + '.js');
      if (script !== null) { return script; }
      const description = ask(path + '/package.json');
      if (description !== null) {
        const main = mainOf(parse(description), '.');
        if (main !== null && main !== '') {
          const found = resolve(joined(path, main), depth + 1);
          if (found !== null) { return found; }
        }
      }
      const ends = ['/index.js', '.json', '.cjs', ''];
      for (let at = 0; at < ends.length; at++) {
        const found = asked(path + ends[at]);
        if (found !== null) { return found; }
      }
      return null;
    };

    // The file that a package names for CommonJS.
    const mainOf = (description, wanted) => {
      const { exports: table, main } = description;
      let target = table === undefined || table === null ? undefined : table;
      if (target !== undefined && typeof target === 'object' && !isArray(target)) {
        if (target[wanted] !== undefined) {
          target = target[wanted];
        } else if (wanted !== '.') {
          return patternOf(target, wanted);
        }
      } else if (wanted !== '.') {
        return wanted;
      }
      const file = chosen(target, 0);
      if (file !== null) { return file; }
      return wanted === '.' ? (typeof main === 'string' ? main : 'index.js') : null;
    };
    const chosen = (target, depth) => {
      if (typeof target === 'string') { return target; }
      if (isArray(target)) { return chosen(target[0], depth + 1); }
      if (target === null || typeof target !== 'object' || depth > 8) { return null; }
      const conditions = ['require', 'node', 'default'];
      const names = keys(target);
      for (let at = 0; at < names.length; at++) {
        for (let other = 0; other < conditions.length; other++) {
          if (names[at] === conditions[other]) {
            const file = chosen(target[names[at]], depth + 1);
            if (file !== null) { return file; }
          }
        }
      }
      return null;
    };
    const patternOf = (table, wanted) => {
      const names = keys(table);
      for (let at = 0; at < names.length; at++) {
        const star = lastIndexOf(names[at], '*');
        if (star < 0) { continue; }
        const start = slice(names[at], 0, star);
        const end = slice(names[at], star + 1);
        if (startsWith(wanted, start) && endsWith(wanted, end)) {
          const middle = slice(wanted, start.length, wanted.length - end.length);
          const file = chosen(table[names[at]], 0);
          if (file !== null) {
            const place = lastIndexOf(file, '*');
            return place < 0 ? file : slice(file, 0, place) + middle + slice(file, place + 1);
          }
        }
      }
      return null;
    };

    // The nearest `node_modules` above the file that asks, then the directory of packages.
    const findPackage = (directory, name) => {
      for (let from = directory; from !== ''; ) {
        if (ask(from + '/node_modules/' + topOf(name) + '/package.json') !== null) {
          const nested = resolveInPackage(from + '/node_modules/', name);
          if (nested !== null) { return nested; }
        }
        const end = lastIndexOf(from, '/');
        from = end < 0 ? '' : slice(from, 0, end);
      }
      return resolveInPackage('', name);
    };
    // The package that a name is in.
    const topOf = (name) => {
      const parts = split(name, '/');
      return startsWith(name, '@') && parts.length > 1 ? parts[0] + '/' + parts[1] : parts[0];
    };
    const resolveInPackage = (root, name) => {
      const top = topOf(name);
      if (name.length > top.length) {
        const description = ask(root + top + '/package.json');
        if (description !== null) {
          const rest = './' + slice(name, top.length + 1);
          const file = mainOf(parse(description), rest);
          if (file !== null) {
            const found = resolve(joined(root + top, file), 0);
            if (found !== null) { return found; }
          }
        }
      }
      return resolve(joined(root, name), 0);
    };

    const requireFrom = (directory, given) => {
      if (typeof given !== 'string' || given === '') {
        throw new TypeError('The name of a module is a text');
      }
      const name = startsWith(given, 'node:') ? slice(given, 5) : given;
      const file = MODULES[endsWith(name, '/') ? slice(name, 0, -1) : name];
      if (file !== undefined) { return library(file); }
      const isPath = startsWith(name, './') || startsWith(name, '../')
        || name === '.' || name === '..';
      // A program has no files beside it.
      const found = isPath ? (directory === '' ? null : resolve(joined(directory, name), 0))
        : findPackage(directory, name);
      if (found === null) { throw notFound(given); }
      return evaluate(found.path, found.source);
    };

    const evaluate = (path, source) => {
      const before = mapGet(packages, path);
      if (before !== undefined) { return before.exports; }
      const module = { exports: {}, id: path, filename: path, loaded: false, children: [] };
      mapSet(packages, path, module);
      if (endsWith(path, '.json')) {
        module.exports = parse(source);
        return module.exports;
      }
      const end = lastIndexOf(path, '/');
      const directory = end < 0 ? '' : slice(path, 0, end);
      const wrapper = hostCompile('packages/' + path, source);
      // Its text is not needed again, only that it exists.
      mapSet(known, path, '');
      apply(wrapper, module.exports, [module.exports, requirer(directory), module, path, directory]);
      module.loaded = true;
      return module.exports;
    };

    const requirer = (directory) => {
      const require = (name) => requireFrom(directory, name);
      require.resolve = (name) => name;
      require.cache = {};
      return require;
    };

    const global = globalThis;
    for (const file of keys(GLOBALS)) {
      for (const name of GLOBALS[file]) {
        const become = (value) => defineProperty(global, name, {
          __proto__: null, value, writable: true, enumerable: false, configurable: true,
        });
        defineProperty(global, name, {
          __proto__: null,
          get: () => {
            const value = library(file)[name];
            become(value);
            return value;
          },
          set: become,
          enumerable: false,
          configurable: true,
        });
      }
    }
    global.global = global;
    // Stack frames would hand functions of the library to a program.
    defineProperty(Error, 'prepareStackTrace', {
      __proto__: null, get: () => undefined, set: () => {}, enumerable: false, configurable: false,
    });
    if (typeof Error.captureStackTrace !== 'function') {
      Error.captureStackTrace = (target) => { target.stack = new Error().stack; };
    }
    // The engine's own numbers can be guessed from the time of its start.
    let numbers = null;
    let used = 0;
    Math.random = () => {
      if (numbers === null || used + 2 > numbers.length) {
        const fresh = bytesOf(hostRandom(512));
        numbers = new Uint32Array(fresh.buffer);
        used = 0;
      }
      const high = numbers[used] >>> 5;
      const low = numbers[used + 1] >>> 6;
      used += 2;
      return (high * 67108864 + low) / 9007199254740992;
    };

    // Runs one program. The answer is JSON text, put together without the program's prototypes.
    return async function run(call) {
      const { code, contract, argument, key, baseUrl } = call;
      program = code;
      ports.baseUrl = baseUrl;
      ports.key = typeof key === 'string' ? key : null;
      freeze(ports);
      let wrapper;
      try {
        wrapper = hostCompile('program.js', code);
      } catch (error) {
        return notAProgram(messageOf(error));
      }
      try {
        const module = { exports: {}, id: '.', filename: 'program.js', loaded: false, children: [] };
        apply(wrapper, module.exports, [module.exports, requirer(''), module, 'program.js', '']);
        module.loaded = true;
        const main = module.exports;
        if (typeof main !== 'function') {
          return notAProgram('The code must set module.exports to a function');
        }
        const given = contractOf(contract, parse(argument));
        const value = await main(given);
        return '{"kind":"returned","value":' + jsonOf(value) + '}';
      } catch (error) {
        return threw(error);
      }
    };

    function contractOf(contract, given) {
      return library('contracts.js')[contract](given);
    }

    function notAProgram(message) {
      return '{"kind":"not_a_program","message":' + stringify(toWellFormed(text(message))) + '}';
    }

    function threw(error) {
      try {
        const described = thrown.describe === null ? null : thrown.describe(error);
        if (described !== null) { return '{"kind":"threw",' + described + '}'; }
      } catch {
        // An error class that cannot be described is a value that was thrown, like any other.
      }
      return '{"kind":"threw","message":' + stringify(toWellFormed(messageOf(error))) + '}';
    }

    function messageOf(error) {
      if (error === null && isOutOfMemory()) { return 'out of memory'; }
      try {
        if (typeof error === 'object' && error !== null) {
          const { message } = error;
          if (typeof message === 'string') {
            return isEngines(error) ? withoutValues(message) : message;
          }
          if (isPrototypeOf(ErrorPrototype, error)) { return text(message); }
          return jsonOf(error);
        }
        return text(error);
      } catch {
        return 'The program threw a value without a message';
      }
    }

    // True for errors that the engine or this library may have made. Those of the library have a code.
    function isEngines(error) {
      for (let at = 0; at < ENGINE_ERRORS.length; at++) {
        if (isPrototypeOf(ENGINE_ERRORS[at], error)) { return true; }
      }
      return isPrototypeOf(ErrorPrototype, error) && typeof error.code === 'string';
    }

    // Such an error quotes what it complains about, which may be a value of the call. A quoted text
    // stays only if the program's own code has it.
    function withoutValues(message) {
      for (let at = 0; at < AFTER_NAMES.length; at++) {
        const end = AFTER_NAMES[at];
        if (endsWith(message, end)) { return ownText(slice(message, 0, -end.length)) + end; }
      }
      // A value may have quotes of its own, so the text ends at the last one.
      for (const quote of `'"`) {
        const first = indexOf(message, quote);
        const last = lastIndexOf(message, quote);
        if (first < last) {
          return slice(message, 0, first + 1) + ownText(slice(message, first + 1, last))
            + slice(message, last);
        }
      }
      return message;
    }

    function ownText(name) {
      return includes(program, name) ? name : '...';
    }

    // The engine throws null when it has no memory for an error, and a program may throw null itself.
    // The engine looks for circles that nothing refers to when its memory has grown by a half since
    // it last looked. After a program that came near the limit, PROBE_BYTES more are not enough for
    // that, so the circle is still there.
    function isOutOfMemory() {
      try {
        const circle = newCircle();
        const probe = new Bytes(PROBE_BYTES);
        // The engine looks when it makes an object.
        newCircle();
        return deref(circle) !== undefined || probe.length === 0;
      } catch {
        return true;
      }
    }

    function newCircle() {
      const circle = { __proto__: null, self: null };
      circle.self = circle;
      return new WeakRef(circle);
    }

    // JSON of a value; circles are cut where JSON alone would fail.
    function jsonOf(value) {
      let json;
      try {
        json = stringify(value);
      } catch (error) {
        const cut = withoutCircles(value, new WeakSet());
        try {
          json = stringify(cut);
        } catch {
          throw error;
        }
      }
      return json === undefined ? 'null' : json;
    }

    function withoutCircles(value, above) {
      if (typeof value !== 'object' || value === null) { return value; }
      if (setHas(above, value)) { return '[Circular]'; }
      if (typeof value.toJSON === 'function') { return value; }
      setAdd(above, value);
      let copy;
      if (isArray(value)) {
        copy = [];
        for (let at = 0; at < value.length; at++) {
          defineProperty(copy, at, {
            __proto__: null, value: withoutCircles(value[at], above), writable: true,
            enumerable: true, configurable: true,
          });
        }
      } else {
        copy = create(null);
        const names = keys(value);
        for (let at = 0; at < names.length; at++) {
          defineProperty(copy, names[at], {
            __proto__: null, value: withoutCircles(value[names[at]], above), writable: true,
            enumerable: true, configurable: true,
          });
        }
      }
      setDelete(above, value);
      return copy;
    }
  };
})();
