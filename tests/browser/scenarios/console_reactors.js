// Reactors in the console: making one with its code and configuration, changing it, its lines and failures, what a key
// that only reads sees, a run with a private key, production tenants, and a server that runs no programs.
import assert from 'node:assert/strict';
import { VIEWS, choose, enter, fillIn, heading, press, seen, settled, showsText, traces, visit } from '../lib/console.js';

export const name = 'console-reactors';

const CODE = `module.exports = async ({ args, configuration }) => {
console.log('got', Object.keys(args).length, 'arguments');
if (args.fail) throw new Error('no such luck');
return { raw: { last4: String(args.number).slice(-4), secret: configuration.SECRET.length } };
};`;

const listed = async (api) => (await api('GET', '/reactors', undefined, 'management')).body.data;

const go = async (page, path, title) => {
  await page.evaluate((hash) => { window.location.hash = hash; }, path);
  await heading(page, (text) => text === title);
  await settled(page);
};

/** Puts a text into the editor as a paste does: typing it would indent. */
const paste = async (page, text) => {
  const input = await page.waitForSelector('.code-editor textarea');
  await input.evaluate((it, value) => {
    it.focus();
    it.select();
    document.execCommand('insertText', false, value);
  }, text);
};

const makeReactor = async ({ h, api, page }) => {
  await visit(page, 'Reactors');
  await showsText(page, 'There are no reactors.');
  await press(page, 'New reactor');
  await heading(page, (text) => text === 'New reactor');
  await fillIn(page, 'Name', 'Last digits');
  await paste(page, CODE);
  assert.equal(await page.$eval('.line-numbers', (it) => it.textContent), '1\n2\n3\n4\n5');
  const [numbers, area] = await page.$$eval('.code-editor > *', (all) => all.map((it) => it.offsetHeight));
  assert.equal(numbers, area, 'the numbers are as high as the text');
  await choose(page, 'Lines', 'info');
  await press(page, 'Add an entry');
  await fillIn(page, 'Name of entry 1', 'SECRET');
  await fillIn(page, 'Value of entry 1', 'sk_of_the_reactor');
  await press(page, 'Add an entry');
  await fillIn(page, 'Name of entry 2', 'OTHER');
  await fillIn(page, 'Value of entry 2', 'other');
  await fillIn(page, 'Time', '1.5');
  await press(page, 'Create');
  await showsText(page, 'a whole number of seconds');
  await fillIn(page, 'Time', '9');
  await h.picture(page, 'new', { fullPage: true });
  await press(page, 'Create');
  await heading(page, (text) => text === 'Last digits');
  await settled(page);
  const [made] = await listed(api);
  assert.equal(made.code, CODE);
  assert.deepEqual(made.configuration, { SECRET: 'sk_of_the_reactor', OTHER: 'other' });
  assert.deepEqual(made.runtime, { timeout: 9, logs: { enabled: true, level: 'info' } });
  assert.ok(!(await traces(page)).includes('sk_of_the_reactor'), 'values of the configuration are nowhere in the page');
  return made;
};

const checkEditor = async ({ page }, { id }) => {
  await go(page, `/reactors/${id}/edit`, 'Change Last digits');
  const value = () => page.$eval('.code-editor textarea', (it) => it.value);
  const select = (start, end) => page.$eval('.code-editor textarea', (it, from, to) => {
    it.focus();
    it.setSelectionRange(from, to);
  }, start, end);
  const line = CODE.indexOf('console');
  await select(line, CODE.indexOf('return') + 3);
  await page.keyboard.press('Tab');
  const indented = CODE.replace(/^(console|if|return)/gm, '  $1');
  assert.equal(await value(), indented);
  await page.keyboard.down('Shift');
  await page.keyboard.press('Tab');
  await page.keyboard.up('Shift');
  assert.equal(await value(), CODE);
  await page.keyboard.down('Control');
  await page.keyboard.press('z');
  await page.keyboard.up('Control');
  assert.equal(await value(), indented, 'the browser can undo it');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA', 'Escape and Tab leave');
};

const changeReactor = async ({ api, page }) => {
  await press(page, 'Remove entry 2');
  await fillIn(page, 'Name', 'Digits');
  await press(page, 'Save');
  await heading(page, (text) => text === 'Digits');
  await settled(page);
  const [changed] = await listed(api);
  assert.deepEqual(changed.configuration, { SECRET: 'sk_of_the_reactor' }, 'one entry is gone, the other has its value');
  assert.match(changed.code, /^ {2}return/m);
  assert.deepEqual(changed.runtime, { timeout: 9, logs: { enabled: true, level: 'info' } });
};

