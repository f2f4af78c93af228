// A shop with hosted card fields, which records everything that its page can see.
import assert from 'node:assert/strict';

/** A page that mounts fields as `mount` has it, and records messages and events. */
export const shopHtml = (vault, mount, head = '<meta name="color-scheme" content="light dark">') => `<!doctype html><html lang="en"><head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shop</title>
<style>button:focus-visible { outline: 3px solid Highlight; }</style>${head}</head><body><main><h1>Shop</h1>
<div id="number"></div><div id="expiry"></div><div id="cvc"></div><div id="card"></div>
<button id="pay">Pay</button></main>
<script>
window.seen = [];
window.events = [];
addEventListener('message', (event) => window.seen.push({ origin: event.origin, data: event.data }));
window.mount = (options, names) => {
  const fields = Strongroom.fields(options);
  for (const event of ['ready', 'change', 'focus', 'blur', 'complete', 'error']) {
    fields.on(event, (detail) => {
      const { error } = detail;
      const told = error instanceof Error ? { code: error.code, message: error.message, status: error.status } : error;
      window.events.push({ event, ...detail, error: told });
    });
  }
  for (const name of names) fields[name]('#' + name);
  return fields;
};
window.attempt = (promise) => promise.then((value) => ({ value }), (error) => ({
  error: { code: error.code, status: error.status, title: error.title, detail: error.detail, fields: error.fields, traceId: error.traceId },
}));
</script>
<script src="${vault.url}/fields/v1.js"></script>
<script>${mount}</script></body></html>`;

/** A public application that allows these origins, and its key. */
export const publicKey = async (api, origins, permissions = ['token:create', 'token-intent:create']) => {
  const body = { name: 'Shop', type: 'public', permissions, allowed_origins: origins };
  const made = await api('POST', '/applications', body, 'management');
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return made.body;
};

/** Waits for the frame of a field, and for its input. */
export const fieldFrame = async (page, name, input = name) => {
  const frame = await page.waitForFrame((it) => it.url().includes(`/fields/v1/field#${name}.`));
  await frame.waitForSelector(`#${input}`);
  return frame;
};

export const fill = async (page, { number, expiry, cvc }) => {
  for (const [name, text] of Object.entries({ number, expiry, cvc })) {
    if (text !== undefined) await (await fieldFrame(page, name)).type(`#${name}`, text);
  }
};

export const ready = (h, page) =>
  h.until('the fields', () => page.evaluate(() => window.events.some(({ event }) => event === 'ready')));

/** Everything that scripts of the page can reach: its messages, events, globals and elements. */
const reach = (page) => page.evaluate(() => {
  const known = new WeakSet();
  const texts = [document.documentElement.outerHTML, document.cookie, JSON.stringify({ ...localStorage })];
  const walk = (value, depth) => {
    if (typeof value === 'string') texts.push(value);
    if (typeof value === 'number' || typeof value === 'bigint') texts.push(String(value));
    if (typeof value !== 'object' || value === null || known.has(value) || depth > 6) return;
    known.add(value);
    let names = [];
    try {
      names = Reflect.ownKeys(value);
    } catch {
      // A window of another origin.
    }
    for (const name of names) {
      try {
        texts.push(String(name));
        walk(value[name], depth + 1);
      } catch {
        // It may not be read.
      }
    }
  };
  walk(window, 0);
  for (let at = 0; at < window.frames.length; at += 1) walk(window.frames[at], 0);
  return texts;
});

/** Ids and times are random digits, which may contain a short code by chance. */
const withoutNoise = (text) => text
  .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, 'ID')
  .replace(/strongroom-[0-9a-f]{24}/g, 'GROUP')
  .replace(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+/g, 'TIME')
  .replace(/localhost:[0-9]+|127\.0\.0\.1:[0-9]+/g, 'HOST')
  .replace(/[0-9]+\.[0-9]+/g, 'DECIMAL')
  .replace(/17[0-9]{11,}/g, 'MILLISECONDS');

/** A number counts with any separators between its digits, a code as a word of its own. */
const holds = (text, secret) => {
  const plain = withoutNoise(text);
  if (secret.length >= 12) return plain.replace(/([0-9])[ -](?=[0-9])/g, '$1').includes(secret);
  return new RegExp(`(?<![0-9a-z])${secret}(?![0-9a-z])`, 'i').test(plain);
};

/**
 * Fails if one of the secrets is in anything that the shop's page or server can see, or in a request
 * other than those of the vault's frames to the vault.
 */
export const checkNoLeak = async (h, page, shop, secrets, receivers = [h.vault.url]) => {
  const texts = [...(await reach(page)), JSON.stringify(shop.requests)];
  for (const secret of secrets) {
    const leaks = texts.filter((text) => holds(text, secret));
    assert.deepEqual(leaks.map((text) => text.slice(0, 300)), [], `${secret} is in the page`);
    for (const { url, body, from } of h.traffic(page)) {
      assert.ok(!holds(url, secret), `${secret} is in ${url}`);
      const isRight = from?.startsWith(`${h.vault.url}/fields/v1/controller`) && receivers.some((receiver) => url.startsWith(receiver));
      if (!isRight) assert.ok(!holds(body ?? '', secret), `${from} sent ${secret} to ${url}`);
    }
  }
};
