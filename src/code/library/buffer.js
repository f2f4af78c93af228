// `Buffer`, `atob` and `btoa`.
'use strict';

const { bytesOf, concat, decode, encode, encodingOf, isBuffer, isView, NAMES } = require('bytes.js');
const ports = require('ports');

const LENGTH_MAX = 2 ** 31 - 1;

const fault = (Kind, code, message) => {
  const error = new Kind(message);
  error.code = code;
  return error;
};
const rangeFault = (name) => fault(RangeError, 'ERR_OUT_OF_RANGE',
  `The value of ${name} is out of range.`);
const typeFault = (message) => fault(TypeError, 'ERR_INVALID_ARG_TYPE', message);

class FastBuffer extends Uint8Array {
  // Methods of arrays, as `map` and `slice`, make buffers through this.
  constructor(...given) { super(...given); }
}

// The older form, with and without `new`.
function Buffer(value, encoding, length) {
  return typeof value === 'number' ? Buffer.alloc(value) : Buffer.from(value, encoding, length);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
Object.defineProperty(FastBuffer.prototype, 'constructor', {
  value: Buffer, writable: true, configurable: true,
});
// `subarray` and `map` look for the species, and `Buffer` itself takes other arguments.
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer });

const over = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const sizeOf = (size) => {
  if (typeof size !== 'number') { throw typeFault('The "size" argument must be of type number'); }
  if (!(size >= 0 && size <= LENGTH_MAX)) { throw rangeFault('size'); }
  return size;
};

Buffer.from = (value, encoding, length) => {
  if (typeof value === 'string') { return over(encode(value, encoding)); }
  if (isBuffer(value)) { return new FastBuffer(value, encoding, length); }
  if (isView(value)) {
    return value instanceof DataView ? new FastBuffer(bytesOf(value)) : new FastBuffer(value);
  }
  if (typeof value === 'object' && value !== null) {
    const inner = typeof value.valueOf === 'function' ? value.valueOf() : value;
    if (inner !== value && inner !== null && inner !== undefined) {
      return Buffer.from(inner, encoding, length);
    }
    if (value.type === 'Buffer' && Array.isArray(value.data)) { return new FastBuffer(value.data); }
    if (typeof value.length === 'number' || Array.isArray(value)) {
      return new FastBuffer(Array.from(value, (it) => Number(it) & 0xff));
    }
  }
  throw typeFault('The first argument must be of type string or an instance of Buffer, '
    + 'ArrayBuffer, or Array or an Array-like Object.');
};
Buffer.of = (...bytes) => new FastBuffer(bytes);
Buffer.alloc = (size, fill, encoding) => {
  const buffer = new FastBuffer(sizeOf(size));
  return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
};
Buffer.allocUnsafe = (size) => new FastBuffer(sizeOf(size));
Buffer.allocUnsafeSlow = Buffer.allocUnsafe;
Buffer.byteLength = (value, encoding) => (typeof value === 'string'
  ? encode(value, encoding).length : bytesOf(value).byteLength);
Buffer.compare = (one, other) => {
  const shared = Math.min(one.length, other.length);
  for (let at = 0; at < shared; at++) {
    if (one[at] !== other[at]) { return one[at] < other[at] ? -1 : 1; }
  }
  return Math.sign(one.length - other.length);
};
Buffer.concat = (list, total) => {
  if (!Array.isArray(list)) { throw typeFault('The "list" argument must be an instance of Array'); }
  const joined = over(concat(list.map((piece) => bytesOf(piece))));
  if (total === undefined || total === joined.length) { return joined; }
  const sized = new FastBuffer(total);
  sized.set(joined.subarray(0, total));
  return sized;
};
Buffer.isBuffer = (value) => value instanceof FastBuffer;
Buffer.isEncoding = (name) => typeof name === 'string' && NAMES[name.toLowerCase()] !== undefined;
Buffer.poolSize = 8192;

const bounded = (value, fallback, length) => {
  if (value === undefined || Number.isNaN(Number(value))) { return fallback; }
  const whole = Math.trunc(Number(value));
  return Math.min(Math.max(whole, 0), length);
};
const relative = (value, fallback, length) => {
  if (value === undefined) { return fallback; }
  const whole = Math.trunc(Number(value)) || 0;
  return whole < 0 ? Math.max(length + whole, 0) : Math.min(whole, length);
};

