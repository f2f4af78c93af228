//: outcome {"kind":"returned","value":{"raw":{"length":256,"opened":"4242424242424242"}}}
const crypto = require('crypto');
module.exports = async () => {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const options = { padding: crypto.constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
  const sealed = crypto.publicEncrypt({ key: publicKey, ...options }, Buffer.from('4242424242424242'));
  const opened = crypto.privateDecrypt({ key: privateKey, ...options }, sealed);
  return { raw: { length: sealed.length, opened: opened.toString() } };
};
