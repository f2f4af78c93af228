// `string_decoder`.
'use strict';

const { concat, decode, encodingOf } = require('bytes.js');
const { wholeCharacters } = require('encoding.js');
const { bytesOf } = require('bytes.js');

class StringDecoder {
  #rest = new Uint8Array(0);

  constructor(encoding) { this.encoding = encodingOf(encoding); }

  write(piece) {
    if (typeof piece === 'string') { return piece; }
    const bytes = concat([this.#rest, bytesOf(piece)]);
    const end = this.#whole(bytes);
    this.#rest = bytes.slice(end);
    return decode(bytes.subarray(0, end), this.encoding);
  }

  end(piece) {
    const text = piece === undefined ? '' : this.write(piece);
    const rest = decode(this.#rest, this.encoding);
    this.#rest = new Uint8Array(0);
    return text + rest;
  }

  #whole(bytes) {
    switch (this.encoding) {
      case 'utf8': return wholeCharacters(bytes, 'utf-8');
      case 'utf16le': return bytes.length & ~1;
      case 'base64': case 'base64url': return bytes.length - bytes.length % 3;
      default: return bytes.length;
    }
  }
}

module.exports = { StringDecoder };
