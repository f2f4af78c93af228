// Values that the vault gives back: references in the page, values in frames; mirrors, proxies,
// encryption, copies and details of BINs.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CARD, attempt, elementFrame, lastChange, openTagged, succeeds, typeParts } from '../lib/elements.js';
import { checkNoLeak } from '../lib/fields.js';

export const name = 'elements-reveal';

const NUMBER = { number: "bt.createElement('cardNumber', { targetId: 'number' })" };
const OTHER = '5555555555554444';

/** Gives the page a session that may do these things, as a shop's server does. */
const session = async (h, page, rights, api = h.api) => {
  const { nonce, sessionKey } = succeeds(await attempt(h, page, 'bt.sessions.create()'));
  assert.equal((await api('POST', '/sessions/authorize', { nonce, ...rights })).status, 200);
  return sessionKey;
};

const valueIn = async (h, page, kind, text, options) => {
  const frame = await elementFrame(page, kind, options);
  const input = options?.input ?? kind;
  await h.until(`the value of ${kind}`, async () => (await frame.$eval(`#${input}`, (it) => it.value)) === text);
};

const checkRetrieve = async (h) => {
  const { page, shop } = await openTagged(h, {
    number: "bt.createElement('cardNumber', { targetId: 'number' })",
    expiry: "bt.createElement('cardExpirationDate', { targetId: 'expiry' })",
    name: "bt.createElement('text', { targetId: 'name', readOnly: true, validation: /^x$/, 'aria-label': 'Name' })",
  });
  const stored = { type: 'token', data: { number: OTHER, month: 3, year: 2032, name: 'Grace Hopper 90210' } };
  const { body: token } = await h.api('POST', '/tokens', stored);
  const key = await session(h, page, { rules: [{ priority: 1, transform: 'reveal', permissions: ['token:read'], conditions: [{ attribute: 'id', operator: 'equals', value: token.id }] }] });
  const read = succeeds(await attempt(h, page, `(async () => { window.read = await bt.tokens.retrieve('${token.id}', { apiKey: '${key}' }); return window.read; })()`));
  assert.deepEqual(Object.keys(read.data.number).sort(), ['correlationId', 'elementId', 'path']);
  await page.evaluate(() => {
    const { el, read: { data } } = window;
    el.number.setValue(data.number);
    el.expiry.setValue({ month: data.month, year: data.year });
    el.name.setValue(data.name);
  });
  await valueIn(h, page, 'number', '5555 5555 5555 4444');
  await valueIn(h, page, 'expiry', '03 / 32', { input: 'expiry' });
  await valueIn(h, page, 'text', 'Grace Hopper 90210');
  // The page's pattern is not asked about a value that the vault filled in.
  const state = await h.until('the state', () => lastChange(page, 'name'));
  assert.deepEqual([state.valid, state.empty], [true, false]);
  await checkNoLeak(h, page, shop, [OTHER, 'Grace Hopper 90210']);
  const again = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: { number: el.number, name: el.name }, containers: ['/pci/'] })"));
  assert.deepEqual((await h.api('GET', `/tokens/${again.id}`)).body.data, { number: OTHER, name: stored.data.name });
  h.expectComplaint(page, /40[134]/);
  const refused = await attempt(h, page, `bt.tokens.retrieve('${again.id}', { apiKey: '${key}' })`);
  assert.equal(refused.error.status, 403);
  await h.closePage(page);
};

const checkMirror = async (h) => {
  const { page, shop } = await openTagged(h, {
    number: "bt.createElement('cardNumber', { targetId: 'number' })",
    other: "bt.createElement('cardNumber', { targetId: 'other', readOnly: true })",
    name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })",
  });
  await page.evaluate(() => { window.el.other.setValueRef(window.el.number); });
  await typeParts(page, { number: OTHER });
  assert.equal(await (await elementFrame(page, 'number', { at: 1 })).$eval('#number', (it) => it.value), '', 'a mirror shows nothing while a person types');
  await (await elementFrame(page, 'text')).focus('#text');
  const frame = await elementFrame(page, 'number', { at: 1 });
  await h.until('the mirror', async () => (await frame.$eval('#number', (it) => it.value)) === '5555 5555 5555 4444');
  h.expectComplaint(page, /of its type/);
  await page.evaluate(() => { window.el.name.setValueRef(window.el.number); });
  await h.until('the refusal', () => page.evaluate(() => window.seen.some(({ data }) => data.strongroom === 'refused')));
  assert.equal(await (await elementFrame(page, 'text')).$eval('#text', (it) => it.value), '');
  await checkNoLeak(h, page, shop, [OTHER]);
  await h.closePage(page);
};

