// Requests of elements to other hosts: to those that the operator lists, with values in the body alone,
// and answers that the page cannot read, also if the host repeats the card.
import assert from 'node:assert/strict';
import { CARD, attempt, elementFrame, openTagged, succeeds, typeParts } from '../lib/elements.js';
import { checkNoLeak } from '../lib/fields.js';
import { startHost } from '../lib/host.js';

export const name = 'elements-hosts';

const ELEMENTS = {
  number: "bt.createElement('cardNumber', { targetId: 'number' })",
  expiry: "bt.createElement('cardExpirationDate', { targetId: 'expiry' })",
  cvc: "bt.createElement('cardVerificationCode', { targetId: 'cvc' })",
  name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })",
  other: "bt.createElement('text', { targetId: 'other', 'aria-label': 'Other', validation: /^4/ })",
  card: "bt.createElement('copyButton', { targetId: 'card', text: 'Copy' })",
};
const BODY = '{ number: el.number, month: el.expiry.month(), cvc: el.cvc, order: 7 }';
const SECRETS = [CARD.number, '731'];

/** Two hosts and a vault that lists the first. */
const start = async (h) => {
  const other = await h.host();
  const listed = await h.host({ elsewhere: `https://${other.host}/` });
  const vault = await h.startVault(['--elements-host', listed.host]);
  const opened = await openTagged(h, ELEMENTS, { vault, api: h.apiOf(vault) });
  await typeParts(opened.page, { ...CARD, cvc: '731' });
  await opened.page.focus('#pay');
  const checkPage = () => checkNoLeak({ ...h, vault }, opened.page, opened.shop, SECRETS, [vault.url, `https://${listed.host}/`]);
  return { ...opened, vault, listed, other, checkPage };
};

const checkListed = async (h) => {
  const { page, vault, listed, checkPage } = await start(h);
  const answer = succeeds(await attempt(h, page, `(async () => { window.answer = await bt.client.post('https://${listed.host}/pay?a=b', ${BODY}, { headers: { 'X-Order': '7', 'BT-API-KEY': 'x', 'Content-Type': 'text/plain' } }); return window.answer; })()`));
  const [got] = listed.requests;
  assert.deepEqual([got.method, got.url, JSON.parse(got.text)], ['POST', '/pay?a=b', { number: CARD.number, month: 11, cvc: '731', order: 7 }]);
  assert.deepEqual([got.headers.origin, got.headers['content-type'], got.headers['x-order']], [vault.url, 'application/json', '7']);
  for (const absent of ['bt-api-key', 'bt-trace-id', 'cookie', 'referer']) assert.equal(got.headers[absent], undefined, absent);
  assert.deepEqual(Object.keys(answer).sort(), ['list', 'paid', 'sent', 'text'], 'a member whose name holds the number is left out');
  assert.deepEqual(answer.sent.number.path, 'sent.number');
  assert.equal(answer.paid.path, 'paid', 'the page sees no value of the answer');
  await checkPage();
  const read = succeeds(await attempt(h, page, `bt.client.get(new URL('https://${listed.host}/card'), { headers: { Authorization: 'a' } })`));
  assert.deepEqual([read.sent, read.paid.path, listed.requests[1].headers.authorization], [null, 'paid', 'a']);
  for (const method of ['put', 'patch']) succeeds(await attempt(h, page, `bt.client.${method}('https://${listed.host}/', { n: el.number })`));
  succeeds(await attempt(h, page, `bt.client.delete('https://${listed.host}/')`));
  assert.deepEqual(listed.requests.map(({ method }) => method), ['POST', 'GET', 'PUT', 'PATCH', 'DELETE']);
  h.expectComplaint(page, /402/);
  const { error } = await attempt(h, page, `bt.client.post('https://${listed.host}/refuse', ${BODY})`);
  assert.deepEqual([error.name, error.status, error.data], ['HttpClientError', 402, {}]);
  await checkPage();
  await h.closePage(page);
};

