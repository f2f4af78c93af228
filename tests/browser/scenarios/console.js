// The console: its actions are seen in the API afterwards, and its views work by keyboard and in all looks.
import assert from 'node:assert/strict';
import {
  VIEWS, choose, enter, fillIn, heading, press, seen, settled, showsText, signIn, takeNewKey, traces, visit,
} from '../lib/console.js';

export const name = 'console';

const byName = async (h, wanted) => {
  const { body } = await h.api('GET', '/applications?size=100', undefined, 'management');
  return body.data.find((it) => it.name === wanted);
};

const checkSignIn = async (h) => {
  const page = await h.openPage({ url: `${h.vault.url}/console` });
  h.expectComplaint(page, /401/);
  await signIn(page, 'key_test_self_mgt_unknown');
  await showsText(page, 'This is not a key of this server.');
  await showsText(page, 'Trace id');
  await signIn(page, h.vault.keys.public);
  await showsText(page, 'public application');
  await signIn(page, h.vault.keys.management);
  await heading(page, (text) => text !== 'Sign in');
  const focus = await page.evaluate(() => document.activeElement.tagName);
  assert.equal(focus, 'H1', 'the focus is on the heading of the new view');
  await h.closePage(page);
};

const createApplication = async (h, page) => {
  await visit(page, 'Applications');
  await press(page, 'New application');
  await heading(page, (text) => text === 'New application');
  await fillIn(page, 'Name', 'Console shop');
  await press(page, 'Add a rule');
  await fillIn(page, 'Container', '/pci/high/');
  await page.locator('.rule ::-p-text(token:read)').click();
  await page.locator('.rule ::-p-text(token:create)').click();
  await fillIn(page, 'For tokens in the container', '/pci/high/visa/');
  await showsText(page, 'masked values');
  await press(page, 'Create');
  const key = await takeNewKey(page);
  await heading(page, (text) => text === 'Console shop');
  const made = await byName(h, 'Console shop');
  assert.equal(made.type, 'private');
  assert.deepEqual(made.rules, [
    { priority: 1, container: '/pci/high/', transform: 'mask', permissions: ['token:create', 'token:read'] },
  ]);
  const card = { type: 'card', data: { number: '4242424242424242' } };
  assert.equal((await h.api('POST', '/tokens', card, key)).status, 201, 'the shown key works');
  assert.ok(!(await traces(page)).includes(key), 'the key is gone when its dialog is closed');
  return { made, key };
};

const changeApplication = async (h, page) => {
  await press(page, 'Change');
  await heading(page, (text) => text === 'Change Console shop');
  await press(page, 'Add a rule');
  const containers = await page.$$('.rule input[placeholder="/pci/high/"]');
  await containers[1].evaluate((it) => {
    it.value = '';
  });
  await containers[1].type('/pci/low/');
  await page.locator('[data-rule="1"] ::-p-text(token:read)').click();
  await press(page, 'Move up rule 2');
  await press(page, 'Save');
  await heading(page, (text) => text === 'Console shop');
  await showsText(page, 'None; its rights come from its rules.');
  const previewed = await page.$eval('.preview input', (it) => it.value);
  assert.equal(previewed, '/pci/low/', 'the preview begins with the first rule');
  const changed = await byName(h, 'Console shop');
  assert.deepEqual(changed.rules.map((rule) => [rule.priority, rule.container]), [[1, '/pci/low/'], [2, '/pci/high/']]);
};

const rotateKey = async (h, page, { made, key }) => {
  const old = made.keys[0].id;
  await press(page, `Rotate key ...${old.slice(-8)}`);
  const fresh = await takeNewKey(page);
  await showsText(page, 'Both keys work');
  for (const each of [key, fresh]) {
    assert.equal((await h.api('GET', '/applications/key', undefined, each)).status, 200, 'both keys work');
  }
  assert.equal((await byName(h, 'Console shop')).keys.length, 2);
  const marks = await page.$$eval('main .rows .tag', (all) => all.map((it) => it.textContent));
  assert.ok(marks.includes('old') && marks.includes('new'), 'both keys are marked');
  await h.picture(page, 'rotation', { fullPage: true });
  await press(page, `Delete key ...${old.slice(-8)}`);
  await press(page, 'Delete the key');
  await h.until('the end of the old key', async () => (await byName(h, 'Console shop')).keys.length === 1);
  assert.equal((await h.api('GET', '/applications/key', undefined, key)).status, 401);
  assert.equal((await h.api('GET', '/applications/key', undefined, fresh)).status, 200);
};

const deleteApplication = async (h, page) => {
  await press(page, 'Delete');
  const dialog = await page.waitForSelector('dialog');
  const button = await dialog.$('button.danger');
  const isDisabled = () => button.evaluate((it) => it.disabled);
  assert.equal(await isDisabled(), true, 'the name has to be typed first');
  await page.keyboard.type('Console sho');
  assert.equal(await isDisabled(), true);
  await page.keyboard.type('p');
  assert.equal(await isDisabled(), false);
  await page.keyboard.press('Enter');
  await heading(page, (text) => text === 'Applications');
  assert.equal(await byName(h, 'Console shop'), undefined);
};

