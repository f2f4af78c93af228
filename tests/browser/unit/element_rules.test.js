// The one decision about requests with elements and their answers, as tables.
import assert from 'node:assert/strict';
import test from 'node:test';
import { modulesOf } from '../lib/modules.js';

const load = await modulesOf('fields');
const rules = await load('element_rules.js');
const { BadRequest, ELEMENT, admitEncryption, cleanElementOptions, elementsIn, fillElements, formatDate, isDateFormat, memberAt, networksOf, showAnswer, showBin, showProblem, styleOf } = rules;

const number = { [ELEMENT]: 'e1' };
const text = { [ELEMENT]: 'e2' };
const expiry = { [ELEMENT]: 'e5', method: 'month' };
const cvc = { [ELEMENT]: 'e6' };
const card = { [ELEMENT]: 'e3' };
const echo = { [ELEMENT]: 'e7' };
const kindOf = (id) => ({ e1: 'number', e2: 'text', e3: 'card', e5: 'expiry', e6: 'cvc', e7: 'echo' })[id];
const admitRequest = (service, input, hosts) => rules.admitRequest(service, input, kindOf, hosts);
const refer = () => (path) => ({ reference: path.join('.') });

test('a request with elements takes only members that the vault does not evaluate', () => {
  const taken = [
    {}, { metadata: { a: '{{ data.number }}' } }, { containers: ['/pci/'] }, { expiresAt: '2030-01-01' },
    { deduplicateToken: true }, { privacy: { impactLevel: 'high' } }, { mask: undefined, id: null }, { _debug: {} },
  ];
  const refused = [
    { id: '{{ data.number }}' }, { id: 'plain' }, { mask: { number: '{{ data.number }}' } }, { searchIndexes: ['{{ data.number }}'] },
    { search_indexes: [] }, { fingerprintExpression: '{{ data.number }}' }, { tokenIntentId: 'x' }, { encrypted: 'x' }, { token_intent_id: 'x' },
    { anything: 1 }, { __proto__x: 1 }, { metadata: { a: number } }, { metadata: number }, { containers: [number] }, { privacy: { a: number } },
    { encryption: { cek: number } }, { expiresAt: number }, { metadata: { a: { b: number } } },
  ];
  for (const service of ['tokens.create', 'tokens.update', 'tokenIntents.create']) {
    const ask = (members) => admitRequest(service, { id: 'x', model: { type: 'card', data: { number }, ...members } });
    for (const members of taken) assert.equal(ask(members).elements.length, 1, JSON.stringify(members));
    for (const members of refused) assert.throws(() => ask(members), BadRequest, `${service} ${JSON.stringify(members)}`);
  }
  for (const members of refused) {
    const model = { list: [{ card: { type: 'card', data: { number }, ...members } }] };
    assert.throws(() => admitRequest('tokenize', { model }), BadRequest, JSON.stringify(members));
  }
  assert.throws(() => admitRequest('tokens.create', { model: { type: number, data: 'x' } }), BadRequest);
  assert.throws(() => admitRequest('tokenize', { model: { token_intent_id: number, data: text } }), BadRequest);
  assert.throws(() => admitRequest('tokenize', { model: { encrypted: 'x', other: text } }), BadRequest);
});

const HEADER = 'Strongroom-Card-Elements';

