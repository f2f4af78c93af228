// `Blob`, `File` and `FormData` of the browser.
'use strict';

const { bytesOf, concat, decode } = require('bytes.js');
const ports = require('ports');

class Blob {
  #bytes;

  constructor(parts = [], options = {}) {
    this.#bytes = concat(Array.from(parts, (part) => (part instanceof Blob ? part.#bytes
      : typeof part === 'object' ? Uint8Array.from(bytesOf(part)) : bytesOf(String(part)))));
    this.type = String(options.type || '').toLowerCase();
  }

  get size() { return this.#bytes.length; }

  async bytes() { return this.#bytes.slice(); }

  async arrayBuffer() { return this.#bytes.slice().buffer; }

  async text() { return decode(this.#bytes, 'utf8'); }

  slice(start, end, type) { return new Blob([this.#bytes.slice(start, end)], { type }); }

  get [Symbol.toStringTag]() { return 'Blob'; }
}

class File extends Blob {
  constructor(parts, name, options = {}) {
    super(parts, options);
    this.name = String(name);
    this.lastModified = options.lastModified === undefined ? ports.now() : options.lastModified;
  }

  get [Symbol.toStringTag]() { return 'File'; }
}

class FormData {
  #pairs = [];

  append(name, value, file) { this.#pairs.push([String(name), entryOf(value, file)]); }

  delete(name) { this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name)); }

  get(name) {
    const found = this.#pairs.find((pair) => pair[0] === String(name));
    return found === undefined ? null : found[1];
  }

  getAll(name) {
    return this.#pairs.filter((pair) => pair[0] === String(name)).map((pair) => pair[1]);
  }

  has(name) { return this.#pairs.some((pair) => pair[0] === String(name)); }

  set(name, value, file) {
    this.delete(name);
    this.append(name, value, file);
  }

  forEach(work, self) {
    for (const [name, value] of this.#pairs) { work.call(self, value, name, this); }
  }

  * entries() { yield* this.#pairs; }

  * keys() { for (const [name] of this.#pairs) { yield name; } }

  * values() { for (const [, value] of this.#pairs) { yield value; } }

  [Symbol.iterator]() { return this.entries(); }

  get [Symbol.toStringTag]() { return 'FormData'; }
}

const entryOf = (value, name) => {
  if (!(value instanceof Blob)) { return String(value); }
  if (value instanceof File && name === undefined) { return value; }
  return new File([value], name === undefined ? 'blob' : name, { type: value.type });
};

const boundaryOf = () => '----formdata-' + ports.random(12).toHex();
const quoted = (text) => text.replace(/\r\n|\r|\n/g, '%0D%0A').replace(/"/g, '%22');

// The form as multipart/form-data.
const encodeForm = async (form) => {
  const boundary = boundaryOf();
  const pieces = [];
  for (const [name, value] of form) {
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === 'string') {
      pieces.push(bytesOf(`${head}\r\n\r\n${value}\r\n`));
    } else {
      head += `; filename="${quoted(value.name)}"\r\nContent-Type: `
        + `${value.type || 'application/octet-stream'}\r\n\r\n`;
      pieces.push(bytesOf(head), await value.bytes(), bytesOf('\r\n'));
    }
  }
  pieces.push(bytesOf(`--${boundary}--\r\n`));
  return { bytes: concat(pieces), type: 'multipart/form-data; boundary=' + boundary };
};

module.exports = { Blob, File, FormData, boundaryOf, encodeForm, quoted };
