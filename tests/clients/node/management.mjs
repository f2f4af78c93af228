// Applications, their keys, and the tenant.

import assert from "node:assert/strict";

import {
  BasisTheory,
  UUID,
  check,
  clientOf,
  collect,
  managementClient,
  privateClient,
  publicClient,
  refuses,
  server,
} from "./harness.mjs";

const { ForbiddenError, NotFoundError, UnauthorizedError } = BasisTheory;
const { applications, applicationKeys, applicationTemplates, logs, permissions, tenants } =
  managementClient;

check("an application is made, read, changed, listed and deleted", async () => {
  const rules = [
    {
      description: "Cards",
      priority: 1,
      container: "/pci/",
      transform: "mask",
      permissions: ["token:read"],
    },
  ];
  const made = await applications.create({ name: "Mine", type: "private", rules });
  assert.match(made.id, UUID);
  assert.match(made.key, /^key_test_self_pvt_[1-9A-HJ-NP-Za-km-z]{22}\.[0-9a-f]{32}$/);
  assert.equal(made.tenantId, server.tenant_id);
  const read = await applications.get(made.id);
  assert.deepEqual([read.name, read.key, read.rules], ["Mine", undefined, rules]);
  const changed = await applications.update(made.id, {
    name: "Renamed",
    permissions: ["token:create"],
  });
  assert.deepEqual([changed.name, changed.permissions], ["Renamed", ["token:create"]]);
  assert.equal((await applications.list()).data[0].id, made.id);
  await applications.delete(made.id);
  await refuses(NotFoundError, 404, () => applications.get(made.id));
  await refuses(UnauthorizedError, 401, () => clientOf(made.key).tokens.create({}));
});

check("pages of applications end", async () => {
  const made = [];
  for (let n = 0; n < 3; n += 1) {
    const wanted = { name: `Listed ${n}`, type: "public", permissions: ["token:create"] };
    made.push((await applications.create(wanted)).id);
  }
  const every = (await collect(await applications.list({ size: 2 }))).map((it) => it.id);
  assert.equal(new Set(every).size, every.length);
  assert.ok(made.every((id) => every.includes(id)));
  const some = await collect(await applications.list({ id: made.slice(0, 2) }));
  assert.deepEqual(some.map((it) => it.id).sort(), made.slice(0, 2).sort());
});

check("keys are made, listed, read and deleted", async () => {
  const made = await applications.create({
    name: "Keys",
    type: "private",
    permissions: ["token:create"],
    createKey: false,
  });
  assert.equal(made.key, undefined);
  assert.deepEqual(await applicationKeys.list(made.id), []);
  const first = await applicationKeys.create(made.id);
  const second = await applicationKeys.create(made.id);
  for (const { key } of [first, second]) {
    await clientOf(key).tokens.create({ type: "token", data: 1 });
  }
  const listed = await applicationKeys.list(made.id);
  assert.deepEqual(listed.map((it) => it.id).sort(), [first.id, second.id].sort());
  assert.equal((await applicationKeys.get(made.id, first.id)).key, undefined);
  await applicationKeys.delete(made.id, first.id);
  await refuses(UnauthorizedError, 401, () => clientOf(first.key).tokens.create({}));
  await clientOf(second.key).tokens.create({ type: "token", data: 1 });
});

check("any key finds its own application", async () => {
  for (const [client, type] of [
    [privateClient, "private"],
    [publicClient, "public"],
    [managementClient, "management"],
  ]) {
    assert.equal((await client.applications.getByKey()).type, type);
  }
});

check("permissions and templates are listed", async () => {
  const every = await permissions.list();
  const create = every.find((it) => it.type === "token:create");
  assert.ok(create.applicationTypes.includes("public"));
  const some = await permissions.list({ applicationType: "management" });
  assert.ok(some.length > 0 && some.every((it) => it.applicationTypes.includes("management")));
  const templates = await applicationTemplates.list();
  assert.ok(templates.length > 0);
  assert.deepEqual(await applicationTemplates.get(templates[0].id), templates[0]);
});

check("the tenant is read and renamed", async () => {
  const before = await tenants.self.get();
  assert.deepEqual([before.id, before.type], [server.tenant_id, "test"]);
  const name = "SDK Integration Tests";
  const changed = await tenants.self.update({ name, settings: { deduplicate_tokens: "false" } });
  assert.equal(changed.name, name);
  const read = await tenants.self.get();
  assert.deepEqual([read.name, read.settings.deduplicate_tokens], [name, "false"]);
  await tenants.self.update({ name: before.name, settings: before.settings });
});

check("the log is paged to its end and filtered", async () => {
  const made = await privateClient.tokens.create({ type: "token", data: "logged" });
  for (let n = 0; n < 4; n += 1) {
    await privateClient.tokens.get(made.id);
  }
  // Reads are written down in batches, before the log is read at the latest.
  assert.equal((await collect(await logs.list({ entityId: made.id }))).length, 5);
  await privateClient.tokens.delete(made.id);
  // The client asks for page after page until one is empty.
  const wanted = { entityType: "token", entityId: made.id, size: 2 };
  const entries = await collect(await logs.list(wanted));
  const operations = entries.map((it) => it.operation);
  assert.deepEqual(operations, ["delete", "read", "read", "read", "read", "create"]);
  assert.deepEqual(
    [entries[0].message, entries[0].actorType, entries[0].tenantId],
    ["Token deleted", "application", server.tenant_id],
  );
  const kinds = await logs.getEntityTypes();
  assert.ok(kinds.some((it) => it.value === "token" && it.displayName === "Token"));
  await refuses(ForbiddenError, 403, () => privateClient.logs.getEntityTypes());
});
