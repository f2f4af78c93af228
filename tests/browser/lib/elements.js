// Shops with the published Elements packages, on a name that leads to the vault.
import assert from 'node:assert/strict';
import { publicKey } from './fields.js';
import { until } from './wait.js';

export const DOMAIN = 'pay.shop.test';
export const CARD = { number: '4242424242424242', expiry: '1131', cvc: '739' };

const HEAD = '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Shop</title>';

/** A page with places for elements, which records everything that its scripts can see. */
export const elementsHtml = (script, { places = ['card', 'number', 'expiry', 'cvc', 'name', 'other', 'root'], head = HEAD } = {}) => `<!doctype html>
<html lang="en"><head>${head}</head><body><main><h1>Shop</h1>
${places.map((id) => `<div id="${id}"></div>`).join('\n')}
<button id="pay">Pay</button></main>
<script>
window.seen = [];
window.events = [];
addEventListener('message', (event) => window.seen.push({ origin: event.origin, data: event.data }));
window.record = (element) => {
  for (const type of ['ready', 'change', 'focus', 'blur', 'keydown']) element.on(type, (event) => window.events.push({ ...event, of: element.targetId }));
  return element;
};
window.attempt = async (act) => {
  try {
    return { value: await act() };
  } catch (error) {
    const { name, message, status, data, details, validation } = error;
    return { error: { name, message, status, data, details, validation } };
  }
};
</script>${script}</body></html>`;

/** The frame of a kind of element, with its input. */
export const elementFrame = async (page, kind, { input = kind, at = 0 } = {}) => {
  const isIt = (frame) => frame.url().includes(`/fields/v1/field#${kind}.`);
  const frame = await until(`the element ${kind}`, async () => page.frames().filter(isIt)[at]);
  await frame.waitForSelector(`#${input}, button`);
  return frame;
};

export const typeCard = async (page, { number, expiry, cvc }) => {
  const frame = await elementFrame(page, 'card', { input: 'number' });
  await frame.type('#number', number);
  await frame.type('#expiry', expiry);
  await frame.type('#cvc', cvc);
};

export const typeParts = async (page, { number, expiry, cvc }) => {
  for (const [kind, text] of Object.entries({ number, expiry, cvc })) {
    if (text !== undefined) await (await elementFrame(page, kind)).type(`#${kind}`, text);
  }
};

export const lastChange = (page, of) => page.evaluate((id) => window.events.filter((it) => it.type === 'change' && it.of === id).at(-1) ?? null, of);

export const succeeds = ({ value, error }) => {
  assert.equal(error, undefined, JSON.stringify(error));
  return value;
};

/** Calls the page's script with `bt` and its elements `el`. */
export const attempt = (h, page, source) => h.within(source, page.evaluate(
  (text) => window.attempt(() => new Function('bt', 'el', `return ${text}`)(window.bt, window.el)), source,
));

/** A shop with a script tag and these elements, each mounted into the place of its name. */
export const openTagged = async (h, elements, { vault = h.vault, api = h.api, key, origins, page: looks, head } = {}) => {
  const files = { '/evil': { type: 'text/html', text: EVIL } };
  const shop = await h.shop(elementsHtml(`<script>window.caught = [];</script><script src="${vault.url}/web-elements/latest/index.js"></script><script src="/shop.js"></script>`, { head }), { files });
  const made = await publicKey(api, origins ?? [shop.origin], ['token:create', 'token:update', 'token-intent:create']);
  const list = Object.entries(elements).map(([id, call]) => `${id}: window.record(${call})`).join(', ');
  const program = `(async () => {
    const bt = await basistheory(${JSON.stringify(key ?? made.key)});
    window.bt = bt;
    window.el = { ${list} };
    await Promise.all(Object.entries(window.el).map(([id, element]) => element.mount('#' + id)));
    window.isReady = true;
  })().catch(({ name, message }) => { window.failure = { name, message }; });`;
  files['/shop.js'] = { type: 'text/javascript', text: program };
  const page = await h.openPage({ url: shop.origin, ...looks });
  const found = await h.until('the elements', () => page.evaluate(() => window.isReady || window.failure));
  return { shop, page, key: made.key, application: made.id, failure: found === true ? null : found };
};

/** A page of the shop's origin that records the messages of other origins, and answers each with a forgery. */
const EVIL = `<!doctype html><title>Evil</title><script>
addEventListener('message', (event) => {
  if (event.origin === location.origin) return;
  parent.caught.push(event.data);
  event.source.postMessage({ strongroom: 'values', ask: event.data.ask, field: 'e1', values: {} }, '*');
});
</script>`;
