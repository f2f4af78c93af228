// The functions of the console that need no page.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { modulesOf } from '../lib/modules.js';

const load = await modulesOf('console');
const format = await load('format.js');
const rights = await load('rights.js');
const session = await load('session.js');
const tail = await load('tail.js');
const { added } = await load('calls.js');
const { axisEnd, bars } = await load('chart.js');
const { distinctNames, matching, newestUse } = await load('directory.js');
const { learnTime, serverNow } = await load('server_time.js');
const { rotationState } = await load('keys.js');
const { shortData, tokenCall } = await load('views/tokens.js');
const { entriesOf, metadataPatch } = await load('views/token_card.js');
const { testToken } = await load('views/token_form.js');
const { parsedJson } = await load('form_input.js');
const { indentation, lineNumbers } = await load('code_editor.js');
const { configurationChange } = await load('configuration_editor.js');
const { replaced, transformMembers } = await load('views/proxy_form.js');
const { codeChange, runtimeChange } = await load('views/reactor_form.js');
const { reasonAgainstRun, runBody, shownAnswer } = await load('views/reactor_run.js');
const { offeredKinds } = await load('views/webhook_form.js');
const { concerns } = await load('views/overview.js');

test('a curl command has a variable in the place of the key, and quotes everything else', () => {
  const call = { method: 'POST', path: "/a?b='$(c)", body: '{"name":"it\'s"}' };
  assert.equal(
    format.curlLine('https://v.example', call),
    `curl -X POST 'https://v.example/a?b='\\''$(c)' -H "BT-API-KEY: $KEY" -H 'Content-Type: application/json' -d '{"name":"it'\\''s"}'`,
  );
  assert.equal(format.curlLine('https://v.example', { method: 'GET', path: '/a' }), 'curl \'https://v.example/a\' -H "BT-API-KEY: $KEY"');
});

test('Tab adds spaces, or moves whole lines in both directions', () => {
  const apply = (text, start, end, isBack) => {
    const change = indentation(text, start, end, isBack);
    return [text.slice(0, change.from) + change.text + text.slice(change.to), change.start, change.end];
  };
  assert.deepEqual(apply('ab', 1, 1, false), ['a  b', 3, 3]);
  assert.deepEqual(apply('abc', 1, 2, false), ['a  c', 3, 3]);
  assert.deepEqual(apply('a\n\nb\nc', 0, 4, false), ['  a\n\n  b\nc', 2, 8]);
  assert.deepEqual(apply('  a\n\tb', 3, 6, true), ['a\nb', 1, 3]);
  assert.deepEqual(apply('x\n    a', 7, 7, true), ['x\n  a', 5, 5]);
  assert.deepEqual(apply('a', 0, 0, true), ['a', 0, 0]);
  assert.deepEqual(apply('  a', 0, 0, true), ['a', 0, 0]);
  assert.deepEqual(apply('\n  a', 1, 2, true), ['\na', 1, 1]);
  assert.deepEqual(apply('a\nbcd', 0, 3, false), ['  a\n  bcd', 2, 7]);
  assert.equal(lineNumbers('a\nb\n'), '1\n2\n3');
});

test('rows of a configuration become a patch that keeps what is not typed', () => {
  const kept = { name: 'KEPT', value: '', isKnown: true };
  assert.equal(configurationChange(['KEPT'], [kept]), undefined);
  const rows = [kept, { name: 'CHANGED', value: 'v', isKnown: true }, { name: '__proto__', value: '' }, { name: '', value: '' }];
  const patch = configurationChange(['KEPT', 'CHANGED', 'GONE'], rows);
  assert.equal(JSON.stringify(patch), '{"GONE":null,"CHANGED":"v","__proto__":""}');
  assert.deepEqual(configurationChange(['A'], [{ name: 'A', value: '' }]), { A: '' }, 'removed and added again');
  assert.throws(() => configurationChange([], [{ name: '', value: 'v' }]), /no name/);
  assert.throws(() => configurationChange(['A'], [{ name: 'A', value: '', isKnown: true }, { name: 'A', value: 'v' }]), /A is there twice/);
});

