// Shops with the published Elements packages, on a name that leads to the vault.
import assert from 'node:assert/strict';
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
