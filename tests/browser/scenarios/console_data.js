// The console shows what happened through the API: failed deliveries and calls, 3DS sessions, dates of
// the log. And it saves the origins of a public application. On a vault of its own, so that the lists
// have these things alone.
import assert from 'node:assert/strict';
import { enter, fillIn, heading, press, seen, showsText, visit } from '../lib/console.js';
import { CODE_CARD, beginChallenge } from '../lib/threeds.js';

export const name = 'console-data';

/** Nothing listens on this port, and a vault may also refuse an address of its own machine. */
const NOBODY = 'https://127.0.0.1:1/';
const FAILURES = {
  refused: /the destination is not allowed/,
  unreachable: /the (destination|receiver) could not be reached/,
};

/** Waits for a failure in the data of the console, and for its sentence in the view. */
const showsFailure = async ({ h, api, page }, list, view) => {
  const kind = await h.until(`a failure of ${list}`, async () => {
    const { body } = await api('GET', `/console/data/${list}`, undefined, 'management');
    return body.data[0]?.last_failure?.kind;
  });
  assert.ok(FAILURES[kind], `a failure of the kind ${kind}`);
  await visit(page, view);
  await h.until(`the failure in ${view}`, async () => FAILURES[kind].test(await seen(page)));
  await h.picture(page, list, { fullPage: true });
};

const checkWebhook = async (at) => {
  const made = { name: 'Deaf receiver', url: NOBODY, events: ['token.created'] };
  assert.equal((await at.api('POST', '/webhooks', made, 'management')).status, 201);
  await at.api('POST', '/tokens', { type: 'token', data: 'x' });
  await showsFailure(at, 'webhooks', 'Webhooks');
  assert.match(await seen(at.page), /Deaf receiver/);
};

const checkProxy = async (at) => {
  const made = await at.api('POST', '/proxies', { name: 'Silent bank', destination_url: NOBODY }, 'management');
  assert.equal(made.status, 201);
  const called = await at.api('POST', `/proxy?bt-proxy-key=${made.body.key}`, { amount: 1 });
  assert.ok(called.status >= 400, `the call is answered ${called.status}`);
  await showsFailure(at, 'proxies', 'Proxies');
  assert.match(await seen(at.page), /Silent bank/);
};

const checkThreeds = async ({ api, page, vault }) => {
  await visit(page, '3DS sessions');
  await showsText(page, 'There are no sessions.');
  const { session } = await beginChallenge({ api }, CODE_CARD);
  await visit(page, 'Overview');
  await visit(page, '3DS sessions');
  await fillIn(page, 'Private key', vault.keys.private);
  await page.keyboard.press('Enter');
  await showsText(page, 'challenged');
  // The list is drawn again when the session is read: a locator looks for the row again.
  await page.locator(`main .rows ::-p-text(...${session.slice(-8)})`).click();
  await showsText(page, `Session ${session}`);
};

const checkOrigins = async ({ api, page }) => {
  const body = { name: 'Web shop', type: 'public', permissions: ['token-intent:create'] };
  const { body: made } = await api('POST', '/applications', body, 'management');
  const saved = async () => (await api('GET', `/applications/${made.id}`, undefined, 'management')).body.allowed_origins;
  const change = async (text) => {
    await page.evaluate((id) => { window.location.hash = `/applications/${id}/edit`; }, made.id);
    await heading(page, (title) => title === 'Change Web shop');
    await fillIn(page, 'One origin a line', text);
    await press(page, 'Save');
    await heading(page, (title) => title === 'Web shop');
  };
  await change('https://shop.example\nhttps://www.shop.example');
  assert.deepEqual(await saved(), ['https://shop.example', 'https://www.shop.example']);
  await showsText(page, 'https://www.shop.example');
  await change('https://shop.example');
  assert.deepEqual(await saved(), ['https://shop.example'], 'a line that is taken away is gone');
};

/** A time as an input for dates and times has it, in the zone of the browser. */
const localTime = (page, seconds) => page.evaluate((later) => {
  const now = new Date(Date.now() + later * 1000);
  return new Date(now.getTime() - now.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}, seconds);

const checkDates = async ({ h, page }) => {
  await visit(page, 'Logs');
  const filter = async (from, until) => {
    const times = [await localTime(page, from), await localTime(page, until)];
    await page.$$eval('main input[type="datetime-local"]', (inputs, values) => {
      inputs.forEach((input, at) => { input.value = values[at]; });
    }, times);
    await press(page, 'Apply');
  };
  const rows = async () => (await page.$$('main .rows tbody tr')).length;
  assert.ok((await rows()) > 3);
  const hour = 3600;
  await filter(-2 * hour, -hour);
  await showsText(page, 'No entry matches.');
  assert.equal(await rows(), 0);
  await filter(-hour, hour);
  await h.until('the entries of the hour', async () => (await rows()) > 3);
  await filter(hour, 2 * hour);
  await showsText(page, 'No entry matches.');
};

export const run = async (h) => {
  const vault = await h.startVault();
  const api = h.apiOf(vault);
  const page = await enter(h, vault.keys.management, { url: `${vault.url}/console` });
  const at = { h, api, page, vault };
  await h.step('a failed delivery of a webhook is shown', () => checkWebhook(at));
  await h.step('a failed call of a proxy is shown', () => checkProxy(at));
  await h.step('a 3DS session is shown with its details', () => checkThreeds(at));
  await h.step('the origins of a public application are saved', () => checkOrigins(at));
  await h.step('the log is filtered by dates', () => checkDates(at));
  await h.closePage(page);
};
