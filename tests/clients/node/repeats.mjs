// Doing things twice: idempotency keys, deduplication and the client's own retries.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import {
  BasisTheory,
  CARD,
  check,
  fresh,
  holdRequest,
  managementClient,
  privateClient,
  publicClient,
  refuses,
  throttledClient,
} from "./harness.mjs";

const { ConflictError } = BasisTheory;
const { tokens } = privateClient;

check("the same key with another body answers the first result", async () => {
  const once = { idempotencyKey: randomUUID() };
  const first = await tokens.create({ type: "card", data: CARD }, once);
  const other = { type: "card", data: { ...CARD, number: "5555555555554444" } };
  assert.deepEqual(await tokens.create(other, once), first);
});

check("a key belongs to one operation", async () => {
  const once = { idempotencyKey: randomUUID() };
  const { id } = await tokens.create({ type: "token", data: { n: 1 } }, once);
  assert.deepEqual((await tokens.update(id, { data: { n: 2 } }, once)).data, { n: 2 });
  assert.deepEqual((await tokens.update(id, { data: { n: 3 } }, once)).data, { n: 2 });
  const other = await publicClient.tokens.create({ type: "token", data: 1 }, once);
  assert.notEqual(other.id, id);
  const name = fresh("Once");
  const wanted = { name, type: "private", permissions: ["token:read"] };
  const application = await managementClient.applications.create(wanted, once);
  const again = await managementClient.applications.create(wanted, once);
  assert.deepEqual([again.id, again.key], [application.id, application.key]);
  const key = await managementClient.applicationKeys.create(application.id, once);
  assert.deepEqual(await managementClient.applicationKeys.create(application.id, once), key);
});

check("a key in flight is a conflict, and afterwards its first result", async () => {
  const once = { idempotencyKey: randomUUID() };
  const body = { type: "token", data: "the first" };
  const held = await holdRequest("/tokens", body, once.idempotencyKey);
  const second = { type: "token", data: "the second" };
  // This client does not wait for a conflict by itself.
  const error = await refuses(ConflictError, 409, () => tokens.create(second, once));
  assert.equal(error.rawResponse.headers.get("retry-after"), "1");
  const { status, answer } = await held.finish();
  assert.equal(status, 201);
  assert.equal((await tokens.create(second, once)).id, answer.id);
  assert.equal((await tokens.get(answer.id)).data, "the first");
});

check("a rate limit is waited out as its answer says", async () => {
  // 50 requests in 10 seconds are the published limit of a test tenant: the rest waits.
  const made = new Set();
  for (let n = 0; n < 54; n += 1) {
    made.add((await throttledClient.tokens.create({ type: "token", data: n })).id);
  }
  assert.equal(made.size, 54);
  // Now the limit is reached; a client that does not wait gets the time to wait for.
  const impatient = Array.from({ length: 51 }, () =>
    throttledClient.tokens.create({ type: "token", data: 1 }, { maxRetries: 0 }),
  );
  const refused = (await Promise.allSettled(impatient)).filter((it) => it.status === "rejected");
  assert.ok(refused.length > 0);
  for (const { reason } of refused) {
    assert.equal(reason.statusCode, 429);
    assert.equal(reason.body.status, 429);
    assert.ok(Number(reason.rawResponse.headers.get("retry-after")) >= 1);
  }
});

check("deduplication finds the token that is there", async () => {
  const data = { name: fresh() };
  const wanted = { type: "token", data, deduplicateToken: true };
  const first = await tokens.create({ ...wanted, metadata: { n: "1" } });
  assert.equal(first.extras.deduplicated, false);
  const second = await tokens.create({ ...wanted, metadata: { n: "2" } });
  assert.equal(second.id, first.id);
  assert.equal(second.extras.deduplicated, true);
  assert.equal(second.extras.deduplicationBehavior, "read_existing");
  assert.deepEqual(second.metadata, { n: "1" });
  const updated = await tokens.update(first.id, { data, deduplicateToken: true });
  assert.equal(updated.id, first.id);
  assert.notEqual((await tokens.create({ type: "token", data })).id, first.id);
});
