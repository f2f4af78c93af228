// Tokens of every type: stored, read, changed and deleted; their ids and their expiry.

import assert from "node:assert/strict";

import {
  BasisTheory,
  CARD,
  UUID,
  check,
  fresh,
  privateClient,
  refuses,
  sdk,
  server,
} from "./harness.mjs";

const { ConflictError, NotFoundError } = BasisTheory;
const { tokens } = privateClient;

// Type, data, default container.
const TYPES = [
  ["bank", { routing_number: "021000021", account_number: "00001" }, "/bank/high/"],
  ["card", CARD, "/pci/high/"],
  ["card_number", "36227206271667", "/pci/high/"],
  ["employer_id_number", "12-3456789", "/pii/high/"],
  ["network_token", { number: "4242424242424242", expiration_month: 1 }, "/pci/high/"],
  ["social_security_number", "123-45-6789", "/pii/high/"],
  ["token", { any: ["shape", 1, 2.5, true, null, { of: "value" }] }, "/general/high/"],
  ["us_bank_account_number", "00001234567", "/bank/high/"],
  ["us_bank_routing_number", "021000021", "/bank/low/"],
];

check("a token of every type is stored, read and deleted", async () => {
  for (const [type, data, container] of TYPES) {
    const created = await tokens.create({ type, data });
    assert.match(created.id, UUID);
    assert.equal(created.type, type);
    assert.equal(created.tenantId, server.tenant_id);
    assert.deepEqual(created.containers, [container]);
    assert.match(created.fingerprint, /^[A-Za-z0-9]{20,100}$/);
    assert.ok(created.createdAt instanceof Date);
    assert.equal(created.modifiedAt, undefined);
    const read = await tokens.get(created.id);
    assert.deepEqual(read.data, data);
    assert.equal(await tokens.delete(created.id), undefined);
    await refuses(NotFoundError, 404, () => tokens.get(created.id));
  }
});

check("members of the data keep their names", async () => {
  // The client turns names of its own members from camelCase; what is stored is not its business.
  const data = { camelCase: 1, snake_case: { innerCase: 2, inner_case: 3 } };
  const metadata = { camelKey: "a", snake_key: "b" };
  const mask = { camelCase: "{{ data.camelCase }}" };
  const { id } = await tokens.create({ type: "token", data, metadata, mask });
  const read = await tokens.get(id);
  assert.deepEqual(read.data, data);
  assert.deepEqual(read.metadata, metadata);
  assert.deepEqual(read.mask, mask);
});

check("a card and a bank account carry their details", async () => {
  const { card } = await tokens.create({ type: "card", data: CARD });
  assert.deepEqual(
    [card.bin, card.last4, card.brand, card.funding, card.expirationMonth, card.expirationYear],
    ["42424242", "4242", "visa", "credit", 12, 2030],
  );
  const data = { routing_number: "021000021", account_number: "123456789" };
  const { bank } = await tokens.create({ type: "bank", data });
  assert.deepEqual([bank.routingNumber, bank.accountNumberLast4], ["021000021", "6789"]);
});

check("a card request as programs write it is taken", async () => {
  // A comma for the pipe in a mask, a mask of the code, a number as an index, a code as a number.
  const { id } = await tokens.create({
    type: "card",
    data: { number: "6011000990139424", expiration_month: 4, expiration_year: 2025, cvc: 123 },
    searchIndexes: ["{{ data.expiration_month }}", "{{ data.number | last4 }}"],
    fingerprintExpression: "{{ data.number }}",
    mask: { number: "{{ data.number, reveal_last: 4 }}", cvc: "{{ data.cvc }}" },
    deduplicateToken: false,
    containers: ["/pci/high/"],
  });
  assert.equal((await tokens.get(id)).data.number, "6011000990139424");
});

check("the base URL may also be given as the environment", async () => {
  const client = new sdk.BasisTheoryClient({
    environment: `${server.url}/`,
    apiKey: server.keys.private,
  });
  const { id } = await client.tokens.create({ type: "token", data: "elsewhere" });
  assert.equal((await client.tokens.get(id)).data, "elsewhere");
});

check("everything that can be given comes back", async () => {
  const given = {
    type: "token",
    data: { name: fresh(), note: "plain" },
    mask: { note: "{{ data.note }}" },
    containers: ["/general/low/"],
    metadata: { customer: "1234" },
    searchIndexes: ["{{ data.name }}", "{{ data.note | upcase }}"],
    fingerprintExpression: "{{ data.name }}",
    privacy: { classification: "general", impactLevel: "low" },
    expiresAt: "2040-01-01T00:00:00Z",
  };
  const created = await tokens.create(given);
  for (const token of [created, await tokens.get(created.id)]) {
    for (const name of ["mask", "containers", "metadata", "searchIndexes"]) {
      assert.deepEqual(token[name], given[name]);
    }
    assert.equal(token.fingerprintExpression, given.fingerprintExpression);
    assert.equal(token.expiresAt.toISOString(), "2040-01-01T00:00:00.000Z");
  }
  assert.equal(created.extras.deduplicated, false);
});

check("a merge patch changes what it names and null takes away", async () => {
  const created = await tokens.create({
    type: "token",
    data: { a: 1, b: { c: 2, d: 3 } },
    metadata: { keep: "1", drop: "2" },
  });
  const updated = await tokens.update(created.id, {
    data: { b: { c: null, e: 4 } },
    metadata: { drop: null, add: "3" },
    containers: ["/general/low/"],
  });
  assert.equal(updated.id, created.id);
  assert.ok(updated.modifiedAt instanceof Date);
  const read = await tokens.get(created.id);
  assert.deepEqual(read.data, { a: 1, b: { d: 3, e: 4 } });
  assert.deepEqual(read.metadata, { keep: "1", add: "3" });
  assert.deepEqual(read.containers, ["/general/low/"]);
});

check("a predefined id with odd characters is read, changed and deleted", async () => {
  const tail = fresh();
  for (const odd of ["@", ":", ";", ",", "$", "!", " ", "~", "'", "(*)", "\u00e9", '"']) {
    const id = `a${odd}b-${tail}`;
    assert.equal((await tokens.create({ id, type: "token", data: { n: 1 } })).id, id);
    await tokens.update(id, { data: { n: 2 } });
    assert.deepEqual((await tokens.get(id)).data, { n: 2 });
    await tokens.delete(id);
  }
});

check("an id that is taken is refused", async () => {
  const id = fresh("id");
  await tokens.create({ id, type: "token", data: 1 });
  const conflict = await refuses(ConflictError, 409, () =>
    tokens.create({ id, type: "token", data: 2 }),
  );
  assert.equal(conflict.body.status, 409);
});
