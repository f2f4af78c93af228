// `punycode`: names in ASCII pass; others are refused, as `URL` refuses them.
'use strict';

const checked = (name) => {
  if (/[^\0-\x7f]/.test(name)) { throw new RangeError('Host names must be ASCII'); }
  return name.toLowerCase();
};

module.exports = {
  toASCII: checked,
  toUnicode: (name) => name,
  encode: checked,
  decode: checked,
  ucs2: {
    decode: (text) => Array.from(text, (it) => it.codePointAt(0)),
    encode: (points) => String.fromCodePoint(...points),
  },
  version: '2.3.1',
};
