// The page at `/`: start page, trust help, and the reference that it renders from the document.
import assert from 'node:assert/strict';
import { click } from '../lib/click.js';

export const name = 'reference';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Opens a view and waits for its title. */
const openView = async (h, hash, look = {}) => {
  const page = await h.openPage(look);
  await h.within(`the view ${hash}`, page.goto(`${h.vault.url}/${hash}`));
  await page.waitForSelector('#navigation details');
  await h.until(`the title of ${hash}`, () => titleOf(page));
  return page;
};

const titleOf = (page) =>
  page.evaluate(() => [...document.querySelectorAll('main h1')].find((it) => it.offsetParent !== null)?.textContent ?? '');

/** Goes to a hash in the page and waits until its view is shown. */
const goTo = async (h, page, hash, title) => {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await h.until(`the title ${title}`, async () => (await titleOf(page)) === title);
};

const documentOf = async (h) => (await h.api('GET', '/openapi.json', undefined, null)).body;

/** Every operation that programs call, by the rule of the page. */
const operationsOf = (root) => {
  const found = [];
  for (const [path, item] of Object.entries(root.paths)) {
    for (const method of METHODS) {
      const own = item[method];
      if (!own) continue;
      const types = Object.values(own.responses).flatMap((it) => Object.keys(it.content ?? {}));
      const isFile = own['x-page-group'] && !own['x-permissions'] && types.some((it) => /^(text\/|\*\/\*)/.test(it));
      const isForm = Object.keys(own.requestBody?.content ?? {})[0]?.includes('form') ?? false;
      if (!isFile) found.push({ id: own.operationId, path, method: method.toUpperCase(), summary: own.summary, isForm });
    }
  }
  return found;
};

/** The table of the document needs no scrolling, also on a phone. */
const showsWholeTable = async (page) => {
  const [shown, needed] = await page.$eval('.stacked', (it) => [it.parentElement.clientWidth, it.parentElement.scrollWidth]);
  assert.ok(needed <= shown, `the table needs ${needed} px of ${shown} px`);
};

const checkLooks = async (h) => {
  for (const look of h.looks) {
    for (const [view, hash] of [['start', ''], ['trust', '#trust'], ['operation', '#operation/CreateToken'], ['errors', '#errors'], ['limits', '#rate-limits'], ['chapter', '#chapter/proxies'], ['moving', '#chapter/coming-from-basis-theory']]) {
      const page = await openView(h, hash, look);
      await h.fitsSideways(page);
      if (['errors', 'limits'].includes(view)) await showsWholeTable(page);
      await h.axe(page);
      await h.picture(page, `${view}-${look.width}-${look.scheme}`, { fullPage: true });
      await h.closePage(page);
    }
  }
};

const checkStart = async (h, root) => {
  const page = await openView(h, '');
  assert.equal(await page.$eval('#fact-version', (it) => it.textContent), root.info.version);
  await h.until('the state', async () => (await page.$eval('#fact-state', (it) => it.textContent)) === 'ready');
  const commands = await page.$$eval('#view-start pre, #view-trust pre', (all) => all.map((it) => it.textContent).join('\n'));
  const uncoloured = await page.$$eval('#view-start pre', (all) => all.filter((it) => it.querySelector('[class^=is-]') === null).length);
  assert.equal(uncoloured, 0, 'every block of the start page has colours');
  assert.equal(await page.$$eval('#topics a[href="/guide"], .links a[href="/guide"]', (all) => all.length), 2);
  assert.ok(commands.includes(`--cacert "$CA" ${h.vault.url}/tokens`) && !commands.includes(':8443'), 'commands have the address of this server');
  assert.equal((await page.cookies()).length, 0);
  await h.closePage(page);
};