test('values of card elements stay below /pci/', () => {
  const taken = [
    { type: 'card', data: card }, { type: 'card', data: { number, expiration_month: expiry, cvc } }, { type: 'card_number', data: number },
    { type: 'network_token', data: { number } }, { type: 'card', data: card, containers: ['/pci/', '/PCI/shop/'] }, { type: 'card', data: card, containers: [] },
    { type: 'token', data: { number, note: text }, containers: ['/pci/'] }, { type: 'token', data: echo, containers: ['/pci/'] },
    { type: 'token', data: number, privacy: { classification: 'pci' } }, { type: 'card', data: card, privacy: { impactLevel: 'low' } },
  ];
  const refused = [
    { type: 'token', data: number }, { type: 'token', data: { deep: [expiry] } }, { type: 'token', data: echo }, { type: 'social_security_number', data: number },
    { type: 'token', data: number, containers: [] }, { type: 'card', data: card, containers: ['/general/'] }, { type: 'card', data: card, containers: ['/'] },
    { type: 'card', data: card, containers: ['/pci/', '/general/'] }, { type: 'card', data: card, containers: ['/pcif/'] }, { type: 'card', data: card, containers: ['pci/'] },
    { type: 'card', data: card, privacy: { classification: 'general' } }, { type: 'card', data: card, privacy: { classification: 'PII' } },
    { type: 'token', data: cvc, containers: ['/pci/'] }, { type: 'token', data: { cvc }, containers: ['/pci/'] }, { type: 'network_token', data: { number, cvc } },
    { type: 'card', data: { number: cvc } }, { type: 'card', data: { number, cvc: { deep: cvc } } }, { type: 'card', data: { number: card } },
    { type: 'token', data: card, containers: ['/pci/'] }, { type: undefined, data: number }, { type: undefined, data: number, containers: ['/pci/'] }, { data: number },
  ];
  for (const model of taken) {
    assert.equal(admitRequest('tokens.create', { model }).headers[HEADER], 'true', JSON.stringify(model));
    assert.equal(admitRequest('tokenize', { model: { list: [{ model }] } }).headers[HEADER], '%24.list%5B0%5D.model', JSON.stringify(model));
  }
  for (const model of refused) {
    assert.throws(() => admitRequest('tokens.create', { model }), BadRequest, JSON.stringify(model));
    assert.throws(() => admitRequest('tokenize', { model: { list: [{ model }] } }), BadRequest, JSON.stringify(model));
  }
  for (const model of [number, { a: number }, [expiry], { a: [{ b: cvc }] }, card, echo]) {
    assert.throws(() => admitRequest('tokenize', { model }), /token request/, JSON.stringify(model));
  }
  // Texts go anywhere, also beside a card.
  for (const model of [{ type: 'token', data: text }, { type: 'card', data: { number: text }, containers: ['/general/'] }]) {
    assert.equal(HEADER in admitRequest('tokens.create', { model }).headers, false, JSON.stringify(model));
  }
  const mixed = { 'a, b': { type: 'card', data: card }, ssn: { type: 'social_security_number', data: text }, name: text };
  assert.equal(admitRequest('tokenize', { model: mixed }).headers[HEADER], '%24.a%2C%20b');
});

test('intents, patches and encrypted values of card elements stay below /pci/', () => {
  const intend = (model) => admitRequest('tokenIntents.create', { model });
  assert.equal(intend({ type: 'card', data: card }).headers[HEADER], 'true');
  for (const model of [{ type: 'token', data: number }, { type: 'bank', data: { account_number: number } }, { type: 'card_number', data: cvc }]) {
    assert.throws(() => intend(model), BadRequest, JSON.stringify(model));
  }
  const update = (model) => admitRequest('tokens.update', { id: 'x', model }).headers;
  // The vault knows the token that is there.
  for (const model of [{ data: { number } }, { data: { cvc } }, { data: card }, { data: { number }, containers: ['/pci/x/'] }]) {
    assert.equal(update(model)[HEADER], 'true', JSON.stringify(model));
  }
  for (const model of [{ data: { number }, containers: ['/general/'] }, { data: { n: cvc } }, { data: { n: card } }]) {
    assert.throws(() => update(model), BadRequest, JSON.stringify(model));
  }
  assert.equal(HEADER in update({ data: { text } }), false);
  const seal = (tokenRequests) => admitEncryption({ model: { tokenRequests } }, kindOf);
  for (const tokenRequests of [{ type: 'card', data: card }, { type: 'token', data: text }, { a: { type: 'card_number', data: number } }]) {
    assert.equal(seal(tokenRequests).elements.length, 1, JSON.stringify(tokenRequests));
  }
  for (const tokenRequests of [{ type: 'token', data: number }, { a: { type: 'card', data: card }, b: { type: 'token', data: { x: cvc } } }, { type: 'token', data: echo }]) {
    assert.throws(() => seal(tokenRequests), BadRequest, JSON.stringify(tokenRequests));
  }
});

