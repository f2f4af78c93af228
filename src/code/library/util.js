// `util`: formatting, promises of callbacks, kinds of values.
'use strict';

const DEPTH = 2;
const ITEMS = 100;

const quoted = (text) => {
  const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') ? '`' : "'";
  const escaped = text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n').replace(/\r/g, '\\r')
    .replace(/\t/g, '\\t').replace(/\0/g, '\\x00');
  return mark + (mark === "'" ? escaped.replace(/'/g, "\\'") : escaped) + mark;
};
const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);
const keyText = (name) => (typeof name === 'symbol' ? `[${String(name)}]`
  : /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));

const custom = Symbol.for('nodejs.util.inspect.custom');

const shown = (value, options, depth, above) => {
  switch (typeof value) {
    case 'string': return quoted(value);
    case 'bigint': return `${value}n`;
    case 'number': return Object.is(value, -0) ? '-0' : String(value);
    case 'boolean': case 'undefined': case 'symbol': return String(value);
    case 'function': return functionText(value);
    default: break;
  }
  if (value === null) { return 'null'; }
  if (above.includes(value)) { return '[Circular *1]'; }
  if (typeof value[custom] === 'function') {
    const result = value[custom](depth, options, inspect);
    return typeof result === 'string' ? result : shown(result, options, depth, [...above, value]);
  }
  return objectText(value, options, depth, [...above, value]);
};
const functionText = (value) => {
  const isClass = /^class\b/.test(Function.prototype.toString.call(value));
  const name = value.name === '' ? '(anonymous)' : value.name;
  return isClass ? `[class ${name}]` : `[Function${value.name === '' ? ' ' : ': '}${name}]`;
};

const objectText = (value, options, depth, above) => {
  const kind = kindOf(value);
  if (value instanceof Error) {
    const stack = value.stack;
    return typeof stack === 'string' && stack.includes(value.message) ? `${stack}`
      : `${value.name}: ${value.message}${stack ? '\n' + stack : ''}`;
  }
  if (kind === 'Date') { return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString(); }
  if (kind === 'RegExp') { return String(value); }
  if (kind === 'Promise') { return 'Promise { <pending> }'; }
  if (['Boolean', 'Number', 'String'].includes(kind) && typeof value.valueOf() !== 'object') {
    return `[${kind}: ${shown(value.valueOf(), options, depth, above)}]`;
  }
  const name = value.constructor && value.constructor.name;
  const isPlain = name === 'Object' || (name === undefined && !Array.isArray(value));
  const prefix = Object.getPrototypeOf(value) === null ? '[Object: null prototype] '
    : isPlain || name === 'Array' ? '' : `${name} `;
  if (options.depth !== null && above.length - 1 > options.depth) {
    return Array.isArray(value) ? '[Array]' : `[${prefix === '' ? 'Object' : prefix.trim()}]`;
  }
  const inner = (it) => shown(it, options, depth, above);
  if (typeof value.inspect === 'function' && value instanceof Uint8Array) { return value.inspect(); }
  if (Array.isArray(value) || ArrayBuffer.isView(value) && kind !== 'DataView') {
    const list = Array.from(value).slice(0, ITEMS).map(inner);
    if (value.length > ITEMS) { list.push(`... ${value.length - ITEMS} more items`); }
    return wrap(Array.isArray(value) ? '' : `${name}(${value.length}) `, '[', list, ']');
  }
  if (kind === 'Map') {
    const list = [...value].map(([from, to]) => `${inner(from)} => ${inner(to)}`);
    return wrap(`Map(${value.size}) `, '{', list, '}');
  }
  if (kind === 'Set') { return wrap(`Set(${value.size}) `, '{', [...value].map(inner), '}'); }
  const list = Object.keys(value).map((member) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, member);
    const text = descriptor !== undefined && descriptor.get !== undefined ? '[Getter]'
      : inner(value[member]);
    return `${keyText(member)}: ${text}`;
  });
  return wrap(prefix, '{', list, '}');
};
const wrap = (prefix, open, list, close) => {
  if (list.length === 0) { return `${prefix}${open}${close}`; }
  const line = list.join(', ');
  return line.length <= 72 && !line.includes('\n') ? `${prefix}${open} ${line} ${close}`
    : `${prefix}${open}\n  ${list.map((it) => it.replace(/\n/g, '\n  ')).join(',\n  ')}\n${close}`;
};

const inspect = (value, given) => {
  const options = { depth: DEPTH, ...(typeof given === 'object' && given !== null ? given : {}) };
  return shown(value, options, options.depth, []);
};
inspect.custom = custom;
inspect.defaultOptions = { depth: DEPTH };

const format = (...given) => {
  if (typeof given[0] !== 'string') {
    return given.map((it) => (typeof it === 'string' ? it : inspect(it))).join(' ');
  }
  let used = 1;
  const text = given[0].replace(/%([%sdifjoOc])/g, (whole, kind) => {
    if (kind === '%') { return given.length === 1 ? '%%' : '%'; }
    if (used >= given.length) { return whole; }
    const value = given[used];
    used += 1;
    switch (kind) {
      case 's': return typeof value === 'object' && value !== null ? inspect(value, { depth: 0 })
        : typeof value === 'bigint' ? `${value}n` : String(value);
      case 'd': return typeof value === 'object' ? 'NaN' : String(Number(value));
      case 'i': return String(parseInt(value, 10));
      case 'f': return String(parseFloat(value));
      case 'j': return jsonOf(value);
      case 'c': return '';
      default: return inspect(value, { depth: 4 });
    }
  });
  const rest = given.slice(used).map((it) => (typeof it === 'string' ? it : inspect(it)));
  return [text, ...rest].join(' ');
};
const jsonOf = (value) => {
  try {
    return JSON.stringify(value);
  } catch {
    return '[Circular]';
  }
};

const promisify = (work) => {
  if (typeof work !== 'function') { throw new TypeError('The "original" argument must be of type function'); }
  if (typeof work[promisify.custom] === 'function') { return work[promisify.custom]; }
  return function (...given) {
    return new Promise((resolve, reject) => {
      work.call(this, ...given, (error, value) => (error ? reject(error) : resolve(value)));
    });
  };
};
promisify.custom = Symbol.for('nodejs.util.promisify.custom');

const callbackify = (work) => (...given) => {
  const done = given.pop();
  work(...given).then((value) => done(null, value), (error) => done(error));
};

const inherits = (child, parent) => {
  child.super_ = parent;
  Object.setPrototypeOf(child.prototype, parent.prototype);
};

const isDeepStrictEqual = (one, other) => isSame(one, other, []);
const isSame = (one, other, above) => {
  if (Object.is(one, other)) { return true; }
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    return false;
  }
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) { return false; }
  if (above.some(([a, b]) => a === one && b === other)) { return true; }
  const next = [...above, [one, other]];
  const kind = kindOf(one);
  if (kind === 'Date') { return one.getTime() === other.getTime(); }
  if (kind === 'RegExp') { return String(one) === String(other); }
  if (kind === 'Map' || kind === 'Set') {
    const [left, right] = [[...one], [...other]];
    return left.length === right.length && left.every((it, at) => isSame(it, right[at], next));
  }
  if (one instanceof Error && one.message !== other.message) { return false; }
  const names = Object.keys(one);
  return names.length === Object.keys(other).length
    && names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name], next));
};

const is = (kind) => (value) => kindOf(value) === kind;
const types = {
  isAnyArrayBuffer: is('ArrayBuffer'),
  isArrayBuffer: is('ArrayBuffer'),
  isArrayBufferView: (value) => ArrayBuffer.isView(value),
  isAsyncFunction: is('AsyncFunction'),
  isBoxedPrimitive: (value) => typeof value === 'object' && value !== null
    && ['Boolean', 'Number', 'String', 'Symbol', 'BigInt'].includes(kindOf(value)),
  isDataView: is('DataView'),
  isDate: is('Date'),
  isGeneratorFunction: is('GeneratorFunction'),
  isMap: is('Map'),
  isNativeError: (value) => value instanceof Error,
  isPromise: is('Promise'),
  isProxy: () => false,
  isRegExp: is('RegExp'),
  isSet: is('Set'),
  isSharedArrayBuffer: () => false,
  isTypedArray: (value) => ArrayBuffer.isView(value) && kindOf(value) !== 'DataView',
  isUint8Array: (value) => value instanceof Uint8Array,
  isWeakMap: is('WeakMap'),
  isWeakSet: is('WeakSet'),
};

module.exports = {
  ...types,
  callbackify,
  debuglog: () => Object.assign(() => {}, { enabled: false }),
  debug: () => Object.assign(() => {}, { enabled: false }),
  deprecate: (work) => work,
  format,
  inherits,
  inspect,
  isArray: Array.isArray,
  isBuffer: (value) => require('buffer.js').Buffer.isBuffer(value),
  isDeepStrictEqual,
  isFunction: (value) => typeof value === 'function',
  isObject: (value) => typeof value === 'object' && value !== null,
  isString: (value) => typeof value === 'string',
  isUndefined: (value) => value === undefined,
  promisify,
  stripVTControlCharacters: (text) => text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, ''),
  toUSVString: (text) => String(text).toWellFormed(),
  types,
  get TextDecoder() { return require('encoding.js').TextDecoder; },
  get TextEncoder() { return require('encoding.js').TextEncoder; },
};
