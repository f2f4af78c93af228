// Encrypts a value to a client encryption key of the tenant, as a compact JWE: ECDH-ES on X25519 with
// A256GCM. The chapter about client encryption keys has the format.

const utf8 = (text) => new TextEncoder().encode(text);

const base64url = (bytes) => {
  let text = '';
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
};

const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

/** The raw key between the labels, or null. */
export const keyOf = (pem) => {
  const text = String(pem).replace(/-----[A-Z ]+-----/g, '').replace(/\s/g, '');
  try {
    const bytes = fromBase64(text);
    return bytes.length === 32 ? bytes : null;
  } catch {
    return null;
  }
};

// "A256GCM" with its length, no parties, 256 bits.
const INFO = [0, 0, 0, 7, 65, 50, 53, 54, 71, 67, 77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];

export const encrypt = async (keyId, key, type, data) => {
  const algorithm = { name: 'X25519' };
  const theirs = await crypto.subtle.importKey('raw', key, algorithm, false, []);
  const own = await crypto.subtle.generateKey(algorithm, true, ['deriveBits']);
  const { kty, crv, x } = await crypto.subtle.exportKey('jwk', own.publicKey);
  const head = base64url(utf8(JSON.stringify({ alg: 'ECDH-ES', enc: 'A256GCM', cty: type, kid: keyId, epk: { kty, crv, x } })));
  const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: 'X25519', public: theirs }, own.privateKey, 256));
  const derived = await crypto.subtle.digest('SHA-256', new Uint8Array([0, 0, 0, 1, ...shared, ...INFO]));
  const cipher = await crypto.subtle.importKey('raw', derived, 'AES-GCM', false, ['encrypt']);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: utf8(head) }, cipher, utf8(JSON.stringify(data)));
  const [text, tag] = [sealed.slice(0, -16), sealed.slice(-16)];
  return [head, '', base64url(iv), base64url(text), base64url(tag)].join('.');
};
