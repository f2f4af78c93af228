// Pre-configured proxies and webhooks.

import assert from "node:assert/strict";

import { BasisTheory, UUID, check, clientWith, refuses } from "./harness.mjs";

const { BadRequestError, NotFoundError } = BasisTheory;

const rights = (resource) => ["create", "read", "update", "delete"].map((verb) => `${resource}:${verb}`);

check("a proxy is made, read, changed, listed and deleted", async () => {
  const { proxies } = await clientWith({ permissions: rights("proxy") }, "management");
  const made = await proxies.create({
    name: "Charge",
    destinationUrl: "https://psp.example/v1",
    configuration: { secret: "one" },
    responseTransforms: [
      { type: "mask", matcher: "regex", expression: "(\\d{12})\\d{4}", replacement: "*" },
    ],
  });
  assert.match(made.id, UUID);
  assert.equal(made.state, "active");
  assert.deepEqual(await proxies.get(made.id), made);
  const listed = await proxies.list({ name: "Cha*" });
  assert.ok(listed.data.some((it) => it.id === made.id));
  const other = { name: "Other", destinationUrl: "https://other.example" };
  assert.equal((await proxies.update(made.id, other)).key, made.key);
  await proxies.patch(made.id, { requireAuth: false });
  assert.equal((await proxies.get(made.id)).requireAuth, false);
  await proxies.delete(made.id);
  await refuses(NotFoundError, 404, () => proxies.get(made.id));
  const code = { ...other, requestTransform: { code: "module.exports = async (req) => req;" } };
  assert.deepEqual((await proxies.create(code)).requestTransform, code.requestTransform);
});

check("a webhook is made, read, changed, listed and deleted", async () => {
  const { webhooks } = await clientWith({ permissions: rights("webhooks") }, "management");
  const shop = { name: "Shop", url: "https://shop.example/hook", events: ["token.created"] };
  const made = await webhooks.create({ ...shop, notifyEmail: "ops@shop.example" });
  assert.equal(made.status, "enabled");
  assert.deepEqual(await webhooks.get(made.id), made);
  assert.ok((await webhooks.list()).data.some((it) => it.id === made.id));
  const changed = await webhooks.update(made.id, { ...shop, events: ["token.read"] });
  assert.deepEqual([changed.events, changed.notifyEmail], [["token.read"], undefined]);
  await webhooks.delete(made.id);
  await refuses(NotFoundError, 404, () => webhooks.get(made.id));
  assert.ok((await webhooks.events.list()).includes("token.created"));
  await refuses(BadRequestError, 400, () => webhooks.create({ ...shop, events: ["token.melted"] }));
  await webhooks.ping();
});
