// Token intents, and many values at once into tokens and back.

import assert from "node:assert/strict";

import {
  BasisTheory,
  CARD,
  UUID,
  check,
  fresh,
  privateClient,
  publicClient,
  refuses,
} from "./harness.mjs";

const { BadRequestError, NotFoundError } = BasisTheory;
const { tokens, tokenIntents } = privateClient;

check("an intent is made, read and deleted", async () => {
  const made = await publicClient.tokenIntents.create({ type: "card", data: CARD });
  assert.match(made.id, UUID);
  assert.deepEqual([made.type, made.card.brand, made.card.last4], ["card", "visa", "4242"]);
  assert.equal(made.expiresAt - made.createdAt, 24 * 3600 * 1000);
  assert.equal((await tokenIntents.get(made.id)).fingerprint, made.fingerprint);
  await tokenIntents.delete(made.id);
  await refuses(NotFoundError, 404, () => tokenIntents.get(made.id));
});

check("a conversion consumes the intent and drops the verification code", async () => {
  const intent = await publicClient.tokenIntents.create({ type: "card", data: CARD });
  const token = await tokens.create({ tokenIntentId: intent.id, metadata: { from: "intent" } });
  assert.equal(token.fingerprint, intent.fingerprint);
  const { cvc, ...left } = CARD;
  assert.ok(cvc);
  assert.deepEqual((await tokens.get(token.id)).data, left);
  await refuses(NotFoundError, 404, () => tokenIntents.get(intent.id));
  await refuses(BadRequestError, 400, () => tokens.create({ tokenIntentId: intent.id }));
});

check("plain values become ids and shapes stay", async () => {
  const name = fresh();
  const made = await tokens.tokenize({ first_name: name, list: ["one", 2, { deep: true }] });
  for (const id of [made.first_name, made.list[0], made.list[1], made.list[2].deep]) {
    assert.match(id, UUID);
  }
  const back = await tokens.detokenize({
    name: `{{ ${made.first_name} }}`,
    tokens: [`{{ ${made.list[1]} }}`, `{{${made.list[2].deep}}}`],
  });
  assert.deepEqual(back, { name, tokens: [2, true] });
});

check("a token request becomes a token", async () => {
  const made = await tokens.tokenize({ card: { type: "card", data: CARD }, plain: "x" });
  // The answer is JSON as it is on the wire, not a model of the client.
  assert.equal(made.card.fingerprint_expression, "{{ data.number }}");
  assert.match(made.card.id, UUID);
  const back = await tokens.detokenize({
    card: `{{ ${made.card.id} }}`,
    number: `{{ ${made.card.id} | json: '$.number' }}`,
    month: `{{ ${made.card.id} | json: '$.expiration_month' }}`,
    text: `no. {{ ${made.card.id} | json: '$.number' | last4 }}!`,
  });
  assert.deepEqual(back, { card: CARD, number: CARD.number, month: 12, text: "no. 4242!" });
});
