// Lists and searches, page by page.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import {
  BasisTheory,
  check,
  collect,
  fresh,
  privateClient,
  publicClient,
  refuses,
} from "./harness.mjs";

const { ForbiddenError } = BasisTheory;
const { tokens } = privateClient;

/** Tokens in a container of their own; the newest first, as lists are. */
async function some(count, options = {}) {
  const container = `/made/${randomUUID()}/`;
  const made = [];
  for (let n = 0; n < count; n += 1) {
    const wanted = { type: "token", data: fresh(), containers: [container], ...options };
    made.unshift((await tokens.create(wanted)).id);
  }
  return { container, made };
}

const ids = async (page) => (await collect(await page)).map((token) => token.id);

check("a list goes through all pages", async () => {
  const { container, made } = await some(5);
  for (const size of [1, 2, 5, 100]) {
    assert.deepEqual(await ids(tokens.listV2({ container, size })), made);
  }
  const page = await tokens.listV2({ container, size: 3 });
  assert.equal(page.hasNextPage(), true);
  await page.getNextPage();
  assert.deepEqual(
    page.data.map((token) => token.id),
    made.slice(3),
  );
  assert.equal(page.hasNextPage(), false);
});

check("a list is filtered", async () => {
  const customer = fresh();
  const { container, made } = await some(2, { metadata: { customer } });
  const { fingerprint } = await tokens.get(made[0]);
  assert.deepEqual(await ids(tokens.listV2({ metadata: { customer } })), made);
  assert.deepEqual(await ids(tokens.listV2({ metadata: { customer }, container })), made);
  assert.deepEqual(await ids(tokens.listV2({ fingerprint })), made.slice(0, 1));
  assert.deepEqual(await ids(tokens.listV2({ type: "card", container })), []);
  await refuses(ForbiddenError, 403, () => publicClient.tokens.listV2());
});

check("a search finds by index, metadata, container and fingerprint", async () => {
  const customer = fresh();
  const { container, made } = await some(3, {
    metadata: { customer },
    searchIndexes: ["{{ data }}"],
  });
  const { data, fingerprint } = await tokens.get(made[1]);
  for (const [query, expected] of [
    [`data:"${data}"`, [made[1]]],
    [`data:${data} AND container:"${container}"`, [made[1]]],
    [`metadata.customer:"${customer}"`, made],
    [`container:"${container}"`, made],
    [`fingerprint:${fingerprint}`, [made[1]]],
    [`type:card AND container:"${container}"`, []],
  ]) {
    assert.deepEqual(await ids(tokens.searchV2({ query, size: 2 })), expected, query);
  }
});
