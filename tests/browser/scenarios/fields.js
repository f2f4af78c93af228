// Hosted card fields in a shop of another origin: a typed card becomes a token, by mouse, keyboard and
// paste, in every look, and the shop never sees the number.
import assert from 'node:assert/strict';
import { click } from '../lib/click.js';
import { boxOf, look as lookAt } from '../lib/pixels.js';
import { checkNoLeak, fieldFrame, fill, publicKey, ready, shopHtml } from '../lib/fields.js';

export const name = 'fields';

const SEPARATE = ['number', 'expiry', 'cvc'];
const VISA = { number: '4111111111111111', expiry: '1130', cvc: '739' };
const AMEX = { number: '378282246310005', expiry: '12/31', cvc: '7391' };

/** A shop, its key and an open page with these fields. */
const open = async (h, { names = SEPARATE, options = {}, vault = h.vault, headers = {}, head, ...look } = {}) => {
  const shop = await h.shop(shopHtml(vault, '', head), { headers });
  const made = await publicKey(h.apiOf(vault), [shop.origin]);
  const page = await h.openPage({ url: shop.origin, ...look });
  const settings = { key: made.key, locale: 'en', ...options };
  await page.evaluate((given, wanted) => { window.fields = window.mount(given, wanted); }, settings, names);
  if (names.length > 0) await ready(h, page);
  return { shop, page, application: made.id };
};

const submit = (h, page, kind, options) => h.within(`the ${kind}`, page.evaluate(
  (method, given) => window.attempt(window.fields[method](given)),
  kind === 'intent' ? 'createTokenIntent' : 'createToken', options,
));

const checkCard = async (h) => {
  const { shop, page, application } = await open(h);
  await fill(page, AMEX);
  const { value: intent, error } = await submit(h, page, 'intent');
  assert.equal(error, undefined, JSON.stringify(error));
  assert.deepEqual(Object.keys(intent).sort(), ['card', 'created_at', 'expires_at', 'id', 'tenant_id', 'type']);
  assert.deepEqual(intent.card, {
    brand: 'american-express', last4: '0005', expiration_month: 12, expiration_year: 2031, funding: 'credit',
  });
  const stored = (await h.api('GET', `/token-intents/${intent.id}`)).body;
  assert.equal(stored.created_by, application);
  const { value: token } = await submit(h, page, 'token', { metadata: { order: '{{ data.number }}' } });
  assert.equal(token.metadata.order, '{{ data.number }}');
  const { body } = await h.api('GET', `/tokens/${token.id}`);
  assert.equal(body.data.number, AMEX.number);
  assert.equal(body.data.expiration_year, 2031);
  await checkNoLeak(h, page, shop, [AMEX.number, AMEX.cvc]);
  await h.closePage(page);
};

const checkSession = async (h) => {
  const shop = await h.shop(shopHtml(h.vault, ''));
  const made = await publicKey(h.api, [shop.origin]);
  const session = (await h.api('POST', '/sessions', undefined, made.key)).body;
  const rights = { nonce: session.nonce, permissions: ['token:create'] };
  assert.equal((await h.api('POST', '/sessions/authorize', rights)).status, 200);
  const page = await h.openPage({ url: shop.origin });
  await page.evaluate((key) => { window.fields = window.mount({ key }, ['card']); }, session.session_key);
  const frame = await fieldFrame(page, 'card', 'number');
  await frame.type('#number', `${VISA.number}${VISA.expiry}${VISA.cvc}`);
  const { value } = await submit(h, page, 'token');
  assert.equal((await h.api('GET', `/tokens/${value.id}`)).body.data.number, VISA.number);
  // The session may not make intents.
  h.expectComplaint(page, /403/);
  const { error } = await submit(h, page, 'intent');
  assert.equal(error.code, 'not_permitted');
  assert.equal(error.status, 403);
  await checkNoLeak(h, page, shop, [VISA.number]);
  await h.closePage(page);
};

const changes = (page, field) => page.evaluate(
  (wanted) => window.events.filter((it) => it.event === 'change' && it.field === wanted), field);

