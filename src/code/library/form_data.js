// `form-data`: a multipart body as the package of this name makes it.
'use strict';

const { Buffer } = require('buffer.js');
const { Readable } = require('stream.js');
const { boundaryOf, quoted } = require('form_data_web.js');

class FormData extends Readable {
  #boundary = boundaryOf();
  #pieces = [];
  #isRead = false;

  append(name, value, options = {}) {
    const given = typeof options === 'string' ? { filename: options } : options;
    const file = given.filename || given.filepath;
    let head = `--${this.#boundary}\r\nContent-Disposition: form-data; name="${quoted(String(name))}"`;
    if (file) { head += `; filename="${quoted(file)}"`; }
    const type = given.contentType || (file || typeof value === 'object' ? 'application/octet-stream' : '');
    if (type) { head += `\r\nContent-Type: ${type}`; }
    this.#pieces.push(Buffer.from(head + '\r\n\r\n'),
      typeof value === 'object' ? Buffer.from(value) : Buffer.from(String(value)),
      Buffer.from('\r\n'));
  }

  getBoundary() { return this.#boundary; }

  setBoundary(boundary) { this.#boundary = boundary; }

  getHeaders(more = {}) {
    return { 'content-type': 'multipart/form-data; boundary=' + this.#boundary, ...more };
  }

  getBuffer() { return Buffer.concat([...this.#pieces, Buffer.from(`--${this.#boundary}--\r\n`)]); }

  getLengthSync() { return this.getBuffer().length; }

  getLength(done) { Promise.resolve().then(() => done(null, this.getLengthSync())); }

  hasKnownLength() { return true; }

  _read() {
    if (this.#isRead) { return; }
    this.#isRead = true;
    this.push(this.getBuffer());
    this.push(null);
  }
}

module.exports = FormData;
