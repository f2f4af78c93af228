// The reference page's reading of the document: schemas, operations, search, examples and try-it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

import { LANGUAGES, curl, exampleRequest, node, packageOf, printedRequest, pythonCode } from '../../../src/http/front/reference/examples.js';
import { highlighted } from '../../../src/http/front/reference/highlight.js';
import { readDocument, route } from '../../../src/http/front/reference/model.js';
import { keysOf } from '../../../src/http/front/reference/own_keys.js';
import { withOwnValues } from '../../../src/http/front/reference/own_values.js';
import { confirmation, makeRequest, readable, sameOriginUrl } from '../../../src/http/front/reference/request.js';
import { choices, entries, limitTexts, memberNames, members, resolve, typeText, variants } from '../../../src/http/front/reference/schema.js';
import { excerpt, makeIndex, search } from '../../../src/http/front/reference/search.js';

const ORIGIN = 'https://127.0.0.1:8443';

const ROOT = {
  openapi: '3.1.0',
  info: { title: 'Strongroom', version: '1.2.3' },
  tags: [
    { name: 'Tokens', description: '# Tokens\n\nA value.\n\n## Masks\n\nA mask hides the beginning of numbers, and shows the rest.' },
    { name: 'Logs', description: '# Logs\n\n## Masks\n\nNone.', 'x-group': 'Operate' },
  ],
  'x-absent-features': [{ name: 'Apple Pay', words: 'wallet', instead: 'Use a PSP.' }],
  'x-rate-limit-rows': [{ id: 'create', title: 'Creating tokens', requests: 200, seconds: 10 }],
  'x-errors': [{ status: 404, title: 'Not Found', when: 'w', what_to_do: 'x' }],
  paths: {
    '/tokens': {
      post: {
        operationId: 'CreateToken', tags: ['Tokens'], summary: 'Store a value', 'x-permissions': ['token:create'], 'x-key': 'private',
        'x-idempotent': true, 'x-rate-limits': ['create', 'unknown'],
        requestBody: {
          required: true,
          content: { 'application/json': {
            schema: { $ref: '#/components/schemas/NewToken' },
            examples: { card: { summary: 'A card', value: { type: 'card', data: { number: '4242424242424242' }, note: "it's" } }, plain: { value: { data: 'x' } } },
          } },
        },
        responses: { 201: { description: 'Stored', content: { 'application/json': { schema: { $ref: '#/components/schemas/Token' } } } }, 400: { $ref: '#/components/responses/Invalid' } },
      },
    },
    '/tokens/{id}': {
      parameters: [{ $ref: '#/components/parameters/TokenId' }],
      get: { operationId: 'ReadToken', tags: ['Tokens'], summary: 'Read a token', deprecated: true, 'x-permissions': [], 'x-key': 'management', responses: {} },
      delete: { operationId: 'DeleteToken', tags: ['Tokens'], 'x-permissions': ['token:delete'], responses: {} },
    },
    '/page.css': { get: { operationId: 'PageStyle', tags: ['Other things'], 'x-page-group': 'reference', responses: { 200: { description: 'd', content: { 'text/css': {} } } } } },
    '/old': { post: { operationId: 'Old', tags: ['Other things'], responses: { 410: {} } } },
    '/ping': { get: { operationId: 'Ping', tags: ['Other things'], responses: {} } },
  },
  components: {
    parameters: { TokenId: { name: 'id', in: 'path', required: true, schema: { type: 'string' }, example: 'a/b?' } },
    responses: { Invalid: { description: 'Mistakes' } },
    schemas: {
      NewToken: { type: 'object', required: ['data'], properties: { type: { enum: ['card', 'token'], type: 'string' }, data: {}, search_indexes: { type: 'array', items: { type: 'string' } } } },
      Token: { allOf: [{ $ref: '#/components/schemas/NewToken' }, { type: 'object', required: ['type'], properties: { fingerprint: { type: ['string', 'null'] }, parent: { $ref: '#/components/schemas/Token' } } }] },
      Loop: { $ref: '#/components/schemas/Loop' },
      'a/b~c': { type: 'integer' },
    },
  },
};
const model = readDocument(ROOT);

