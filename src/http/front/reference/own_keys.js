// The keys of a development vault, which `strongroom dev` puts into the address that it prints. They
// are in the fragment, which browsers send to no server. Only a page of this machine takes them, and
// only texts in the form of keys: another site can open the page with a fragment of its choice.

const FORM = /^key_(?:test|prod)_self_(pvt|pub|mgt)_[A-Za-z0-9]{16,32}(?:\.[0-9a-f]{32})?$/;
const KINDS = { pvt: 'private', pub: 'public', mgt: 'management' };

/** The keys by kind, or `null`. */
export function keysOf({ hostname, hash }) {
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(hostname) || !hash.startsWith('#keys=')) return null;
  const found = hash.slice(6).split(',').map((text) => [FORM.exec(text)?.[1], text]);
  if (found.length !== 3 || found.some(([kind]) => kind === undefined)) return null;
  return Object.fromEntries(found.map(([kind, text]) => [KINDS[kind], text]));
}
