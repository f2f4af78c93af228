// The console behind the operator's sign-on: who is admitted, what a viewer and an administrator can do in
// the views that create and change, and the rows of the log that open.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { click } from '../lib/click.js';
import { choose, fillIn, heading, press, seen, settled, showsText, visit } from '../lib/console.js';

export const name = 'console-people';

const ADMIN = 'anna.administrator.with.a.rather.long.name@department.example.com';

const SETTINGS = `[console]
proxies = ["127.0.0.1/32"]
viewers = ["viewers"]
administrators = ["admins"]
management_keys = false
sign_out = "/console?signed-out"
`;

/** The headers that a proxy sends for a person. The browser plays the proxy. */
const person = (who, groups) => ({ 'X-Forwarded-User': who, 'X-Forwarded-Groups': groups });

const open = async (h, vault, who, groups, look = {}) => {
  const page = await h.openPage({ url: `${vault.url}/console`, headers: person(who, groups), ...look });
  await heading(page, (text) => text !== '');
  await settled(page);
  return page;
};

const checkRefused = async (h, vault) => {
  const nobody = await h.openPage({ url: `${vault.url}/console` });
  await showsText(nobody, 'This console is for people who sign on.');
  assert.equal(await nobody.$('#key'), null, 'no key is asked for');
  await h.axe(nobody);
  await h.picture(nobody, 'nobody');
  await h.closePage(nobody);
  const other = await h.openPage({ url: `${vault.url}/console`, headers: person('eve', 'others') });
  await showsText(other, 'The groups of this person give no access to the console.');
  await h.closePage(other);
};

const checkProxies = async (h, vault, page) => {
  const api = h.apiOf(vault);
  await visit(page, 'Proxies');
  await press(page, 'New proxy');
  await heading(page, (text) => text === 'New proxy');
  await fillIn(page, 'Name', 'Charge at the provider');
  await fillIn(page, 'Destination', 'https://api.psp.example/v1');
  await fillIn(page, 'Transforms of the request', '[{"type": "append_header"');
  await press(page, 'Create');
  await showsText(page, 'this is not JSON');
  const transform = '[{"type":"append_header","options":{"location":"Authorization","value":"Bearer {{ config: secret }}"}}]';
  await fillIn(page, 'Transforms of the request', transform);
  await fillIn(page, 'Configuration', '{"secret": "sk_of_the_destination"}');
  await h.picture(page, 'new-proxy', { fullPage: true });
  await press(page, 'Create');
  await heading(page, (text) => text === 'Charge at the provider');
  await h.picture(page, 'proxy', { fullPage: true });
  const listed = async () => (await api('GET', '/proxies', undefined, 'management')).body.data;
  const [made] = await listed();
  assert.equal(made.configuration.secret, 'sk_of_the_destination');
  assert.deepEqual(made.request_transforms, JSON.parse(transform));
  assert.ok(!(await seen(page)).includes('sk_of_the_destination'), 'values of the configuration are not shown');
  await press(page, 'Change');
  await heading(page, (text) => text === 'Change Charge at the provider');
  await fillIn(page, 'Name', 'Charge');
  await fillIn(page, 'Transforms of the request', ' ');
  await press(page, 'Save');
  await heading(page, (text) => text === 'Charge');
  const [changed] = await listed();
  assert.equal(changed.name, 'Charge');
  assert.equal(changed.configuration.secret, 'sk_of_the_destination', 'an empty field keeps the values');
  assert.equal(changed.request_transforms, undefined);
  await press(page, 'Delete');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('Charge');
  await page.keyboard.press('Enter');
  await heading(page, (text) => text === 'Proxies');
  assert.deepEqual(await listed(), []);
};

