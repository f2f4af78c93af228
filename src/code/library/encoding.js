// `TextEncoder` and `TextDecoder`.
'use strict';

const { bytesOf, concat, decode } = require('bytes.js');
const ports = require('ports');

class TextEncoder {
  get encoding() { return 'utf-8'; }

  encode(text = '') { return ports.utf8(String(text)); }

  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = ports.utf8(character);
      if (written + bytes.length > target.length) { break; }
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

const LABELS = {
  __proto__: null,
  'utf-8': 'utf-8', utf8: 'utf-8', 'unicode-1-1-utf-8': 'utf-8',
  'utf-16le': 'utf-16le', 'utf-16': 'utf-16le',
  latin1: 'windows-1252', 'iso-8859-1': 'windows-1252', ascii: 'windows-1252',
  'us-ascii': 'windows-1252', 'windows-1252': 'windows-1252',
};

// Of the characters 0x80 to 0x9f, in which windows-1252 and Latin 1 differ.
const WINDOWS = '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f'
  + '\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

class TextDecoder {
  #encoding;
  #rest = new Uint8Array(0);
  #isStarted = false;

  constructor(label = 'utf-8', options = {}) {
    this.#encoding = LABELS[String(label).trim().toLowerCase()];
    if (this.#encoding === undefined) {
      throw new RangeError(`The encoding "${label}" is not supported`);
    }
    this.fatal = Boolean(options.fatal);
    this.ignoreBOM = Boolean(options.ignoreBOM);
  }

  get encoding() { return this.#encoding; }

  decode(input, options = {}) {
    let bytes = input === undefined ? new Uint8Array(0) : bytesOf(input);
    if (this.#rest.length > 0) { bytes = concat([this.#rest, bytes]); }
    this.#rest = new Uint8Array(0);
    if (options.stream) {
      const end = wholeCharacters(bytes, this.#encoding);
      this.#rest = bytes.slice(end);
      bytes = bytes.subarray(0, end);
    }
    let text = this.#text(bytes);
    if (!this.#isStarted && !this.ignoreBOM && text.startsWith('\ufeff')) { text = text.slice(1); }
    this.#isStarted = Boolean(options.stream) && (this.#isStarted || bytes.length > 0);
    return text;
  }

  #text(bytes) {
    if (this.#encoding === 'windows-1252') {
      return decode(bytes, 'latin1').replace(/[\x80-\x9f]/g, (it) => WINDOWS[it.charCodeAt(0) - 0x80]);
    }
    if (this.#encoding === 'utf-16le') { return decode(bytes, 'utf16le'); }
    if (this.fatal && !ports.crypto.isUtf8(bytes)) {
      const error = new TypeError('The encoded data was not valid for encoding utf-8');
      error.code = 'ERR_ENCODING_INVALID_ENCODED_DATA';
      throw error;
    }
    return decode(bytes, 'utf8');
  }
}

// The bytes up to a character that may go on in the next piece.
const wholeCharacters = (bytes, encoding) => {
  if (encoding === 'windows-1252') { return bytes.length; }
  if (encoding === 'utf-16le') { return bytes.length & ~1; }
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) { continue; }
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
};

module.exports = { TextDecoder, TextEncoder, wholeCharacters };
