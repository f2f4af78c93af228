// Reactors, their calls, and proxies whose transforms are programs.

import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";

import { BasisTheory, NOBODY, UUID, check, clientWith, refuses, sdk } from "./harness.mjs";

const { NotFoundError, UnprocessableEntityError } = BasisTheory;

const rights = (resource) => ["create", "read", "update", "delete"].map((verb) => `${resource}:${verb}`);
const management = await clientWith(
  { permissions: [...rights("reactor"), ...rights("proxy"), "application:create"] },
  "management",
);
const caller = (await clientWith({ permissions: ["reactor:invoke", "token:create"] })).reactors;
const { reactors } = management;

const ECHO = "module.exports = function (req) {return {raw: req.args}}";
// What the vendor's programs do that have nothing to do.
const UNCHANGED = `
  module.exports = async function (req) {
    // Uses req.configuration.SERVICE_API_KEY.
    return { headers: req.args.headers, body: req.args.body };
  };
`;

const application = async () => {
  const made = { name: "Of a program", type: "private", permissions: ["token:create"] };
  return { id: (await management.applications.create(made)).id };
};

check("a reactor is made, changed, called and deleted", async () => {
  const body = { name: "One", code: ECHO, configuration: { SERVICE_API_KEY: "key_abcd1234" } };
  const made = await reactors.create({ ...body, application: await application() });
  assert.match(made.id, UUID);
  assert.deepEqual([made.state, made.code], ["active", ECHO]);
  assert.equal((await reactors.update(made.id, { ...body, name: "Two" })).id, made.id);
  await reactors.patch(made.id, { name: "Three", configuration: { SERVICE_API_KEY: "other" } });
  const read = await reactors.get(made.id);
  assert.deepEqual([read.name, read.configuration.SERVICE_API_KEY], ["Three", "other"]);
  assert.ok((await reactors.list({ name: "Thr*" })).data.some((it) => it.id === made.id));
  const args = { foo: "bar", snake_case: { camelCase: [1, null] } };
  assert.deepEqual((await caller.react(made.id, { args })).raw, args);
  await caller.react(made.id, {});
  await reactors.delete(made.id);
  await refuses(NotFoundError, 404, () => reactors.get(made.id));
});

check("a result is not found until it is there", async () => {
  const { id } = await reactors.create({ name: "Later", code: ECHO });
  const { asyncReactorRequestId } = await caller.reactAsync(id, { args: { foo: "bar" } });
  assert.match(asyncReactorRequestId, UUID);
  const ends = Date.now() + 60_000;
  let result;
  while (!result) {
    result = await caller.results.get(id, asyncReactorRequestId).catch((error) => {
      if (!(error instanceof NotFoundError) || Date.now() > ends) throw error;
    });
    await setTimeout(50);
  }
  assert.deepEqual(result.raw, { foo: "bar" });
  await refuses(NotFoundError, 404, () => caller.results.get(id, NOBODY));
});

check("failures of programs have their classes", async () => {
  const failing = async (code) => (await reactors.create({ name: "Failing", code })).id;
  const throws = await failing("module.exports = () => { throw new Error('no luck'); };");
  // The client repeats a call that was answered 500.
  const once = { maxRetries: 0 };
  const error = await refuses(sdk.BasisTheoryError, 500, () => caller.react(throws, {}, once));
  assert.match(JSON.stringify(error.body), /no luck/);
  const broken = await failing("module.exports = () => { /* }");
  await refuses(UnprocessableEntityError, 422, () => caller.react(broken, {}, once));
});

check("a proxy with programs is made and changed", async () => {
  const body = {
    name: "Programs",
    destinationUrl: "https://example.com/api",
    requestTransform: { code: UNCHANGED },
    responseTransform: { code: UNCHANGED },
    configuration: { SERVICE_API_KEY: "key_abcd1234" },
    application: await application(),
    requireAuth: true,
  };
  const made = await management.proxies.create(body);
  assert.deepEqual([made.state, made.requestTransform], ["active", { code: UNCHANGED }]);
  assert.equal((await management.proxies.update(made.id, body)).id, made.id);
  const { requestTransform: _, responseTransform: __, ...without } = body;
  assert.equal((await management.proxies.update(made.id, without)).requestTransform, undefined);
  await management.proxies.delete(made.id);
});