const checkEvents = async (h) => {
  const { page } = await open(h);
  await fill(page, VISA);
  const ofNumber = await changes(page, 'number');
  for (const change of ofNumber) {
    const names = ['brand', 'complete', 'empty', 'error', 'event', 'field', 'message', 'part', 'valid'];
    assert.deepEqual(Object.keys(change).sort(), names);
  }
  // Empty, begun as a Visa, complete: sixteen keystrokes, three states.
  const states = ofNumber.map(({ empty, brand, complete }) => [empty, brand, complete]);
  assert.deepEqual(states, [[true, null, false], [false, 'visa', false], [false, 'visa', true]]);
  await h.until('complete', () => page.evaluate(() => window.events.some(({ event }) => event === 'complete')));
  const focused = await page.evaluate(() => window.events.filter(({ event }) => event === 'focus').map((it) => it.field));
  assert.deepEqual(focused, SEPARATE);
  await page.evaluate(() => window.fields.clear());
  await h.until('the cleared fields', async () => (await changes(page, 'number')).at(-1).empty);
  await page.evaluate(() => window.fields.focus('cvc'));
  await h.keyboard.focusReaches(page, 'Security code');
  await page.evaluate(() => window.fields.destroy());
  assert.equal(page.frames().length, 1);
  await h.closePage(page);
};

/** The text of an input, and the digits before its caret. */
const shown = (frame, input) => frame.$eval(`#${input}`, (it) => `${it.value.slice(0, it.selectionStart)}|${it.value.slice(it.selectionStart)}`);

const paste = (frame, input, text) => frame.$eval(`#${input}`, (it, pasted) => {
  it.focus();
  document.execCommand('insertText', false, pasted);
}, text);

const checkTyping = async (h) => {
  const { page } = await open(h);
  const number = await fieldFrame(page, 'number');
  await paste(number, 'number', '4242-4242 4242 4242');
  assert.equal(await shown(number, 'number'), '4242 4242 4242 4242|');
  const press = async (...keys) => { for (const key of keys) await page.keyboard.press(key); };
  await press('Home', 'ArrowRight', 'ArrowRight', '9');
  assert.equal(await shown(number, 'number'), '429|4 2424 2424 2424 2');
  await press('Backspace');
  assert.equal(await shown(number, 'number'), '42|42 4242 4242 4242');
  await press('ArrowRight', 'ArrowRight', 'ArrowRight', 'Backspace');
  assert.equal(await shown(number, 'number'), '424|4 2424 2424 242', 'a deleted space deletes the digit before it');
  await number.$eval('#number', (it) => it.select());
  await page.keyboard.type('3782 822463 10005');
  assert.equal(await shown(number, 'number'), '3782 822463 10005|');
  assert.equal(await number.$eval('#brand', (it) => it.getAttribute('aria-label')), 'American Express');
  const expiry = await fieldFrame(page, 'expiry');
  for (const [typed, expected] of [['1/30', '01 / 30|'], ['01 / 2030', '01 / 2030|'], ['0130', '01 / 30|'], ['5', '05 / |']]) {
    await expiry.$eval('#expiry', (it) => { it.focus(); it.select(); });
    await page.keyboard.type(typed);
    assert.equal(await shown(expiry, 'expiry'), expected, typed);
  }
  await press('Backspace');
  assert.equal(await shown(expiry, 'expiry'), '0|', 'the separator goes with the digit before it');
  await h.closePage(page);
};

const checkCombined = async (h) => {
  const { page, shop } = await open(h, { names: ['card'], width: 'phone' });
  const frame = await fieldFrame(page, 'card', 'number');
  await frame.focus('#number');
  // Without a Tab: each complete input passes the focus on.
  await page.keyboard.type(`${VISA.number}${VISA.expiry}${VISA.cvc}`);
  const values = await frame.$$eval('input', (inputs) => inputs.map((it) => it.value));
  assert.deepEqual(values, ['4111 1111 1111 1111', '11 / 30', '739']);
  for (let at = 0; at < 4; at += 1) await page.keyboard.press('Backspace');
  assert.equal(await frame.evaluate(() => document.activeElement.id), 'expiry');
  await page.keyboard.press('Tab');
  await page.keyboard.type(VISA.cvc);
  const { value } = await submit(h, page, 'token');
  assert.equal((await h.api('GET', `/tokens/${value.id}`)).body.data.number, VISA.number);
  await checkNoLeak(h, page, shop, [VISA.number]);
  await h.axe(page);
  await h.fitsSideways(page);
  await h.closePage(page);
};