test('references are followed, and circles end', () => {
  assert.equal(resolve(ROOT, { $ref: '#/components/schemas/NewToken', description: 'd' }).schema.description, 'd');
  assert.deepEqual(resolve(ROOT, { $ref: '#/components/schemas/Loop' }).schema, {});
  assert.equal(resolve(ROOT, { $ref: '#/components/schemas/a~1b~0c' }).schema.type, 'integer');
  assert.deepEqual(resolve(ROOT, { $ref: 'https://evil.example/schema.json' }).schema, {});
  assert.deepEqual(resolve(ROOT, { $ref: '#/constructor' }).schema, {});
  assert.ok(memberNames(ROOT, { $ref: '#/components/schemas/Token' }).has('fingerprint'));
});

test('members of all parts of a schema are found with what is required', () => {
  const found = members(ROOT, { $ref: '#/components/schemas/Token' });
  assert.deepEqual(found.map((it) => [it.name, it.isRequired]), [
    ['type', true], ['data', true], ['search_indexes', false], ['fingerprint', false], ['parent', false],
  ]);
});

test('types and limits are said in words', () => {
  assert.equal(typeText(ROOT, { type: ['string', 'null'], format: 'uuid' }), 'string (uuid) or null');
  assert.equal(typeText(ROOT, { type: 'array', items: { $ref: '#/components/schemas/NewToken' } }), 'list of NewToken');
  assert.equal(typeText(ROOT, { type: 'object', additionalProperties: { type: 'string' } }), 'map of string');
  assert.equal(typeText(ROOT, { oneOf: [{ type: 'string' }, { type: 'null' }] }), 'string or null');
  assert.equal(typeText(ROOT, {}), 'any');
  assert.deepEqual(limitTexts({ minLength: 1, maxLength: 9, maximum: 5, default: null }), ['1 to 9 characters', 'at most 5', 'default null']);
  assert.equal(variants(ROOT, { anyOf: [{ type: 'object' }, { type: 'null' }] }).length, 1);
  const nested = { anyOf: [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }, { type: 'null' }] };
  assert.equal(typeText(ROOT, nested), 'string or integer or null');
  assert.deepEqual(variants(ROOT, nested), [{ type: 'string' }, { type: 'integer' }]);
  const chosen = { type: 'object', anyOf: [{ required: ['a', 'b'] }, { required: ['c'] }] };
  assert.deepEqual([variants(ROOT, chosen), choices(ROOT, chosen)], [[], [['a', 'b'], ['c']]]);
  assert.equal(entries(ROOT, { additionalProperties: true }), null);
});

test('every operation of the document has its chapter, parameters and rate limits', () => {
  assert.deepEqual([...model.operations.keys()], ['CreateToken', 'ReadToken', 'DeleteToken', 'Old', 'Ping']);
  assert.deepEqual(model.chapters.map((it) => [it.name, it.operations.length]), [['Tokens', 3], ['Logs', 0], ['Other things', 2]]);
  assert.deepEqual(model.chapters.map((it) => it.operations.map(({ id }) => id)), [['CreateToken', 'DeleteToken', 'ReadToken'], [], ['Ping', 'Old']], 'old ones are last');
  assert.deepEqual(model.chapters.map((it) => it.group), ['API', 'Operate', 'API']);
  const create = model.operations.get('CreateToken');
  assert.deepEqual(create.limits.map((it) => it.title), ['Creating tokens', 'unknown']);
  assert.equal(create.answers[1].description, 'Mistakes');
  assert.equal(model.operations.get('Ping').permissions, null);
  assert.equal(model.operations.get('ReadToken').parameters[0].name, 'id');
});

