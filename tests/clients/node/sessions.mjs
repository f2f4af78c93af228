// Sessions of public applications, client encryption keys, and values that a client encrypts.

import assert from "node:assert/strict";
import {
  createCipheriv,
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  randomBytes,
} from "node:crypto";

import {
  BasisTheory,
  CARD,
  UUID,
  check,
  clientOf,
  fresh,
  managementClient,
  privateClient,
  publicClient,
  refuses,
} from "./harness.mjs";

const { BadRequestError, ConflictError, ForbiddenError, NotFoundError, UnauthorizedError } =
  BasisTheory;

check("a session is made, authorized and used", async () => {
  const token = await privateClient.tokens.create({ type: "token", data: "mine", id: fresh() });
  const other = await privateClient.tokens.create({ type: "token", data: "x", id: fresh() });
  const session = await publicClient.sessions.create();
  const page = clientOf(session.sessionKey);
  await refuses(UnauthorizedError, 401, () => page.tokens.get(token.id));
  const conditions = [{ attribute: "id", operator: "equals", value: token.id }];
  await privateClient.sessions.authorize({
    nonce: session.nonce,
    rules: [{ priority: 1, transform: "reveal", permissions: ["token:read"], conditions }],
  });
  assert.equal((await page.tokens.get(token.id)).data, "mine");
  await refuses(ForbiddenError, 403, () => page.tokens.get(other.id));
  const again = { nonce: session.nonce, permissions: ["token:read"] };
  await refuses(ConflictError, 409, () => privateClient.sessions.authorize(again));
  await refuses(ForbiddenError, 403, () => privateClient.sessions.create());
});

// The function that the chapter on client encryption keys shows.
function encrypt(keyId, pem, type, data) {
  const x = Buffer.from(pem.replace(/-----.*?-----/g, ""), "base64").toString("base64url");
  const vault = createPublicKey({ key: { kty: "OKP", crv: "X25519", x }, format: "jwk" });
  const own = generateKeyPairSync("x25519");
  const { kty, crv, x: ownX } = own.publicKey.export({ format: "jwk" });
  const header = { alg: "ECDH-ES", enc: "A256GCM", cty: type, kid: keyId, epk: { kty, crv, x: ownX } };
  const head = Buffer.from(JSON.stringify(header)).toString("base64url");
  const shared = diffieHellman({ privateKey: own.privateKey, publicKey: vault });
  const info = Buffer.from("000000074132353647434d000000000000000000000100", "hex");
  const key = createHash("sha256").update(Buffer.from([0, 0, 0, 1])).update(shared).update(info).digest();
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(head));
  const text = Buffer.concat([cipher.update(JSON.stringify(data)), cipher.final()]);
  return [head, "", ...[iv, text, cipher.getAuthTag()].map((it) => it.toString("base64url"))].join(".");
}

check("a value that a client encrypts becomes a token", async () => {
  const key = await managementClient.keys.create();
  assert.match(key.keyId, UUID);
  const encrypted = encrypt(key.keyId, key.publicKeyPem, "card", {
    number: CARD.number,
    expiration_month: 12,
    expiration_year: 2030,
  });
  const token = await privateClient.tokens.create({ type: "card", encrypted });
  assert.equal(token.data.number, CARD.number);
  const shape = await privateClient.tokens.tokenize({ card: { type: "card", encrypted } });
  assert.equal(shape.card.data.number, CARD.number);
  assert.deepEqual((await managementClient.keys.get(key.keyId)).expiresAt, key.expiresAt);
  assert.ok((await managementClient.keys.list()).some((it) => it.keyId === key.keyId));
  await managementClient.keys.delete(key.keyId);
  await refuses(NotFoundError, 404, () => managementClient.keys.get(key.keyId));
  await refuses(BadRequestError, 400, () => privateClient.tokens.create({ type: "card", encrypted }));
});