const checkLines = async ({ h, api, page }, { id }) => {
  const call = (args) => api('POST', `/reactors/${id}/react`, { args });
  assert.equal((await call({ number: '4242424242424242', b: 1 })).body.raw.last4, '4242');
  const failed = await call({ fail: true });
  assert.equal(failed.status, 500);
  const trace = failed.headers['bt-trace-id'];
  await visit(page, 'Reactors');
  await showsText(page, 'the program threw an error');
  await go(page, `/reactors/${id}`, 'Digits');
  await showsText(page, '2, 1 failed');
  await showsText(page, 'got 2 arguments');
  await h.picture(page, 'reactor', { fullPage: true });
  await press(page, trace);
  await h.until('the lines of the failed call', async () => {
    const text = await seen(page);
    return text.includes('got 1 arguments') && !text.includes('got 2 arguments');
  });
  await press(page, 'Show all calls');
  await showsText(page, 'got 2 arguments');
  await choose(page, 'Level', 'error');
  await h.until('the end of the failed call alone', async () => {
    const text = await seen(page);
    return text.includes('The call failed: the program threw an error') && !text.includes('got 1 arguments');
  });
  await press(page, 'API calls');
  const calls = await page.$eval('#calls', (panel) => {
    panel.querySelectorAll('details').forEach((it) => { it.open = true; });
    return panel.innerText;
  });
  assert.ok(!calls.includes('got 2') && !calls.includes('module.exports') && !calls.includes('sk_of_the_reactor'), 'the list of calls has neither code nor lines');
  await press(page, 'API calls');
};

/** Runs with these arguments and waits for a text of the answer. */
const runWith = async (page, args, answer) => {
  await page.$eval('textarea.code', (it) => { it.value = ''; });
  await fillIn(page, 'Arguments', args);
  await press(page, 'Run');
  await showsText(page, answer);
  await settled(page);
};

const checkRun = async ({ h, api, page, vault }, { id }) => {
  const { body: token } = await api('POST', '/tokens', { type: 'token', data: '5555444433332222' });
  await go(page, `/reactors/${id}`, 'Digits');
  assert.equal(await page.$('::-p-aria([name="Run"][role="button"])'), null, 'a management key runs nothing');
  await showsText(page, 'a run needs the key of a private application');
  await fillIn(page, 'Private key', vault.keys.private);
  await page.keyboard.press('Enter');
  await showsText(page, 'Running with a second key');
  await runWith(page, '{"number": ', 'Arguments: this is not JSON');
  await runWith(page, `{"number": "{{ ${token.id} }}"}`, '"last4": "2222"');
  await showsText(page, 'status 200');
  const lines = () => page.evaluate(() => {
    const title = [...document.querySelectorAll('main h3')].find((it) => it.textContent === 'Lines of this run');
    return title?.nextElementSibling?.innerText ?? '';
  });
  await h.until('the lines of the run alone', async () => /got 1 arguments/.test(await lines()));
  assert.doesNotMatch(await lines(), /got 2 arguments/);
  await h.picture(page, 'run', { fullPage: true });
  h.expectComplaint(page, /status of (401|500)/);
  await runWith(page, '{"fail": true}', 'status 500');
  await showsText(page, 'no such luck');
  const found = await traces(page);
  assert.ok(!found.includes(vault.keys.private) && !found.includes(vault.keys.management), 'no key is in the page');
  const calls = await page.$eval('#calls', (it) => it.textContent);
  for (const part of ['last4', 'no such luck', '"number"', '5555444433332222']) {
    assert.ok(!calls.includes(part), `the list of calls has no arguments and no answers of programs: ${part}`);
  }
};

/** A program that answers 401 or a redirection by itself is shown, and the key stays. */
const checkOwnAnswers = async ({ h, api, page }) => {
  const code = `module.exports = async ({ req }) => ({ res: { statusCode: req.status, headers: { Location: '/' }, body: '<img src=x onerror="window.wasRun=1">' } });`;
  const made = await api('POST', '/reactors', { name: 'Answers', code, runtime: { image: 'node22' } }, 'management');
  await go(page, `/reactors/${made.body.id}`, 'Answers');
  await runWith(page, '{"status": 401}', 'status 401');
  await showsText(page, '<img src=x');
  await showsText(page, 'None are kept.');
  await runWith(page, '{"status": 302}', 'The program answered with a redirection');
  await showsText(page, 'Running with a second key');
  assert.deepEqual([await page.$('img'), await page.evaluate(() => window.wasRun)], [null, undefined]);
  await api('DELETE', `/reactors/${made.body.id}`, undefined, 'management');
};

