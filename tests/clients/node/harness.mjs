// The parts of the Node suite: servers, clients, checks and their counts.
// A check is a sentence and a function. Each stands alone: none needs what another left behind, and
// none sleeps but to wait for the result of a program.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:tls";

// The client is installed outside of the repository.
const require = createRequire(`${process.env.STRONGROOM_CLIENTS}/package.json`);
export const sdk = require("@basis-theory/node-sdk");
const { BasisTheoryClient } = sdk;
export const { BasisTheory } = sdk;

export const server = JSON.parse(process.env.STRONGROOM_READY);
const limited = JSON.parse(process.env.STRONGROOM_READY_LIMITED);

export const clientOf = (apiKey, options = {}) =>
  new BasisTheoryClient({ baseUrl: server.url, apiKey, ...options });
export const privateClient = clientOf(server.keys.private);
export const publicClient = clientOf(server.keys.public);
export const managementClient = clientOf(server.keys.management);
export const throttledClient = new BasisTheoryClient({
  baseUrl: limited.url,
  apiKey: limited.keys.private,
});

/** A client of a new application that may do this much: `{rules}` or `{permissions}`. */
export async function clientWith(access, type = "private") {
  const made = await managementClient.applications.create({
    name: "Made for a check",
    type,
    ...access,
  });
  return clientOf(made.key);
}

export const CARD = Object.freeze({
  number: "4242424242424242",
  expiration_month: 12,
  expiration_year: 2030,
  cvc: "123",
});
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
export const NOBODY = "00000000-0000-4000-8000-000000000000";

/**
 * A value that no other check has stored. It has no digits of its own: the server refuses an id with
 * the digits of a card number, and a random UUID has such digits once in a few hundred.
 */
export const fresh = (text = "value") =>
  `${text}-${randomUUID().replace(/\d/g, (digit) => "ghijklmnop"[digit])}`;

const checks = [];

export function check(name, run) {
  checks.push({ name, run });
}

export async function runChecks() {
  let passed = 0;
  let failed = 0;
  for (const { name, run } of checks) {
    try {
      await run();
      passed += 1;
    } catch (error) {
      failed += 1;
      console.log(`node: FAILED: ${name}\n${error.stack}`);
    }
  }
  console.log(`node: ${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}

/** The call must fail with exactly this class and status; gives the error. */
export async function refuses(kind, status, call) {
  try {
    await call();
  } catch (error) {
    assert.equal(error.constructor, kind, `${error.constructor.name}: ${error.message}`);
    assert.equal(error.statusCode, status);
    return error;
  }
  throw new assert.AssertionError({ message: `nothing was thrown, expected ${kind.name}` });
}

export async function collect(page) {
  const found = [];
  for await (const item of page) found.push(item);
  return found;
}

/**
 * A POST whose headers the server has taken and whose body has not been sent yet. The server says
 * `100 Continue` when it begins to read the body; by then the request holds its idempotency key.
 */
export async function holdRequest(path, body, idempotencyKey) {
  const { hostname, port, host } = new URL(server.url);
  const text = JSON.stringify(body);
  const socket = connect({ host: hostname, port, ca: readFileSync(server.ca) });
  socket.setEncoding("utf8");
  let received = "";
  const until = (done) =>
    new Promise((resolve, reject) => {
      const look = () => done() && resolve();
      socket.on("data", (data) => {
        received += data;
        look();
      });
      socket.on("end", look);
      socket.on("error", reject);
    });
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nBT-API-KEY: ${server.keys.private}\r\n` +
      `BT-IDEMPOTENCY-KEY: ${idempotencyKey}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${text.length}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
  );
  await until(() => received.includes("\r\n\r\n"));
  assert.match(received, /^HTTP\/1.1 100 /);
  received = "";
  return {
    async finish() {
      socket.removeAllListeners();
      const ended = until(() => socket.readableEnded);
      socket.write(text);
      await ended;
      const [head, answer] = received.split("\r\n\r\n");
      return { status: Number(head.split(" ")[1]), answer: JSON.parse(answer) };
    },
  };
}