const checkWebhooks = async (h, vault, page) => {
  const api = h.apiOf(vault);
  const listed = async () => (await api('GET', '/webhooks', undefined, 'management')).body.data;
  await visit(page, 'Webhooks');
  await press(page, 'New webhook');
  await heading(page, (text) => text === 'New webhook');
  await fillIn(page, 'Name', 'Orders');
  await fillIn(page, 'Receiver', 'https://shop.example/events');
  await press(page, 'Create');
  await showsText(page, 'There must be at least one event.');
  await click(page, '::-p-aria([name="token.created"][role="checkbox"])');
  await h.picture(page, 'new-webhook', { fullPage: true });
  await press(page, 'Create');
  await heading(page, (text) => text === 'Webhooks');
  await settled(page);
  await press(page, 'Test Orders');
  await showsText(page, 'A test event is on its way');
  await press(page, 'Disable Orders');
  await h.until('the webhook is disabled', async () => (await listed())[0].status === 'disabled');
  await press(page, 'Enable Orders');
  await h.until('the webhook is enabled', async () => (await listed())[0].status === 'enabled');
  await settled(page);
  await h.picture(page, 'webhooks', { fullPage: true });
  await press(page, 'Change Orders');
  await heading(page, (text) => text === 'Change Orders');
  await fillIn(page, 'Receiver', 'https://shop.example/hooks');
  await choose(page, 'Status', 'disabled');
  await press(page, 'Save');
  await heading(page, (text) => text === 'Webhooks');
  const [changed] = await listed();
  assert.deepEqual([changed.url, changed.status, changed.events], ['https://shop.example/hooks', 'disabled', ['token.created']]);
};

const checkTokens = async (h, vault, page) => {
  const api = h.apiOf(vault);
  await visit(page, 'Tokens');
  await showsText(page, 'There are no tokens.');
  await press(page, 'New test token');
  await h.picture(page, 'new-token');
  await press(page, 'Create the token');
  await showsText(page, 'XXXXXXXXXXXX4242');
  assert.ok(!(await seen(page)).includes('4242424242424242'), 'values are masked');
  const { body } = await api('GET', '/v2/tokens');
  const [{ id }] = body.data;
  await press(page, id);
  await press(page, 'Change metadata');
  await fillIn(page, 'Metadata', 'order = 1234\ncustomer=a = b');
  await press(page, 'Save');
  const metadata = async () => (await api('GET', `/tokens/${id}`)).body.metadata;
  await h.until('the metadata', async () => (await metadata())?.order === '1234');
  assert.equal((await metadata()).customer, 'a = b');
  await showsText(page, '1234');
  await h.picture(page, 'tokens', { fullPage: true });
  await press(page, 'Change metadata');
  await fillIn(page, 'Metadata', 'order = 5');
  await press(page, 'Save');
  await h.until('the new metadata', async () => JSON.stringify(await metadata()) === '{"order":"5"}');
  await press(page, 'Delete token');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type(id);
  await page.keyboard.press('Enter');
  await showsText(page, 'is deleted.');
  assert.equal((await api('GET', `/tokens/${id}`)).status, 404);
};

const openEntry = async (page) => {
  await click(page, '.opener');
  return page.$('.opener');
};

const checkLog = async (h, vault, page) => {
  await visit(page, 'Logs');
  const row = await page.waitForSelector('main tbody tr');
  assert.ok((await row.evaluate((it) => it.innerText)).includes(ADMIN), 'the whole name is in the row');
  const button = await openEntry(page);
  assert.equal(await button.evaluate((it) => it.getAttribute('aria-expanded')), 'true');
  const facts = await page.$eval('.detail:not([hidden])', (it) => it.innerText);
  for (const part of ['Person', 'Address', '127.0.0.1', 'Key', 'Trace', 'Outcome', 'success', ADMIN]) {
    assert.ok(facts.includes(part), `${part} in ${facts}`);
  }
  await page.keyboard.press('Enter');
  assert.equal(await button.evaluate((it) => it.getAttribute('aria-expanded')), 'false', 'the keyboard closes it');
  const { body } = await h.apiOf(vault)('GET', '/logs?size=100', undefined, 'management');
  const signedOn = body.data.find((it) => it.operation === 'sign_on');
  assert.deepEqual([signedOn.person, signedOn.sign_on], [ADMIN, 'proxy']);
  const made = body.data.filter((it) => it.operation === 'create' && ['proxy', 'token', 'webhook'].includes(it.entity_type));
  assert.deepEqual(made.map((it) => it.person), [ADMIN, ADMIN, ADMIN]);
};

const checkViewer = async (h, vault) => {
  const page = await open(h, vault, 'victor', 'viewers');
  await showsText(page, 'change nothing');
  await visit(page, 'Webhooks');
  const enabled = await page.$$eval('main button', (all) => all.filter((it) => !it.disabled).map((it) => it.textContent));
  assert.deepEqual(enabled, [], 'a viewer is offered no change');
  await visit(page, 'Tokens');
  const create = await page.$$eval('main .heading button', (all) => all.map((it) => it.disabled));
  assert.deepEqual(create, [true]);
  // What the page does not offer, the server refuses.
  h.expectComplaint(page, /status of 403/);
  const status = await page.evaluate(async (tenant) => {
    const headers = { 'Strongroom-Console': tenant, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name: 'n' });
    return (await fetch('/tenants/self', { method: 'PUT', headers, body, credentials: 'same-origin' })).status;
  }, vault.tenant_id);
  assert.equal(status, 403);
  await h.picture(page, 'viewer');
  await h.closePage(page);
};