test('only what changed of a runtime and of code is sent', () => {
  const usual = { image: 'node-bt', timeout: '', lines: '', permissions: '' };
  assert.equal(runtimeChange(undefined, usual), undefined);
  assert.equal(runtimeChange({ image: '', timeout: 0, logs: { enabled: false } }, usual), undefined);
  const known = { image: 'node22', timeout: 20, logs: { enabled: true }, permissions: ['token:read'], dependencies: {} };
  assert.equal(runtimeChange(known, { image: 'node22', timeout: '20', lines: 'info', permissions: 'token:read' }), undefined);
  assert.deepEqual(runtimeChange(known, { image: 'node24', timeout: '', lines: '', permissions: '' }), {
    image: 'node24', timeout: null, logs: { enabled: false }, permissions: null,
  });
  assert.deepEqual(runtimeChange(undefined, { ...usual, timeout: '5', lines: 'warn', permissions: ' token:use, token:read' }), {
    timeout: 5, logs: { enabled: true, level: 'warn' }, permissions: ['token:use', 'token:read'],
  });
  assert.throws(() => runtimeChange(undefined, { ...usual, timeout: '1.5' }), /whole number/);
  assert.deepEqual(codeChange('a\r\nb', 'a\nb'), {}, 'a text area has other line ends');
  assert.deepEqual(codeChange('a', 'a '), { code: 'a ' });
  assert.deepEqual(codeChange(undefined, 'a'), { code: 'a' });
});

test('a run is offered for test tenants, where programs run, to those who may change the reactor', () => {
  const counts = { tenant_type: 'test', runs_programs: true };
  const may = new Set(['reactor:read', 'reactor:update']);
  assert.equal(reasonAgainstRun(counts, may), undefined);
  assert.match(reasonAgainstRun({ ...counts, tenant_type: 'production' }, may), /production tenant/);
  assert.match(reasonAgainstRun({ ...counts, tenant_type: undefined }, may), /test tenants only/);
  assert.match(reasonAgainstRun({ ...counts, runs_programs: false }, may), /No program runs/);
  assert.equal(reasonAgainstRun(counts, new Set(['reactor:read'])), 'Needs reactor:update.');
});

test('the arguments of a run are args, or the whole body of the newer images', () => {
  assert.deepEqual(runBody('node-bt', '[1]'), { args: [1] });
  assert.deepEqual(runBody('node-bt', ' '), { args: {} });
  assert.deepEqual(runBody('node22', '{"args": 1}'), { args: 1 });
  assert.throws(() => runBody('node-bt', '{'), /Arguments: this is not JSON/);
  assert.equal(shownAnswer({ content: { a: 1 }, text: '{"a":1}' }), '{\n  "a": 1\n}');
  assert.equal(shownAnswer({ content: undefined, text: '<b>' }), '<b>');
  assert.match(shownAnswer({ text: 'x'.repeat(200_000) }), /\(cut, 200000 characters in all\)$/);
});

test('bodies in the list of calls have no keys, no settings of proxies or reactors and no secret answers', () => {
  const answer = { name: 'n', key: 'key_test_1', keys: [{ id: '1', key: 'key_test_2' }], configuration: { password: 'p' }, code: 'password' };
  const shown = format.shownBody(answer, false);
  assert.match(shown, /"name": "n"/);
  assert.doesNotMatch(shown, /key_test|password/);
  assert.equal(format.shownBody({ data: '4242' }, true), '(not shown)');
  assert.equal(format.shownBody(undefined, true), undefined);
  assert.match(format.shownBody({ text: 'x'.repeat(9000) }, false), /\(cut\)$/);
});

test('paths in the list of calls have no values of a secret query', () => {
  const { path } = tokenCall('metadata', 'Erika Mustermann', 'cardholder', undefined);
  assert.equal(format.shownPath(path, true), '/v2/tokens?metadata.cardholder=...&size=...');
  assert.equal(format.shownPath(path, false), path);
  assert.equal(format.shownPath('/tokens/1', true), '/tokens/1');
});

test('distances of times are in the unit that a person would say', () => {
  const now = Date.parse('2026-11-16T00:00:00Z');
  for (const [text, expected] of [
    ['2026-11-15T23:59:48Z', '12 s ago'],
    ['2026-11-15T23:57:00.000000+00:00', '3 min ago'],
    ['2026-11-15T20:00:00Z', '4 h ago'],
    ['2026-11-10T00:00:00Z', '6 days ago'],
    ['2026-11-16T00:10:00Z', 'in 10 min'],
    ['no time', ''],
  ]) {
    assert.equal(format.ago(text, now), expected, text);
  }
});