const checkEncryption = async (h) => {
  const { page, shop } = await openTagged(h, {
    number: "bt.createElement('cardNumber', { targetId: 'number' })",
    expiry: "bt.createElement('cardExpirationDate', { targetId: 'expiry' })",
  });
  await typeParts(page, { number: CARD.number, expiry: CARD.expiry });
  const { body: key } = await h.api('POST', '/keys', {}, 'management');
  const data = '{ number: el.number, expiration_month: el.expiry.month(), expiration_year: el.expiry.year() }';
  const ask = (pem, id = key.key_id) => attempt(h, page, `bt.tokens.encrypt({ tokenRequests: { type: 'card', data: ${data} }, publicKeyPem: ${JSON.stringify(pem)}, keyId: '${id}' })`);
  const { encrypted, type } = succeeds(await ask(key.public_key_pem));
  const stored = await h.api('POST', '/tokens', { type, encrypted });
  assert.equal(stored.status, 201, JSON.stringify(stored.body));
  assert.equal((await h.api('GET', `/tokens/${stored.body.id}`)).body.data.number, CARD.number);
  const own = '-----BEGIN PUBLIC KEY-----\n3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\n-----END PUBLIC KEY-----\n';
  for (const [pem, id] of [[own], [own, 'x'], [key.public_key_pem, 'x'], ['']]) {
    assert.equal((await ask(pem, id)).error?.name, 'BasisTheoryConfigurationError', 'a page does not choose the key');
  }
  await checkNoLeak(h, page, shop, [CARD.number]);
  await h.closePage(page);
};

const checkCopy = async (h) => {
  const { page } = await openTagged(h, {
    name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })",
    other: "bt.createElement('copyButton', { targetId: 'other', text: 'Copy the name' })",
  });
  await page.evaluate(() => {
    window.clicks = [];
    for (const type of ['click', 'copy']) window.el.other.on(type, (event) => window.clicks.push(event.type));
    window.el.other.setValueRef(window.el.name);
  });
  await (await elementFrame(page, 'text')).type('#text', 'typed by hand');
  const button = await elementFrame(page, 'copy');
  const press = async () => (await button.waitForSelector('button')).click();
  await press();
  await h.until('the click', () => page.evaluate(() => window.clicks.includes('click')));
  const { body: token } = await h.api('POST', '/tokens', { type: 'token', data: 'revealed' });
  const key = await session(h, page, { permissions: ['token:read'], rules: [{ priority: 1, transform: 'reveal', permissions: ['token:read'], container: '/' }] });
  assert.deepEqual(await page.evaluate(() => window.clicks), ['click'], 'a typed value is not copied');
  succeeds(await attempt(h, page, `(async () => { const { data } = await bt.tokens.retrieve('${token.id}', { apiKey: '${key}' }); el.name.setValue(data); return null; })()`));
  await valueIn(h, page, 'text', 'revealed');
  await page.browserContext().overridePermissions(new URL(page.url()).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']).catch(() => {});
  await press();
  await h.until('the copy', () => page.evaluate(() => window.clicks.includes('copy')));
  await h.axe(page);
  await h.closePage(page);
};

