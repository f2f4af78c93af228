// A shop's page that attacks its card fields: pages of origins that are not allowed, forged messages,
// options and styles that would leak, and frames that are led away. The page learns nothing.
import assert from 'node:assert/strict';
import { checkNoLeak, fieldFrame, fill, publicKey, ready, shopHtml } from '../lib/fields.js';

export const name = 'fields-hostile';

const CARD = { number: '378282246310005', expiry: '1130', cvc: '7391' };
const NAMES = ['number', 'expiry', 'cvc'];

/** A page of the shop's origin that records the messages of other origins, and answers each with a forgery. */
const EVIL = `<!doctype html><title>Evil</title><script>
addEventListener('message', (event) => {
  if (event.origin === location.origin) return;
  parent.caught.push(event.data);
  event.source.postMessage({ strongroom: 'values', ask: event.data.ask, field: 'number', values: {} }, '*');
});
</script>`;
const FILES = { '/evil': { type: 'text/html', text: EVIL } };

const open = async (h, { origins, options = {}, names = NAMES } = {}) => {
  const shop = await h.shop(shopHtml(h.vault, 'window.caught = [];'), { files: FILES });
  const made = await publicKey(h.api, origins ?? [shop.origin]);
  const page = await h.openPage({ url: shop.origin });
  const settings = { key: made.key, locale: 'en', ...options };
  await page.evaluate((given, wanted) => { window.fields = window.mount(given, wanted); }, settings, names);
  return { shop, page, key: made.key, application: made.id };
};

const submit = (h, page, options) => h.within('the token', page.evaluate(
  (given) => window.attempt(window.fields.createToken(given)), options,
));

/** Every message of the protocol, from the page to every frame. */
const forgeMessages = (page, ownKey) => page.evaluate((key) => {
  const table = { digits: [1, 19], brands: {}, ranges: [], test_cards: [] };
  const forged = [
    { strongroom: 'collect', ask: 1 }, { strongroom: 'collect' }, { strongroom: 'values', ask: 1, field: 'number', values: {} },
    { strongroom: 'start', key, style: { base: { color: 'red' } } }, { strongroom: 'admit', table, texts: {}, style: [] },
    { strongroom: 'join', field: 'number' }, { strongroom: 'join', field: 'card' }, { strongroom: 'brand', brand: 'visa' },
    { strongroom: 'state', field: 'number', state: {} }, { strongroom: 'mark', parts: ['number'] }, { strongroom: 'refuse', text: 'x' },
    { strongroom: 'submit', id: 99, kind: 'token', options: { id: '{{ data.number }}' } },
    { strongroom: 'submit', id: 98, kind: '__proto__' }, { strongroom: 'constructor' }, { strongroom: '__proto__' },
    { strongroom: 'height', field: 'number', height: 1e9 }, 'text', 7, null, [], { strongroom: {} },
  ];
  for (let at = 0; at < window.frames.length; at += 1) {
    for (const message of forged) window.frames[at].postMessage(message, '*');
  }
  // The page may have its controller clear the fields, but not a field itself.
  for (const frame of document.querySelectorAll('div > iframe')) frame.contentWindow.postMessage({ strongroom: 'clear' }, '*');
}, ownKey);

const checkOtherOrigin = async (h) => {
  for (const origins of [['https://shop.example'], ['http://shop.localhost:1'], ['http://other.localhost:3000']]) {
    const { page } = await open(h, { origins });
    h.expectComplaint(page, /403/);
    const refusal = await h.until('the refusal', () => page.evaluate(() => window.events.find(({ event }) => event === 'error')));
    assert.equal(refusal.error.code, 'origin_not_allowed');
    assert.match(refusal.error.message, /allowed_origins/);
    for (const field of NAMES) {
      const frame = await page.waitForFrame((it) => it.url().includes(`#${field}.`));
      await h.until('the notice', () => frame.$('#refusal'));
    }
    await forgeMessages(page, h.vault.keys.public);
    const { error } = await submit(h, page);
    assert.equal(error.code, 'origin_not_allowed');
    for (const field of NAMES) {
      const frame = await page.waitForFrame((it) => it.url().includes(`#${field}.`));
      assert.equal(await frame.$('input'), null, 'a refused page has no input, whatever it sends');
    }
    assert.equal(h.traffic(page).filter(({ method }) => method === 'POST').length, 0);
    await h.closePage(page);
  }
};

const checkWrongKeys = async (h) => {
  const keys = [['private', 'not_permitted'], ['management', 'not_permitted'], ['key_test_self_pub_4WbQfP5hKXe9Bb2xM3Wn7a', 'key_invalid']];
  for (const [key, code] of keys) {
    const { page } = await open(h, { options: { key: h.vault.keys[key] ?? key } });
    h.expectComplaint(page, /40[13]/);
    const refusal = await h.until('the refusal', () => page.evaluate(() => window.events.find(({ event }) => event === 'error')));
    assert.equal(refusal.error.code, code, key);
    await h.closePage(page);
  }
};

