// Text to bytes and back, in the encodings of Node.
'use strict';

const ports = require('ports');

const NAMES = {
  __proto__: null,
  utf8: 'utf8', 'utf-8': 'utf8',
  hex: 'hex', base64: 'base64', base64url: 'base64url',
  latin1: 'latin1', binary: 'latin1', ascii: 'ascii',
  utf16le: 'utf16le', 'utf-16le': 'utf16le', ucs2: 'utf16le', 'ucs-2': 'utf16le',
};

const encodingOf = (name) => {
  if (name === undefined || name === null || name === '') { return 'utf8'; }
  const found = NAMES[String(name).toLowerCase()];
  if (found === undefined) {
    const error = new TypeError(`Unknown encoding: '${String(name)}'`);
    error.code = 'ERR_UNKNOWN_ENCODING';
    throw error;
  }
  return found;
};

// Node skips characters that are not of the alphabet and stops at padding.
const fromBase64 = (text) => {
  let clean = text.replace(/=[^]*$/, '').replace(/-/g, '+').replace(/_/g, '/')
    .replace(/[^A-Za-z0-9+/]/g, '');
  if (clean.length % 4 === 1) { clean = clean.slice(0, -1); }
  return Uint8Array.fromBase64(clean, { lastChunkHandling: 'loose' });
};

// Up to the first pair that is not hexadecimal.
const fromHex = (text) => {
  const [valid] = /^(?:[0-9a-fA-F]{2})*/.exec(text);
  return Uint8Array.fromHex(valid);
};

const encode = (text, encoding) => {
  switch (encodingOf(encoding)) {
    case 'utf8': return ports.utf8(text);
    case 'hex': return fromHex(text);
    case 'base64':
    case 'base64url': return fromBase64(text);
    case 'utf16le': {
      const bytes = new Uint8Array(text.length * 2);
      for (let at = 0; at < text.length; at++) {
        const unit = text.charCodeAt(at);
        bytes[at * 2] = unit & 0xff;
        bytes[at * 2 + 1] = unit >> 8;
      }
      return bytes;
    }
    default: {
      const bytes = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at++) { bytes[at] = text.charCodeAt(at); }
      return bytes;
    }
  }
};

// Arguments of a call are bounded, so long texts are made in pieces.
const PIECE = 8192;

const ofUnits = (units, mask) => {
  let text = '';
  for (let at = 0; at < units.length; at += PIECE) {
    let piece = units.subarray(at, at + PIECE);
    if (mask !== 0xff) { piece = piece.map((unit) => unit & mask); }
    text += String.fromCharCode.apply(null, piece);
  }
  return text;
};

const toBase64 = Uint8Array.prototype.toBase64;
const toHex = Uint8Array.prototype.toHex;

const decode = (bytes, encoding) => {
  switch (encodingOf(encoding)) {
    case 'utf8': return ports.crypto.textOf(bytes);
    case 'hex': return toHex.call(bytes);
    case 'base64': return toBase64.call(bytes);
    case 'base64url': return toBase64.call(bytes, { alphabet: 'base64url', omitPadding: true });
    case 'ascii': return ofUnits(bytes, 0x7f);
    case 'utf16le': {
      const units = new Uint16Array(bytes.length >> 1);
      for (let at = 0; at < units.length; at++) {
        units[at] = bytes[at * 2] | (bytes[at * 2 + 1] << 8);
      }
      return ofUnits(units, 0xffff);
    }
    default: return ofUnits(bytes, 0xff);
  }
};

const isView = (value) => ArrayBuffer.isView(value);
const isBuffer = (value) => value instanceof ArrayBuffer
  || Object.prototype.toString.call(value) === '[object ArrayBuffer]';

// Bytes of a text, a view or a buffer; not copied where they need not be.
const bytesOf = (value, encoding) => {
  if (typeof value === 'string') { return encode(value, encoding); }
  if (value instanceof Uint8Array) { return value; }
  if (isView(value)) { return new Uint8Array(value.buffer, value.byteOffset, value.byteLength); }
  if (isBuffer(value)) { return new Uint8Array(value); }
  const error = new TypeError(
    'The argument must be a text, a Buffer, a TypedArray, a DataView or an ArrayBuffer');
  error.code = 'ERR_INVALID_ARG_TYPE';
  throw error;
};

const concat = (pieces) => {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
};

module.exports = { bytesOf, concat, decode, encode, encodingOf, isBuffer, isView, NAMES };