const checkOtherSite = async (h, vault) => {
  const shop = await h.shop('<h1>Another site</h1>');
  const page = await h.openPage({ url: shop.url, headers: person(ADMIN, 'admins') });
  h.expectComplaint(page, /CORS|Failed to load|ERR_FAILED|40[13]/);
  const told = await page.evaluate(async ({ url, tenant }) => {
    const attempt = async (options) => {
      try {
        const answer = await fetch(`${url}/applications`, { credentials: 'include', ...options });
        return answer.status;
      } catch {
        return 'blocked';
      }
    };
    const headers = { 'Strongroom-Console': tenant };
    const form = 'name=n&type=private';
    return [
      await attempt({ headers }),
      await attempt({ method: 'POST', headers, body: '{}' }),
      await attempt({ method: 'POST', mode: 'no-cors', body: form }),
    ];
  }, { url: vault.url, tenant: vault.tenant_id });
  assert.deepEqual(told.slice(0, 2), ['blocked', 'blocked']);
  const { body } = await h.apiOf(vault)('GET', '/applications?size=100', undefined, 'management');
  assert.equal(body.data.length, 3, 'nothing was made');
  await h.closePage(page);
};

const checkSignOut = async (h, vault) => {
  const page = await open(h, vault, ADMIN, 'admins');
  await page.setExtraHTTPHeaders({});
  await Promise.all([page.waitForNavigation(), press(page, 'Sign out')]);
  await showsText(page, 'This console is for people who sign on.');
  assert.ok(page.url().endsWith('/console?signed-out'), page.url());
  await h.closePage(page);
};

const checkLook = async (h, vault, { width, scheme }) => {
  const page = await open(h, vault, ADMIN, 'admins', { width, scheme });
  const shows = async (title) => {
    await h.axe(page);
    await h.fitsSideways(page);
    await h.picture(page, `${title}-${width}-${scheme}`, { fullPage: true });
  };
  await shows('overview');
  await visit(page, 'Logs');
  const opener = await openEntry(page);
  await shows('log');
  await opener.evaluate((it) => it.scrollIntoView());
  await h.picture(page, `entry-${width}-${scheme}`);
  await visit(page, 'Tokens');
  await press(page, 'New test token');
  await shows('tokens');
  await visit(page, 'Webhooks');
  await shows('webhooks');
  for (const path of ['proxies/new', 'webhooks/new']) {
    await page.evaluate((hash) => {
      window.location.hash = `/${hash}`;
    }, path);
    await heading(page, (text) => text.startsWith('New '));
    await settled(page);
    await shows(path.replace('/', '-'));
  }
  await h.closePage(page);
};

export const run = async (h) => {
  const place = await mkdtemp(join(tmpdir(), 'strongroom-people-'));
  const settings = join(place, 'console.toml');
  await writeFile(settings, SETTINGS);
  const vault = await h.startVault(['--console', settings]);
  try {
    await h.step('people without a sign-on or a group are refused', () => checkRefused(h, vault));
    const page = await open(h, vault, ADMIN, 'admins');
    h.expectComplaint(page, /status of 400/);
    await h.step('the page shows who is signed on', async () => {
      assert.ok((await page.$eval('#who-name', (it) => it.innerText)).includes(ADMIN));
      await showsText(page, 'administrator');
    });
    await h.step('a proxy is made, changed and deleted', () => checkProxies(h, vault, page));
    await h.step('a webhook is made, tested, disabled and changed', () => checkWebhooks(h, vault, page));
    await h.step('a test token is made, changed and deleted', () => checkTokens(h, vault, page));
    await h.step('a row of the log opens', () => checkLog(h, vault, page));
    await h.closePage(page);
    await h.step('a viewer looks and changes nothing', () => checkViewer(h, vault));
    await h.step('another site can do nothing with the sign-on', () => checkOtherSite(h, vault));
    await h.step('signing out leads to the address of the sign-on', () => checkSignOut(h, vault));
    for (const look of h.looks) {
      await h.step(`${look.width}, ${look.scheme}`, () => checkLook(h, vault, look));
    }
  } finally {
    await rm(place, { recursive: true, force: true });
  }
};
