// `crypto` of the browser: `getRandomValues`, `randomUUID` and `subtle`.
'use strict';

const { bytesOf } = require('bytes.js');
const { DOMException } = require('abort.js');
const keys = require('keys.js');
const node = require('crypto.js');
const ports = require('ports');

const native = ports.crypto;

const refuse = (message, name = 'NotSupportedError') => { throw new DOMException(message, name); };
const nameOf = (algorithm) => String(typeof algorithm === 'object' && algorithm !== null
  ? algorithm.name : algorithm);
const hashOf = (hash) => {
  const name = nameOf(hash);
  return /^sha-(?:1|256|384|512)$/i.test(name) ? name.toUpperCase() : refuse('Unrecognized hash');
};
const bufferOf = (bytes) => Uint8Array.from(bytes).buffer;
const copyOf = (data) => Uint8Array.from(bytesOf(data));

const NAMES = ['AES-CBC', 'AES-CTR', 'AES-GCM', 'ECDH', 'ECDSA', 'Ed25519', 'HKDF', 'HMAC', 'PBKDF2',
  'RSA-OAEP', 'RSA-PSS', 'RSASSA-PKCS1-v1_5'];
const known = (algorithm) => {
  const wanted = nameOf(algorithm).toLowerCase();
  const found = NAMES.find((name) => name.toLowerCase() === wanted);
  return found === undefined ? refuse('Unrecognized algorithm name') : found;
};

let make;
let objectOf;

class CryptoKey {
  #key;

  static {
    make = (key, algorithm, extractable, usages) => {
      const made = new CryptoKey();
      made.#key = key;
      Object.assign(made, { type: key.type, algorithm, extractable: Boolean(extractable), usages: [...usages] });
      return made;
    };
    objectOf = (made) => made.#key;
  }

  get [Symbol.toStringTag]() { return 'CryptoKey'; }
}

const secretIn = (key) => keys.read(objectOf(key)).secret;
const derIn = (key) => keys.read(objectOf(key)).der;
const checkUse = (key, algorithm, usage) => {
  if (!(key instanceof CryptoKey) || key.algorithm.name !== known(algorithm)
    || !key.usages.includes(usage)) {
    refuse('Unable to use this key to ' + usage, 'InvalidAccessError');
  }
};

const rsaAlgorithm = (name, hash, object) => ({
  name,
  modulusLength: object.asymmetricKeyDetails.modulusLength,
  publicExponent: Uint8Array.from(keys.read(object).parts[1]),
  hash: { name: hash },
});
const CURVES = { prime256v1: 'P-256', secp384r1: 'P-384' };

// The description of a key that was imported or made.
const describe = (name, algorithm, object) => {
  switch (name) {
    case 'HMAC': return {
      name, hash: { name: hashOf(algorithm.hash) }, length: object.symmetricKeySize * 8,
    };
    case 'AES-CBC': case 'AES-CTR': case 'AES-GCM':
      return { name, length: object.symmetricKeySize * 8 };
    case 'HKDF': case 'PBKDF2': case 'Ed25519': return { name };
    case 'ECDH': case 'ECDSA':
      return { name, namedCurve: CURVES[object.asymmetricKeyDetails.namedCurve] };
    default: return rsaAlgorithm(name, hashOf(algorithm.hash), object);
  }
};

const WANTED = { HMAC: 'secret', 'AES-CBC': 'secret', 'AES-CTR': 'secret', 'AES-GCM': 'secret',
  HKDF: 'secret', PBKDF2: 'secret', ECDH: 'ec', ECDSA: 'ec', Ed25519: 'ed25519' };

const importKey = (format, data, algorithm, extractable, usages) => {
  const name = known(algorithm);
  const isSecret = WANTED[name] === 'secret';
  let object;
  switch (format) {
    case 'raw':
      object = isSecret ? keys.createSecretKey(copyOf(data))
        : keys.publicKey(native.keyOfParts(name === 'Ed25519' ? 'ed25519' : algorithm.namedCurve,
          [copyOf(data)]));
      break;
    case 'jwk':
      object = isSecret ? keys.createSecretKey(bytesOf(String(data.k), 'base64url'))
        : data.d === undefined ? keys.createPublicKey({ key: data, format: 'jwk' })
          : keys.createPrivateKey({ key: data, format: 'jwk' });
      break;
    case 'pkcs8': object = keys.createPrivateKey({ key: copyOf(data), format: 'der' }); break;
    case 'spki': object = keys.createPublicKey({ key: copyOf(data), format: 'der' }); break;
    default: return refuse('Unable to import a key of this format');
  }
  const kind = object.type === 'secret' ? 'secret' : object.asymmetricKeyType;
  if (kind !== (WANTED[name] || 'rsa')) { refuse('Invalid key type', 'DataError'); }
  if (name.startsWith('AES') && ![16, 24, 32].includes(object.symmetricKeySize)) {
    refuse('Invalid key length', 'DataError');
  }
  return make(object, describe(name, algorithm, object), extractable, usages);
};