/** The keys of the address that `dev` prints are shown and used, and leave the address. */
const checkOwnKeys = async (h) => {
  const { private: secret, public: open, management } = h.vault.keys;
  const page = await openView(h, `#keys=${secret},${open},${management},/home/ann/my%20vault/ca.pem`);
  assert.equal(await page.evaluate(() => location.hash), '#start');
  assert.ok((await page.$eval('#variables', (it) => it.textContent)).includes(`MANAGEMENT_KEY=${management}\n`));
  assert.ok((await page.$eval('#variables', (it) => it.textContent)).includes("CA='/home/ann/my vault/ca.pem'\n"));
  assert.ok((await page.$eval('#view-trust', (it) => it.textContent)).includes('verify="/home/ann/my vault/ca.pem"'));
  await h.picture(page, 'own-keys');
  await goTo(h, page, '#chapter/hosted-card-fields', 'Hosted card fields');
  const code = await page.$$eval('#view-document pre', (all) => all.map((it) => it.textContent).join('\n'));
  assert.ok(code.includes(`${h.vault.url}/fields/v1.js`) && code.includes(open) && !code.includes('vault.example'), code);
  for (const [id, key] of [['ListApplications', management], ['CreateSession', open], ['ListTokens', secret]]) {
    await page.evaluate((to) => { location.hash = to; }, `#operation/${id}`);
    await h.until(`the key of ${id}`, () => page.evaluate((wanted) => document.querySelector('input.key')?.value === wanted, key));
  }
  await click(page, '.try button[type=submit]');
  assert.match(await answerOf(h, page), /^200/);
  await h.closePage(page);
  const foreign = await openView(h, "#keys=';id;',a,b");
  assert.ok(!(await foreign.$eval('main', (it) => it.textContent)).includes(';id;'));
  await h.closePage(foreign);
};

/** The example stays beside the description while a person reads it. */
const checkSticky = async (h) => {
  const page = await openView(h, '#operation/CreateToken');
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight / 2));
  const top = () => page.$eval('.aside', (it) => it.getBoundingClientRect().top);
  await h.until('the example in view', async () => (await top()) > 0 && (await top()) < 200);
  const order = await page.$$eval('.rest h2', (all) => all.map((it) => it.textContent));
  assert.ok(order.indexOf('Body') < order.indexOf('Limits'), order.join());
  await h.closePage(page);
};

const checkOperations = async (h, root) => {
  const page = await openView(h, '');
  const expected = operationsOf(root);
  assert.ok(expected.length > 60, `${expected.length} operations`);
  const listed = await page.$$eval('#navigation a[href^="#operation/"]', (all) => all.map((it) => it.getAttribute('href').slice(11)));
  assert.deepEqual([...listed].sort(), expected.map((it) => it.id).sort());
  for (const { id, path, method, summary, isForm } of expected) {
    await page.evaluate((to) => { location.hash = to; }, `#operation/${id}`);
    await h.until(`the operation ${id}`, () => page.evaluate((...wanted) => {
      const shown = document.querySelector('.operation .address');
      const title = document.querySelector('#view-title')?.textContent;
      return shown?.textContent.replace(/\s/g, '') === wanted.slice(0, 2).join('') && title === wanted[2];
    }, method, path, summary));
    const tabs = await page.$$eval('.example [role=tab]', (all) => all.map((it) => it.textContent));
    assert.deepEqual(tabs, isForm ? [] : ['curl', 'Python', 'Node'], id);
  }
  await h.closePage(page);
};

/** Every link inside of the page leads to a view. */
const checkLinks = async (h) => {
  const page = await openView(h, '');
  const chapters = await page.$$eval('#navigation a[href^="#"]:not([href^="#operation/"])', (all) => all.map((it) => it.getAttribute('href')));
  const links = new Set();
  for (const hash of chapters) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await h.until(`the view ${hash}`, async () => (await page.$('#navigation [aria-current]'))?.evaluate((it) => it.getAttribute('href')).then((it) => it === hash));
    for (const link of await page.$$eval('main a[href^="#"]', (all) => all.map((it) => it.getAttribute('href')))) links.add(link);
  }
  assert.ok(links.size > 20, `${links.size} links`);
  for (const link of links) {
    await page.evaluate((to) => { location.hash = to; }, link);
    await h.until(`the address ${link}`, () => page.evaluate((to) => location.hash === to, link));
    assert.notEqual(await titleOf(page), 'Not found', link);
  }
  await goTo(h, page, '#chapter/no-such-chapter', 'Not found');
  await h.closePage(page);
};