test('the page cannot set the header of card elements', () => {
  const headers = { 'strongroom-card-elements': 'x', 'Strongroom-Card-Elements': 'y', ok: 'z' };
  assert.deepEqual(admitRequest('proxy', { method: 'POST', headers, body: {} }).headers, { ok: 'z' });
  assert.deepEqual(admitRequest('client', { method: 'POST', url: HOSTS[0], headers }, HOSTS).headers, { ok: 'z' });
  assert.deepEqual(admitRequest('tokens.create', { model: { type: 'token', data: 1 }, headers }).headers, {});
});

test('a request without elements is the page\'s own and passes as it is', () => {
  const model = { type: 'token', data: { myName: 1 }, searchIndexes: ['{{ data }}'], mask: { myName: 'x' } };
  const { body, elements } = admitRequest('tokens.create', { model });
  assert.deepEqual([body.search_indexes, body.data, body.mask, elements], [['{{ data }}'], { myName: 1 }, { myName: 'x' }, []]);
});

test('the page does not choose where values of elements go', () => {
  const ask = (input) => admitRequest('proxy', { method: 'POST', body: { card: number }, ...input });
  assert.deepEqual(ask({ headers: { 'BT-PROXY-KEY': 'k' }, path: '/a//b c', query: { q: '1' } }).path, 'proxy/a/b%20c?q=1');
  assert.deepEqual(ask({ path: 'a?b=1#c', query: { d: '2&3' } }).path, 'proxy/a?b=1&d=2%263');
  assert.deepEqual(['', '/', undefined, 'https://evil.example/x', '%252e%252e/tokens', '...', 'proxy'].map((path) => ask({ path }).path),
    ['proxy', 'proxy', 'proxy', 'proxy/https:/evil.example/x', 'proxy/%252e%252e/tokens', 'proxy/...', 'proxy/proxy']);
  assert.equal(ask({}).answer, 'hidden');
  const refused = [
    { headers: { 'BT-PROXY-URL': 'https://evil.example' } }, { headers: { 'bt-proxy-url': 'https://evil.example' } },
    { headers: { 'BT-EXPOSE-RAW-PROXY-RESPONSE': 'true' } }, { headers: { 'BT-ENCRYPTED': 'x' } },
    { headers: { a: number } }, { query: { a: number } }, { path: number }, { method: 'TRACE' },
  ];
  for (const input of refused) assert.throws(() => ask(input), BadRequest, JSON.stringify(input));
  const dots = ['..', '%2e%2e', '%2E.', '.%2e', '.\t.', '\n..', 'a/../..', 'a\\..\\..', '..\\'];
  for (const up of dots) {
    for (const path of [`${up}/tokens`, `/${up}/tokens`, `${up}/proxyx`]) assert.throws(() => ask({ path }), /dot segments/, path);
    assert.throws(() => admitRequest('proxy', { method: 'GET', path: `${up}/tokens` }), /dot segments/, 'without elements, too');
  }
  const open = admitRequest('proxy', { method: 'GET', headers: { 'BT-EXPOSE-RAW-PROXY-RESPONSE': 'true', 'BT-API-KEY': 'x', Cookie: 'y' } });
  assert.deepEqual([open.answer, Object.keys(open.headers)], ['open', ['BT-EXPOSE-RAW-PROXY-RESPONSE']]);
});

