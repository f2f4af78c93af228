// The harness itself: each of its checks finds the fault that it is for.
import assert from 'node:assert/strict';

export const name = 'harness';

const HEAD = '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>Page</title>';

const checkKeyboard = async (h) => {
  const inner = await h.shop(`${HEAD}<label>Inside <input></label>`, { origin: 'http://frame.localhost' });
  const body = `<main><h1>Page</h1><button>One</button><a href="#">Two</a>
    <iframe title="Frame" src="${inner.origin}/"></iframe><input aria-label="Three"></main>`;
  const shop = await h.shop(HEAD + body);
  const page = await h.openPage({ url: shop.origin, width: 'phone', scheme: 'dark' });
  const order = ['One', 'Two', 'Inside', 'Three'];
  assert.deepEqual(await h.keyboard.tabOrder(page), order);
  assert.deepEqual(await h.keyboard.tabOrder(page), order, 'the first walk left no trace');
  assert.equal((await h.keyboard.tabTo(page, 'Inside')).framed, true);
  await h.keyboard.focusReaches(page, 'Inside');
  await h.axe(page);
  await h.fitsSideways(page);
  await h.closePage(page);
  assert.equal(shop.requests[0].url, '/');
};

const checkFaults = async (h) => {
  const faults = [
    ['a grey text', '<p style="color:#bbb">grey</p>', (page) => h.axe(page), /color-contrast/],
    ['a wide text', '<p style="width:900px">wide</p>', (page) => h.fitsSideways(page), /px of 360 px/],
    ['no ring', '<style>:focus{outline:0}</style><button>One</button>', (page) => h.keyboard.checkTabStops(page), /hides its focus/],
    ['no name', '<button></button>', (page) => h.keyboard.checkTabStops(page), /without a name/],
    ['an error', '<script>null.x</script>', h.closePage, /error: TypeError/],
    ['another host', '<img alt="" src="https://example.com/x.png">', h.closePage, /NAME_NOT_RESOLVED/],
  ];
  for (const [what, html, check, expected] of faults) {
    const page = await h.openPage({ url: (await h.shop(HEAD + html)).origin, width: 'phone' });
    await assert.rejects(check(page), expected, what);
    h.expectComplaint(page, /./);
  }
};

const checkPolicy = async (h) => {
  const headers = { 'Content-Security-Policy': "default-src 'none'" };
  const shop = await h.shop(`${HEAD}<script src="/x.js"></script>`, { headers });
  const page = await h.openPage({ url: shop.origin });
  await assert.rejects(h.closePage(page), /policy: script-src-elem/);
  h.expectComplaint(page, /./);
};

export const run = async (h) => {
  await h.step('the keyboard reaches frames', () => checkKeyboard(h));
  await h.step('faults are found', () => checkFaults(h));
  await h.step('violations of a policy are found', () => checkPolicy(h));
};
