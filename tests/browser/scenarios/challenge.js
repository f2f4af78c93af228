// The pages of the built-in ACS: languages, the sizes of the protocol's windows, keyboard, errors.
import assert from 'node:assert/strict';
import { APP_CARD, CODE_CARD, PURCHASE, beginChallenge } from '../lib/threeds.js';

export const name = 'challenge';

/** The windows that a shop may ask for, from the smallest to the whole screen. */
const WINDOWS = [[250, 400], [390, 400], [500, 600], [600, 400], [1280, 900]];

const LANGUAGES = [
  { language: 'en-GB', tag: 'en', heading: 'Confirm your payment', amount: 'GBP 1,234.56', failed: 'This did not work' },
  { language: 'de-CH,de;q=0.9', tag: 'de', heading: 'Zahlung bestätigen', amount: '1.234,56 GBP', failed: 'Das hat nicht funktioniert' },
  { language: 'fr', tag: 'fr', heading: 'Confirmez votre paiement', amount: '1 234,56 GBP', failed: 'Cela n’a pas fonctionné' },
  { language: 'es-MX', tag: 'es', heading: 'Confirme su pago', amount: '1.234,56 GBP', failed: 'No ha funcionado' },
];

const BOUGHT = {
  ...PURCHASE,
  purchase_info: { ...PURCHASE.purchase_info, amount: '123456' },
  merchant_info: { ...PURCHASE.merchant_info, name: 'Books & More' },
};

/** The longest name and amount that the protocol allows. */
const LONG = {
  ...PURCHASE,
  purchase_info: { ...PURCHASE.purchase_info, amount: '9'.repeat(48) },
  merchant_info: { ...PURCHASE.merchant_info, name: 'W'.repeat(40) },
};

/** Opens the ACS's page in a window of its own, by a form as a shop's page sends it. */
const open = async (h, creq, options) => {
  const page = await h.openPage(options);
  const url = `${h.vault.url}/3ds/sim/acs/challenge`;
  const form = `<!doctype html><html lang="en"><title>Shop</title><form method="post" action="${url}">
    <input type="hidden" name="creq" value="${creq}"></form>`;
  await page.goto((await h.shop(form)).origin);
  const arrived = page.waitForNavigation();
  await page.evaluate(() => document.querySelector('form').submit());
  await h.within('the page of the ACS', arrived);
  return page;
};

const text = async (page) => (await page.evaluate(() => document.body.innerText)).replace(/[\u00a0\u202f]/g, ' ');
const check = async (h, page, picture) => {
  await h.axe(page);
  await h.fitsSideways(page);
  await h.picture(page, picture, { fullPage: true });
};

const checkLanguage = async (h, { language, tag, heading, amount }) => {
  const { creq } = await beginChallenge(h, CODE_CARD, BOUGHT);
  for (const [width, height] of WINDOWS) {
    const page = await open(h, creq, { width: { width, height }, language });
    const shown = await text(page);
    for (const part of [heading, amount, 'Books & More', '••••', '0004']) assert.ok(shown.includes(part), `${part} in ${shown}`);
    assert.equal(await page.evaluate(() => document.documentElement.lang), tag);
    assert.equal(await page.title(), heading);
    await check(h, page, `${tag}-${width}x${height}`);
    await h.closePage(page);
  }
};

const checkDark = async (h) => {
  for (const [number, what] of [[CODE_CARD, 'code'], [APP_CARD, 'app']]) {
    const { creq } = await beginChallenge(h, number, BOUGHT);
    for (const look of h.looks) {
      const page = await open(h, creq, { ...look, language: 'de' });
      await check(h, page, `${what}-${look.width}-${look.scheme}`);
      await h.keyboard.checkTabStops(page);
      await h.closePage(page);
    }
  }
};

const checkKeyboard = async (h) => {
  const { session, creq } = await beginChallenge(h, CODE_CARD, BOUGHT);
  const page = await open(h, creq, { width: 'phone', scheme: 'dark' });
  await h.keyboard.focusReaches(page, 'One-time code');
  const answer = async (code) => {
    const arrived = page.waitForNavigation();
    await page.keyboard.type(code);
    await page.keyboard.press('Enter');
    await h.within(`the answer to ${code}`, arrived);
  };
  for (const expected of ['That code is not right. Try again.', 'That code is not right. You can try once more.']) {
    await answer('0000');
    await h.keyboard.focusReaches(page, 'One-time code');
    const [told] = await page.$$eval('[role=alert]', (all) => all.map((it) => it.textContent));
    assert.equal(told, expected);
    const field = await page.$eval('#code', (it) => [it.ariaInvalid, document.getElementById(it.getAttribute('aria-describedby')).textContent]);
    assert.deepEqual(field, ['true', expected]);
    await check(h, page, `wrong-${told.length}`);
  }
  assert.deepEqual(await h.keyboard.tabOrder(page), ['Confirm', 'Cancel'], 'after the code');
  await page.focus('#code');
  await answer('1234');
  await h.until('the result', async () => {
    const { body } = await h.api('GET', `/3ds/sessions/${session}/challenge-result`);
    return body.authentication_status === 'successful';
  });
};

const checkLong = async (h) => {
  const { creq } = await beginChallenge(h, CODE_CARD, LONG);
  for (const [width, height] of WINDOWS) {
    const page = await open(h, creq, { width: { width, height }, scheme: 'dark', language: 'fr' });
    await check(h, page, `long-${width}x${height}`);
    await h.closePage(page);
  }
};

const checkFailures = async (h) => {
  for (const { language, tag, failed } of LANGUAGES) {
    const page = await open(h, 'nothing', { width: 'phone', scheme: 'dark', language });
    h.expectComplaint(page, /status of 400/);
    assert.ok((await text(page)).includes(failed));
    await check(h, page, `failure-${tag}`);
    await h.closePage(page);
  }
};

export const run = async (h) => {
  for (const each of LANGUAGES) {
    await h.step(`the purchase in every window (${each.tag})`, () => checkLanguage(h, each));
  }
  await h.step('code and app, light and dark, phone and desktop', () => checkDark(h));
  await h.step('wrong and right codes by the keyboard alone', () => checkKeyboard(h));
  await h.step('the longest name and amount', () => checkLong(h));
  await h.step('failures in every language', () => checkFailures(h));
};