const checkKeyboard = async (h) => {
  const { page } = await open(h, { options: { locale: 'de-AT', placeholders: { cvc: 'Drei Ziffern' } } });
  const stops = await h.keyboard.checkTabStops(page);
  assert.deepEqual(stops.map((stop) => stop.name), ['Kartennummer', 'Gültig bis', 'Prüfnummer', 'Pay']);
  await h.keyboard.tabTo(page, 'Kartennummer');
  await page.keyboard.type('4111111111111112');
  await page.keyboard.press('Tab');
  await page.keyboard.type('1020');
  await page.keyboard.press('Tab');
  const number = await fieldFrame(page, 'number');
  const expiry = await fieldFrame(page, 'expiry');
  const cvc = await fieldFrame(page, 'cvc');
  const error = (frame) => frame.$eval('#error', (it) => [it.getAttribute('aria-live'), it.textContent]);
  assert.deepEqual(await error(number), ['polite', 'Die Kartennummer ist ungültig.']);
  assert.deepEqual(await error(expiry), ['polite', 'Die Karte ist abgelaufen.']);
  assert.equal(await number.$eval('#number', (it) => it.getAttribute('aria-invalid')), 'true');
  assert.equal(await number.$eval('#number', (it) => it.getAttribute('aria-describedby')), 'error');
  assert.equal(await cvc.$eval('#cvc', (it) => it.placeholder), 'Drei Ziffern');
  assert.equal(await number.evaluate(() => document.documentElement.lang), 'de');
  const attributes = async (frame, input) => frame.$eval(`#${input}`, (it) => [it.autocomplete, it.inputMode]);
  assert.deepEqual(await attributes(number, 'number'), ['cc-number', 'numeric']);
  assert.deepEqual(await attributes(expiry, 'expiry'), ['cc-exp', 'numeric']);
  assert.deepEqual(await attributes(cvc, 'cvc'), ['cc-csc', 'numeric']);
  // The event names the error, and the request is not sent.
  const last = (await changes(page, 'expiry')).at(-1);
  assert.deepEqual([last.error, last.message], ['expired', 'Die Karte ist abgelaufen.']);
  const { error: refused } = await submit(h, page, 'token');
  assert.equal(refused.code, 'incomplete');
  assert.deepEqual(refused.fields, SEPARATE, 'in the order of the page');
  assert.equal(h.traffic(page).filter(({ method }) => method === 'POST').length, 0);
  await h.keyboard.focusReaches(page, 'Kartennummer');
  await h.closePage(page);
};

const STYLE = {
  base: { color: 'rgb(10, 20, 30)', fontSize: '20px' },
  invalid: { color: '#b00020' },
  placeholder: { color: 'rgb(90, 90, 90)' },
};

const checkLooks = async (h) => {
  for (const look of h.looks) {
    const { page } = await open(h, look);
    await fill(page, { ...VISA, number: '4111111111111112' });
    await click(page, 'h1');
    await h.until('the error', async () => (await changes(page, 'number')).at(-1).error === 'invalid');
    // A field has no ground of its own, and axe takes a white one for it.
    await h.axe(page, { except: look.scheme === 'dark' ? ['color-contrast'] : [] });
    await h.fitsSideways(page);
    await h.picture(page, `${look.width}-${look.scheme}`);
    await h.closePage(page);
  }
  const { page } = await open(h, { options: { style: STYLE } });
  const frame = await fieldFrame(page, 'expiry');
  const look = await frame.$eval('#expiry', (it) => {
    const { color, fontSize } = getComputedStyle(it);
    return [color, fontSize, getComputedStyle(it, '::placeholder').color];
  });
  assert.deepEqual(look, ['rgb(10, 20, 30)', '20px', 'rgb(90, 90, 90)']);
  await h.axe(page);
  await h.closePage(page);
};

/** Errors name the fields in the order of the page, also if the first frame is the last to be ready. */
const checkOrder = async (h) => {
  const { page } = await open(h, { names: [] });
  let release = null;
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (release === null && new URL(request.url()).pathname === '/fields/v1/field') release = () => request.continue();
    else request.continue();
  });
  await page.evaluate(() => { window.fields.cvc('#cvc').number('#number').expiry('#expiry'); });
  const shown = () => page.evaluate(() => window.seen.filter(({ data }) => data.strongroom === 'shown').map(({ data }) => data.field));
  await h.until('the other frames', async () => (await shown()).length === 2);
  assert.ok(!(await shown()).includes('cvc'));
  release();
  await ready(h, page);
  assert.deepEqual((await submit(h, page, 'token')).error.fields, ['cvc', 'number', 'expiry']);
  await h.until('the focus', () => page.evaluate(() => document.activeElement === document.querySelector('#cvc iframe')));
  await h.closePage(page);
};