const exportKey = (format, key) => {
  if (!key.extractable) { refuse('key is not extractable', 'InvalidAccessError'); }
  const object = objectOf(key);
  switch (format) {
    case 'raw': {
      if (object.type === 'secret') { return bufferOf(secretIn(key)); }
      const { kind, parts } = keys.read(object);
      return bufferOf(kind === 'ed25519' ? parts[0] : [4, ...parts[0], ...parts[1]]);
    }
    case 'jwk': return { key_ops: key.usages, ext: true, ...object.export({ format: 'jwk' }) };
    case 'pkcs8': case 'spki':
      if ((format === 'pkcs8') !== (object.type === 'private')) {
        return refuse('Unable to export this key in this format', 'InvalidAccessError');
      }
      return bufferOf(derIn(key));
    default: return refuse('Unable to export a key in this format');
  }
};

const PUBLIC_USES = ['encrypt', 'verify', 'wrapKey'];
const generateKey = (algorithm, extractable, usages) => {
  const name = known(algorithm);
  if (name.startsWith('AES') || name === 'HMAC') {
    const bits = algorithm.length || { 'SHA-1': 512, 'SHA-256': 512 }[name === 'HMAC'
      ? hashOf(algorithm.hash) : ''] || 1024;
    const object = keys.createSecretKey(ports.random(Math.ceil(bits / 8)));
    return make(object, describe(name, algorithm, object), extractable, usages);
  }
  const type = WANTED[name] || 'rsa';
  const pair = keys.generateKeyPairSync(type,
    { modulusLength: algorithm.modulusLength, namedCurve: algorithm.namedCurve });
  const description = describe(name, algorithm, pair.publicKey);
  return {
    publicKey: make(pair.publicKey, description, true, usages.filter((it) => PUBLIC_USES.includes(it))),
    privateKey: make(pair.privateKey, description, extractable,
      usages.filter((it) => !PUBLIC_USES.includes(it))),
  };
};

const schemeOf = (algorithm, key) => {
  const { name } = key.algorithm;
  switch (name) {
    case 'ECDSA': return ['ecdsa-fixed', hashOf(algorithm.hash), 0];
    case 'Ed25519': return ['ed25519', 'SHA-256', 0];
    case 'RSA-PSS': return ['pss', key.algorithm.hash.name, algorithm.saltLength];
    default: return ['pkcs1', key.algorithm.hash.name, 0];
  }
};
const sign = (algorithm, key, data) => {
  checkUse(key, algorithm, 'sign');
  if (key.algorithm.name === 'HMAC') {
    return bufferOf(native.hmac(key.algorithm.hash.name, secretIn(key), copyOf(data)));
  }
  return bufferOf(native.sign(derIn(key), ...schemeOf(algorithm, key), copyOf(data)));
};
const verify = (algorithm, key, signature, data) => {
  checkUse(key, algorithm, 'verify');
  if (key.algorithm.name === 'HMAC') {
    return native.equal(native.hmac(key.algorithm.hash.name, secretIn(key), copyOf(data)), copyOf(signature));
  }
  return native.verify(derIn(key), ...schemeOf(algorithm, key), copyOf(data), copyOf(signature));
};

const failed = (work) => {
  try {
    return work();
  } catch {
    return refuse('The operation failed for an operation-specific reason', 'OperationError');
  }
};
const cipherOf = (key) => `aes-${key.algorithm.length}-${key.algorithm.name.slice(4).toLowerCase()}`;
const labelOf = (algorithm) => (algorithm.label === undefined ? new Uint8Array(0) : copyOf(algorithm.label));
const ivOf = (algorithm, key) => copyOf(key.algorithm.name === 'AES-CTR' ? algorithm.counter : algorithm.iv);
const aadOf = (algorithm) => (algorithm.additionalData === undefined ? new Uint8Array(0)
  : copyOf(algorithm.additionalData));