const checkMistakes = async (page) => {
  await visit(page, 'Applications');
  await press(page, 'New application');
  await heading(page, (text) => text === 'New application');
  await fillIn(page, 'Name', 'No rights');
  await press(page, 'Create');
  await showsText(page, 'One or more validation errors occurred.');
  await showsText(page, 'There must be permissions or rules.');
  const offered = await page.$$eval('fieldset code', (all) => all.map((it) => it.textContent));
  assert.ok(offered.includes('token:create') && offered.includes('reactor:invoke') && !offered.includes('network-token:create'), offered.join());
};

const checkApplications = async (h) => {
  const page = await enter(h, h.vault.keys.management);
  h.expectComplaint(page, /status of 400/);
  let shop;
  await h.step('an application with a rule is made', async () => {
    shop = await createApplication(h, page);
  });
  await h.step('each action shows its call, without keys', async () => {
    await press(page, 'API calls');
    await page.evaluate(() => document.querySelectorAll('.call-list details').forEach((it) => {
      it.open = true;
    }));
    await showsText(page, 'curl -X POST');
    await showsText(page, 'BT-API-KEY: $KEY');
    const text = await seen(page);
    assert.ok(!text.includes(shop.key) && !text.includes(h.vault.keys.management));
    assert.match(text, /"key": "\(not shown\)"/);
    await h.picture(page, 'calls');
    await press(page, 'API calls');
  });
  await h.step('an application is changed and its rules move', () => changeApplication(h, page));
  await h.step('a key is rotated with overlap', () => rotateKey(h, page, shop));
  await h.step('an application is deleted after its name is typed', () => deleteApplication(h, page));
  await h.step('mistakes are shown by field', () => checkMistakes(page));
  await h.closePage(page);
};

const checkTail = async (h) => {
  const page = await enter(h, h.vault.keys.management);
  await visit(page, 'Logs');
  await press(page, 'Live tail');
  await showsText(page, 'Live:');
  const { body } = await h.api('POST', '/tokens', { type: 'token', data: 'x' });
  const rowOfToken = () => page.evaluate((id) => document.querySelector(`main [title="${id}"]`) !== null, body.id);
  await h.until('the new event in the tail', rowOfToken);
  await press(page, 'Pause the tail');
  const paused = await page.$$eval('main .rows tbody tr:not(.detail)', (rows) => rows.length);
  const asked = h.traffic(page).length;
  await h.api('POST', '/tokens', { type: 'token', data: 'y' });
  await new Promise((done) => setTimeout(done, 3000));
  assert.equal(h.traffic(page).length, asked, 'a paused tail asks nothing');
  assert.equal(await page.$$eval('main .rows tbody tr:not(.detail)', (rows) => rows.length), paused);
  await choose(page, 'Resource', 'token');
  await fillIn(page, 'Id of the resource', body.id);
  await press(page, 'Apply');
  await h.until('the filtered entries', async () => (await page.$$('main .rows tbody tr:not(.detail)')).length === 1);
  await h.closePage(page);
};

const checkLook = async (h, { width, scheme }) => {
  const page = await h.openPage({ url: `${h.vault.url}/console`, width, scheme });
  await page.waitForSelector('#key');
  await h.axe(page);
  await h.picture(page, `sign-in-${width}-${scheme}`);
  await signIn(page, h.vault.keys.management);
  for (const title of VIEWS) {
    await heading(page, (text) => text !== 'Sign in');
    await visit(page, title);
    await h.axe(page);
    await h.fitsSideways(page);
    await h.picture(page, `${title.toLowerCase().replaceAll(' ', '-')}-${width}-${scheme}`, { fullPage: true });
  }
  await page.evaluate(() => {
    window.location.hash = '/applications/new';
  });
  await heading(page, (text) => text === 'New application');
  await press(page, 'Add a rule');
  await showsText(page, 'Not complete yet');
  await h.axe(page);
  await h.fitsSideways(page);
  await h.picture(page, `new-application-${width}-${scheme}`, { fullPage: true });
  await h.closePage(page);
};

const checkKeyboard = async (h) => {
  const page = await enter(h, h.vault.keys.management);
  await page.evaluate(() => document.activeElement.blur());
  await h.keyboard.tabTo(page, 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await h.keyboard.tabTo(page, 'Applications');
  await page.keyboard.press('Enter');
  await heading(page, (text) => text === 'Applications');
  await h.until('the focus on the heading', () => page.evaluate(() => document.activeElement.tagName === 'H1'));
  await settled(page);
  await h.keyboard.checkTabStops(page);
  await h.keyboard.tabTo(page, 'Development private');
  await page.keyboard.press('Enter');
  await heading(page, (text) => text === 'Development private');
  await h.keyboard.tabTo(page, 'Delete');
  await page.keyboard.press('Enter');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.press('Escape');
  await h.until('the end of the dialog', async () => (await page.$('dialog')) === null);
  await h.keyboard.focusReaches(page, 'Delete');
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('signing in', () => checkSignIn(h));
  await checkApplications(h);
  await h.step('a live tail shows a new event, and pauses', () => checkTail(h));
  await h.step('the keyboard is enough', () => checkKeyboard(h));
  for (const look of h.looks) {
    await h.step(`${look.width}, ${look.scheme}`, () => checkLook(h, look));
  }
};