const checkProduction = async (h) => {
  const vault = await h.startVault(['--tenant-type', 'production']);
  const { body } = await h.apiOf(vault)('POST', '/reactors', { name: 'Charge', code: CODE }, 'management');
  const page = await enter(h, vault.keys.management, { url: `${vault.url}/console` });
  await go(page, `/reactors/${body.id}`, 'Charge');
  await showsText(page, 'this is a production tenant');
  const buttons = await page.$$eval('main button', (all) => all.map((it) => it.textContent));
  assert.deepEqual(buttons, ['Change', 'Delete'], 'a production tenant has no button for a run');
  assert.equal(await page.$('main input[type="password"]'), null, 'and asks for no key');
  await h.closePage(page);
};

const checkReader = async ({ h, api, vault }, { id }) => {
  const body = { name: 'Reactor reader', type: 'management', permissions: ['reactor:read'] };
  const { key } = (await api('POST', '/applications', body, 'management')).body;
  const page = await enter(h, key, { url: `${vault.url}/console` });
  await visit(page, 'Reactors');
  await showsText(page, 'Needs reactor:create.');
  await go(page, `/reactors/${id}`, 'Digits');
  await showsText(page, 'Needs reactor:update.');
  await showsText(page, 'Needs log:read.');
  assert.equal(await page.$('main input[type="password"]'), null, 'who cannot change the reactor is asked for no key');
  const offered = await page.$$eval('main .heading button:not(:disabled)', (all) => all.map((it) => it.textContent));
  assert.deepEqual(offered, [], 'no change is offered');
  await go(page, `/reactors/${id}/edit`, 'Change reactor');
  await showsText(page, 'needs the permission reactor:update');
  await h.closePage(page);
};

/** The server says that programs are switched off, as one without the setting does. */
const checkSwitchedOff = async ({ h, vault }) => {
  const page = await enter(h, vault.keys.management, { url: `${vault.url}/console` });
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (!request.url().endsWith('/console/data/reactors')) return request.continue();
    const told = { tenant_type: 'test', runs_programs: false, obstacle: 'programs are switched off in the settings of this server', since: '2026-01-01T00:00:00Z', data: [] };
    return request.respond({ status: 200, contentType: 'application/json', body: JSON.stringify(told) });
  });
  await visit(page, 'Reactors');
  await showsText(page, 'No program runs here: programs are switched off in the settings of this server.');
  await showsText(page, 'in the section [code] of the settings');
  await h.axe(page);
  await h.picture(page, 'switched-off', { fullPage: true });
  await h.closePage(page);
};

const checkLook = async ({ h, vault }, { id }, { width, scheme }) => {
  const page = await enter(h, vault.keys.management, { url: `${vault.url}/console`, width, scheme });
  for (const [path, title, file] of [
    ['/reactors', 'Reactors', 'list'], [`/reactors/${id}`, 'Digits', 'one'], [`/reactors/${id}/edit`, 'Change Digits', 'form'],
  ]) {
    await go(page, path, title);
    await h.axe(page);
    await h.fitsSideways(page);
    await h.picture(page, `${file}-${width}-${scheme}`, { fullPage: true });
  }
  await go(page, `/reactors/${id}`, 'Digits');
  await fillIn(page, 'Private key', vault.keys.private);
  await page.keyboard.press('Enter');
  await showsText(page, 'Running with a second key');
  await runWith(page, '{"number": "12345678"}', '"last4": "5678"');
  await h.axe(page);
  await h.fitsSideways(page);
  await h.picture(page, `run-${width}-${scheme}`, { fullPage: true });
  await h.closePage(page);
};

const deleteReactor = async ({ api, page }, { id }) => {
  await go(page, `/reactors/${id}`, 'Digits');
  await press(page, 'Delete');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('Digits');
  await page.keyboard.press('Enter');
  await heading(page, (text) => text === 'Reactors');
  assert.deepEqual(await listed(api), []);
};

export const run = async (h) => {
  assert.ok(VIEWS.includes('Reactors'));
  const vault = await h.startVault();
  const page = await enter(h, vault.keys.management, { url: `${vault.url}/console` });
  const at = { h, api: h.apiOf(vault), page, vault };
  let made;
  await h.step('a reactor is made', async () => {
    made = await makeReactor(at);
  });
  await h.step('the editor indents, undoes and lets the keyboard leave', () => checkEditor(at, made));
  await h.step('a reactor is changed', () => changeReactor(at));
  await h.step('lines and failures are shown', () => checkLines(at, made));
  await h.step('a reactor runs with a private key and given arguments', () => checkRun(at, made));
  await h.step('answers of programs are shown as they are', () => checkOwnAnswers(at));
  await h.step('a production tenant has no run', () => checkProduction(h));
  await h.step('a key that only reads changes nothing', () => checkReader(at, made));
  await h.step('a server without programs names its setting', () => checkSwitchedOff(at));
  for (const look of h.looks) {
    await h.step(`${look.width}, ${look.scheme}`, () => checkLook(at, made, look));
  }
  await h.step('a reactor is deleted after its name is typed', () => deleteReactor(at, made));
  await h.closePage(page);
};