const checkForgedMessages = async (h) => {
  const { page, shop, application } = await open(h);
  await ready(h, page);
  await fill(page, CARD);
  const evil = await publicKey(h.api, [shop.origin]);
  await forgeMessages(page, evil.key);
  // A frame of the shop's own origin beside the fields speaks to them as well.
  await page.evaluate(() => new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.src = '/evil';
    frame.onload = () => {
      for (let at = 0; at < window.frames.length; at += 1) {
        for (const strongroom of ['join', 'collect', 'values', 'state', 'shown']) {
          for (const field of ['number', 'card']) {
            const message = JSON.stringify({ strongroom, field, ask: 1, values: {} });
            frame.contentWindow.eval(`parent.frames[${at}].postMessage(${message}, '*')`);
          }
        }
      }
      done();
    };
    document.body.append(frame);
  }));
  const { value, error } = await submit(h, page);
  assert.equal(error, undefined, JSON.stringify(error));
  const stored = (await h.api('GET', `/tokens/${value.id}`)).body;
  assert.equal(stored.data.number, CARD.number);
  assert.equal(stored.created_by, application, 'the key of the second start is not used');
  const answers = await page.evaluate(() => window.seen.filter(({ data }) => data.strongroom === 'answer').map(({ data }) => data));
  assert.deepEqual(answers.filter(({ id }) => id === 98), []);
  assert.equal(answers.find(({ id }) => id === 99).error.code, 'bad_option');
  assert.deepEqual(await page.evaluate(() => window.caught), [], 'no frame of the shop got a message');
  await checkNoLeak(h, page, shop, [CARD.number, CARD.cvc]);
  await h.closePage(page);
};

const ATTACKS = [
  { id: '{{ data.number }}' },
  { mask: { number: '{{ data.number }}' } },
  { fingerprint_expression: '{{ data.number }}' },
  { search_indexes: ['{{ data.number }}'] },
  { type: 'token' },
  { data: '{{ data.number }}' },
  { token_intent_id: 'x' },
  { containers: ['/general/'] },
  { containers: ['/pci/', '/'] },
];

const checkOptions = async (h) => {
  const { page, shop } = await open(h);
  await ready(h, page);
  await fill(page, CARD);
  for (const attack of ATTACKS) {
    const { error } = await submit(h, page, attack);
    assert.equal(error?.code, 'bad_option', JSON.stringify(attack));
  }
  // The vault does not evaluate the options that are taken.
  const { value } = await submit(h, page, { metadata: { a: '{{ data.number }}', b: '{{ data.cvc }}' } });
  assert.deepEqual(value.metadata, { a: '{{ data.number }}', b: '{{ data.cvc }}' });
  h.expectComplaint(page, /400/);
  for (const refused of [{ containers: ['/pci/{{ data.number }}/'] }, { expires_at: '{{ data.number }}' }]) {
    assert.equal((await submit(h, page, refused)).error.code, 'refused');
  }
  for (const hidden of ['data', 'mask', 'fingerprint', 'fingerprint_expression', 'search_indexes']) {
    assert.equal(hidden in value, false, hidden);
  }
  assert.equal('bin' in value.card, false);
  await checkNoLeak(h, page, shop, [CARD.number, CARD.cvc]);
  await h.closePage(page);
};

const checkStyleAndTexts = async (h) => {
  const url = 'url(https://evil.example/pixel)';
  const style = {
    base: { backgroundImage: url, background: url, color: `red; background: ${url}`, fontFamily: url, content: url },
    'input[value^="4"]': { color: 'red' },
    focus: { 'background-color': 'rgb(1, 2, 3)' },
  };
  const texts = { label_number: '<img src=x onerror=alert(1)>', placeholder_number: '<b>x</b>' };
  const { page } = await open(h, { options: { style, texts } });
  await ready(h, page);
  const frame = await fieldFrame(page, 'number');
  await frame.focus('#number');
  const look = await frame.$eval('#number', (it) => {
    const { backgroundImage, backgroundColor, color } = getComputedStyle(it);
    return { backgroundImage, backgroundColor, isRed: color === 'rgb(255, 0, 0)' };
  });
  assert.deepEqual(look, { backgroundImage: 'none', backgroundColor: 'rgb(1, 2, 3)', isRed: false });
  assert.equal(await frame.$eval('label', (it) => it.textContent), texts.label_number);
  assert.equal(await frame.$('img'), null);
  assert.ok(h.traffic(page).every(({ url: asked }) => !asked.includes('evil.example')));
  await h.closePage(page);
};

const checkFieldLedAway = async (h) => {
  const { page, shop } = await open(h);
  h.expectComplaint(page, /Failed to execute 'postMessage'|does not match the recipient/);
  await ready(h, page);
  await fill(page, CARD);
  await page.evaluate(() => new Promise((done) => {
    const frame = document.querySelector('#number iframe');
    frame.onload = done;
    frame.src = '/evil';
  }));
  const { error } = await submit(h, page);
  assert.equal(error.code, 'fields_missing');
  assert.deepEqual(await page.evaluate(() => window.caught), []);
  await checkNoLeak(h, page, shop, [CARD.number, CARD.cvc]);
  await h.closePage(page);
};