const methods = {
  toString(encoding, start, end) {
    const from = bounded(start, 0, this.length);
    const to = bounded(end, this.length, this.length);
    return to <= from ? '' : decode(this.subarray(from, to), encoding);
  },
  toLocaleString(encoding, start, end) { return this.toString(encoding, start, end); },
  toJSON() { return { type: 'Buffer', data: Array.from(this) }; },
  equals(other) {
    if (!(other instanceof Uint8Array)) { throw typeFault('The argument must be a Buffer'); }
    return Buffer.compare(this, other) === 0;
  },
  compare(other, start, end, ownStart, ownEnd) {
    return Buffer.compare(this.subarray(ownStart, ownEnd), other.subarray(start, end));
  },
  slice(start, end) { return this.subarray(start, end); },
  subarray(start, end) {
    const from = relative(start, 0, this.length);
    const to = relative(end, this.length, this.length);
    return new FastBuffer(this.buffer, this.byteOffset + from, Math.max(to - from, 0));
  },
  write(text, offset, length, encoding) {
    if (typeof offset === 'string') { return this.write(text, 0, this.length, offset); }
    if (typeof length === 'string') { return this.write(text, offset, undefined, length); }
    const from = offset === undefined ? 0 : offset;
    const room = Math.min(length === undefined ? Infinity : length, this.length - from);
    let bytes = encode(text, encoding);
    if (bytes.length > room) {
      let end = room;
      // Not in the middle of a character.
      if (encodingOf(encoding) === 'utf8') {
        while (end > 0 && (bytes[end] & 0xc0) === 0x80) { end -= 1; }
      }
      bytes = bytes.subarray(0, end);
    }
    this.set(bytes, from);
    return bytes.length;
  },
  fill(value, start, end, encoding) {
    if (typeof start === 'string') { return this.fill(value, 0, this.length, start); }
    if (typeof end === 'string') { return this.fill(value, start, this.length, end); }
    const from = start === undefined ? 0 : start;
    const to = end === undefined ? this.length : end;
    if (typeof value === 'number' || typeof value === 'boolean') {
      return Uint8Array.prototype.fill.call(this, Number(value) & 0xff, from, to);
    }
    const bytes = bytesOf(value, encoding);
    if (bytes.length === 0) { return Uint8Array.prototype.fill.call(this, 0, from, to); }
    for (let at = from; at < to; at++) { this[at] = bytes[(at - from) % bytes.length]; }
    return this;
  },
  copy(target, targetStart = 0, start = 0, end = this.length) {
    const piece = this.subarray(start, Math.min(end, start + target.length - targetStart));
    target.set(piece, targetStart);
    return piece.length;
  },
  indexOf(value, from, encoding) { return search(this, value, from, encoding, 1); },
  lastIndexOf(value, from, encoding) { return search(this, value, from, encoding, -1); },
  includes(value, from, encoding) { return this.indexOf(value, from, encoding) !== -1; },
  swap16() { return swapped(this, 2); },
  swap32() { return swapped(this, 4); },
  swap64() { return swapped(this, 8); },
  inspect() { return `<Buffer ${this.toString('hex').replace(/(..)(?=.)/g, '$1 ')}>`; },
};

const search = (buffer, value, from, encoding, step) => {
  if (typeof from === 'string') { return search(buffer, value, undefined, from, step); }
  const bytes = typeof value === 'number' ? Uint8Array.of(value & 0xff) : bytesOf(value, encoding);
  let at = from === undefined ? (step > 0 ? 0 : buffer.length) : Math.trunc(from) || 0;
  if (at < 0) { at += buffer.length; }
  if (step > 0 && bytes.length === 0) { return Math.min(Math.max(at, 0), buffer.length); }
  at = Math.min(Math.max(at, step > 0 ? 0 : -1), buffer.length - bytes.length);
  for (; at >= 0 && at + bytes.length <= buffer.length; at += step) {
    let same = 0;
    while (same < bytes.length && buffer[at + same] === bytes[same]) { same += 1; }
    if (same === bytes.length) { return at; }
  }
  return -1;
};

const swapped = (buffer, size) => {
  if (buffer.length % size !== 0) {
    throw fault(RangeError, 'ERR_INVALID_BUFFER_SIZE',
      `Buffer size must be a multiple of ${size * 8}-bits`);
  }
  for (let at = 0; at < buffer.length; at += size) { buffer.subarray(at, at + size).reverse(); }
  return buffer;
};

const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
const checkedOffset = (buffer, offset, size) => {
  const at = offset === undefined ? 0 : offset;
  if (typeof at !== 'number') { throw typeFault('The "offset" argument must be of type number'); }
  if (!Number.isInteger(at) || at < 0 || at + size > buffer.length) { throw rangeFault('offset'); }
  return at;
};

