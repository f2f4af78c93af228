// Keys of `crypto`: PEM, DER and JWK in, `KeyObject` out.
'use strict';

const { Buffer } = require('buffer.js');
const { bytesOf, decode } = require('bytes.js');
const ports = require('ports');

const { keyOfParts, makeKey, readKey } = ports.crypto;

const CURVES = { 'P-256': 'prime256v1', 'P-384': 'secp384r1' };

// Node has type errors for arguments, and plain ones for keys and states.
const fault = (code, message) => {
  const Kind = /INVALID_(?:ARG|AUTH_TAG|IV|JWK|KEY_OBJECT)/.test(code) ? TypeError : Error;
  return Object.assign(new Kind(message), { code });
};

let make;

class KeyObject {
  #description;

  static {
    make = (description) => {
      const key = new KeyObject();
      key.#description = description;
      return key;
    };
    KeyObject.read = (key) => key.#description;
  }

  static from(key) { return require('webcrypto.js').objectOf(key); }

  get type() { return this.#description.type; }

  get asymmetricKeyType() {
    const { kind } = this.#description;
    return kind === undefined ? undefined : CURVES[kind] === undefined ? kind : 'ec';
  }

  get asymmetricKeyDetails() {
    const { kind, parts } = this.#description;
    if (kind === 'rsa') {
      const exponent = parts[1].reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
      return { modulusLength: bitsOf(parts[0]), publicExponent: exponent };
    }
    return CURVES[kind] === undefined ? {} : { namedCurve: CURVES[kind] };
  }

  get symmetricKeySize() {
    return this.#description.secret === undefined ? undefined : this.#description.secret.length;
  }

  equals(other) {
    return other instanceof KeyObject && other.type === this.type
      && Buffer.from(bytesIn(this)).equals(bytesIn(other));
  }

  export(options = {}) { return exported(this.#description, options); }

  get [Symbol.toStringTag]() { return 'KeyObject'; }
}
const read = KeyObject.read;
delete KeyObject.read;

const bytesIn = (key) => {
  const { der, secret } = read(key);
  return secret === undefined ? der : secret;
};
const bitsOf = (number) => (number.length === 0 ? 0
  : (number.length - 1) * 8 + 32 - Math.clz32(number[0]));

const privateKey = (found) => make({ ...found, type: 'private' });
const publicKey = (found) => make({ ...found, der: found.public, type: 'public', isPrivate: false });

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \1-----/;

const derOf = (text) => {
  const found = PEM.exec(text);
  if (found === null) { throw fault('ERR_OSSL_UNSUPPORTED', 'The key is neither PEM nor DER'); }
  if (/ENCRYPTED/.test(found[1]) || /Proc-Type/.test(found[2])) {
    throw fault('ERR_OSSL_UNSUPPORTED', 'Keys with a password are not supported');
  }
  return Buffer.from(found[2], 'base64');
};

// Bytes that are PEM are read as PEM.
const found = (key, format) => {
  if (format === 'jwk') { return fromJwk(key); }
  if (typeof key === 'string') { return readKey(derOf(key)); }
  const bytes = bytesOf(key);
  return format !== 'der' && bytes[0] === 0x2d ? readKey(derOf(decode(bytes, 'latin1'))) : readKey(bytes);
};

const fromBase64Url = (text) => Buffer.from(String(text), 'base64url');

const fromJwk = (jwk) => {
  const numbers = (names) => names.filter((name) => jwk[name] !== undefined)
    .map((name) => fromBase64Url(jwk[name]));
  switch (jwk.kty) {
    case 'RSA': return keyOfParts('rsa', numbers(['n', 'e', 'd', 'p', 'q']));
    case 'EC': return keyOfParts(jwk.crv, numbers(['x', 'y', 'd']));
    case 'OKP':
      if (jwk.crv === 'Ed25519') { return keyOfParts('ed25519', numbers(['x', 'd'])); }
      break;
    default: break;
  }
  throw fault('ERR_CRYPTO_INVALID_JWK', 'Unsupported JWK Key Type.');
};

const toJwk = ({ kind, parts, secret, type }) => {
  const text = (bytes) => Buffer.from(bytes).toString('base64url');
  if (secret !== undefined) { return { kty: 'oct', k: text(secret) }; }
  const named = (names) => Object.fromEntries(names.map((name, at) => [name, text(parts[at])]));
  const isPrivate = type === 'private';
  if (kind === 'rsa') {
    return {
      kty: 'RSA', ...named(isPrivate ? ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] : ['n', 'e']),
    };
  }
  if (kind === 'ed25519') {
    return { kty: 'OKP', crv: 'Ed25519', ...named(isPrivate ? ['x', 'd'] : ['x']) };
  }
  return { kty: 'EC', crv: kind, ...named(isPrivate ? ['x', 'y', 'd'] : ['x', 'y']) };
};

const pem = (label, bytes) => {
  const lines = Buffer.from(bytes).toString('base64').replace(/(.{64})(?=.)/g, '$1\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
};

const exported = (description, { format, type }) => {
  const { secret } = description;
  if (format === 'jwk') { return toJwk(description); }
  if (secret !== undefined) { return Buffer.from(secret); }
  const isPrivate = description.type === 'private';
  let bytes = description.der;
  let label = isPrivate ? 'PRIVATE KEY' : 'PUBLIC KEY';
  if (type === 'pkcs1' || type === 'sec1') {
    bytes = isPrivate ? description.inner : innerPublic(description);
    label = type === 'sec1' ? 'EC PRIVATE KEY' : isPrivate ? 'RSA PRIVATE KEY' : 'RSA PUBLIC KEY';
  }
  return format === 'der' ? Buffer.from(bytes) : pem(label, bytes);
};
// The public key of a description that came from a private one.
const innerPublic = (description) => readKey(description.public).inner;

const isKey = (value) => value instanceof KeyObject;

const createSecretKey = (key, encoding) => make({
  type: 'secret', secret: Buffer.from(bytesOf(key, encoding)),
});
const given = (value) => {
  if (isKey(value)) { return { key: value }; }
  if (typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return { key: value };
  }
  if (typeof value !== 'object' || value === null || value.key === undefined) {
    throw fault('ERR_INVALID_ARG_TYPE', 'The "key" argument must be a key, a text, a Buffer or an object');
  }
  return value;
};
const createPrivateKey = (value) => {
  const { key, format } = given(value);
  if (isKey(key)) {
    if (key.type !== 'private') {
      throw fault('ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE', 'Invalid key object type, expected private.');
    }
    return key;
  }
  const description = found(key, format);
  if (!description.isPrivate) { throw fault('ERR_OSSL_UNSUPPORTED', 'The key is not a private key'); }
  return privateKey(description);
};
// The public half of a private key counts as well.
const createPublicKey = (value) => {
  const { key, format } = given(value);
  return publicKey(isKey(key) ? read(key) : found(key, format));
};

const generateKeyPairSync = (type, options = {}) => {
  const curve = { prime256v1: 'P-256', secp256r1: 'P-256', 'P-256': 'P-256', secp384r1: 'P-384',
    'P-384': 'P-384' }[options.namedCurve];
  const [kind, size] = type === 'rsa' || type === 'rsa-pss' ? ['rsa', options.modulusLength]
    : type === 'ec' ? [curve || String(options.namedCurve), 0] : [type, 0];
  const made = makeKey(kind, size === undefined ? 2048 : size);
  const form = (key, encoding) => (encoding ? key.export(encoding) : key);
  return {
    publicKey: form(publicKey(made), options.publicKeyEncoding),
    privateKey: form(privateKey(made), options.privateKeyEncoding),
  };
};

module.exports = {
  KeyObject, createPrivateKey, createPublicKey, createSecretKey, fault, generateKeyPairSync, given,
  isKey, publicKey, privateKey, read,
};
