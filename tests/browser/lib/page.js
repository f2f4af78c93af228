// Pages as people have them (phone or desktop, light or dark), and all that goes wrong in them.
import assert from 'node:assert/strict';
import { isFirefox, packageText } from './browser.js';
import { WAIT_MS, within } from './wait.js';

const SIZES = {
  phone: { width: 360, height: 740, isMobile: true, hasTouch: true },
  desktop: { width: 1280, height: 900 },
};

/** Every combination of width and colours that a page is looked at in. */
export const LOOKS = ['phone', 'desktop'].flatMap((width) => ['light', 'dark'].map((scheme) => ({ width, scheme })));

/** What each page complained of, which complaints are expected, and its requests. */
const notes = new WeakMap();

const watch = async (page) => {
  const note = { complaints: [], expected: [], traffic: [] };
  notes.set(page, note);
  const complain = (text) => note.complaints.push(text);
  page.on('pageerror', (error) => complain(`error: ${error.stack ?? error}`));
  page.on('console', (line) => {
    const place = line.location().url ?? '';
    // A browser asks for this file by itself.
    if (line.type() === 'error' && !place.endsWith('/favicon.ico')) complain(`console: ${line.text()} (${place})`);
  });
  page.on('requestfailed', (request) => {
    const reason = request.failure()?.errorText ?? '';
    // A request that its page gave up, such as by leaving.
    if (!['net::ERR_ABORTED', 'Browsing context already closed.'].includes(reason)) complain(`request: ${request.url()} ${reason}`);
  });
  page.on('request', (request) => {
    note.traffic.push({
      method: request.method(),
      url: request.url(),
      headers: request.headers(),
      // The protocol of Firefox does not tell these.
      ...(isFirefox ? {} : { body: request.postData(), type: request.resourceType() }),
      from: request.frame()?.url(),
    });
  });
  // Also in frames, and before their own scripts run.
  await page.exposeFunction('reportPolicyViolation', (text) => complain(`policy: ${text}`));
  await page.evaluateOnNewDocument(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      window.reportPolicyViolation(`${event.effectiveDirective} ${event.blockedURI} in ${event.documentURI}`);
    });
  });
};

/**
 * Opens an empty page, or the one of `url`. `width` is `phone`, `desktop` or `{ width, height }`,
 * `language` the Accept-Language header, `headers` those that a proxy would add to every request.
 */
export const openPage = async (browser, { width = 'desktop', scheme = 'light', language, headers, url } = {}) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(WAIT_MS);
  await page.setViewport(SIZES[width] ?? width);
  // Firefox has the scheme of the system in its preferences.
  if (!isFirefox) await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  if (language !== undefined) await page.setExtraHTTPHeaders({ 'Accept-Language': language });
  if (headers !== undefined) await page.setExtraHTTPHeaders(headers);
  await watch(page);
  if (url !== undefined) await within(`the page ${url}`, page.goto(url));
  return page;
};

/** Complaints that match the pattern do not fail the page, such as a refusal that a test provokes. */
export const expectComplaint = (page, pattern) => notes.get(page).expected.push(pattern);

export const complaints = (page) => {
  const { complaints: all, expected } = notes.get(page);
  return all.filter((text) => !expected.some((pattern) => pattern.test(text)));
};

/** Every request of the page and its frames: method, url, headers, body, type, from (the frame). */
export const traffic = (page) => notes.get(page).traffic;

/** Fails on serious and critical faults that axe finds in the page or in a frame of it. */
export const axe = async (page, { except = [] } = {}) => {
  const source = packageText('axe-core/axe.min.js');
  const rules = Object.fromEntries(except.map((rule) => [rule, { enabled: false }]));
  const found = [];
  for (const frame of page.frames()) {
    if (frame.url() === 'about:blank' || frame.detached) continue;
    await frame.evaluate(source);
    const result = await within(`axe on ${frame.url()}`, frame.evaluate(
      (chosen) => window.axe.run(document, { iframes: false, rules: chosen, resultTypes: ['violations'] }),
      rules,
    ));
    for (const { id, impact, nodes } of result.violations) {
      if (impact !== 'serious' && impact !== 'critical') continue;
      for (const node of nodes) found.push(`${id} (${impact}) ${node.target.join(' ')}: ${node.failureSummary}`);
    }
  }
  assert.deepEqual(found, [], `faults on ${page.url()}`);
};

/** Fails if the page is wider than its window. */
export const fitsSideways = async (page) => {
  const { width } = page.viewport();
  const needed = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(needed <= width, `${page.url()} needs ${needed} px of ${width} px`);
};
