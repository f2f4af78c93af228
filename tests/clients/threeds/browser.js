// A shop's page with the published SDK: method, challenge by code, out of band, cancel, wrong code.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const ready = JSON.parse(process.env.READY);
const pictures = process.env.PICTURES;
const ca = readFileSync(ready.ca);
const sdk = readFileSync(
  join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@basis-theory/web-threeds/dist/bundle/index.js'),
);

/** Asks the vault as a shop's server would. */
const ask = (method, path, body) =>
  new Promise((resolve, reject) => {
    const headers = { 'BT-API-KEY': ready.keys.private, 'Content-Type': 'application/json' };
    const sent = request(ready.url + path, { method, ca, headers }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('end', () => {
        resolve({ status: answer.statusCode, body: JSON.parse(Buffer.concat(parts).toString()) });
      });
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
  });

const purchase = {
  authentication_category: 'payment',
  authentication_type: 'payment-transaction',
  purchase_info: {
    amount: '80000', currency: '826', exponent: '2', date: '20240109141010', transaction_type: 'purchase',
  },
  merchant_info: {
    mid: '9876543210001', acquirer_bin: '000000999', name: 'Example', country_code: '826', category_code: '7922',
  },
  requestor_info: { id: 'example', name: 'Example', url: 'https://www.example.com' },
  cardholder_info: { name: 'John Doe', email: 'john@me.com' },
};

const shop = createServer((asked, answer) => {
  const isScript = asked.url === '/sdk.js';
  answer.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
  answer.end(isScript ? sdk : '<!doctype html><title>Shop</title><h1>Shop</h1><script src="/sdk.js"></script>');
});
await new Promise((done) => shop.listen(0, '127.0.0.1', done));

// Only what is missing on a bare machine: the SDK's own telemetry host is never reached.
const browser = await puppeteer.launch({
  args: [...chromium.args, '--ignore-certificate-errors'],
  executablePath: await chromium.executablePath(),
  headless: 'shell',
  acceptInsecureCerts: true,
});

/** One shopper: session and method by the SDK, the rest as `act` has it. */
const shopper = async (number, act) => {
  const { body: token } = await ask('POST', '/tokens', { type: 'card_number', data: number });
  const page = await browser.newPage();
  await page.setViewport({ width: 900, height: 800 });
  const complaints = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (line) => {
    if (line.type() === 'error' && !/favicon/.test(line.location().url ?? '')) complaints.push(line.text());
  });
  await page.goto(`http://127.0.0.1:${shop.address().port}/`);
  const session = await page.evaluate(
    async (key, url, tokenId) => {
      window.threeds = window.BasisTheory3ds(key, { apiBaseUrl: url, sdkBaseUrl: url, disableTelemetry: true });
      return await window.threeds.createSession({ tokenId });
    },
    ready.keys.public, ready.url, token.id,
  );
  const outcome = await act(page, session);
  assert.deepEqual(complaints, []);
  await page.close();
  return outcome;
};

/** Begins a challenge and waits for the ACS's page. */
const challenge = async (page, session) => {
  const { status, body } = await ask('POST', `/3ds/sessions/${session.id}/authenticate`, purchase);
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.authentication_status, 'challenge');
  await page.evaluate((id, found) => {
    window.outcome = window.threeds.startChallenge({
      sessionId: id,
      acsTransactionId: found.acs_transaction_id,
      acsChallengeUrl: found.acs_challenge_url,
      threeDSVersion: found.threeds_version,
      windowSize: '03',
    });
  }, session.id, body);
  const acs = await page.waitForFrame((frame) => frame.url().endsWith('/3ds/sim/acs/challenge'));
  await acs.waitForSelector('button');
  return acs;
};

const result = async (session) => (await ask('GET', `/3ds/sessions/${session.id}/challenge-result`)).body;

try {
  await shopper('4200000000000004', async (page, session) => {
    const { body } = await ask('GET', `/3ds/sessions/${session.id}`);
    assert.equal(body.method.method_completion_indicator, 'Y');
    assert.equal(body.device_info.browser_javascript_enabled, true);
    assert.equal(session.cardBrand, 'Visa');
    const acs = await challenge(page, session);
    await page.screenshot({ path: join(pictures, 'code.png') });
    await acs.type('#code', '0000');
    await acs.click('button[value=answer]');
    await acs.waitForSelector('.wrong');
    await page.screenshot({ path: join(pictures, 'wrong-code.png') });
    await acs.type('#code', '1234');
    await acs.click('button[value=answer]');
    const outcome = await page.evaluate(() => window.outcome);
    assert.deepEqual(outcome, { id: session.id, isCompleted: true, authenticationStatus: 'successful' });
    const found = await result(session);
    assert.equal(found.authentication_status, 'successful');
    assert.equal(found.challenge_attempts, '02');
  });
  console.log('ok: method, wrong code, right code');

  await shopper('4200000000000016', async (page, session) => {
    const acs = await challenge(page, session);
    await page.screenshot({ path: join(pictures, 'out-of-band.png') });
    await acs.click('button[value=approve]');
    assert.equal((await page.evaluate(() => window.outcome)).authenticationStatus, 'successful');
    assert.equal((await result(session)).authentication_challenge_type, 'out-of-band');
  });
  console.log('ok: out of band');

  await shopper('4200000000000014', async (page, session) => {
    const acs = await challenge(page, session);
    await acs.click('button[value=cancel]');
    assert.equal((await page.evaluate(() => window.outcome)).authenticationStatus, 'failed');
    const found = await result(session);
    assert.equal(found.challenge_cancel_reason, 'cardholder-canceled');
  });
  console.log('ok: no method, cancelled');

  const refused = await shopper('4242424242424242', async (page) =>
    page.evaluate(() => window.threeds.createSession({ tokenId: 'nothing' }).catch((error) => String(error))),
  ).catch((error) => String(error));
  assert.match(refused, /validation errors|400/);
  console.log('ok: a refusal reaches the shop');
} finally {
  await browser.close();
  shop.close();
}
