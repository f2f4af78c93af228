// The console as an attacker sees it: rights that a key lacks, names with markup, keys that could stay.
import assert from 'node:assert/strict';
import {
  VIEWS, choose, enter, fillIn, heading, press, seen, settled, showsText, signIn, traces, visit,
} from '../lib/console.js';

export const name = 'console-safety';

const MARKUP = '<img src=x onerror="window.wasRun=1">';

const READING = [
  'application:read', 'log:read', 'tenant:read', 'report:read', 'proxy:read', 'reactor:read', 'webhooks:read', 'webhook:read',
];

const makeKey = async (h, body) => (await h.api('POST', '/applications', body, 'management')).body.key;

const checkReadOnly = async (h) => {
  const key = await makeKey(h, { name: 'Console reader', type: 'management', permissions: READING });
  const page = await enter(h, key);
  await showsText(page, 'Read only.');
  await visit(page, 'Applications');
  await showsText(page, 'Needs application:create.');
  await page.locator('main ::-p-text(Console reader)').click();
  await heading(page, (text) => text === 'Console reader');
  await settled(page);
  const offered = await page.$$eval('main button:not(:disabled)', (all) => all.map((it) => it.textContent));
  assert.deepEqual(offered, ['Refresh'], 'no action is offered');
  await page.evaluate(() => {
    window.location.hash = '/applications/new';
  });
  await showsText(page, 'needs the permission application:create');
  await h.picture(page, 'read-only');
  await h.closePage(page);
  const few = await makeKey(h, { name: 'Console clerk', type: 'management', permissions: ['tenant:read'] });
  const other = await enter(h, few);
  await visit(other, 'Logs');
  await showsText(other, 'needs the permission log:read');
  await h.closePage(other);
};

const checkMarkup = async (h) => {
  await makeKey(h, { name: MARKUP, type: 'private', permissions: ['token:create'], rules: [] });
  const token = { type: 'card', data: { number: '4242424242424242' }, metadata: { note: MARKUP } };
  const { body } = await h.api('POST', '/tokens', token);
  const page = await enter(h, h.vault.keys.management);
  await visit(page, 'Applications');
  await showsText(page, MARKUP);
  await page.locator('main a[href*="applications/"]::-p-text(onerror)').click();
  await heading(page, (text) => text === MARKUP);
  await visit(page, 'Logs');
  await visit(page, 'Tokens');
  await fillIn(page, 'Private key', h.vault.keys.private);
  await page.keyboard.press('Enter');
  await fillIn(page, 'Value', body.id);
  await page.keyboard.press('Enter');
  await showsText(page, MARKUP);
  await showsText(page, '4242424242424242');
  const calls = await callsOf(page);
  assert.ok(!calls.includes('4242424242424242'), 'the list of calls has no values of tokens');
  const images = await page.$$eval('img', (all) => all.length);
  assert.deepEqual([images, await page.evaluate(() => window.wasRun)], [0, undefined]);
  await h.picture(page, 'token');
  await h.closePage(page);
};

/** The list of calls, with all its parts open. */
const callsOf = async (page) => {
  await press(page, 'API calls');
  return page.$eval('#calls', (panel) => {
    panel.querySelectorAll('details').forEach((it) => {
      it.open = true;
    });
    return panel.innerText;
  });
};

const checkMasked = async (h) => {
  const rule = { priority: 1, container: '/', transform: 'mask', permissions: ['token:read'] };
  const key = await makeKey(h, { name: 'Console masked', type: 'private', permissions: [], rules: [rule] });
  const { body } = await h.api('POST', '/tokens', { type: 'card', data: { number: '4242424242424242' }, metadata: { order: 'masked-1' } });
  const page = await enter(h, key);
  await visit(page, 'Tokens');
  await choose(page, 'Find by', 'metadata');
  await fillIn(page, 'Key of the entry', 'order');
  await fillIn(page, 'Value', 'masked-1');
  await page.keyboard.press('Enter');
  await showsText(page, body.id);
  await showsText(page, 'XXXX');
  assert.ok(!(await seen(page)).includes('4242424242424242'));
  await choose(page, 'Find by', 'fingerprint');
  await fillIn(page, 'Value', body.fingerprint);
  await page.keyboard.press('Enter');
  await showsText(page, 'Token');
  const calls = await callsOf(page);
  assert.match(calls, /fingerprint=\.\.\.[^]*metadata\.order=\.\.\./);
  assert.ok(!calls.includes('masked-1') && !calls.includes(body.fingerprint), 'the list of calls has no searched values');
  await h.closePage(page);
};