const checkSearch = async (h) => {
  const page = await openView(h, '');
  await page.keyboard.press('/');
  await h.keyboard.focusReaches(page, 'Search the reference');
  await page.keyboard.type('detokenize');
  await h.until('results', async () => (await page.$$('#results a')).length > 0);
  assert.match(await page.$eval('#search-status', (it) => it.textContent), /^\d+ results?$/);
  await page.keyboard.press('ArrowDown');
  const first = await page.evaluate(() => document.activeElement.getAttribute('href'));
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('href')), first);
  assert.equal(first, '#operation/Detokenize');
  await page.keyboard.press('Enter');
  await h.until('the operation', async () => (await page.$('.operation')) !== null);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'view-title', 'the focus follows');
  for (const [query, hash, text] of [
    ['apple pay', '#chapter/coming-from-basis-theory/features', 'Not part of this server. Instead'],
    ['3ds mobile sdk', '#chapter/coming-from-basis-theory/features', 'Test challenges in a browser'],
    ['network tokens', '#chapter/coming-from-basis-theory/features', 'Let the PSP make them'],
    ['terraform', '#chapter/coming-from-basis-theory/terraform', 'Coming from Basis Theory'],
    ['stripe', '#chapter/payment-providers/stripe', 'Payment providers'],
    ['trust', '#trust', 'Trust the certificate'],
    ['keytool', '#trust', 'Trust the certificate'],
    ['guide', '/guide', "Operator's guide"],
    ['docker', '/guide#install--in-a-container', "Operator's guide"],
    ['cors', '#chapter/requests-and-answers/details', 'Pages of any origin'],
  ]) {
    await page.$eval('#query', (it) => { it.value = ''; });
    await page.type('#query', query);
    const results = () => page.$eval('#results', (it) => [it.querySelector('a')?.getAttribute('href') ?? '', it.textContent]);
    // The guide is loaded when the search begins.
    const [link, shown] = await h.until(`the results of ${query}`, async () => {
      const found = await results();
      return found[0] === hash && found;
    });
    assert.equal(link, hash, query);
    assert.ok(shown.includes(text), `${query}: ${shown}`);
  }
  await h.picture(page, 'search');
  await page.$eval('#query', (it) => { it.value = ''; });
  await page.focus('#query');
  await page.keyboard.type('no-such-thing');
  await h.until('no results', async () => (await page.$eval('#search-status', (it) => it.textContent)) === '0 results');
  assert.equal(await page.$$eval('#results a', (all) => all.length), 2, 'a search without results has a next step');
  await page.keyboard.press('Escape');
  assert.equal(await page.$eval('#query', (it) => it.value), '');
  assert.equal(await page.$eval('#navigation', (it) => it.hidden), false);
  await h.closePage(page);
};

/** `tests/it/reference_examples.rs` runs the examples. */
const checkExamples = async (h) => {
  const page = await openView(h, '#operation/CreateToken');
  await page.$$eval('.answer', (all) => all.forEach((it) => { it.open = true; }));
  assert.equal(await page.$$eval('.answer', (all) => all.some((it) => it.textContent.includes('Other members'))), false);
  await page.type('input.key', h.vault.keys.private);
  for (const tab of await page.$$('.example [role=tab]')) {
    await tab.click();
    const code = await page.$eval('.example [role=tabpanel]:not([hidden]) code', (it) => it.textContent);
    assert.ok(code.includes(h.vault.url) && !code.includes(h.vault.keys.private), 'the pasted key is in an example');
  }
  const isCut = await page.$eval('.example .code', (it) => it.querySelector('pre').clientWidth < it.clientWidth);
  assert.equal(isCut, false, 'the code has the whole width beside the button');
  // The choice of a language stays for the next operation.
  await (await page.$$('.example [role=tab]'))[1].click();
  await page.keyboard.press('ArrowRight');
  await page.evaluate(() => { location.hash = '#operation/ReadToken'; });
  await h.until('the next operation', () => page.evaluate(() => document.querySelector('.address code')?.textContent === '/tokens/{id}'));
  assert.equal(await page.$eval('.example [aria-selected=true]', (it) => it.textContent), 'Node');
  await h.closePage(page);
};

const answerOf = (h, page) =>
  h.until('the answer', () => page.evaluate(() => document.querySelector('.outcome .status')?.textContent ?? null));