test('queries leave out parameters without a value and encode the others', () => {
  assert.equal(format.withQuery('/logs', { a: '', b: undefined, c: null }), '/logs');
  assert.equal(format.withQuery('/v2/tokens', { 'metadata.a b': '&=?', size: 20 }), '/v2/tokens?metadata.a+b=%26%3D%3F&size=20');
});

test('a share of a limit is whole percent and never more than all of it', () => {
  assert.deepEqual([[0, 5], [1, 3], [5, 5], [9, 5], [0, 0]].map(([used, limit]) => format.percent(used, limit)), [0, 33, 100, 100, 100]);
});

test('a key that only reads is read only, also when rules grant its rights', () => {
  const readOnly = (application) => rights.isReadOnly(rights.permissionsOf(application));
  assert.equal(readOnly({ permissions: ['application:read', 'log:read', 'token:search', 'orchestration:connection_formulas'] }), true);
  assert.equal(readOnly({ permissions: [] }), true);
  assert.equal(readOnly({ permissions: ['application:read', 'application:delete'] }), false);
  assert.equal(readOnly({ permissions: [], rules: [{ permissions: ['token:create'] }] }), false);
});

test('the reason against an action names each missing permission', () => {
  const held = new Set(['a:read']);
  assert.equal(rights.reasonAgainst(held, ['a:read']), undefined);
  assert.equal(rights.reasonAgainst(held, ['a:read', 'a:create', 'a:delete']), 'Needs a:create and a:delete.');
});

test('permissions are grouped by their subject', () => {
  const groups = rights.byGroup(['token:read', 'token:use', '3ds:session:read'].map((type) => ({ type })));
  assert.deepEqual([...groups.keys()], ['token', '3ds:session']);
  assert.equal(groups.get('token').length, 2);
});

test('rules move within the list, and their order gives the priorities', () => {
  assert.deepEqual(rights.moved(['a', 'b', 'c'], 2, 0), ['c', 'a', 'b']);
  assert.deepEqual(rights.moved(['a', 'b', 'c'], 0, 1), ['b', 'a', 'c']);
  assert.deepEqual(rights.moved(['a', 'b'], 0, -1), ['a', 'b']);
  assert.deepEqual(rights.moved(['a', 'b'], 1, 2), ['a', 'b']);
  const rule = { container: '/a/', transform: 'mask', permissions: ['token:read'], priority: 9, description: '' };
  assert.deepEqual(rights.numbered([rule, { ...rule, description: 'd' }]), [
    { priority: 1, container: '/a/', transform: 'mask', permissions: ['token:read'] },
    { description: 'd', priority: 2, container: '/a/', transform: 'mask', permissions: ['token:read'] },
  ]);
});

test('a page is idle after fifteen minutes', () => {
  assert.equal(session.isIdle(0, 15 * 60_000 - 1), false);
  assert.equal(session.isIdle(0, 15 * 60_000), true);
});

test('forgetting leaves no key', () => {
  session.signIn('key-1', { type: 'management', permissions: [] });
  assert.equal(session.tokenHolder(), undefined, 'a management key reads no tokens');
  session.addTokenKey('key-2', { type: 'private', permissions: [] });
  assert.equal(session.tokenHolder().headers()['BT-API-KEY'], 'key-2');
  assert.doesNotMatch(JSON.stringify([session.signedIn(), session.tokenHolder()]), /key-/);
  session.forget();
  assert.deepEqual([session.signedIn(), session.tokenHolder()], [undefined, undefined]);
});

test('a tail merges new entries once, in order of their times, and keeps a bounded number', () => {
  const entry = (id, at) => ({ id, created_at: `2026-11-16T00:00:0${at}Z` });
  const rows = [entry('b', 5), entry('a', 1)];
  assert.equal(tail.merged(rows, [entry('b', 5)]), rows, 'nothing new leaves the rows as they are');
  const next = tail.merged(rows, [entry('d', 7), entry('c', 3), entry('b', 5)]);
  assert.deepEqual(next.map((row) => row.id), ['d', 'b', 'c', 'a']);
  assert.deepEqual(tail.merged(next, [entry('e', 8)], 2).map((row) => row.id), ['e', 'd']);
});

test('a tail asks from a little before its newest row', () => {
  assert.equal(tail.startDate([{ created_at: '2026-11-16T00:00:30.000000+00:00' }]), '2026-11-16T00:00:20.000Z');
  assert.equal(tail.startDate([]), '');
});