const checkForgetting = async (h) => {
  const { management, private: second } = h.vault.keys;
  const page = await enter(h, management);
  await visit(page, 'Tokens');
  await fillIn(page, 'Private key', second);
  await page.keyboard.press('Enter');
  await showsText(page, 'Reading with a second key');
  for (const title of VIEWS) {
    await visit(page, title);
    const found = await traces(page);
    assert.ok(!found.includes(management) && !found.includes(second), `${title} has no key in it`);
  }
  await press(page, 'Sign out');
  await heading(page, (text) => text === 'Sign in');
  assert.ok(!(await traces(page)).includes('key_test_'));
  assert.deepEqual(await page.cookies(), []);
  await page.evaluate(() => {
    window.location.hash = '/applications';
  });
  assert.equal(await heading(page, () => true), 'Sign in', 'an address shows nothing without a key');
  await signIn(page, management);
  await heading(page, (text) => text === 'Applications');
  await page.reload();
  await heading(page, (text) => text === 'Sign in');
  for (const { url } of h.traffic(page)) assert.ok(!url.includes('key_test_'), 'no address has a key');
  await h.closePage(page);
};

const checkIdle = async (h) => {
  const page = await h.openPage();
  await page.evaluateOnNewDocument(() => {
    const now = Date.now.bind(Date);
    window.later = 0;
    Date.now = () => now() + window.later;
  });
  await page.goto(`${h.vault.url}/console`);
  await signIn(page, h.vault.keys.management);
  await heading(page, (text) => text !== 'Sign in');
  await page.evaluate(() => {
    window.later = 14 * 60_000;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  assert.notEqual(await heading(page, () => true), 'Sign in');
  await page.evaluate(() => {
    window.later = 16 * 60_000;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await heading(page, (text) => text === 'Sign in');
  await showsText(page, '15 minutes without use');
  await h.closePage(page);
};

/** A key that is deleted while the page is open, and a server that asks to wait. */
const checkRefusals = async (h) => {
  const made = await h.api('POST', '/applications', { name: 'Console guest', type: 'management', permissions: READING }, 'management');
  const page = await enter(h, made.body.key);
  h.expectComplaint(page, /status of (401|429)/);
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const refuse = request.url().endsWith('/console/data/limits');
    const body = JSON.stringify({ title: 'Too Many Requests', detail: 'There were too many requests.', status: 429 });
    return refuse ? request.respond({ status: 429, headers: { 'retry-after': '7' }, contentType: 'application/json', body }) : request.continue();
  });
  await visit(page, 'Limits');
  await showsText(page, 'Too Many Requests');
  assert.match(await seen(page), /Wait [1-7] s, then try again\./);
  await h.api('DELETE', `/applications/${made.body.id}`, undefined, 'management');
  await page.evaluate(() => {
    window.location.hash = '/applications';
  });
  await heading(page, (text) => text === 'Sign in');
  await showsText(page, 'does not accept the key any more');
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('a key that only reads gets no actions', () => checkReadOnly(h));
  await h.step('names with markup are text', () => checkMarkup(h));
  await h.step('a key sees tokens as its rules allow', () => checkMasked(h));
  await h.step('no key stays in the page, and signing out forgets', () => checkForgetting(h));
  await h.step('a page that nobody uses forgets the key', () => checkIdle(h));
  await h.step('refusals sign out, or show the wait', () => checkRefusals(h));
};
