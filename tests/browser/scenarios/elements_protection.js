// A hostile page whose session may reveal the container `/general/` tries each way to get a typed card there.
// The values of card elements stay below `/pci/`: the frames refuse, and the vault does.
import assert from 'node:assert/strict';
import { CARD, attempt, elementFrame, openTagged, succeeds, typeParts } from '../lib/elements.js';
import { checkNoLeak, fill, ready, shopHtml } from '../lib/fields.js';

export const name = 'elements-protection';

const ELEMENTS = {
  number: "bt.createElement('cardNumber', { targetId: 'number' })",
  expiry: "bt.createElement('cardExpirationDate', { targetId: 'expiry' })",
  cvc: "bt.createElement('cardVerificationCode', { targetId: 'cvc' })",
  name: "bt.createElement('text', { targetId: 'name', 'aria-label': 'Name' })",
  other: "bt.createElement('text', { targetId: 'other', 'aria-label': 'Other' })",
};
const DATA = '{ number: el.number, expiration_month: el.expiry.month(), expiration_year: el.expiry.year(), cvc: el.cvc }';
const SECRETS = [CARD.number, '731'];
const CREATES = ['token:create', 'token:update'];

/** A page with a typed card, the public key, and a session that may reveal `/general/` and write everywhere. */
const start = async (h) => {
  const listed = await h.host();
  const vault = await h.startVault(['--elements-host', listed.host]);
  const api = h.apiOf(vault);
  const opened = await openTagged(h, ELEMENTS, { vault, api });
  const { page, shop, key } = opened;
  await typeParts(page, { ...CARD, cvc: '731' });
  await (await elementFrame(page, 'text')).type('#text', 'Katherine');
  await page.focus('#pay');
  const { nonce, sessionKey } = succeeds(await attempt(h, page, 'bt.sessions.create()'));
  const rules = [
    { priority: 1, transform: 'reveal', permissions: ['token:read', ...CREATES], container: '/general/' },
    { priority: 2, transform: 'redact', permissions: CREATES, container: '/' },
  ];
  assert.equal((await api('POST', '/sessions/authorize', { nonce, rules })).status, 200);
  /** Sends as the page itself, with each of its keys. */
  const asPage = (method, path, body) => Promise.all([key, sessionKey].map((apiKey) => page.evaluate(async (request) => {
    const headers = { 'BT-API-KEY': request.apiKey, 'Content-Type': request.method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const answer = await fetch(request.url, { method: request.method, headers, body: request.body && JSON.stringify(request.body) });
    return { status: answer.status, body: await answer.json() };
  }, { url: vault.url + path, method, apiKey, body })));
  const statuses = async (...request) => (await asPage(...request)).map(({ status }) => status);
  /** The session sees what is in the container, and no card is in it. */
  const checkStored = async () => {
    const { body: { data } } = await api('GET', '/tokens?size=100');
    const outside = data.filter(({ containers }) => !containers.every((it) => it.startsWith('/pci/')));
    for (const { id } of outside) {
      const stored = JSON.stringify((await api('GET', `/tokens/${id}`)).body);
      for (const secret of SECRETS) assert.ok(!stored.includes(secret), `${id} is outside of /pci/ and has ${secret}`);
    }
    await checkNoLeak({ ...h, vault }, page, shop, SECRETS, [vault.url, `https://${listed.host}/`]);
    return outside.length;
  };
  return { ...opened, vault, api, listed, sessionKey, statuses, asPage, checkStored };
};

const refusedCalls = (h, page, calls) => Promise.all(calls.map(async (call) => {
  assert.equal((await attempt(h, page, call)).error?.name, 'BasisTheoryConfigurationError', call);
}));

const checkFrames = async (h) => {
  const { page, sessionKey, api, checkStored } = await start(h);
  const { body: { key_id: id, public_key_pem: pem } } = await api('POST', '/keys', {}, 'management');
  const sealed = (requests) => `bt.tokens.encrypt({ tokenRequests: ${requests}, keyId: '${id}', publicKeyPem: ${JSON.stringify(pem)} })`;
  const calls = [
    "bt.tokens.create({ type: 'token', data: el.number })",
    "bt.tokens.create({ type: 'token', data: { deep: [el.expiry] } })",
    `bt.tokens.create({ type: 'card', data: ${DATA}, containers: ['/general/'] })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, containers: ['/pci/', '/general/'] })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, privacy: { classification: 'general' } })`,
    `bt.tokens.create({ type: 'card', data: ${DATA}, containers: ['/general/'] }, { apiKey: '${sessionKey}' })`,
    "bt.tokens.create({ type: 'token', data: { cvc: el.cvc }, containers: ['/pci/'] })",
    "bt.tokens.create({ type: 'card', data: { number: el.number, note: el.cvc } })",
    "bt.tokenIntents.create({ type: 'token', data: el.number })",
    'bt.tokenize(el.number)',
    'bt.tokenize({ a: [el.number] })',
    "bt.tokenize({ a: { type: 'token', data: el.number } })",
    `bt.tokenize({ a: { type: 'card', data: ${DATA}, containers: ['/general/'] }, b: el.name })`,
    sealed("{ type: 'token', data: el.number }"),
    sealed("{ a: { type: 'card', data: { number: el.number } }, b: { type: 'token', data: { n: el.cvc } } }"),
  ];
  await refusedCalls(h, page, calls);
  // Messages of the page's own, with members that vanish on the way to the vault.
  const element = { 'strongroom:element': 'e1' };
  const forged = await page.evaluate((messages) => {
    const at = [...document.querySelectorAll('iframe')].find(({ src }) => src.endsWith('/controller'));
    messages.forEach(({ service, model, gone }, index) => {
      for (const member of gone) model[member] = undefined;
      at.contentWindow.postMessage({ strongroom: 'serve', id: 900 + index, service, input: { id: 'x', model } }, '*');
    });
    return messages.length;
  }, [
    { service: 'tokenize', model: { data: element }, gone: ['type'] },
    { service: 'tokenize', model: { data: element, containers: ['/pci/'] }, gone: ['type'] },
    { service: 'tokens.create', model: { data: element }, gone: ['type'] },
  ]);
  for (let index = 0; index < forged; index += 1) {
    const find = (id) => window.seen.find(({ data }) => data.strongroom === 'answer' && data.id === id)?.data;
    const answer = await h.until('the answer', () => page.evaluate(find, 900 + index));
    assert.equal(answer.error?.name, 'BasisTheoryConfigurationError', JSON.stringify(answer));
  }
  assert.equal(await checkStored(), 0, 'nothing was stored outside of /pci/');
  // A text beside a card goes where texts go.
  const both = succeeds(await attempt(h, page, `bt.tokenize({ card: { type: 'card', data: ${DATA} }, name: el.name })`));
  assert.deepEqual([both.card.containers, (await api('GET', `/tokens/${both.name}`)).body.containers], [['/pci/high/'], ['/general/high/']]);
  assert.equal(await checkStored(), 1);
  await h.closePage(page);
};

/** What the frames let through, the page tries to move afterwards. */
const checkVault = async (h) => {
  const { page, api, statuses, checkStored } = await start(h);
  h.expectComplaint(page, /40[03]/);
  const intent = succeeds(await attempt(h, page, `bt.tokenIntents.create({ type: 'card', data: ${DATA} })`));
  const moved = { token_intent_id: intent.id, containers: ['/general/'] };
  assert.deepEqual(await statuses('POST', '/tokens', moved), [403, 403]);
  assert.deepEqual(await statuses('POST', '/tokenize', { a: moved }), [403, 403]);
  const token = succeeds(await attempt(h, page, `bt.tokens.create({ type: 'card', data: ${DATA} })`));
  assert.deepEqual(await statuses('PATCH', `/tokens/${token.id}`, { containers: ['/general/'] }), [403, 403]);
  const shape = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: { n: el.number }, containers: ['/pci/'] })"));
  assert.deepEqual(await statuses('PATCH', `/tokens/${shape.id}`, { containers: null }), [403, 403]);
  const { body: { key_id: id, public_key_pem: pem } } = await api('POST', '/keys', {}, 'management');
  const sealed = succeeds(await attempt(h, page, `bt.tokens.encrypt({ tokenRequests: { type: 'card', data: ${DATA} }, keyId: '${id}', publicKeyPem: ${JSON.stringify(pem)} })`));
  assert.deepEqual(await statuses('POST', '/tokens', { ...sealed, containers: ['/general/'] }), [403, 403]);
  assert.deepEqual(await statuses('POST', '/tokens', { ...sealed, type: 'token' }), [400, 400]);
  // The frames do not know where a token is. The vault does.
  const general = succeeds(await attempt(h, page, "bt.tokens.create({ type: 'token', data: { n: el.name } })"));
  const late = await attempt(h, page, `bt.tokens.update('${general.id}', { data: { n: el.number } })`);
  assert.deepEqual([late.error?.status, Object.keys(late.error.data.errors)], [400, ['containers']]);
  const code = await attempt(h, page, `bt.tokens.update('${shape.id}', { data: { cvc: el.cvc } })`);
  assert.deepEqual([code.error?.status, Object.keys(code.error.data.errors)], [400, ['data.cvc']]);
  assert.equal(await checkStored(), 1);
  await h.closePage(page);
};