const checkTry = async (h) => {
  const page = await openView(h, '#operation/CreateToken');
  await click(page, '.try button[type=submit]');
  await h.until('the mistake', () => page.evaluate(() => document.querySelector('.outcome .bad')?.textContent === 'The API key is missing.'));
  await page.type('input.key', h.vault.keys.private);
  const body = { type: 'token', data: 'made by try-it' };
  await page.$eval('.try textarea', (it, text) => { it.value = text; }, JSON.stringify(body));
  await click(page, '.try button[type=submit]');
  assert.match(await answerOf(h, page), /^201/);
  const made = JSON.parse(await page.$eval('.outcome pre code', (it) => it.textContent));
  assert.equal((await h.api('GET', `/tokens/${made.id}`)).body.data, body.data);
  assert.ok(await page.$eval('.outcome .trace', (it) => it.textContent.length > 0), 'the trace id is shown');

  // The key goes along to the next operation, and a deletion is confirmed first.
  await page.evaluate(() => { location.hash = '#operation/DeleteToken'; });
  await h.until('the deletion', () => page.evaluate(() => document.querySelector('.address .method')?.textContent === 'DELETE'));
  await page.$eval('.try form input', (it, id) => { it.value = id; }, made.id);
  await click(page, '.try button[type=submit]');
  await page.waitForSelector('#confirm[open]');
  assert.match(await page.$eval('#confirm-text', (it) => it.textContent), /^Delete a token\. .*cannot be undone/);
  await page.keyboard.press('Escape');
  assert.equal((await h.api('GET', `/tokens/${made.id}`)).status, 200, 'Escape sends nothing');
  await click(page, '.try button[type=submit]');
  await page.waitForSelector('#confirm[open]');
  await click(page, '#confirm-yes');
  assert.match(await answerOf(h, page), /^204/);
  assert.equal((await h.api('GET', `/tokens/${made.id}`)).status, 404);
  await checkKeyStays(h, page);
  await h.closePage(page);
};

/** The key is in the header of requests to this server, and nowhere else. */
const checkKeyStays = async (h, page) => {
  const key = h.vault.keys.private;
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, document.documentElement.outerHTML]));
  assert.ok(!kept.includes(key), 'the page keeps the key');
  for (const request of h.traffic(page)) {
    assert.ok(request.url.startsWith(`${h.vault.url}/`) || request.url.startsWith('data:image/png'), request.url);
    assert.ok(!request.url.includes(key) && !(request.body ?? '').includes(key), request.url);
  }
  await page.reload();
  await page.waitForSelector('input.key');
  assert.equal(await page.$eval('input.key', (it) => it.value), '', 'a reload forgets the key');
};

const checkKeyboard = async (h) => {
  for (const width of ['desktop', 'phone']) {
    for (const hash of ['', '#trust', '#operation/CreateToken']) {
      const page = await openView(h, hash, { width });
      await page.evaluate(() => document.activeElement.blur());
      const stops = await h.keyboard.checkTabStops(page);
      assert.equal(stops.at(0).name, 'Skip to the content');
      await h.closePage(page);
    }
  }
  const page = await openView(h, '', { width: 'phone' });
  await h.keyboard.tabTo(page, 'Menu');
  await page.keyboard.press('Enter');
  assert.equal(await page.$eval('#menu', (it) => it.getAttribute('aria-expanded')), 'true');
  await h.keyboard.tabTo(page, 'Trust the certificate');
  await page.keyboard.press('Enter');
  await h.until('the trust view', async () => (await titleOf(page)).startsWith('Trust'));
  assert.equal(await page.$eval('#menu', (it) => it.getAttribute('aria-expanded')), 'false');
  await h.closePage(page);
};

const checkWithoutScript = async (h) => {
  const page = await h.openPage();
  await page.setJavaScriptEnabled(false);
  await h.within('the page without scripts', page.goto(`${h.vault.url}/`));
  const link = await page.$eval('noscript a', (it) => it.getAttribute('href')).catch(() => null);
  assert.equal(link, '/openapi.json');
  await h.closePage(page);
};

export const run = async (h) => {
  const root = await documentOf(h);
  await h.step('start page', () => checkStart(h, root));
  await h.step('every operation is shown', () => checkOperations(h, root));
  await h.step('links lead somewhere', () => checkLinks(h));
  await h.step('search', () => checkSearch(h));
  await h.step('keys of the development vault', () => checkOwnKeys(h));
  await h.step('the example stays in view', () => checkSticky(h));
  await h.step('examples do what they say', () => checkExamples(h));
  await h.step('try-it', () => checkTry(h));
  await h.step('keyboard', () => checkKeyboard(h));
  await h.step('without JavaScript', () => checkWithoutScript(h));
  await h.step('looks', () => checkLooks(h));
};
