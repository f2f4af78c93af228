// A shop's page with the published SDK: method, challenge by code, out of band, cancel, wrong code.
import assert from 'node:assert/strict';
import { click } from '../lib/click.js';
import { APP_CARD, CODE_CARD, authenticate, cardToken } from '../lib/threeds.js';

export const name = 'threeds';

/** One shopper: session and method by the SDK, the rest as `act` has it. */
const shopper = async (h, shop, number, act) => {
  const token = await cardToken(h, number);
  const page = await h.openPage({ url: shop.origin });
  const session = await page.evaluate(
    async (key, url, tokenId) => {
      window.threeds = window.BasisTheory3ds(key, { apiBaseUrl: url, sdkBaseUrl: url, disableTelemetry: true });
      return await window.threeds.createSession({ tokenId });
    },
    h.vault.keys.public, h.vault.url, token,
  );
  await act(page, session);
  await h.closePage(page);
};

/** Begins a challenge and waits for the ACS's page. */
const challenge = async (h, page, session) => {
  const body = await authenticate(h, session.id);
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

const outcome = (h, page) => h.within("the SDK's outcome", page.evaluate(() => window.outcome));
const result = async (h, session) => (await h.api('GET', `/3ds/sessions/${session.id}/challenge-result`)).body;

const byCode = async (h, page, session) => {
  const { body } = await h.api('GET', `/3ds/sessions/${session.id}`);
  assert.equal(body.method.method_completion_indicator, 'Y');
  assert.equal(body.device_info.browser_javascript_enabled, true);
  assert.equal(session.cardBrand, 'Visa');
  const acs = await challenge(h, page, session);
  assert.equal(await h.keyboard.focus(page), null, 'the first page leaves the focus to the shop');
  // The SDK's own frame has no title; the one in it is ours.
  await h.axe(page, { except: ['frame-title'] });
  assert.equal(await (await acs.frameElement()).evaluate((it) => it.title), 'Confirm your payment');
  await h.picture(page, 'code');
  await acs.type('#code', '0000');
  await click(acs, 'button[value=answer]');
  await acs.waitForSelector('.wrong');
  await h.keyboard.focusReaches(page, 'One-time code');
  await h.picture(page, 'wrong-code');
  await acs.type('#code', '1234');
  await click(acs, 'button[value=answer]');
  const told = { id: session.id, isCompleted: true, authenticationStatus: 'successful' };
  assert.deepEqual(await outcome(h, page), told);
  const found = await result(h, session);
  assert.equal(found.authentication_status, 'successful');
  assert.equal(found.challenge_attempts, '02');
};

const outOfBand = async (h, page, session) => {
  const acs = await challenge(h, page, session);
  await h.picture(page, 'out-of-band');
  await click(acs, 'button[value=approve]');
  assert.equal((await outcome(h, page)).authenticationStatus, 'successful');
  assert.equal((await result(h, session)).authentication_challenge_type, 'out-of-band');
};

const cancelled = async (h, page, session) => {
  const acs = await challenge(h, page, session);
  await click(acs, 'button[value=cancel]');
  assert.equal((await outcome(h, page)).authenticationStatus, 'failed');
  assert.equal((await result(h, session)).challenge_cancel_reason, 'cardholder-canceled');
};

const refused = async (h, page) => {
  h.expectComplaint(page, /status of 400/);
  const error = await page.evaluate(
    () => window.threeds.createSession({ tokenId: 'nothing' }).catch((reason) => String(reason)),
  );
  assert.match(error, /validation errors|400/);
};

export const run = async (h) => {
  const html = '<!doctype html><html lang="en"><title>Shop</title><h1>Shop</h1><script src="/sdk.js"></script>';
  const shop = await h.shop(html, { files: { '/sdk.js': { type: 'text/javascript', text: h.threedsSdk() } } });
  const parts = [
    ['method, wrong code, right code', CODE_CARD, byCode],
    ['out of band', APP_CARD, outOfBand],
    ['no method, cancelled', '4200000000000014', cancelled],
    ['a refusal reaches the shop', '4242424242424242', refused],
  ];
  for (const [what, number, act] of parts) {
    await h.step(what, () => shopper(h, shop, number, (page, session) => act(h, page, session)));
  }
};
