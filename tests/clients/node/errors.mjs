// Every refusal arrives as the class that the client has for it, with a body that says why.

import assert from "node:assert/strict";

import {
  BasisTheory,
  CARD,
  NOBODY,
  check,
  clientOf,
  managementClient,
  privateClient,
  publicClient,
  refuses,
  sdk,
} from "./harness.mjs";

const { BadRequestError, ForbiddenError, NotFoundError, UnauthorizedError } = BasisTheory;
const { tokens } = privateClient;

async function refusesAll(kind, status, calls) {
  for (const call of calls) {
    const { body } = await refuses(kind, status, call);
    assert.equal(body.status, status);
    assert.ok(body.title && body.detail);
  }
}

check("an unknown key is unauthorized everywhere", async () => {
  const unknown = clientOf("key_test_self_pvt_1111111111111111111111");
  await refusesAll(UnauthorizedError, 401, [
    () => unknown.tokens.create({ type: "token", data: 1 }),
    () => unknown.tokens.get(NOBODY),
    () => unknown.tokens.update(NOBODY, { data: 1 }),
    () => unknown.tokens.delete(NOBODY),
    () => unknown.tokens.tokenize({ a: 1 }),
    () => unknown.tokens.detokenize({ a: 1 }),
    () => unknown.tokenIntents.create({ type: "card", data: CARD }),
    () => unknown.applications.getByKey(),
    () => unknown.tenants.self.get(),
  ]);
});

check("a key without the permission is forbidden", async () => {
  await refusesAll(ForbiddenError, 403, [
    () => publicClient.tokens.get(NOBODY),
    () => publicClient.tokens.delete(NOBODY),
    () => publicClient.tokenIntents.get(NOBODY),
    () => privateClient.applications.list(),
    () => managementClient.tokens.create({ type: "token", data: 1 }),
  ]);
});

check("what is not there is not found", async () => {
  await refusesAll(NotFoundError, 404, [
    () => tokens.get(NOBODY),
    () => tokens.update(NOBODY, { data: 1 }),
    () => tokens.delete("no such name"),
    () => privateClient.tokenIntents.get(NOBODY),
    () => privateClient.tokenIntents.delete(NOBODY),
    () => managementClient.applications.get(NOBODY),
    () => managementClient.applications.delete(NOBODY),
    () => managementClient.applicationTemplates.get(NOBODY),
  ]);
});

check("a bad request names every mistake", async () => {
  for (const [request, paths] of [
    [
      { type: "card", data: { number: "4242424242424241", expiration_month: 13, cvc: "x" } },
      ["data.cvc", "data.expiration_month", "data.number"],
    ],
    [{ type: "no_such_type", data: 1 }, ["type"]],
    [{ type: "token" }, ["data"]],
  ]) {
    const error = await refuses(BadRequestError, 400, () => tokens.create(request));
    assert.deepEqual(Object.keys(error.body.errors).sort(), paths);
    assert.ok(Object.values(error.body.errors).flat().every((it) => typeof it === "string"));
    assert.equal(JSON.stringify(error.body).includes("4242424242424241"), false);
  }
});

check("a trace id comes back", async () => {
  const { rawResponse } = await tokens
    .create({ type: "token", data: 1 }, { correlationId: "a-trace-of-mine" })
    .withRawResponse();
  assert.equal(rawResponse.headers.get("bt-trace-id"), "a-trace-of-mine");
  const error = await refuses(NotFoundError, 404, () => tokens.get(NOBODY));
  assert.ok(error.rawResponse.headers.get("bt-trace-id"));
});

check("what this server does not have is named, with what to use instead", async () => {
  const error = await privateClient.documents.get("x").then(assert.fail, (it) => it);
  assert.ok(error instanceof sdk.BasisTheoryError, error.stack);
  assert.ok(error.statusCode === 501 && error.body.feature === "Documents" && error.body.instead, error.message);
});