test('the vault evaluates no expression of the page over the value of an element', () => {
  const ask = (headers) => admitRequest('proxy', { method: 'POST', headers, body: { card: number } });
  for (const headers of [{ a: '{{ proxy.request.body | slice: 6, 1 }}' }, { 'Content-Type': 'a/{{' }]) assert.throws(() => ask(headers), BadRequest);
  for (const type of ['text/plain', '', 'application/x-www-form-urlencoded', 'application/json, text/plain', 'application/jsonp', 'text/json']) {
    assert.throws(() => ask({ 'content-type': type }), /is JSON/, type);
    assert.throws(() => ask({ 'Content-Type': 'application/json', 'content-type': type }), /is JSON/, type);
  }
  for (const type of ['application/json', 'application/vnd.api+json', 'Application/JSON; charset=utf-8']) {
    assert.deepEqual(ask({ 'content-type': type, 'CONTENT-TYPE': type, a: 'b' }).headers, { a: 'b', 'Content-Type': type }, 'sent once');
  }
  const own = { method: 'POST', headers: { a: '{{ proxy.request.body }}', 'content-type': 'text/plain' }, body: 'mine' };
  assert.deepEqual(admitRequest('proxy', own).headers, { a: '{{ proxy.request.body }}', 'Content-Type': 'text/plain' });
});

const HOSTS = ['https://cards.shop.example', 'https://cards.shop.example:8443'];

test('a request to another host goes to the listed hosts alone', () => {
  const ask = (input, hosts = HOSTS) => admitRequest('client', { method: 'POST', url: 'https://cards.shop.example/pay', body: { card: number }, ...input }, hosts);
  const taken = ask({ headers: { Authorization: 'a', 'X-Order': '7' } });
  assert.deepEqual([taken.url, taken.path, taken.answer, taken.elements.length], ['https://cards.shop.example/pay', undefined, 'hidden', 1]);
  assert.deepEqual(taken.headers, { Authorization: 'a', 'X-Order': '7' });
  for (const url of ['https://cards.shop.example:8443/', 'https://CARDS.shop.example', 'https://cards.shop.example:443/a?b=c#d', 'https:\\\\cards.shop.example/a']) {
    assert.ok(HOSTS.includes(new URL(ask({ url }).url).origin), url);
  }
  const refused = [
    'http://cards.shop.example/', 'https://evil.example/', 'https://cards.shop.example.evil.example/', 'https://evil.example/https://cards.shop.example',
    'https://cards.shop.example@evil.example/', 'https://user@cards.shop.example/', 'https://:x@cards.shop.example/', 'https://cards.shop.example:444/', 'https://xcards.shop.example/',
    'https://cards.shop.example./', 'wss://cards.shop.example/', 'blob:https://cards.shop.example/x', 'data:text/plain,x', 'javascript:1', '//cards.shop.example/', '/pay', '', 'https://',
    'https://cards.shop.example%2eevil.example/', 'https://cards.shop.example\\@evil.example:8443/x'.replace('\\', '%5c'), 7, null, ['https://cards.shop.example/'], number,
  ];
  for (const url of refused) assert.throws(() => ask({ url }), BadRequest, String(url));
  assert.throws(() => ask({}, []), /pages\.elements_hosts/);
  assert.throws(() => admitRequest('client', { method: 'POST', url: 'https://cards.shop.example' }), /proxy\.post/, 'no host is listed unless the operator did');
});

test('a request to another host has values in its body alone, and no key of the vault', () => {
  const ask = (input) => admitRequest('client', { method: 'POST', url: 'https://cards.shop.example/', ...input }, HOSTS);
  for (const input of [{ headers: { a: number } }, { headers: number }, { method: 'TRACE' }, { method: 'get' }, { method: number }, { method: undefined }]) {
    assert.throws(() => ask(input), BadRequest, JSON.stringify(input));
  }
  const { headers } = ask({ headers: { 'BT-API-KEY': 'k', 'bt-proxy-url': 'x', 'BT-IDEMPOTENCY-KEY': 'x', Cookie: 'c', Origin: 'o', 'Content-Type': 'text/plain', n: 7, ok: 'y' } });
  assert.deepEqual(headers, { ok: 'y' });
  for (const method of ['GET', 'DELETE']) assert.deepEqual([ask({ method, body: number }).body, ask({ method, body: number }).elements], [undefined, []]);
});