const checkControllerLedAway = async (h) => {
  const { page, shop } = await open(h);
  h.expectComplaint(page, /Failed to execute 'postMessage'|does not match the recipient/);
  await ready(h, page);
  await fill(page, { number: CARD.number, cvc: CARD.cvc });
  await page.evaluate(() => new Promise((done) => {
    const frame = [...document.querySelectorAll('iframe')].find((it) => it.src.endsWith('/controller'));
    frame.addEventListener('load', done);
    frame.src = '/evil';
  }));
  // The fields go on to speak to the window that held their controller.
  await (await fieldFrame(page, 'expiry')).type('#expiry', CARD.expiry);
  const { error } = await submit(h, page);
  assert.equal(error.code, 'controller_gone');
  assert.deepEqual(await page.evaluate(() => window.caught), []);
  await checkNoLeak(h, page, shop, [CARD.number, CARD.cvc]);
  await h.closePage(page);
};

/** The frames by themselves, and inside a page without an origin. */
const checkAlone = async (h) => {
  for (const path of ['field#number', 'controller']) {
    const page = await h.openPage({ url: `${h.vault.url}/fields/v1/${path}` });
    assert.equal(await page.$('input'), null);
    await h.closePage(page);
  }
  const { page, shop } = await open(h, { names: [] });
  const html = shopHtml(h.vault, `window.fields = window.mount({ key: 'key_test_self_pub_4WbQfP5hKXe9Bb2xM3Wn7a' }, ['number']);`);
  await page.evaluate((text) => {
    const frame = document.createElement('iframe');
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.srcdoc = text;
    document.body.append(frame);
  }, html.replaceAll('JSON.stringify({ ...localStorage })', '""'));
  const field = await page.waitForFrame((it) => it.url().includes('#number.'));
  await h.until('the loaded field', () => field.evaluate(() => document.readyState === 'complete'));
  assert.equal(await field.$('input'), null, 'a page without an origin has no input');
  await checkNoLeak(h, page, shop, [CARD.number]);
  h.expectComplaint(page, /./);
  await h.closePage(page);
};

/** A Visa number whose first thirteen digits are a valid number as well. */
const LONG = '4539280755920048';

/** A page that acts after every key. */
const typeBeside = async (page, text, act) => {
  const frame = await fieldFrame(page, 'number');
  for (const key of text) {
    await frame.type('#number', key);
    await act();
  }
};

const changes = (page) => page.evaluate(() => window.events.filter(({ event }) => event === 'change').length);

const checkHalfTyped = async (h) => {
  const { page, shop } = await open(h, { names: ['number'] });
  await ready(h, page);
  await typeBeside(page, LONG.slice(0, 13), () => {});
  const early = await submit(h, page);
  assert.equal(early.error?.code, 'incomplete', 'the beginning of a number has no token');
  // The page takes the focus away, so that the field takes the beginning for a whole number.
  await page.evaluate(() => { document.activeElement.blur(); document.querySelector('#pay').focus(); });
  await h.until('the loss of the focus', () => page.evaluate(() => window.events.some(({ event }) => event === 'blur')));
  const taken = await submit(h, page);
  assert.equal(taken.value?.card.last4, LONG.slice(9, 13));
  await typeBeside(page, LONG.slice(13), () => {});
  const late = await submit(h, page);
  assert.equal(late.error?.code, 'too_many_numbers', 'a page learns the end of one number only');
  await checkNoLeak(h, page, shop, [LONG]);
  await h.closePage(page);
};

const checkKeystrokes = async (h) => {
  const { page } = await open(h, { names: ['number'] });
  await ready(h, page);
  const before = await changes(page);
  // Each submit of an incomplete field would show an error, which the next key would remove.
  await typeBeside(page, LONG, () => submit(h, page));
  const seen = await changes(page) - before;
  assert.ok(seen <= 4, `the page saw ${seen} changes while 16 keys were typed`);
  await h.closePage(page);
};

const checkClearing = async (h) => {
  const { page } = await open(h, { names: ['number'] });
  await ready(h, page);
  await typeBeside(page, LONG, () => page.evaluate(() => window.fields.clear()));
  const { value } = await submit(h, page);
  assert.equal(value?.card.last4, '0048', 'a page cannot clear a field while a person types');
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('a half-typed number', () => checkHalfTyped(h));
  await h.step('keystrokes cannot be counted', () => checkKeystrokes(h));
  await h.step('a field that is cleared while typing', () => checkClearing(h));
  await h.step('a page of another origin is refused', () => checkOtherOrigin(h));
  await h.step('keys that do not belong into a page are refused', () => checkWrongKeys(h));
  await h.step('forged messages', () => checkForgedMessages(h));
  await h.step('options that would leak', () => checkOptions(h));
  await h.step('styles and texts', () => checkStyleAndTexts(h));
  await h.step('a field is led away', () => checkFieldLedAway(h));
  await h.step('the controller is led away', () => checkControllerLedAway(h));
  await h.step('frames without a page', () => checkAlone(h));
};
