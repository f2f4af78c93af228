// The example checkout of `strongroom dev`: a card, a token intent, 3-D Secure by the published SDK.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { click } from '../lib/click.js';
import { fieldFrame, fill } from '../lib/fields.js';

export const name = 'checkout';

const status = (page) => page.$eval('#status', (it) => it.textContent);
const waitForStatus = async (h, page, pattern) => {
  await h.until(`the status ${pattern}`, async () => pattern.test(await status(page)));
  return status(page);
};
const open = (h, vault, look = {}) => h.openPage({ url: `${vault.url}/examples/checkout#key=${vault.keys.public}`, ...look });
const whenReady = (h, page) => h.until('the fields', () => page.$eval('#pay', (it) => !it.disabled));

const checkWithoutSdk = async (h) => {
  const page = await open(h, h.vault);
  await whenReady(h, page);
  assert.equal(await page.$eval('#sdk-missing', (it) => it.hidden), false);
  await fill(page, { number: '4242424242424242', expiry: '1230', cvc: '123' });
  await click(page, '#pay');
  const text = await waitForStatus(h, page, /token intent/);
  const id = /token intent ([0-9a-f-]+)/.exec(text)[1];
  assert.equal((await h.api('GET', `/token-intents/${id}`)).body.card.last4, '4242');
  await h.closePage(page);
};

const checkKeyPrompt = async (h) => {
  const page = await h.openPage({ url: `${h.vault.url}/examples/checkout` });
  await page.type('#public-key', h.vault.keys.public);
  await click(page, '#use-key');
  await whenReady(h, page);
  await h.closePage(page);
};

const checkLooks = async (h) => {
  for (const look of h.looks) {
    const page = await open(h, h.vault, look);
    await whenReady(h, page);
    await h.axe(page, { except: look.scheme === 'dark' ? ['color-contrast'] : [] });
    await h.fitsSideways(page);
    await h.keyboard.checkTabStops(page);
    await h.picture(page, `${look.width}-${look.scheme}`, { fullPage: true });
    await h.closePage(page);
  }
};

const pay = async (h, page, vault, card) => {
  await click(page, 'input[value=combined]');
  await page.type('#private-key', vault.keys.private);
  const frame = await fieldFrame(page, 'card', 'number');
  await whenReady(h, page);
  await frame.type('#number', card);
  await click(page, '#pay');
};

const checkFrictionless = async (h, vault) => {
  const page = await open(h, vault);
  await pay(h, page, vault, '42000000000000051230123');
  await waitForStatus(h, page, /3-D Secure: [a-z]+\./);
  await h.closePage(page);
};

const checkNotCut = async (frame) => {
  const cut = await frame.evaluate(() => {
    const { scrollWidth, scrollHeight, clientWidth, clientHeight } = document.documentElement;
    return [scrollWidth - clientWidth, scrollHeight - clientHeight];
  });
  assert.deepEqual(cut, [0, 0], 'nothing of the challenge is cut off');
};

const checkChallenge = async (h, vault, width) => {
  const page = await open(h, vault, { width });
  h.expectComplaint(page, /Blocked autofocusing/);
  await pay(h, page, vault, '42000000000000041230123');
  const acs = await page.waitForFrame((frame) => frame.url().endsWith('/3ds/sim/acs/challenge'));
  await acs.waitForSelector('#code');
  await h.until('the challenge in view', () => page.$eval('#challenge', (it) => {
    const { top, bottom } = it.getBoundingClientRect();
    return top >= -1 && bottom <= innerHeight + 1;
  }));
  await checkNotCut(acs);
  await acs.type('#code', '9999');
  await click(acs, 'button[value=answer]');
  await acs.waitForSelector('.wrong');
  await checkNotCut(acs);
  await h.picture(page, `challenge-${width}`);
  await acs.type('#code', '1234');
  await click(acs, 'button[value=answer]');
  const text = await waitForStatus(h, page, /3-D Secure: successful/);
  const id = /keeps the card as ([0-9a-f-]+)/.exec(text)[1];
  const { body } = await h.apiOf(vault)('GET', `/tokens/${id}`);
  assert.equal(body.data.number, '4200000000000004');
  assert.equal(await page.$$eval('#calls > li', (items) => items.length), 6);
  assert.ok(!(await page.content()).includes('4200000000000004'));
  await h.picture(page, 'paid', { fullPage: true });
  await h.axe(page);
  await h.closePage(page);
};

export const run = async (h) => {
  await h.step('without the SDK', () => checkWithoutSdk(h));
  await h.step('a key that is typed', () => checkKeyPrompt(h));
  await h.step('every look', () => checkLooks(h));
  const work = await mkdtemp(join(tmpdir(), 'strongroom-sdk-'));
  try {
    await writeFile(join(work, 'sdk.js'), h.threedsSdk());
    const vault = await h.startVault(['--threeds-sdk', join(work, 'sdk.js')]);
    await h.step('3-D Secure without a challenge', () => checkFrictionless(h, vault));
    for (const width of ['desktop', 'phone']) {
      await h.step(`3-D Secure with a challenge on a ${width}`, () => checkChallenge(h, vault, width));
    }
  } finally {
    await rm(work, { recursive: true });
  }
};