/** What a page declares, and the schemes of its field while the customer's system is light and dark. */
const SCHEMES = [
  { head: '', light: 'light', dark: 'light' },
  { head: '<meta name="color-scheme" content="light">', light: 'light', dark: 'light' },
  { head: '<meta name="color-scheme" content="dark">', light: 'dark', dark: 'dark' },
  { head: '<meta name="color-scheme" content="light dark">', light: 'light', dark: 'dark' },
  { head: '<style>#number { color-scheme: dark; background: #111; }</style>', light: 'dark', dark: 'dark' },
  { head: '<style>body { background: #111; }</style>', options: { scheme: 'dark' }, light: 'dark', dark: 'dark' },
];

const checkSchemes = async (h, systems = ['light', 'dark']) => {
  for (const { head, options, ...expected } of SCHEMES) {
    for (const system of systems) {
      const { page } = await open(h, { head, options, names: ['number'], scheme: system });
      await fill(page, { number: VISA.number });
      const what = `${head} ${JSON.stringify(options)} in a ${system} system`;
      const box = await boxOf(page, '#number iframe');
      // The ground of the page shows through, and the digits can be read on it.
      await page.$eval('#number', (it) => { it.style.paddingTop = '4px'; });
      const beside = await lookAt(page, { ...box, width: 4, height: 2 });
      const inside = await lookAt(page, { ...box, y: box.y + 8 });
      assert.equal(inside.ground, beside.ground, what);
      assert.ok(inside.contrast > 7, `${what}: the contrast is ${inside.contrast}`);
      const isDark = Number(inside.ground.split(' ')[0]) < 128;
      assert.equal(isDark ? 'dark' : 'light', expected[system], what);
      await h.closePage(page);
    }
  }
};

const BOXES = `<style>#number, #expiry, #cvc { border: 1px solid #888; padding: 2px; }
#number[data-field-invalid] { border-color: rgb(200, 0, 0); }
.row { display: flex; gap: 8px; } .row > div { flex: 1; }</style>`;

/** An error leaves the box of its field as it is, and stands below it, also in a row of fields. */
const checkErrorsBelow = async (h) => {
  for (const isRow of [false, true]) {
    const { page } = await open(h, { head: BOXES, names: [] });
    if (isRow) {
      await page.evaluate(() => {
        const row = document.createElement('div');
        row.className = 'row';
        document.querySelector('#number').before(row);
        row.append(...['number', 'expiry', 'cvc'].map((name) => document.getElementById(name)));
      });
    }
    await page.evaluate(() => { window.fields.number('#number').expiry('#expiry').cvc('#cvc'); });
    await fill(page, { number: '4111111111111112', expiry: '1130' });
    const before = await boxOf(page, '#number');
    await h.until('the focus', () => page.$('#expiry[data-field-focus]'));
    const rings = await page.$$eval('main div', (all) => all.filter((it) => getComputedStyle(it).outlineStyle !== 'none').map((it) => it.id));
    assert.deepEqual(rings, ['expiry']);
    assert.equal(await (await fieldFrame(page, 'expiry')).$eval('#expiry', (it) => getComputedStyle(it).outlineStyle), 'none');
    await h.until('the error', () => page.$('#number[data-field-invalid]'));
    assert.deepEqual(await boxOf(page, '#number'), before, 'the box of the field keeps its size');
    const error = await page.$$eval('.strongroom-error', (all) => all.map((it) => [it.textContent, it.getBoundingClientRect().top]));
    const [text, top] = error.find(([it]) => it !== '');
    assert.equal(text, 'This is not a valid card number.');
    assert.ok(top >= before.y + before.height, 'the error is below the box');
    assert.equal(await page.$eval('#number', (it) => getComputedStyle(it).borderColor), 'rgb(200, 0, 0)');
    await h.picture(page, isRow ? 'errors-row' : 'errors');
    await page.evaluate(() => window.fields.destroy());
    assert.equal(await page.$('.strongroom-error, [data-field-focus], [data-field-invalid]'), null);
    await h.closePage(page);
  }
};

/** Without a listener, a refusal is an error in the browser's console. */
const checkUnheardErrors = async (h) => {
  const shop = await h.shop(shopHtml(h.vault, ''));
  const { key } = await publicKey(h.api, ['https://other.example']);
  const page = await h.openPage({ url: shop.origin });
  const lines = [];
  page.on('console', (line) => lines.push(line.text()));
  h.expectComplaint(page, /403|Strongroom card fields/);
  await page.evaluate((given) => { window.Strongroom.fields({ key: given }).number('#number'); }, key);
  await h.until('the line in the console', () => lines.some((line) => /^Strongroom card fields: .*allowed_origins/.test(line)));
  await h.closePage(page);
};