test('an address names a view', () => {
  assert.equal(route(model, '').view, 'start');
  assert.equal(route(model, '#operation/ReadToken').operation.id, 'ReadToken');
  assert.equal(route(model, '#chapter/other-things').chapter.name, 'Other things');
  assert.deepEqual([route(model, '#masks').chapter.name, route(model, '#masks').anchor], ['Tokens', 'masks']);
  assert.deepEqual([route(model, '#chapter/logs/masks').chapter.name, route(model, '#chapter/logs/masks').anchor], ['Logs', 'masks']);
  assert.equal(route(model, '#chapter/things').chapter.name, 'Other things', 'a file that leaves a word out');
  assert.equal(route(model, '#chapter/nothing').view, 'unknown');
  assert.equal(route(model, '#operation/%zz').view, 'unknown');
  assert.equal(route(null, '#errors').view, 'waiting');
});

test('the search finds path, method, summary, permission and member, the closest first', () => {
  const index = makeIndex(model);
  const found = (query) => search(index, query).map((it) => it.title);
  assert.equal(search(index, 'delete /tokens')[0].operation.id, 'DeleteToken');
  assert.equal(search(index, 'token:create')[0].operation.id, 'CreateToken');
  assert.equal(search(index, 'fingerprint')[0].matched, 'fingerprint');
  assert.deepEqual(found('store value'), ['Store a value']);
  assert.deepEqual(found('nothing-like-it'), []);
  assert.deepEqual(found('  '), []);
  assert.equal(found('429')[0], 'Rate limits');
  assert.equal(found('404')[0], 'Errors');
});

test('the search finds the text of chapters, and names what to use instead of an absent feature', () => {
  const index = makeIndex(model);
  const [section] = search(index, 'hides numbers');
  assert.deepEqual([section.title, section.chapter, section.hash], ['Masks', 'Tokens', '#chapter/tokens/masks']);
  assert.deepEqual(excerpt(section.text, 'numbers'), ['A mask hides the beginning of ', 'numbers', ', and shows the rest. ']);
  assert.equal(excerpt('x '.repeat(100) + 'end', 'end')[0].slice(0, 4), '... ');
  for (const query of ['apple pay', 'wallet', 'Apple']) {
    const [absent] = search(index, query);
    assert.deepEqual([absent.kind, absent.title, absent.text], ['absent', 'Apple Pay', 'Use a PSP.'], query);
  }
});

test('code is coloured without a change of its text', () => {
  for (const language of ['sh', 'python', 'js', 'json', 'text', undefined]) {
    const code = 'curl -d \'{"a": 1}\' # "x\n// it\'s `y\nhttps://a.example $KEY 12.5 const';
    assert.equal(highlighted(code, language).map(([, text]) => text).join(''), code, language);
  }
  const kinds = (code, language) => highlighted(code, language).filter(([kind]) => kind).map(([kind, text]) => `${kind} ${text}`);
  assert.deepEqual(kinds('{"a": "b", "c": 1}', 'json'), ['member "a"', 'text "b"', 'member "c"', 'number 1']);
  assert.deepEqual(kinds('curl https://a.example # c', 'sh'), ['word curl', 'comment # c']);
});

test('keys come only from the address of this machine, and only in the form of keys', () => {
  const keys = ['pvt', 'pub', 'mgt'].map((it) => `key_test_self_${it}_SuKzXCvajW7Z4c9ZJr5hYd`);
  const of = (hostname, texts) => keysOf({ hostname, hash: `#keys=${texts.join(',')}` });
  assert.deepEqual(of('127.0.0.1', keys), { private: keys[0], public: keys[1], management: keys[2] });
  assert.equal(of('vault.example', keys), null);
  assert.equal(of('127.0.0.1', keys.slice(1)), null);
  assert.equal(of('127.0.0.1', [...keys, '/a/ca.pem', 'x']), null);
  assert.equal(of('127.0.0.1', [...keys, '/home/j%C3%B6rg/my%20vault/ca.pem']).ca, '/home/j\u00f6rg/my vault/ca.pem');
  for (const bad of ['ca.pem', '/a;id', '/a%0Aid', '/$(id)', '/a%22', '/%E2%80%AEa', '%zz', '']) {
    const found = of('127.0.0.1', [...keys, bad]);
    assert.deepEqual([found.private, found.ca], [keys[0], undefined], bad);
  }
  for (const bad of ["';id;'", '$(id)', 'key_test_self_pvt_a b', 'key_test_self_sess_SuKzXCvajW7Z4c9ZJr5hYd']) {
    assert.equal(of('localhost', [bad, ...keys.slice(1)]), null, bad);
  }
});

