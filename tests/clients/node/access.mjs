// Answers to callers with limited access.

import assert from "node:assert/strict";

import { CARD, check, clientWith, privateClient, publicClient } from "./harness.mjs";

const { tokens } = privateClient;
const reader = (transform, container = "/") => ({
  rules: [{ priority: 1, container, transform, permissions: ["token:read"] }],
});
const SHOWN = { number: "XXXXXXXXXXXX4242", expiration_month: 12, expiration_year: 2030 };

check("a masked read shows the default mask of the type", async () => {
  const masked = await clientWith(reader("mask"));
  for (const [type, data, shown] of [
    ["card", CARD, SHOWN],
    ["social_security_number", "123-45-6789", "XXX-XX-6789"],
    ["employer_id_number", "12-3456789", "XX-XXX6789"],
    ["token", "no mask, so nothing", undefined],
  ]) {
    const { id } = await tokens.create({ type, data });
    assert.deepEqual((await masked.tokens.get(id)).data, shown);
  }
});

check("a mask with a comma for the pipe is taken as the pipe", async () => {
  const masked = await clientWith(reader("mask"));
  const mask = { number: "{{ data.number, reveal_last: 4 }}", cvc: "{{ data.cvc }}" };
  const { id } = await tokens.create({ type: "card", data: CARD, mask });
  assert.equal((await masked.tokens.get(id)).data.number, SHOWN.number);
});

check("a mask is evaluated member by member and keeps types", async () => {
  const masked = await clientWith(reader("mask"));
  const { id } = await tokens.create({
    type: "token",
    data: { text: "Sensitive Value", number: 42, list: ["one", "two"], hidden: "x" },
    mask: {
      text: "{{ data.text | reveal_last: 4, '#' }}",
      number: "{{ data.number }}",
      list: ["{{ data.list | first }}", "constant"],
    },
  });
  assert.deepEqual((await masked.tokens.get(id)).data, {
    text: "###########alue",
    number: 42,
    list: ["one", "constant"],
  });
});

check("a redacted read shows no data", async () => {
  const redacted = await clientWith(reader("redact"));
  const { id } = await tokens.create({ type: "card", data: CARD, metadata: { seen: "yes" } });
  const read = await redacted.tokens.get(id);
  assert.equal("data" in read, false);
  assert.deepEqual(read.metadata, { seen: "yes" });
});

check("a public application creates and sees the mask", async () => {
  const created = await publicClient.tokens.create({ type: "card", data: CARD });
  assert.deepEqual(created.data, SHOWN);
  assert.equal((await tokens.get(created.id)).data.number, CARD.number);
});
