// The keys and the CA file of a development vault, which `strongroom dev` puts into the address that it prints. They
// are in the fragment, which browsers send to no server. Only a page of this machine takes them, and
// only texts in the form of keys: another site can open the page with a fragment of its choice.

const FORM = /^key_(?:test|prod)_self_(pvt|pub|mgt)_[A-Za-z0-9]{16,32}(?:\.[0-9a-f]{32})?$/;
const KINDS = { pvt: 'private', pub: 'public', mgt: 'management' };

/** A path that needs no escapes in the languages of the examples. */
const PATH = /^\/[\p{L}\p{N}/._ +@-]{1,1000}$/u;

/** The keys by kind, with the path of the CA file as `ca` if it is known, or `null`. */
export function keysOf({ hostname, hash }) {
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(hostname) || !hash.startsWith('#keys=')) return null;
  const [path, ...further] = hash.slice(6).split(',').slice(3);
  const found = hash.slice(6).split(',').slice(0, 3).map((text) => [FORM.exec(text)?.[1], text]);
  if (found.length !== 3 || further.length > 0 || found.some(([kind]) => kind === undefined)) return null;
  const ca = decoded(path ?? '');
  return { ...Object.fromEntries(found.map(([kind, text]) => [KINDS[kind], text])), ...(PATH.test(ca) ? { ca } : {}) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