/** A host repeats the card, and the page puts the answer into a text. */
const checkEcho = async (h) => {
  const { page, listed, checkStored } = await start(h);
  succeeds(await attempt(h, page, `(async () => { window.answer = await bt.client.post('https://${listed.host}/', { number: el.number }); return null; })()`));
  // The text is filled while the request collects it.
  const race = await attempt(h, page, "(async () => { const request = bt.tokens.create({ type: 'token', data: el.name }); el.name.setValue(window.answer.sent.number); return request; })()");
  if (race.error) assert.match(race.error.message, /below \/pci\//);
  await page.evaluate(() => { window.el.other.setValueRef(window.el.name); });
  for (const at of [0, 1]) {
    const shown = await elementFrame(page, 'text', { at });
    await h.until('the number', async () => (await shown.$eval('#text', (it) => it.value)) === CARD.number);
  }
  await refusedCalls(h, page, ['name', 'other'].flatMap((id) => [
    `bt.tokens.create({ type: 'token', data: el.${id} })`, `bt.tokenize({ a: el.${id} })`, `bt.tokens.create({ type: 'card', data: { number: el.${id} }, containers: ['/general/'] })`,
  ]));
  await checkStored();
  await h.closePage(page);
};

/** Hosted card fields keep the same rule. */
const checkFields = async (h) => {
  const mount = 'window.fields = window.mount({ key: KEY }, ["number", "expiry", "cvc"]);';
  const files = {};
  const shop = await h.shop(shopHtml(h.vault, '').replace('<script></script>', '<script src="/mount.js"></script>'), { files });
  const made = await h.api('POST', '/applications', { name: 'Shop', type: 'public', permissions: ['token:create'], allowed_origins: [shop.origin] }, 'management');
  files['/mount.js'] = { type: 'text/javascript', text: mount.replace('KEY', JSON.stringify(made.body.key)) };
  const page = await h.openPage({ url: shop.origin });
  await ready(h, page);
  await fill(page, { ...CARD, cvc: '731' });
  const submit = (containers) => page.evaluate((it) => window.attempt(window.fields.createToken({ containers: it })), containers);
  assert.equal((await submit(['/general/'])).error?.code, 'bad_option');
  assert.deepEqual((await submit(['/pci/shop/'])).value?.containers, ['/pci/shop/']);
  const sent = h.traffic(page).filter(({ method, url }) => method === 'POST' && url.endsWith('/tokens'));
  assert.equal(sent.length, 1);
  await checkNoLeak(h, page, shop, SECRETS);
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('the frames keep a card below /pci/', () => checkFrames(h));
  await h.step('the vault keeps a card below /pci/', () => checkVault(h));
  await h.step('an answer that repeats the card', () => checkEcho(h));
  await h.step('card fields keep a card below /pci/', () => checkFields(h));
};

/** The part that the tests also run in Firefox. */
export const core = async (h) => {
  await h.step('the frames keep a card below /pci/', () => checkFrames(h));
  await h.step('the vault keeps a card below /pci/', () => checkVault(h));
};
