// The values of this server in place of those that chapters print, so that code can be copied as it is shown. A public
// key is made for pages and may be in code; no other key ever is.

let publicKey = null;

export function useOwn(values) {
  publicKey = values.publicKey;
}

/** The code of a chapter with the address of this server, and with the public key of a development vault. */
export const withOwnValues = (text, origin = location.origin, key = publicKey) => {
  const addressed = text.replaceAll(/https:\/\/vault\.example/g, origin);
  return key === null ? addressed : addressed.replaceAll('key_prod_self_pub_...', key);
};