test('code of chapters has the address of this server, and the public key only if it is known', () => {
  const code = "src='https://vault.example/fields/v1.js' key: 'key_prod_self_pub_...'";
  assert.equal(withOwnValues(code, ORIGIN, null), `src='${ORIGIN}/fields/v1.js' key: 'key_prod_self_pub_...'`);
  assert.equal(withOwnValues(code, ORIGIN, 'key_test_self_pub_A'), `src='${ORIGIN}/fields/v1.js' key: 'key_test_self_pub_A'`);
});

test('examples keep the key out and quote the body', () => {
  const create = model.operations.get('CreateToken');
  const request = exampleRequest(create);
  assert.match(curl(request, ORIGIN), /-H "BT-API-KEY: \$KEY"/);
  assert.match(curl(printedRequest(model.operations.get('ReadToken')), ORIGIN), /\/tokens\/\$ID" .*\n?.*\$MANAGEMENT_KEY/);
  const read = exampleRequest(model.operations.get('ReadToken'));
  assert.ok(curl(read, ORIGIN).includes(`'${ORIGIN}/tokens/a%2Fb%3F'`) || curl(read, ORIGIN).includes(`${ORIGIN}/tokens/a%2Fb%3F`));
  assert.ok(!curl(exampleRequest(model.operations.get('Ping')), ORIGIN).includes('BT-API-KEY'));
  assert.deepEqual(exampleRequest(create, 'plain').body, { data: 'x' });
  assert.deepEqual(LANGUAGES.map((it) => it.id), ['curl', 'python', 'node']);
});

test('an example imports only what it uses, names only the package that it imports, and waits for a proxy', () => {
  const [create, ping] = ['CreateToken', 'Ping'].map((it) => exampleRequest(model.operations.get(it)));
  const own = { ...create, id: 'Own' };
  assert.match(pythonCode(create, ORIGIN), /^import os$/m);
  assert.match(pythonCode(own, ORIGIN), /^import os$/m);
  assert.doesNotMatch(pythonCode(ping, ORIGIN), /\bos\b/);
  for (const request of [own, ping]) assert.match(pythonCode(request, ORIGIN), /^ {4}timeout=30,$/m);
  const needed = (request) => LANGUAGES.map(({ id, write }) => packageOf(id, write(request, ORIGIN)));
  assert.deepEqual(needed(create), [null, 'pip install BasisTheoryClient', 'npm install @basis-theory/node-sdk']);
  assert.deepEqual(needed(ping), [null, 'pip install httpx', null]);
});

test('each language sends exactly the example', () => {
  const request = exampleRequest(model.operations.get('CreateToken'));
  const expected = { method: 'POST', url: `${ORIGIN}/tokens`, body: request.body };
  const shell = `curl() { while [ $# -gt 0 ]; do case $1 in --data-raw) shift; printf %s "$1";; esac; shift; done; }\n${curl(request, ORIGIN)}`;
  assert.deepEqual(JSON.parse(execFileSync('sh', ['-c', shell]).toString()), expected.body);
  // An operation that no published client has.
  request.id = 'Own';
  const stub = [
    'import json, os, sys, types', 'os.environ.update(KEY="k", CA="c")', 'm = types.ModuleType("httpx")',
    'class A: status_code, text = 201, ""', 'def request(method, url, **k):', '    print(json.dumps({"method": method, "url": url, "body": k["json"]}))', '    return A',
    'm.request = request', 'sys.modules["httpx"] = m', pythonCode(request, ORIGIN),
  ].join('\n');
  assert.deepEqual(JSON.parse(execFileSync('python3', ['-c', stub]).toString().split('\n')[0]), expected);
  const program = `globalThis.fetch = async (url, o) => { process.stdout.write(JSON.stringify({ method: o.method, url, body: JSON.parse(o.body) }) + "\\n"); return { text: () => "" }; };\n${node(request, ORIGIN)}`;
  const out = execFileSync('node', ['--input-type=module', '-e', program]).toString();
  assert.deepEqual(JSON.parse(out.split('\n')[0]), expected);
});

test('try-it never leaves this origin', () => {
  const operation = { ...model.operations.get('ReadToken') };
  const send = (id) => makeRequest(operation, { path: { id } }, null, ORIGIN);
  assert.equal(send('a b').request.url, `${ORIGIN}/tokens/a%20b`);
  assert.equal(send('//evil.example/').request.url, `${ORIGIN}/tokens/%2F%2Fevil.example%2F`);
  for (const id of ['', '.', '..']) assert.ok(send(id).mistakes, id);
  const proxy = { ...operation, path: '/proxy/{path}', parameters: [{ name: 'path', place: 'path', isRequired: true }] };
  const call = (path) => makeRequest(proxy, { path: { path } }, null, ORIGIN);
  assert.equal(call('v1/charges').request.url, `${ORIGIN}/proxy/v1/charges`);
  assert.equal(call('//evil.example').request.url, `${ORIGIN}/proxy/evil.example`);
  assert.ok(call('v1/../../tokens').mistakes);
  for (const target of ['//evil.example/x', '/\\evil.example', 'https://evil.example', '', '@evil.example']) {
    assert.equal(sameOriginUrl(target, ORIGIN), null, target);
  }
});

test('try-it reports every mistake before it sends', () => {
  const create = model.operations.get('CreateToken');
  const body = (text) => ({ text, type: 'application/json' });
  assert.deepEqual(makeRequest(create, {}, body(''), ORIGIN).mistakes, ['The body is missing.']);
  assert.deepEqual(makeRequest(create, {}, body('{'), ORIGIN).mistakes, ['The body is not JSON.']);
  assert.equal(makeRequest(create, {}, body('{"data": 1}'), ORIGIN).request.body, '{"data": 1}');
  const header = { ...create, body: null, parameters: [{ name: 'BT-TRACE-ID', place: 'header' }] };
  assert.ok(makeRequest(header, { header: { 'BT-TRACE-ID': 'a\r\nb' } }, null, ORIGIN).mistakes);
});

test('what cannot be undone is confirmed, and every change with a production key', () => {
  const asked = (method, key) => confirmation({ method }, '/x', key);
  assert.equal(asked('DELETE', 'key_test_a'), 'DELETE /x deletes data of this server. It cannot be undone.');
  assert.match(asked('PUT', ''), /changes/);
  assert.equal(asked('POST', 'key_test_a'), null);
  assert.match(asked('POST', 'key_prod_self_pvt_a'), /production/);
  assert.equal(asked('GET', 'key_prod_self_pvt_a'), null);
  const tenant = { method: 'DELETE', summary: 'Delete the tenant', description: 'Deletes it with `tokens` and keys. There is no way back.' };
  assert.match(confirmation(tenant, '/tenants/self', ''), /^Delete the tenant\. Deletes it with tokens and keys\. DELETE \/tenants\/self /);
});

test('a body is indented without a change of its digits', () => {
  assert.equal(readable('{"a":[1.10,12345678901234567890],"b":{},"c":[],"d":"x:{}\\""}'),
    '{\n  "a": [\n    1.10,\n    12345678901234567890\n  ],\n  "b": {},\n  "c": [],\n  "d": "x:{}\\""\n}');
  assert.equal(readable('plain'), 'plain');
});