const tagOf = (algorithm) => {
  const bits = algorithm.tagLength === undefined ? 128 : algorithm.tagLength;
  return [32, 64, 96, 104, 112, 120, 128].includes(bits) ? bits / 8
    : refuse(`${bits} is not a valid AES-GCM tag length`, 'OperationError');
};

const encrypted = (algorithm, key, data) => {
  if (key.algorithm.name === 'RSA-OAEP') {
    const hash = key.algorithm.hash.name;
    return native.seal(derIn(key), 'oaep', hash, hash, labelOf(algorithm), data);
  }
  const sealed = native.encrypt(cipherOf(key), secretIn(key), ivOf(algorithm, key), data, aadOf(algorithm));
  return key.algorithm.name === 'AES-GCM' ? sealed.slice(0, data.length + tagOf(algorithm)) : sealed;
};
const decrypted = (algorithm, key, data) => {
  if (key.algorithm.name === 'RSA-OAEP') {
    const hash = key.algorithm.hash.name;
    return native.unseal(derIn(key), 'oaep', hash, hash, labelOf(algorithm), data);
  }
  const end = data.length - (key.algorithm.name === 'AES-GCM' ? tagOf(algorithm) : 0);
  if (end < 0) { refuse('The provided data is too small', 'OperationError'); }
  return native.decrypt(cipherOf(key), secretIn(key), ivOf(algorithm, key), data.slice(0, end),
    aadOf(algorithm), data.slice(end));
};

const deriveBits = (algorithm, key, bits) => {
  const length = bits === null || bits === undefined ? 32 : bits / 8;
  switch (known(algorithm)) {
    case 'PBKDF2': return bufferOf(node.pbkdf2Sync(secretIn(key), copyOf(algorithm.salt),
      algorithm.iterations, length, hashOf(algorithm.hash)));
    case 'HKDF': return node.hkdfSync(hashOf(algorithm.hash), secretIn(key), copyOf(algorithm.salt),
      copyOf(algorithm.info), length);
    case 'ECDH': {
      const secret = native.agree(derIn(key), derIn(algorithm.public));
      return bufferOf(bits === null || bits === undefined ? secret : secret.slice(0, length));
    }
    default: return refuse('Unable to derive bits with this algorithm');
  }
};
const deriveKey = (algorithm, key, wanted, extractable, usages) => {
  const bits = wanted.length || (known(wanted) === 'HMAC' ? 512 : 256);
  return importKey('raw', deriveBits(algorithm, key, bits), wanted, extractable, usages);
};
const checkDerive = (key, algorithm) => {
  if (!key.usages.includes('deriveBits') && !key.usages.includes('deriveKey')) {
    checkUse(key, algorithm, 'deriveBits');
  }
};

const subtle = {
  digest: async (algorithm, data) => bufferOf(native.hash(hashOf(algorithm), copyOf(data))),
  importKey: async (...given) => importKey(...given),
  exportKey: async (...given) => exportKey(...given),
  generateKey: async (...given) => generateKey(...given),
  sign: async (...given) => sign(...given),
  verify: async (...given) => verify(...given),
  encrypt: async (algorithm, key, data) => {
    checkUse(key, algorithm, 'encrypt');
    const bytes = copyOf(data);
    return bufferOf(failed(() => encrypted(algorithm, key, bytes)));
  },
  decrypt: async (algorithm, key, data) => {
    checkUse(key, algorithm, 'decrypt');
    const bytes = copyOf(data);
    return bufferOf(failed(() => decrypted(algorithm, key, bytes)));
  },
  deriveBits: async (algorithm, key, bits) => {
    checkDerive(key, algorithm);
    return deriveBits(algorithm, key, bits);
  },
  deriveKey: async (algorithm, key, ...rest) => {
    checkDerive(key, algorithm);
    return deriveKey(algorithm, key, ...rest);
  },
};

const crypto = {
  CryptoKey,
  getRandomValues: (view) => {
    if (view.byteLength > 65536) {
      refuse('The requested length exceeds 65,536 bytes', 'QuotaExceededError');
    }
    return node.randomFillSync(view);
  },
  randomUUID: node.randomUUID,
  subtle,
};
module.exports = { CryptoKey, crypto, objectOf };
