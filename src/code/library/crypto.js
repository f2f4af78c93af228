// `crypto` of Node: hashes, keyed hashes, ciphers, signatures and randomness.
'use strict';

const { Buffer } = require('buffer.js');
const { bytesOf, concat } = require('bytes.js');
const { StringDecoder } = require('string_decoder.js');
const { Transform } = require('stream.js');
const keys = require('keys.js');
const ports = require('ports');

const native = ports.crypto;
const { createPrivateKey, createPublicKey, createSecretKey, fault, given, isKey, read } = keys;

const text = (bytes, encoding) => {
  const buffer = Buffer.from(bytes);
  return encoding === undefined || encoding === 'buffer' ? buffer : buffer.toString(encoding);
};
const secretOf = (key, encoding) => {
  if (isKey(key)) { return read(key).secret; }
  return key && key.key !== undefined && !ArrayBuffer.isView(key) ? secretOf(key.key) : bytesOf(key, encoding);
};

// Hashes and ciphers gather their pieces and compute at the end.
class Gathering extends Transform {
  #pieces = [];
  #isDone = false;

  constructor(options) { super(options); }

  update(piece, encoding) {
    if (this.#isDone) { throw fault('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called'); }
    this.#pieces.push(Uint8Array.from(bytesOf(piece, encoding)));
    return this;
  }

  gathered() {
    if (this.#isDone) { throw fault('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called'); }
    this.#isDone = true;
    return concat(this.#pieces);
  }

  copyInto(other) {
    if (this.#isDone) { throw fault('ERR_CRYPTO_HASH_FINALIZED', 'Digest already called'); }
    other.#pieces = [...this.#pieces];
    return other;
  }

  _transform(piece, encoding, done) {
    this.update(piece);
    done();
  }
}

const knownHash = (name, Kind = Error) => {
  if (!native.isHash(String(name))) {
    throw Object.assign(new Kind('Digest method not supported'), { code: 'ERR_CRYPTO_INVALID_DIGEST' });
  }
  return String(name);
};

class Hash extends Gathering {
  #name;

  constructor(name) {
    super();
    this.#name = knownHash(name);
  }

  copy() { return this.copyInto(new Hash(this.#name)); }

  digest(encoding) { return text(native.hash(this.#name, this.gathered()), encoding); }

  _flush(done) { done(null, this.digest()); }
}

class Hmac extends Gathering {
  #name;
  #key;

  constructor(name, key, encoding) {
    super();
    this.#name = knownHash(name, TypeError);
    this.#key = Uint8Array.from(secretOf(key, encoding));
  }

  digest(encoding) { return text(native.hmac(this.#name, this.#key, this.gathered()), encoding); }

  _flush(done) { done(null, this.digest()); }
}

const ALIASES = { aes128: 'aes-128-cbc', aes192: 'aes-192-cbc', aes256: 'aes-256-cbc',
  'id-aes128-gcm': 'aes-128-gcm', 'id-aes192-gcm': 'aes-192-gcm', 'id-aes256-gcm': 'aes-256-gcm' };
const cipherName = (name) => {
  const lower = String(name).toLowerCase();
  return ALIASES[lower] || lower;
};

// Each piece gives the text that is sure by then; `final` gives the rest. The text is computed from
// the start each time: programs have one piece or two.
class Cipherlike extends Transform {
  #name;
  #key;
  #iv;
  #options;
  #isDecrypting;
  #data = new Uint8Array(0);
  #given = 0;
  #aad = new Uint8Array(0);
  #tag = null;
  #pads = true;
  #isDone = false;
  #decoder = null;

  constructor(direction, name, key, iv, options) {
    super();
    this.#isDecrypting = direction === 'decrypt';
    this.#name = cipherName(name);
    const sizes = native.cipher(this.#name);
    if (sizes === undefined || sizes === null) {
      throw Object.assign(new Error('Unknown cipher'), { code: 'ERR_CRYPTO_UNKNOWN_CIPHER' });
    }
    this.#key = Uint8Array.from(secretOf(key));
    this.#iv = iv === null || iv === undefined ? new Uint8Array(0) : Uint8Array.from(bytesOf(iv));
    this.#options = options || {};
    if (this.#key.length !== sizes[0]) {
      throw Object.assign(new RangeError('Invalid key length'), { code: 'ERR_CRYPTO_INVALID_KEYLEN' });
    }
    if (this.#isGcm ? this.#iv.length === 0 : this.#iv.length !== sizes[1]) {
      throw fault('ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');
    }
  }

  get #isGcm() { return this.#name.endsWith('gcm'); }

  get #hasBlocks() { return /-(?:cbc|ecb)$/.test(this.#name); }

  update(piece, from, to) {
    if (this.#isDone) { throw fault('ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation update'); }
    this.#data = concat([this.#data, bytesOf(piece, from)]);
    return this.#text(this.#sure(), to, false);
  }

  final(encoding) {
    if (this.#isDone) { throw fault('ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation final'); }
    this.#isDone = true;
    return this.#text(this.#rest(), encoding, true);
  }

  // The text that later pieces do not change.
  #sure() {
    const { length } = this.#data;
    if (!this.#hasBlocks) {
      // Both directions add the same stream.
      return this.#take(native.encrypt(this.#name, this.#key, this.#iv, this.#data, this.#aad), length);
    }
    const held = this.#isDecrypting && this.#pads && length > 0 ? 1 : 0;
    const end = Math.floor((length - held) / 16) * 16;
    const whole = this.#data.slice(0, end);
    const name = this.#name + '-bare';
    return this.#take(this.#isDecrypting
      ? native.decrypt(name, this.#key, this.#iv, whole, this.#aad, this.#aad)
      : native.encrypt(name, this.#key, this.#iv, whole, this.#aad), end);
  }

  #rest() {
    const name = this.#pads || !this.#hasBlocks ? this.#name : this.#name + '-bare';
    if (this.#isDecrypting) {
      if (this.#isGcm && this.#tag === null) {
        throw new Error('Unsupported state or unable to authenticate data');
      }
      const tag = this.#isGcm ? this.#tag : new Uint8Array(0);
      const plain = native.decrypt(name, this.#key, this.#iv, this.#data, this.#aad, tag);
      return this.#take(plain, plain.length);
    }
    const sealed = native.encrypt(name, this.#key, this.#iv, this.#data, this.#aad);
    if (!this.#isGcm) { return this.#take(sealed, sealed.length); }
    const end = sealed.length - 16;
    this.#tag = sealed.slice(end, end + (this.#options.authTagLength || 16));
    return this.#take(sealed, end);
  }

  #take(bytes, end) {
    const fresh = bytes.slice(this.#given, end);
    this.#given = end;
    return fresh;
  }

  // Base64 of two pieces is not that of both, so characters are held back as well.
  #text(bytes, encoding, isLast) {
    if (encoding === undefined || encoding === 'buffer') { return Buffer.from(bytes); }
    if (this.#decoder === null) { this.#decoder = new StringDecoder(encoding); }
    return isLast ? this.#decoder.end(bytes) : this.#decoder.write(bytes);
  }

  setAAD(data) { this.#aad = Uint8Array.from(bytesOf(data)); return this; }

  getAuthTag() {
    if (this.#tag === null || this.#isDecrypting) {
      throw fault('ERR_CRYPTO_INVALID_STATE', 'Invalid state for operation getAuthTag');
    }
    return Buffer.from(this.#tag);
  }

  setAuthTag(tag, encoding) {
    const bytes = Uint8Array.from(bytesOf(tag, encoding));
    const { authTagLength } = this.#options;
    if (bytes.length > 16 || bytes.length < 4 || (authTagLength && bytes.length !== authTagLength)) {
      throw fault('ERR_CRYPTO_INVALID_AUTH_TAG', 'Invalid authentication tag length: ' + bytes.length);
    }
    this.#tag = bytes;
    return this;
  }

  setAutoPadding(pads = true) { this.#pads = Boolean(pads); return this; }

  _transform(piece, encoding, done) { done(null, this.update(piece)); }

  _flush(done) {
    try {
      done(null, this.final());
    } catch (error) {
      done(error);
    }
  }
}
class Cipheriv extends Cipherlike {}
class Decipheriv extends Cipherlike {}

const constants = {
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_AUTO: -2, RSA_PSS_SALTLEN_MAX_SIGN: -2,
  defaultCoreCipherList: '',
  TLS1_VERSION: 769, TLS1_2_VERSION: 771, TLS1_3_VERSION: 772,
};

const schemeOf = (key, options) => {
  switch (key.asymmetricKeyType) {
    case 'rsa': return options.padding === constants.RSA_PKCS1_PSS_PADDING ? 'pss' : 'pkcs1';
    case 'ec': return options.dsaEncoding === 'ieee-p1363' ? 'ecdsa-fixed' : 'ecdsa-der';
    default: return 'ed25519';
  }
};
const saltOf = (options, isSigning) => (options.saltLength === undefined
  ? (isSigning ? constants.RSA_PSS_SALTLEN_MAX_SIGN : constants.RSA_PSS_SALTLEN_AUTO)
  : options.saltLength);
const hashOf = (hash) => (hash === null || hash === undefined ? 'sha256' : knownHash(hash));

const signed = (hash, data, value) => {
  const key = createPrivateKey(value);
  const options = given(value);
  return native.sign(read(key).der, schemeOf(key, options), hashOf(hash), saltOf(options, true), data);
};
const verified = (hash, data, value, signature) => {
  const key = createPublicKey(value);
  const options = given(value);
  return native.verify(read(key).der, schemeOf(key, options), hashOf(hash), saltOf(options, false), data,
    signature);
};

const later = (work, done) => {
  if (typeof done !== 'function') { return work(); }
  Promise.resolve().then(() => {
    let value;
    try {
      value = work();
    } catch (error) {
      done(error);
      return;
    }
    done(null, value);
  });
  return undefined;
};

class Sign extends Gathering {
  #hash;

  constructor(hash) { super(); this.#hash = knownHash(hash); }

  sign(key, encoding) { return text(signed(this.#hash, this.gathered(), key), encoding); }
}
class Verify extends Gathering {
  #hash;

  constructor(hash) { super(); this.#hash = knownHash(hash); }

  verify(key, signature, encoding) {
    return verified(this.#hash, this.gathered(), key, bytesOf(signature, encoding));
  }
}

// `publicEncrypt` pads with OAEP unless it is asked otherwise.
const sealing = (value, fallback) => {
  const options = given(value);
  const padding = options.padding === undefined ? fallback : options.padding;
  const name = { 1: 'pkcs1', 3: 'none', 4: 'oaep' }[padding];
  if (name === undefined) { throw fault('ERR_INVALID_ARG_VALUE', 'The padding is not supported'); }
  const hash = options.oaepHash === undefined ? 'sha1' : knownHash(options.oaepHash);
  const label = options.oaepLabel === undefined ? new Uint8Array(0) : bytesOf(options.oaepLabel);
  return [name, hash, hash, label];
};
const publicEncrypt = (value, data) => Buffer.from(native.seal(
  read(createPublicKey(value)).der, ...sealing(value, 4), bytesOf(data)));
const privateDecrypt = (value, data) => Buffer.from(native.unseal(
  read(createPrivateKey(value)).der, ...sealing(value, 4), bytesOf(data)));

const randomBytes = (size, done) => {
  if (!Number.isInteger(size) || size < 0 || size > 2 ** 31 - 1) {
    throw Object.assign(new RangeError('The value of "size" is out of range'), { code: 'ERR_OUT_OF_RANGE' });
  }
  return later(() => Buffer.from(size === 0 ? [] : ports.random(size)), done);
};
const randomFillSync = (view, offset = 0, size = view.byteLength - offset) => {
  const target = view instanceof ArrayBuffer ? new Uint8Array(view)
    : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  target.set(randomBytes(size), offset);
  return view;
};
const randomInt = (first, second, third) => {
  const [from, to, done] = typeof second === 'number' ? [first, second, third] : [0, first, second];
  const range = to - from;
  if (!(Number.isSafeInteger(from) && Number.isSafeInteger(to) && range > 0 && range <= 2 ** 48)) {
    throw Object.assign(new RangeError('The range is not valid'), { code: 'ERR_OUT_OF_RANGE' });
  }
  // Numbers above the last whole multiple of the range would make some more likely.
  const limit = 2 ** 48 - (2 ** 48 % range);
  return later(() => {
    for (;;) {
      const number = randomBytes(6).readUIntBE(0, 6);
      if (number < limit) { return from + number % range; }
    }
  }, done);
};
const randomUUID = () => {
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
};

const pbkdf2Sync = (password, salt, rounds, length, hash) => {
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 2 ** 31 - 1) {
    throw Object.assign(new RangeError('The value of "iterations" is out of range'),
      { code: 'ERR_OUT_OF_RANGE' });
  }
  return Buffer.from(native.pbkdf2(knownHash(hash), bytesOf(password), bytesOf(salt), rounds, length));
};

// RFC 5869.
const hkdfSync = (hash, key, salt, info, length) => {
  const name = knownHash(hash);
  const start = bytesOf(salt);
  const extracted = native.hmac(name,
    start.length === 0 ? new Uint8Array(native.hash(name, start).length) : start, secretOf(key));
  if (length > 255 * extracted.length) { throw fault('ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length'); }
  let block = new Uint8Array(0);
  let output = new Uint8Array(0);
  for (let count = 1; output.length < length; count++) {
    block = native.hmac(name, extracted, concat([block, bytesOf(info), Uint8Array.of(count)]));
    output = concat([output, block]);
  }
  return output.slice(0, length).buffer;
};

const timingSafeEqual = (one, other) => {
  const [left, right] = [bytesOf(one), bytesOf(other)];
  if (left.length !== right.length) {
    throw Object.assign(new RangeError('Input buffers must have the same byte length'),
      { code: 'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH' });
  }
  return native.equal(left, right);
};

const agree = (privateKey, publicKey) => Buffer.from(
  native.agree(read(createPrivateKey(privateKey)).der, read(createPublicKey(publicKey)).der));

class ECDH {
  #curve;
  #key = null;

  constructor(curve) { this.#curve = curve; }

  generateKeys(encoding, format) {
    this.#key = keys.generateKeyPairSync('ec', { namedCurve: this.#curve }).privateKey;
    return this.getPublicKey(encoding, format);
  }

  setPrivateKey(bytes, encoding) {
    const name = { prime256v1: 'P-256', secp384r1: 'P-384' }[this.#curve] || this.#curve;
    const empty = new Uint8Array(0);
    this.#key = keys.privateKey(native.keyOfParts(name, [empty, empty, bytesOf(bytes, encoding)]));
    return this;
  }

  getPrivateKey(encoding) { return text(read(this.#key).parts[2], encoding); }

  getPublicKey(encoding, format) {
    const [x, y] = read(this.#key).parts;
    const point = format === 'compressed' ? [Uint8Array.of(2 + (y[y.length - 1] & 1)), x]
      : [Uint8Array.of(4), x, y];
    return text(concat(point), encoding);
  }

  computeSecret(other, from, to) {
    const { kind } = read(this.#key);
    const point = native.keyOfParts(kind, [bytesOf(other, from)]);
    return text(native.agree(read(this.#key).der, point.public), to);
  }
}

const generateKeyPair = (type, options, done) => later(
  () => keys.generateKeyPairSync(type, options),
  (error, pair) => (error ? done(error) : done(null, pair.publicKey, pair.privateKey)));
// A promise has one value, so it gets both keys as one.
generateKeyPair[Symbol.for('nodejs.util.promisify.custom')] =
  async (type, options) => keys.generateKeyPairSync(type, options);

const HASHES = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];
const CIPHERS = ['128', '192', '256'].flatMap(
  (bits) => ['cbc', 'ctr', 'ecb', 'gcm'].map((mode) => `aes-${bits}-${mode}`));

module.exports = {
  Cipheriv,
  Decipheriv,
  ECDH,
  Hash,
  Hmac,
  KeyObject: keys.KeyObject,
  Sign,
  Verify,
  constants,
  createCipheriv: (name, key, iv, options) => new Cipheriv('encrypt', name, key, iv, options),
  createDecipheriv: (name, key, iv, options) => new Decipheriv('decrypt', name, key, iv, options),
  createECDH: (curve) => new ECDH(curve),
  createHash: (name) => new Hash(name),
  createHmac: (name, key, options) => new Hmac(name, key, options && options.encoding),
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  createSign: (hash) => new Sign(hash),
  createVerify: (hash) => new Verify(hash),
  diffieHellman: ({ privateKey, publicKey }) => agree(privateKey, publicKey),
  generateKeyPair,
  generateKeyPairSync: keys.generateKeyPairSync,
  getCiphers: () => [...CIPHERS],
  getCurves: () => ['prime256v1', 'secp384r1'],
  getHashes: () => [...HASHES],
  getFips: () => 0,
  getRandomValues: (view) => require('webcrypto.js').crypto.getRandomValues(view),
  hash: (name, data, encoding = 'hex') => text(native.hash(knownHash(name), bytesOf(data)), encoding),
  hkdf: (hash, key, salt, info, length, done) => later(
    () => hkdfSync(hash, key, salt, info, length), done),
  hkdfSync,
  pbkdf2: (password, salt, rounds, length, hash, done) => later(
    () => pbkdf2Sync(password, salt, rounds, length, hash), done),
  pbkdf2Sync,
  privateDecrypt,
  privateEncrypt: () => { throw new Error('privateEncrypt is not available to programs; use sign'); },
  pseudoRandomBytes: randomBytes,
  publicDecrypt: () => { throw new Error('publicDecrypt is not available to programs; use verify'); },
  publicEncrypt,
  randomBytes,
  randomFill: (view, done) => later(() => randomFillSync(view), done),
  randomFillSync,
  randomInt,
  randomUUID,
  sign: (hash, data, key, done) => later(() => Buffer.from(signed(hash, bytesOf(data), key)), done),
  timingSafeEqual,
  verify: (hash, data, key, signature, done) => later(
    () => verified(hash, bytesOf(data), key, bytesOf(signature)), done),
  get subtle() { return require('webcrypto.js').crypto.subtle; },
  get webcrypto() { return require('webcrypto.js').crypto; },
};