test('calls and elements that do not exist are refused', () => {
  for (const service of ['', 'constructor', '__proto__', 'client.post', 'tokens.encrypt']) {
    assert.throws(() => admitRequest(service, {}), BadRequest, service);
  }
  for (const marker of [{ [ELEMENT]: 'x' }, { [ELEMENT]: 7 }, { [ELEMENT]: 'e1', method: 'value' }, { [ELEMENT]: 'e1', method: 'format', format: 'MMMM {{ x }}' }]) {
    assert.throws(() => elementsIn({ data: marker }), BadRequest, JSON.stringify(marker));
  }
  for (const id of ['', 7, null, 'x'.repeat(401)]) assert.throws(() => admitRequest('tokens.retrieve', { id }), BadRequest);
  assert.equal(admitRequest('tokens.retrieve', { id: '../applications' }).path, 'tokens/..%2Fapplications');
  let deep = number;
  for (let at = 0; at < 30; at += 1) deep = { deep };
  assert.throws(() => admitRequest('tokens.create', { model: { type: 'token', data: deep } }), BadRequest);
});

const STORED = {
  id: 'i', type: 'card', tenant_id: 't', data: { number: '4242424242424242' }, mask: { number: '4242' }, fingerprint: 'f', _extras: { deduplicated: true },
  fingerprint_expression: 'x', search_indexes: ['4242424242424242'], metadata: { my_name: 'v' }, containers: ['/pci/'], created_at: 'c',
  card: { bin: '42424242', last4: '4242', brand: 'visa', expiration_month: 1, issuer: { name: 'Bank' }, additional: [{ brand: 'x', issuer: { name: 'y' } }] },
};

test('an answer to a request with elements has an outline of the token', () => {
  const ask = (data) => admitRequest('tokens.create', { model: { type: 'card', data } });
  const shown = showAnswer(ask({ number }), STORED, { refer, kindOf });
  assert.deepEqual(shown, {
    id: 'i', type: 'card', tenantId: 't', createdAt: 'c', metadata: { my_name: 'v' }, containers: ['/pci/'],
    card: { brand: 'visa', last4: '4242', expirationMonth: 1, additional: [{ brand: 'x' }] },
  });
  // A text element has a transform of the page's choice, which could bring any digits to the end.
  for (const data of [{ number: text }, text, { number: { deep: text } }]) {
    assert.equal('card' in showAnswer(ask(data), STORED, { refer, kindOf }), false, JSON.stringify(data));
  }
  assert.equal(showAnswer(ask({ number, cvc: text }), STORED, { refer, kindOf }).card.last4, '4242');
  const all = admitRequest('tokenize', { model: { a: { type: 'card', data: { number } }, b: { type: 'card', data: { number: text } }, c: text } });
  const answer = showAnswer(all, { a: STORED, b: STORED, c: 'id', d: 4242 }, { refer, kindOf });
  assert.deepEqual([answer.a.card.last4, answer.b.card, answer.c, answer.d], ['4242', undefined, 'id', null]);
  assert.ok(!JSON.stringify(answer).includes('42424242'));
});

test('values of answers are references', () => {
  const read = admitRequest('tokens.retrieve', { id: 'x' });
  const shown = showAnswer(read, STORED, { refer, kindOf });
  assert.deepEqual(shown.data, { number: { reference: 'number' } });
  const proxied = admitRequest('proxy', { method: 'POST', body: { number } });
  const answer = { list: [{ echo: '4242424242424242' }], '4242424242424242': 1, '4242-4242': 2, ok: true, none: null };
  const hidden = showAnswer(proxied, answer, { refer, kindOf });
  assert.deepEqual(hidden, { list: [{ echo: { reference: 'list.0.echo' } }], ok: { reference: 'ok' }, none: null });
  const elsewhere = admitRequest('client', { method: 'POST', url: HOSTS[0], body: { number } }, HOSTS);
  assert.deepEqual(showAnswer(elsewhere, answer, { refer, kindOf }), hidden, 'another host may repeat the number');
  const later = admitRequest('client', { method: 'GET', url: HOSTS[0] }, HOSTS);
  assert.deepEqual(showAnswer(later, { number: '4242424242424242', n: 7 }, { refer, kindOf }), { number: { reference: 'number' }, n: { reference: 'n' } });
  assert.equal(memberAt(answer, ['list', '0', 'echo']), '4242424242424242');
  for (const path of [['constructor'], ['list'], ['list', 'length', 'x'], ['__proto__']]) assert.equal(memberAt(answer, path), undefined);
});

