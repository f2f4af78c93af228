// What every page for people must hold, whatever it is for: headers, landmarks, accessibility, widths,
// the keyboard. A new page gets a row in the table.
import assert from 'node:assert/strict';

export const name = 'pages';

/** `path` of the page, and a selector of an element that is there when the page is `ready`. */
const PAGES = [
  { path: '/', ready: 'main h1' },
  { path: '/#trust', ready: 'main h1' },
  { path: '/#errors', ready: 'main h1' },
  { path: '/#operation/CreateToken', ready: 'main h1' },
  { path: '/console', ready: 'main input' },
  { path: '/examples/checkout', ready: 'main h1' },
  { path: '/examples/elements', ready: 'main h1' },
  { path: '/examples/gallery', ready: 'main h1' },
  { path: '/fields/v1/field', ready: 'main h1' },
];

/** Tab stops that are looked at: a reference has hundreds, and the later ones look like the first. */
const STOPS_MAX = 40;

const checkHeaders = ({ status, headers }, path) => {
  assert.equal(status, 200, path);
  const policy = headers['content-security-policy'] ?? '';
  assert.match(policy, /^default-src 'none'/, path);
  assert.doesNotMatch(policy, /unsafe-inline|unsafe-eval|\*|http:/, path);
  assert.equal(headers['set-cookie'], undefined, path);
  assert.equal(headers['referrer-policy'], 'no-referrer', path);
  assert.match(headers['content-type'], /^text\/html; charset=utf-8$/, path);
};

const checkLandmarks = async (page) => {
  const found = await page.evaluate(() => ({
    lang: document.documentElement.lang,
    title: document.title,
    mains: document.querySelectorAll('main').length,
    headings: [...document.querySelectorAll('h1')].filter((it) => it.checkVisibility()).length,
    inline: document.querySelectorAll('style, script:not([src])').length,
    cookies: document.cookie,
  }));
  assert.match(found.lang, /^[a-z]{2}/, page.url());
  assert.notEqual(found.title, '', page.url());
  assert.deepEqual([found.mains, found.headings], [1, 1], `${page.url()} has one main part and one heading`);
  assert.deepEqual([found.inline, found.cookies], [0, ''], page.url());
};

const checkPage = async (h, { path, ready }, look) => {
  const page = await h.openPage(look);
  await h.within(`the page ${path}`, page.goto(h.vault.url + path));
  const isShown = (selector) => [...document.querySelectorAll(selector)].some((it) => it.checkVisibility());
  await h.until(`${ready} on ${path}`, () => page.evaluate(isShown, ready));
  await checkLandmarks(page);
  await h.axe(page);
  await h.fitsSideways(page);
  const picture = path.replace(/[^a-z0-9]+/gi, '_');
  await h.picture(page, `${picture}-${look.width}-${look.scheme}`, { fullPage: true });
  await h.keyboard.checkTabStops(page, { first: STOPS_MAX });
  await h.closePage(page);
};

/** The guide has no script. Its paths and settings are long. */
const checkGuide = async (h, look) => {
  const page = await h.openPage(look);
  await h.within('the guide', page.goto(`${h.vault.url}/guide`));
  await checkLandmarks(page);
  await h.fitsSideways(page);
  assert.match(await page.$eval('link[rel=icon]', (it) => it.href), /^data:image/);
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('/guide', async () => {
    for (const look of h.looks) await checkGuide(h, look);
  });
  for (const row of PAGES) {
    await h.step(row.path, async () => {
      checkHeaders(await h.api('GET', row.path.split('#')[0], undefined, null), row.path);
      for (const look of h.looks) await checkPage(h, row, look);
    });
  }
};