const checkRepeats = async (h) => {
  const { page } = await open(h);
  await fill(page, VISA);
  const twice = await page.evaluate(() => Promise.all([window.fields.createToken(), window.fields.createToken()]));
  const again = (await submit(h, page, 'token')).value;
  assert.deepEqual(new Set([...twice, again].map((it) => it.id)).size, 1, 'the same card is one token');
  const other = (await submit(h, page, 'token', { metadata: { order: '2' } })).value;
  assert.notEqual(other.id, again.id);
  // The vault is away: the values stay, and the next attempt is the same request.
  h.expectComplaint(page, /ERR_FAILED|\/tokens/);
  let isAway = true;
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    const isRefused = isAway && request.method() === 'POST';
    return isRefused ? request.abort('failed') : request.continue();
  });
  const { error } = await submit(h, page, 'token', { metadata: { order: '3' } });
  assert.equal(error.code, 'unreachable');
  isAway = false;
  const { value } = await submit(h, page, 'token', { metadata: { order: '3' } });
  assert.equal(value.card.last4, '1111');
  const keys = h.traffic(page).filter(({ body }) => body?.includes('"order":"3"')).map(({ headers }) => headers['bt-idempotency-key']);
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
  await h.closePage(page);
};

const checkRefusals = async (h) => {
  const vault = await h.startVault(['--tenant-type', 'production']);
  const { page } = await open(h, { vault });
  h.expectComplaint(page, /400/);
  // A card of the 3DS simulator, whose check digit is wrong: a production tenant does not take it.
  await fill(page, { ...VISA, number: '4100000000000003' });
  const { error } = await submit(h, page, 'token');
  assert.deepEqual([error.code, error.status, error.fields], ['refused', 400, ['number']]);
  assert.ok(error.traceId.length > 0);
  assert.ok(!JSON.stringify(error).includes('4100000000000003'));
  const frame = await fieldFrame(page, 'number');
  await h.until('the error in the field', () => frame.$eval('#error', (it) => it.textContent !== ''));
  assert.equal(await frame.$eval('#error', (it) => it.textContent), 'The card number was not accepted.');
  await h.closePage(page);
};

/** The two directives that the manual names are enough; the page's own script and style are inline. */
const checkPolicy = async (h) => {
  const policy = `default-src 'none'; script-src ${h.vault.url} 'unsafe-inline'; frame-src ${h.vault.url}; style-src 'unsafe-inline'`;
  const { page } = await open(h, { headers: { 'Content-Security-Policy': policy } });
  await fill(page, VISA);
  assert.equal((await submit(h, page, 'intent')).value.card.last4, '1111');
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('a typed card becomes an intent and a token, and the shop never sees it', () => checkCard(h));
  await h.step('the key of a session', () => checkSession(h));
  await h.step('events say the state and not the length', () => checkEvents(h));
  await h.step('typing and pasting', () => checkTyping(h));
  await h.step('the combined field on a phone', () => checkCombined(h));
  await h.step('the keyboard alone, in German', () => checkKeyboard(h));
  await h.step('every look', () => checkLooks(h));
  await h.step('the order of the fields in errors', () => checkOrder(h));
  await h.step('the colours of the page they are in', () => checkSchemes(h));
  await h.step('errors below the box, and one focus ring', () => checkErrorsBelow(h));
  await h.step('errors without a listener', () => checkUnheardErrors(h));
  await h.step('repeats and a vault that is away', () => checkRepeats(h));
  await h.step('refusals of the vault', () => checkRefusals(h));
  await h.step('a shop with a policy of its own', () => checkPolicy(h));
};

/** The part that the tests also run in Firefox, whose protocol does not tell the keyboard's focus. */
export const core = async (h) => {
  await h.step('a typed card becomes an intent and a token, and the shop never sees it', () => checkCard(h));
  await h.step('typing and pasting', () => checkTyping(h));
  await h.step('the order of the fields in errors', () => checkOrder(h));
  await h.step('the colours of the page they are in', () => checkSchemes(h, ['light']));
  await h.step('errors below the box, and one focus ring', () => checkErrorsBelow(h));
};