// Names of Node, of `DataView`, their bytes, and the least and the largest value.
const NUMBERS = [
  ['UInt8', 'Uint8', 1, 0, 0xff], ['Int8', 'Int8', 1, -0x80, 0x7f],
  ['UInt16', 'Uint16', 2, 0, 0xffff], ['Int16', 'Int16', 2, -0x8000, 0x7fff],
  ['UInt32', 'Uint32', 4, 0, 0xffffffff], ['Int32', 'Int32', 4, -0x80000000, 0x7fffffff],
  ['BigUInt64', 'BigUint64', 8, 0n, 2n ** 64n - 1n],
  ['BigInt64', 'BigInt64', 8, -(2n ** 63n), 2n ** 63n - 1n],
  ['Float', 'Float32', 4, null, null], ['Double', 'Float64', 8, null, null],
];
for (const [name, type, size, least, largest] of NUMBERS) {
  for (const end of size === 1 ? [''] : ['LE', 'BE']) {
    const isLittle = end === 'LE';
    const read = function (offset) {
      return view(this)['get' + type](checkedOffset(this, offset, size), isLittle);
    };
    const write = function (value, offset) {
      const at = checkedOffset(this, offset, size);
      if (least !== null && (value < least || value > largest)) { throw rangeFault('value'); }
      view(this)['set' + type](at, value, isLittle);
      return at + size;
    };
    methods['read' + name + end] = read;
    methods['write' + name + end] = write;
    if (name.includes('UInt')) {
      methods['read' + name.replace('UInt', 'Uint') + end] = read;
      methods['write' + name.replace('UInt', 'Uint') + end] = write;
    }
  }
}

const readBytes = (buffer, offset, size, isLittle, isSigned) => {
  const at = checkedOffset(buffer, offset, size);
  let value = 0;
  for (let step = 0; step < size; step++) {
    value = value * 256 + buffer[at + (isLittle ? size - 1 - step : step)];
  }
  return isSigned && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
};
const writeBytes = (buffer, value, offset, size, isLittle) => {
  const at = checkedOffset(buffer, offset, size);
  let rest = value < 0 ? value + 2 ** (8 * size) : value;
  for (let step = 0; step < size; step++) {
    buffer[at + (isLittle ? step : size - 1 - step)] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  return at + size;
};
for (const isLittle of [true, false]) {
  const end = isLittle ? 'LE' : 'BE';
  for (const unsigned of ['UInt', 'Uint']) {
    methods['read' + unsigned + end] = function (offset, size) {
      return readBytes(this, offset, size, isLittle, false);
    };
    methods['write' + unsigned + end] = function (value, offset, size) {
      return writeBytes(this, value, offset, size, isLittle);
    };
  }
  methods['readInt' + end] = function (offset, size) {
    return readBytes(this, offset, size, isLittle, true);
  };
  methods['writeInt' + end] = function (value, offset, size) {
    return writeBytes(this, value, offset, size, isLittle);
  };
}
for (const [name, value] of Object.entries(methods)) {
  Object.defineProperty(FastBuffer.prototype, name, { value, writable: true, configurable: true });
}
for (const name of ['parent', 'offset']) {
  const member = name === 'parent' ? 'buffer' : 'byteOffset';
  Object.defineProperty(FastBuffer.prototype, name, {
    get() { return this[member]; }, configurable: true,
  });
}

const { DOMException } = require('abort.js');

const btoa = (value) => {
  const text = String(value);
  if (/[^\0-\xff]/.test(text)) {
    throw new DOMException('Invalid character', 'InvalidCharacterError');
  }
  return decode(encode(text, 'latin1'), 'base64');
};
const atob = (value) => {
  const text = String(value).replace(/[\t\n\f\r ]/g, '');
  const bare = text.length % 4 === 0 ? text.replace(/==?$/, '') : text;
  if (bare.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(bare)) {
    throw new DOMException('The string to be decoded is not correctly encoded.',
      'InvalidCharacterError');
  }
  return decode(encode(bare, 'base64'), 'latin1');
};

module.exports = {
  Buffer,
  SlowBuffer: Buffer,
  atob,
  btoa,
  constants: { MAX_LENGTH: LENGTH_MAX, MAX_STRING_LENGTH: 2 ** 29 - 24 },
  kMaxLength: LENGTH_MAX,
  INSPECT_MAX_BYTES: 50,
  isUtf8: (bytes) => ports.crypto.isUtf8(bytesOf(bytes)),
  isAscii: (bytes) => bytesOf(bytes).every((byte) => byte < 0x80),
  get Blob() { return require('form_data_web.js').Blob; },
  get File() { return require('form_data_web.js').File; },
};
