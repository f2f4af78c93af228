// The examples of Elements: the programs that the page shows run as they are, and the gallery has every
// element in light and in dark.
import assert from 'node:assert/strict';
import { CARD, DOMAIN, elementFrame, typeCard } from '../lib/elements.js';
import { publicKey } from '../lib/fields.js';
import { boxOf, look as lookAt } from '../lib/pixels.js';

export const name = 'elements-examples';

/** The programs as a reader copies them from the page. */
const sources = async (h, key) => {
  const page = await h.openPage({ url: `${h.vault.url}/examples/elements#key=${key}` });
  await elementFrame(page, 'text', { at: 1 });
  const [react, html] = await h.until('the programs', async () => {
    const texts = await page.$$eval('#source-react, #source-html', (all) => all.map((it) => it.textContent));
    return texts.every((text) => text !== '') && texts;
  });
  await h.closePage(page);
  return { react, html };
};

/** A person pays: the shop's server gets an intent, and the page learns the last four digits. */
const pay = async (h, page, shop) => {
  await typeCard(page, CARD);
  await page.click('#pay');
  const status = () => page.$eval('[role=status]', (it) => it.textContent);
  assert.equal(await h.until('the end', status), 'Paid with visa, 4242.');
  const { body } = shop.requests.find(({ method, url }) => method === 'POST' && url === '/pay');
  const made = await h.api('POST', '/tokens', { token_intent_id: JSON.parse(body).intent });
  assert.equal((await h.api('GET', `/tokens/${made.body.id}`)).body.data.number, CARD.number);
};

const checkPrograms = async (h, browser) => {
  const files = { '/pay': { type: 'application/json', text: '{}' } };
  const page = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Shop</title><div id="root"></div><script src="/shop.js"></script>';
  const shop = await h.shop(page, { files });
  const { key } = await publicKey(h.api, [shop.origin]);
  const { react, html } = await sources(h, key);
  // A reader puts the name of the vault in the place of the example's.
  files['/shop.js'] = { type: 'text/javascript', text: await h.bundle(react.replace('pay.shop.example', DOMAIN)) };
  files['/plain.html'] = { type: 'text/html; charset=utf-8', text: html };
  for (const [url, other] of [['/', browser], ['/plain.html', undefined]]) {
    const opened = await h.openPage({ browser: other, url: shop.origin + url });
    await pay(h, opened, shop);
    await h.closePage(opened);
    shop.requests.length = 0;
  }
};

const checkGallery = async (h) => {
  for (const look of h.looks) {
    const page = await h.openPage({ ...look, url: `${h.vault.url}/examples/gallery#key=${h.vault.keys.public}` });
    await h.until('the elements', () => page.evaluate(() => document.documentElement.dataset.ready === 'true' || document.querySelector('#problem').textContent));
    assert.equal(await page.$eval('#problem', (it) => it.textContent), '');
    const kinds = (ground) => page.$$eval(`#${ground} iframe`, (all) => all.map((it) => it.src.replace(/^.*#|\..*$/g, '')));
    const [light, dark] = [await kinds('light'), await kinds('dark')];
    assert.deepEqual(light, dark, 'both grounds have the same elements');
    assert.deepEqual([...new Set(light)].sort(), ['card', 'copy', 'cvc', 'expiry', 'number', 'text']);
    // A card that is filled in and a wrong number can be read on both grounds, whatever the browser prefers.
    for (const [ground, isDark] of [['light', false], ['dark', true]]) {
      for (const at of [1, 4]) {
        const seen = await lookAt(page, await boxOf(page, `#${ground}-${at} iframe`));
        assert.equal(Number(seen.ground.split(' ')[0]) < 128, isDark, ground);
        assert.ok(seen.contrast > 4.5, `${ground}: the contrast is ${seen.contrast}`);
      }
    }
    await h.fitsSideways(page);
    // Frames have no ground of their own, and axe takes a white one.
    await h.axe(page, { except: ['color-contrast'] });
    await h.picture(page, `gallery-${look.width}-${look.scheme}`, { fullPage: true });
    await h.closePage(page);
  }
};

export const run = async (h) => {
  const browser = await h.launch({ [DOMAIN]: h.vault.url });
  await h.step('the programs of the example page', () => checkPrograms(h, browser));
  await h.step('every element in light and in dark', () => checkGallery(h));
};
