// Reactors in the console: making one with its code and configuration, changing it, its lines and failures, what a key
// that only reads sees, and a server that runs no programs.
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
  await showsText(page, 'There are no lines.');
  await press(page, 'API calls');
  const calls = await page.$eval('#calls', (panel) => {
    panel.querySelectorAll('details').forEach((it) => { it.open = true; });
    return panel.innerText;
  });
  assert.ok(!calls.includes('got 2') && !calls.includes('module.exports') && !calls.includes('sk_of_the_reactor'), 'the list of calls has neither code nor lines');
  await press(page, 'API calls');
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
  await h.step('a key that only reads changes nothing', () => checkReader(at, made));
  await h.step('a server without programs names its setting', () => checkSwitchedOff(at));
  for (const look of h.looks) {
    await h.step(`${look.width}, ${look.scheme}`, () => checkLook(at, made, look));
  }
  await h.step('a reactor is deleted after its name is typed', () => deleteReactor(at, made));
  await h.closePage(page);
};
