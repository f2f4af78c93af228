// The console as a person uses it: signing in, going to views, pressing buttons by their names.
import { clickOn } from './click.js';
import { until } from './wait.js';

/** The titles of the views, in the order of the menu. */
export const VIEWS = [
  'Overview', 'Applications', 'Tokens', 'Logs', 'Activity', 'Limits', '3DS sessions', 'Proxies', 'Reactors', 'Webhooks',
];

/** The first element with this role and accessible name, inside a place of the page. */
const named = (page, name, role) => page.waitForSelector(`::-p-aria([name="${name}"][role="${role}"])`);

/** Opens the console and signs in. */
export const enter = async (h, key, options = {}) => {
  const page = await h.openPage({ url: `${h.vault.url}/console`, ...options });
  await signIn(page, key);
  await heading(page, (text) => text !== 'Sign in');
  return page;
};

export const signIn = async (page, key) => {
  const input = await page.waitForSelector('#key');
  await input.type(key);
  await page.keyboard.press('Enter');
};

/** Waits for a heading of the view, and gives its text. */
export const heading = (page, isRight) =>
  until('the heading of the view', async () => {
    const text = await page.evaluate(() => document.querySelector('main h1')?.textContent ?? '');
    return text !== '' && isRight(text) && text;
  });

/** Shows a view by its entry in the menu. */
export const visit = async (page, title) => {
  await page.evaluate((text) => {
    [...document.querySelectorAll('nav a')].find((link) => link.firstChild.textContent === text).click();
  }, title);
  await heading(page, (text) => (title === 'Overview' ? true : text === title));
  await settled(page);
};

/** Waits until the view has loaded its parts. */
export const settled = (page) =>
  until('the parts of the view', () => page.evaluate(() =>
    document.querySelector('main h1') !== null && !document.querySelector('main').textContent.includes('Loading...')));

export const press = (page, name) => clickOn(name, () => named(page, name, 'button'));

export const fillIn = async (page, name, text) => {
  const input = await named(page, name, 'textbox');
  await input.evaluate((it) => {
    it.value = '';
  });
  await input.type(text);
};

export const choose = async (page, name, value) => {
  const list = await named(page, name, 'combobox');
  await list.select(value);
};

/** The text of the page that a person sees. */
export const seen = (page) => page.evaluate(() => document.body.innerText);

export const showsText = (page, text) =>
  until(`the text ${text}`, async () => (await seen(page)).includes(text));

/** Reads the key of the dialog that shows it once, and closes the dialog. */
export const takeNewKey = async (page) => {
  const shown = await page.waitForSelector('dialog textarea');
  const key = await shown.evaluate((it) => it.value);
  await press(page, 'I have stored it');
  await until('the end of the dialog', async () => (await page.$('dialog')) === null);
  return key;
};

/** Everything of the page that outlives a call: markup, inputs, storage, cookies and the address. */
export const traces = (page) =>
  page.evaluate(async () => {
    const inputs = [...document.querySelectorAll('input, textarea')].map((it) => it.value);
    const caches = await window.caches.keys();
    const databases = await window.indexedDB.databases();
    return JSON.stringify([
      document.documentElement.outerHTML, inputs, { ...localStorage }, { ...sessionStorage }, document.cookie,
      window.location.href, window.name, history.state, caches, databases,
    ]);
  });