/** The icon inside of an element copies what the vault filled in. */
const checkCopyIcon = async (h) => {
  const { page } = await openTagged(h, {
    number: "bt.createElement('cardNumber', { targetId: 'number', enableCopy: true, copyIconStyles: { size: '22px', color: 'rgb(1, 2, 3)' } })",
    name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name', enableCopy: true })",
    other: "bt.createElement('text', { targetId: 'other', 'aria-label': 'Other' })",
  });
  const copies = () => page.evaluate(() => window.copies);
  await page.evaluate(() => {
    window.copies = [];
    for (const id of ['number', 'name']) window.el[id].on('copy', ({ targetId }) => window.copies.push(targetId));
  });
  const frames = [await elementFrame(page, 'number'), await elementFrame(page, 'text')];
  const icon = (frame) => frame.waitForSelector('#copy-icon');
  const isOn = (frame) => frame.$eval('#copy-icon', (it) => !it.disabled);
  assert.equal(await (await elementFrame(page, 'text', { at: 1 })).$('#copy-icon'), null);
  assert.deepEqual(await frames[0].$eval('#copy-icon', (it) => [getComputedStyle(it).color, getComputedStyle(it).fontSize, it.ariaLabel]), ['rgb(1, 2, 3)', '22px', 'Copy: Card number']);
  await frames[1].type('#text', 'typed by hand');
  assert.deepEqual([await isOn(frames[0]), await isOn(frames[1])], [false, false], 'a typed value is not copied');
  const { body: token } = await h.api('POST', '/tokens', { type: 'token', data: { number: OTHER, name: 'revealed  twice' } });
  const key = await session(h, page, { permissions: ['token:read'], rules: [{ priority: 1, transform: 'reveal', permissions: ['token:read'], container: '/' }] });
  await page.focus('#pay');
  succeeds(await attempt(h, page, `(async () => { const { data } = await bt.tokens.retrieve('${token.id}', { apiKey: '${key}' }); el.number.setValue(data.number); el.name.setValue(data.name); return null; })()`));
  await page.browserContext().overridePermissions(new URL(page.url()).origin, ['clipboard-read', 'clipboard-write', 'clipboard-sanitized-write']).catch(() => {});
  for (const [at, [id, text]] of [['number', OTHER], ['name', 'revealed  twice']].entries()) {
    await h.until(`the icon of ${id}`, () => isOn(frames[at]));
    await (await icon(frames[at])).click();
    await h.until(`the copy of ${id}`, async () => (await copies()).includes(id));
    await page.focus('#pay');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), text);
  }
  await frames[1].type('#text', '!');
  assert.equal(await isOn(frames[1]), false, 'a person changed it');
  await h.axe(page);
  await h.picture(page, 'copy-icon');
  await h.closePage(page);
};

const CO_BADGED = '4150580996517927';

/** A development vault has no file of BINs: the answer is one that such a file gives for a card of two networks. */
const openCoBadged = async (h, options) => {
  const { page } = await openTagged(h, { number: `bt.createElement('cardNumber', { targetId: 'number', ${options} })` });
  const additional = [{ brand: 'cartes-bancaires', funding: 'debit', issuer: { country: 'FR', name: 'Bank' }, binRange: [{ binMin: '41505809', binMax: '41505809' }] }];
  const body = JSON.stringify({ brand: 'Visa', binRange: [{ binMin: '41505809', binMax: '41505809' }], additional });
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (request.url().endsWith('/enrichments/card-details?bin=41505809')) request.respond({ status: 200, contentType: 'application/json', body });
    else request.continue();
  });
  return page;
};

const checkNetworks = async (h) => {
  const changeWith = (page, isIt) => h.until('the change', async () => {
    const it = await lastChange(page, 'number');
    return it && isIt(it) && it;
  });
  const page = await openCoBadged(h, "coBadgedSupport: ['cartes-bancaires', 'evil']");
  const frame = await elementFrame(page, 'number');
  await frame.type('#number', CO_BADGED);
  await frame.waitForSelector('#network');
  assert.deepEqual(await frame.$$eval('#network option', (all) => all.map((it) => [it.value, it.textContent])), [['', 'Card network'], ['visa', 'Visa'], ['cartes-bancaires', 'Cartes Bancaires']]);
  assert.equal((await changeWith(page, (it) => it.binInfo)).selectedNetwork, undefined, 'a person has chosen nothing');
  await frame.select('#network', 'cartes-bancaires');
  await changeWith(page, (it) => it.selectedNetwork === 'cartes-bancaires' && it.complete);
  assert.equal(await frame.$eval('#brand', (it) => it.dataset.brand), 'cartes-bancaires');
  await h.axe(page);
  await h.picture(page, 'networks');
  await frame.focus('#number');
  await page.keyboard.press('Backspace');
  await changeWith(page, (it) => !it.complete && it.selectedNetwork === undefined);
  assert.equal(await frame.$('#network'), null, 'the choice leaves with the number');
  await h.closePage(page);

  const chosen = await openCoBadged(h, "coBadgedSupport: ['cartes-bancaires'], preSelectedNetworks: ['bancontact', 'cartes-bancaires']");
  await typeParts(chosen, { number: CO_BADGED });
  await changeWith(chosen, (it) => it.selectedNetwork === 'cartes-bancaires');
  await h.closePage(chosen);

  const plain = await openCoBadged(h, "coBadgedSupport: ['dankort']");
  await typeParts(plain, { number: CO_BADGED });
  await changeWith(plain, (it) => it.binInfo);
  assert.equal(await (await elementFrame(plain, 'number')).$('#network'), null, 'the page supports no other network of the card');
  await h.closePage(plain);
};