/** A value that a host repeats is shown to the person, and stays the person's. */
const checkEcho = async (h) => {
  const { page, listed, checkPage } = await start(h);
  succeeds(await attempt(h, page, `(async () => { window.answer = await bt.client.post('https://${listed.host}/', ${BODY}); return null; })()`));
  await page.evaluate(() => {
    const { el, answer } = window;
    window.copies = [];
    for (const type of ['click', 'copy']) el.card.on(type, () => window.copies.push(type));
    el.name.setValue(answer.sent.number);
    el.other.setValue(answer.sent.number);
    el.card.setValueRef(el.name);
  });
  const shown = await elementFrame(page, 'text');
  await h.until('the number', async () => (await shown.$eval('#text', (it) => it.value)) === CARD.number);
  h.expectComplaint(page, /does not show answers/);
  await h.until('the refusal', () => page.evaluate(() => window.seen.some(({ data }) => data.strongroom === 'refused')));
  assert.equal(await (await elementFrame(page, 'text', { at: 1 })).$eval('#text', (it) => it.value), '', 'no pattern of the page is asked about it');
  await page.browserContext().overridePermissions(new URL(page.url()).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']).catch(() => {});
  await (await (await elementFrame(page, 'copy')).waitForSelector('button')).click();
  await h.until('the click', () => page.evaluate(() => window.copies.includes('click')));
  // The answer to this request comes after the controller has dealt with the click.
  succeeds(await attempt(h, page, `bt.client.get('https://${listed.host}/')`));
  assert.deepEqual(await page.evaluate(() => window.copies), ['click']);
  await checkPage();
  await h.closePage(page);
};

const checkNotListed = async (h) => {
  const { page, vault, listed, other, checkPage } = await start(h);
  const targets = [
    `https://${other.host}/`, `http://${listed.host}/`, `https://localhost:${listed.host.split(':')[1]}/`, `https://x@${listed.host}/`,
    `https://${listed.host}@${other.host}/`, `${vault.url}/tokens`, `//${listed.host}/`, 'data:text/plain,x',
  ];
  for (const target of targets) {
    for (const call of [`post('${target}', ${BODY})`, `get('${target}')`]) {
      const { error } = await attempt(h, page, `bt.client.${call}`);
      assert.equal(error?.name, 'BasisTheoryConfigurationError', call);
      assert.match(error.message, /pages\.elements_hosts.*proxy\.post/s);
    }
  }
  for (const call of [`post('https://${listed.host}/', 1, { headers: { 'X-Order': el.number } })`, `post(el.name, ${BODY})`]) {
    assert.equal((await attempt(h, page, `bt.client.${call}`)).error?.name, 'BasisTheoryConfigurationError', call);
  }
  assert.deepEqual([listed.requests, other.requests], [[], []]);
  h.expectComplaint(page, /redirect|ERR_FAILED|Failed to (?:load|fetch)/);
  const led = await attempt(h, page, `bt.client.post('https://${listed.host}/redirect', ${BODY})`);
  assert.match(led.error.message, /does not allow/);
  assert.deepEqual([listed.requests.length, other.requests], [1, []], 'a listed host leads nowhere else');
  await checkPage();
  await h.closePage(page);
};

/** The browser holds the same list, also if the frame's own script did not. */
const checkPolicy = async (h) => {
  const { page, listed, other } = await start(h);
  h.expectComplaint(page, /connect-src|Content Security Policy|Refused to connect|violates/);
  const ask = (frame, host) => frame.evaluate((url) => fetch(url, { method: 'POST', body: '1' }).then(() => 'sent', () => 'blocked'), `https://${host}/`);
  const controller = page.frames().find((frame) => frame.url().endsWith('/fields/v1/controller'));
  const field = await elementFrame(page, 'number');
  assert.deepEqual([await ask(controller, listed.host), await ask(controller, other.host), await ask(field, listed.host)], ['sent', 'blocked', 'blocked']);
  assert.deepEqual([listed.requests.length, other.requests.length], [1, 0]);
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('a listed host', () => checkListed(h));
  await h.step('a host that repeats the card', () => checkEcho(h));
  await h.step('hosts that are not listed', () => checkNotListed(h));
  await h.step('the policy of the frames', () => checkPolicy(h));
};

/** The part that the tests also run in Firefox. */
export const core = async (h) => {
  await h.step('a listed host', () => checkListed(h));
  await h.step('hosts that are not listed', () => checkNotListed(h));
  await h.step('the policy of the frames', () => checkPolicy(h));
};