test('a tail knows when it could not follow', () => {
  const page = (ids, next) => ({ data: ids.map((id) => ({ id })), pagination: { next } });
  assert.equal(tail.hasGap([{ id: 'a' }], page(['c', 'b'], 'next')), true);
  assert.equal(tail.hasGap([{ id: 'a' }], page(['c', 'b'])), false, 'the page has all of them');
  assert.equal(tail.hasGap([{ id: 'a' }], page(['b', 'a'], 'next')), false, 'the page reaches a known row');
  assert.equal(tail.hasGap([], page(['b'], 'next')), false, 'the first page');
});

test('a tail waits longer after each failure, up to half a minute, and as long as the server asks', () => {
  assert.deepEqual([0, 1, 2, 3, 4, 9].map((failures) => tail.nextWait(failures)), [2000, 4000, 8000, 16000, 30000, 30000]);
  assert.equal(tail.nextWait(1, 60), 60_000);
});

test('a call that repeats itself is one row of the list, which is bounded', () => {
  const call = { method: 'GET', path: '/logs', status: 200 };
  const twice = added(added([], call), call);
  assert.deepEqual(twice.map((it) => it.times), [2]);
  const other = added(twice, { ...call, status: 429 });
  assert.deepEqual(other.map((it) => it.times), [1, 2]);
  assert.equal(added(other, { ...call, path: '/x' }, 2).length, 2);
  const polled = (path) => ({ ...call, path, series: 'tail' });
  assert.deepEqual(added(added(twice, polled('/logs?a')), polled('/logs?b')).map((it) => [it.path, it.times]), [['/logs?b', 2], ['/logs', 2]]);
});

test('bars of a chart stack up to their sum and stay in the drawing', () => {
  assert.deepEqual([0, 3, 5, 11, 99, 400].map(axisEnd), [4, 4, 5, 20, 100, 400]);
  const bucket = { ok: 6, refused: 3, limited: 0, failed: 1 };
  const found = bars([bucket, bucket], 100, 100);
  assert.deepEqual(found.slice(0, 3).map((bar) => bar.name), ['ok', 'refused', 'failed']);
  assert.ok(found.every((bar) => bar.y >= 0 && bar.x >= 0 && bar.x + bar.width <= 100), JSON.stringify(found));
  assert.equal(found[0].y, found[1].y + found[1].height);
});

test('applications are found by a part of the name, the start of the id, and the type', () => {
  const all = [{ id: 'aa1', name: 'Shop', type: 'private' }, { id: 'bb2', name: 'shopping', type: 'public' }];
  assert.equal(matching(all, 'SHOP', '').length, 2);
  assert.deepEqual(matching(all, 'shop', 'public').map((it) => it.id), ['bb2']);
  assert.deepEqual(matching(all, 'aa', '').map((it) => it.id), ['aa1']);
  assert.equal(newestUse([{ last_used_at: '2026-01-02' }, {}, { last_used_at: '2026-01-03' }]), '2026-01-03');
  assert.equal(newestUse([]), undefined);
});

test('a rotation is done when the new key was used after the old one', () => {
  const at = (minute) => ({ last_used_at: `2026-11-16T00:0${minute}:00Z` });
  assert.match(rotationState(at(1), {}).text, /has not been used/);
  assert.match(rotationState(at(3), at(2)).text, /still use the old/);
  assert.equal(rotationState(at(1), at(2)).tone, 'good');
  assert.equal(rotationState({}, at(2)).tone, 'good');
});

test('searches of tokens name one filter, and ids are one segment of the path', () => {
  assert.equal(tokenCall('id', 'a/b?c').path, '/tokens/a%2Fb%3Fc');
  assert.equal(tokenCall('fingerprint', 'f', 'ignored').path, '/v2/tokens?fingerprint=f&size=20');
  assert.equal(tokenCall('metadata', 'v', 'k', 'next').path, '/v2/tokens?metadata.k=v&size=20&start=next');
});

test('full limits, failing webhooks and failing proxies need attention', () => {
  const limits = { usage: [{ name: 'tokens', used: 9 }, { name: 'proxies', used: 200, limit: 250 }, { name: 'webhooks', used: 1, limit: 5 }] };
  const webhooks = { data: [{ name: 'a', waiting: 2, failing_since: 't' }, { name: 'b', waiting: 0 }] };
  const proxies = { data: [{ name: 'p', calls: 3, failures: 1, last_failure: {} }, { name: 'q', calls: 3, failures: 0 }] };
  assert.deepEqual(concerns(limits, webhooks, proxies).map((it) => it.view), ['limits', 'webhooks', 'proxies']);
  assert.deepEqual(concerns(undefined, undefined, undefined), []);
});