const checkBin = async (h) => {
  const { page } = await openTagged(h, { number: "bt.createElement('cardNumber', { targetId: 'number', binLookup: true })" });
  await typeParts(page, { number: CARD.number });
  const change = await h.until('the details', async () => {
    const it = await lastChange(page, 'number');
    return it?.binInfo && it;
  });
  assert.deepEqual(change.binInfo, { brand: 'Visa', additional: [] });
  await h.closePage(page);
};

/** A second vault is the destination. */
const checkProxy = async (h) => {
  const work = mkdtempSync(join(tmpdir(), 'strongroom-elements-'));
  try {
    const psp = await h.startVault();
    const ca = join(work, 'ca.pem');
    writeFileSync(ca, psp.ca);
    const vault = await h.startVault(['--outbound-ca', ca]);
    const api = h.apiOf(vault);
    const proxy = (await api('POST', '/proxies', { name: 'Charge', destination_url: psp.url }, 'management')).body;
    const { page, shop } = await openTagged(h, { ...NUMBER, name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })" }, { vault, api });
    await typeParts(page, { number: OTHER });
    await page.focus('#pay');
    const key = await session(h, page, { permissions: ['token:use'] }, api);
    const ask = (method, path, members) => attempt(h, page, `(async () => { window.answer = await bt.proxy.${method}({ apiKey: '${key}', path: '${path}', ${members} }); return window.answer; })()`);
    const named = `headers: { 'BT-PROXY-KEY': '${proxy.key}', 'Content-Type': 'application/json' }`;
    const answer = succeeds(await ask('get', 'fields/v1/brands.json', named));
    assert.equal(answer.brands.visa.name.path, 'brands.visa.name');
    await page.evaluate(() => window.el.name.setValue(window.answer.brands.visa.name));
    await valueIn(h, page, 'text', 'Visa');
    // The destination refuses the card. The page learns that, and nothing of the answer.
    const body = "body: { type: 'card', data: { number: el.number } }";
    const { error } = await ask('post', 'tokens', `${named}, ${body}`);
    h.expectComplaint(page, /401/);
    assert.deepEqual([error.name, error.status, error.data], ['BasisTheoryApiError', 401, {}]);
    const elsewhere = await ask('post', '', `headers: { 'BT-PROXY-URL': '${psp.url}' }, ${body}`);
    assert.equal(elsewhere.error.name, 'BasisTheoryConfigurationError');
    await checkNoLeak({ ...h, vault }, page, shop, [OTHER]);
    await h.closePage(page);
  } finally {
    rmSync(work, { recursive: true });
  }
};

export const run = async (h) => {
  await h.step('a token is shown in elements', () => checkRetrieve(h));
  await h.step('an element shows another one', () => checkMirror(h));
  await h.step('details of a BIN', () => checkBin(h));
  await h.step('encryption to a key of the tenant', () => checkEncryption(h));
  await h.step('a copy by a person', () => checkCopy(h));
  await h.step('the icon that copies', () => checkCopyIcon(h));
  await h.step('a card of two networks', () => checkNetworks(h));
  await h.step('a proxy with elements', () => checkProxy(h));
};

/** The part that the tests also run in Firefox. */
export const core = async (h) => {
  await h.step('a token is shown in elements', () => checkRetrieve(h));
  await h.step('encryption to a key of the tenant', () => checkEncryption(h));
  await h.step('the icon that copies', () => checkCopyIcon(h));
  await h.step('a card of two networks', () => checkNetworks(h));
};
