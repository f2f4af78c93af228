// Everything that passes between a shop's page and the frames passes these functions.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BadOption, cleanAnswer, cleanOptions, cleanProblem, cleanStyle } from '../../../src/http/front/fields/rules.js';
import { languageOf, textsOf } from '../../../src/http/front/fields/texts.js';

test('options that the vault would evaluate, or that are not known, are refused', () => {
  const attacks = [
    { id: '{{ data.number }}' },
    { mask: '{{ data.number }}' },
    { fingerprint_expression: '{{ data.number }}' },
    { search_indexes: ['{{ data.number }}'] },
    { data: { number: '4242424242424242' } },
    { type: 'token' },
    { token_intent_id: 'x' },
    { encrypted: 'x' },
    { privacy: {} },
    { constructor: 1 },
    JSON.parse('{"__proto__": {"id": "{{ data.number }}"}}'),
    { metadata: { a: 1 } },
    { metadata: { a: { b: 'c' } } },
    { metadata: ['a'] },
    { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, ''])) },
    { containers: '/a/' },
    { containers: [1] },
    { containers: ['/general/'] },
    { containers: ['/pci/', '/'] },
    { expires_at: 5 },
    { deduplicate_token: 'yes' },
    [],
    'id',
  ];
  for (const attack of attacks) assert.throws(() => cleanOptions('token', attack), BadOption, JSON.stringify(attack));
  for (const option of ['metadata', 'containers', 'expires_at', 'deduplicate_token', 'id']) {
    assert.throws(() => cleanOptions('intent', { [option]: {} }), BadOption);
  }
});

test('known options are copied', () => {
  const options = {
    metadata: { order: '7' }, containers: ['/pci/shop/', '/PCI/'], expires_at: '2030-01-01T00:00:00Z', deduplicate_token: true,
  };
  const cleaned = cleanOptions('token', options);
  assert.deepEqual(cleaned, options);
  assert.notEqual(cleaned.metadata, options.metadata);
  assert.deepEqual(cleanOptions('token', undefined), {});
  assert.deepEqual(cleanOptions('intent', {}), {});
});

test('an answer keeps what a page may know', () => {
  const answer = {
    id: 'i', type: 'card', tenant_id: 't', created_at: 'now', expires_at: 'later', created_by: 'a',
    data: { number: 'XXXXXXXXXXXX4242' }, mask: '{{ data }}', fingerprint: 'f', fingerprint_expression: 'e',
    search_indexes: ['s'], containers: ['/pci/'], metadata: { order: '7' }, aliases: ['a'],
    card: {
      bin: '42424242', last4: '4242', brand: 'visa', expiration_month: 12, expiration_year: 2030, funding: 'credit',
      issuer: { name: 'Bank' }, issuer_country: {}, product: {}, segment: 'Consumer', authentication: null,
      additional: [{ brand: 'cartes-bancaires', funding: 'debit', issuer: { name: 'Bank' } }],
    },
  };
  const card = {
    brand: 'visa', last4: '4242', expiration_month: 12, expiration_year: 2030, funding: 'credit',
    additional: [{ brand: 'cartes-bancaires', funding: 'debit' }],
  };
  const common = { id: 'i', type: 'card', tenant_id: 't', created_at: 'now', expires_at: 'later', card };
  assert.deepEqual(cleanAnswer('intent', answer), common);
  assert.deepEqual(cleanAnswer('token', answer), { ...common, containers: ['/pci/'], metadata: { order: '7' } });
  assert.deepEqual(cleanAnswer('token', null), { card: {} });
});

test('a style is a list of plain declarations', () => {
  const style = {
    base: { color: '#123456', fontSize: '18px', 'font-family': '"Fira Sans", serif', backgroundColor: 'rgb(1 2 3 / 50%)' },
    placeholder: { color: 'hsl(1, 2%, 3%)' },
    focus: { opacity: 0.5 },
  };
  assert.deepEqual(cleanStyle(style), [
    ['base', 'color', '#123456'],
    ['base', 'font-size', '18px'],
    ['base', 'font-family', '"Fira Sans", serif'],
    ['base', 'background-color', 'rgb(1 2 3 / 50%)'],
    ['placeholder', 'color', 'hsl(1, 2%, 3%)'],
    ['focus', 'opacity', '0.5'],
  ]);
  const attacks = [
    'url(https://evil.example/)', 'URL(x)', 'u\\72l(x)', 'image-set("x")', 'var(--x)', 'attr(value)', 'expression(1)',
    'red; background: url(x)', 'red } input { color: blue', '@import "x"', 'env(x)', 'rgb(url(x))', 'a'.repeat(121),
    '', null, {}, ['red'], 'calc(1px)', '<style>', 'red/**/',
  ];
  for (const value of attacks) assert.deepEqual(cleanStyle({ base: { color: value } }), [], String(value));
  for (const name of ['background', 'backgroundImage', 'content', 'position', 'transition', 'animation', '--x', 'font', 'src']) {
    assert.deepEqual(cleanStyle({ base: { [name]: 'red' } }), [], name);
  }
  for (const state of ['hover', 'input, body', '__proto__', 'base }']) {
    assert.deepEqual(cleanStyle({ [state]: { color: 'red' } }), [], state);
  }
  for (const wrong of [undefined, null, 'x', []]) assert.deepEqual(cleanStyle(wrong), []);
});

test('a refusal names the fields and the problem', () => {
  const problem = {
    title: 'T', detail: 'D', trace_id: 'x', errors: { 'data.number': ['wrong'], 'data.expiration_year': ['wrong'], other: [] },
  };
  assert.deepEqual(cleanProblem(400, problem, 'y'), {
    code: 'refused', status: 400, title: 'T', detail: 'D', trace_id: 'x', fields: ['number', 'expiry'],
  });
  assert.equal(cleanProblem(401, null, 'y').code, 'key_invalid');
  assert.equal(cleanProblem(503, null, 'y').code, 'unreachable');
  assert.equal(cleanProblem(429, null, null).trace_id, '');
});

test('there are texts in four languages, and a shop replaces single ones', () => {
  const names = Object.keys(textsOf('en'));
  for (const locale of ['de', 'fr', 'es']) {
    const texts = textsOf(locale);
    assert.deepEqual(Object.keys(texts), names, locale);
    assert.notEqual(texts.label_number, textsOf('en').label_number);
  }
  assert.equal(languageOf('de-AT'), 'de');
  for (const locale of ['pt-BR', '', undefined, 7, '__proto__', 'constructor']) assert.equal(languageOf(locale), 'en');
  const own = textsOf('en', { label_number: 'Number', label_cvc: 7, unknown: 'x', not_allowed: 'y'.repeat(500) });
  assert.equal(own.label_number, 'Number');
  assert.equal(own.label_cvc, 'Security code');
  assert.equal(own.unknown, undefined);
  assert.equal(own.not_allowed.length, 160);
});