test('transforms keep the form in which they are written, and empty ones are taken away', () => {
  assert.deepEqual(transformMembers('request', [{ type: 'mask' }]), { request_transforms: [{ type: 'mask' }] });
  assert.deepEqual(transformMembers('response', { type: 'mask' }), { response_transform: { type: 'mask' } });
  assert.deepEqual(transformMembers('request', undefined), {});
  assert.deepEqual(transformMembers('request', undefined, { request_transforms: [] }), { request_transforms: null });
  assert.equal(parsedJson('Transforms', ' \n'), undefined);
  assert.throws(() => parsedJson('Transforms', '[{'), /Transforms: this is not JSON/);
});

test('a new configuration replaces the old one whole', () => {
  assert.deepEqual(replaced({ a: '1', b: '2' }, { b: '3', c: '4' }), { a: null, b: '3', c: '4' });
  assert.deepEqual(replaced(undefined, { a: '1' }), { a: '1' });
});

test('metadata is written as lines, and entries that are gone are taken away', () => {
  assert.deepEqual(entriesOf('order = 1\n\n a=b = c '), { order: '1', a: 'b = c' });
  for (const wrong of ['order', '= 1']) assert.throws(() => entriesOf(wrong), /has no key/);
  assert.deepEqual(metadataPatch({ a: '1', b: '2' }, { b: '3' }), { metadata: { a: null, b: '3' } });
});

test('events that this server never sends are offered only if they were chosen', () => {
  const kinds = ['token.created', 'reactor.created', 'network-token.created', 'tenant.updated', 'tenant.member.created', 'http.request'];
  assert.deepEqual(offeredKinds(kinds, new Set()), ['token.created', 'reactor.created', 'tenant.updated']);
  const chosen = new Set(['network-token.created']);
  assert.deepEqual(offeredKinds(kinds, chosen), ['token.created', 'reactor.created', 'network-token.created', 'tenant.updated']);
});

test('a test token is a card that has not expired, or a text', () => {
  const now = new Date('2026-11-16T00:00:00Z');
  assert.deepEqual(testToken('text', 'x'), { type: 'token', data: 'x' });
  assert.equal(testToken('4242424242424242', '', now).data.expiration_year, 2027);
  assert.equal(shortData(undefined), 'not shown');
  assert.equal(shortData({ number: 'XXXX4242' }), '{"number":"XXXX4242"}');
  assert.equal(shortData('x'.repeat(90)).length, 83);
});

test('a person needs no key: the header names the tenant, and the permissions are the role\'s', () => {
  session.signOn({ person: 'Anna', role: 'viewer', way: 'proxy', tenant_id: 'T', permissions: ['log:read'] });
  assert.deepEqual(session.signedIn().headers(), { 'Strongroom-Console': 'T' });
  assert.equal(session.tokenHolder(), undefined, 'details of 3DS sessions need a private key');
  assert.equal(session.tokenReader(), session.signedIn());
  assert.ok(session.signedIn().permissions.has('log:read'));
  session.forget();
  assert.equal(session.signedIn(), undefined);
});

test('applications of the same name differ by their ids', () => {
  const names = distinctNames([{ id: '01a1dd38-0000-4000-8000-00000000aaaa', name: 'Shop' }, { id: '01a1dd38-0000-4000-8000-00000000bbbb', name: 'Shop' }, { id: 'c', name: 'Own' }]);
  assert.deepEqual([...names.values()], ['Shop (...0000aaaa)', 'Shop (...0000bbbb)', 'Own']);
});

test('distances are counted with the clock of the server', () => {
  const now = Date.parse('2026-11-14T09:30:00Z');
  assert.equal(serverNow(now), now);
  learnTime(null, now);
  learnTime('nonsense', now);
  assert.equal(serverNow(now), now);
  learnTime('Sat, 14 Nov 2026 10:30:00 GMT', now);
  assert.equal(format.ago('2026-11-14T10:29:30Z', serverNow(now)), '30 s ago');
  assert.equal(format.ago('2026-11-14T10:30:00.9Z', serverNow(now)), '0 s ago', 'a use in the second of the header is not ahead');
});