test('a refusal after a request with elements has the vault\'s words alone', () => {
  const body = { title: 't', detail: 'd', errors: { 'data.number': ['x'] }, echo: '4242424242424242' };
  assert.deepEqual(showProblem(400, body, true), { title: 't', detail: 'd', errors: { 'data.number': ['x'] } });
  assert.deepEqual(showProblem(400, body, false), body);
});

test('values take the places of their elements', () => {
  const body = { a: [number, { b: { [ELEMENT]: 'e4', method: 'month' } }], c: 1 };
  assert.deepEqual(fillElements(body, ({ id, method }) => `${id}${method ?? ''}`), { a: ['e1', { b: 'e4month' }], c: 1 });
  assert.equal(formatDate('yyyy-MM', { month: 3, year: 2031 }), '2031-03');
  assert.equal(formatDate('M/yy', { month: 3, year: 2031 }), '3/31');
  for (const format of ['', 'MMM', 'dd', "'x'", 'MM\n', 7]) assert.equal(isDateFormat(format), false, String(format));
});

test('details of a BIN have no digits and no name of the issuer', () => {
  const details = { brand: 'Visa', funding: 'Debit', issuer: { name: 'Bank', country: 'FR' }, binRange: [{ binMin: '424242' }], additional: [{ brand: 'cartes-bancaires', binRange: [{}], issuer: { name: 'Bank' } }] };
  assert.deepEqual(showBin(details), { brand: 'Visa', funding: 'Debit', issuer: { country: 'FR' }, additional: [{ brand: 'cartes-bancaires' }] });
});

test('a card offers the networks that the page supports', () => {
  const details = { brand: 'Visa', additional: [{ brand: 'Cartes Bancaires' }, { brand: 'cartes_bancaires' }, { brand: 'dankort' }, { brand: 7 }, null] };
  assert.deepEqual(networksOf(details, ['cartes-bancaires']), ['visa', 'cartes-bancaires']);
  for (const [it, supported] of [[details, []], [details, ['bancontact']], [{ brand: 'Visa' }, ['dankort']], [null, ['dankort']], [{ brand: '<b>', additional: [{ brand: 'dankort' }] }, ['dankort']]]) {
    assert.deepEqual(networksOf(it, supported), [], JSON.stringify(it));
  }
  const { networks, preferredNetworks, enableCopy } = cleanElementOptions('number', { coBadgedSupport: ['dankort', 'evil', 7], preSelectedNetworks: 'visa', enableCopy: 'yes' });
  assert.deepEqual([networks, preferredNetworks, enableCopy], [['dankort'], [], false]);
  const { style } = cleanElementOptions('text', { copyIconStyles: { size: '2em', color: 'url(x)', successColor: 'green', evil: 'x' } });
  assert.deepEqual(style, [['copy', 'font-size', '2em'], ['copied', 'color', 'green']]);
});

test('patterns of card types are not asked', () => {
  const { brands } = cleanElementOptions('number', { cardTypes: [{ type: 'visa', patterns: [4242424242424242], lengths: [16] }, { type: 7 }] });
  assert.deepEqual(brands, ['visa']);
});

test('styles have known names and values that load nothing', () => {
  const style = {
    base: { color: 'red', fontFamily: 'url(x)', '::placeholder': { color: 'blue' }, ':focus': { color: 'green' }, 'input[value^="4"]': { color: 'red' } },
    invalid: { color: 'red' }, fonts: ['https://fonts.example/x'], evil: { color: 'red' },
  };
  assert.deepEqual(styleOf(style), [['base', 'color', 'red'], ['focus', 'color', 'green'], ['placeholder', 'color', 'blue'], ['invalid', 'color', 'red']]);
});
