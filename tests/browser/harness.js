// The tools that a scenario gets. All that it opens is closed behind it, and a page that complained
// fails it: errors of scripts, errors in the console, violations of the policy, failed requests.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, launch, threedsSdk } from './lib/browser.js';
import { startHost } from './lib/host.js';
import * as keyboard from './lib/keyboard.js';
import * as pages from './lib/page.js';
import { startShop } from './lib/shop.js';
import { ask, startVault } from './lib/vault.js';
import { until, within } from './lib/wait.js';

const takePicture = async (page, name, options = {}) => {
  if (!process.env.PICTURES) return;
  mkdirSync(process.env.PICTURES, { recursive: true });
  await within(`the picture ${name}`, page.screenshot({ path: join(process.env.PICTURES, `${name}.png`), ...options }));
};

export const harness = (vault, browser, scenario) => {
  const opened = new Set();
  const stops = [];
  const checkPage = (page) => assert.deepEqual(pages.complaints(page), [], `complaints of ${page.url()}`);

  const tools = {
    vault,
    browser,
    looks: pages.LOOKS,
    keyboard,
    within,
    until,
    threedsSdk,
    axe: pages.axe,
    fitsSideways: pages.fitsSideways,
    expectComplaint: pages.expectComplaint,
    complaints: pages.complaints,
    traffic: pages.traffic,
    /** `picture(page, 'name', { fullPage: true })`; does nothing without a directory for pictures. */
    picture: (page, name, options) => takePicture(page, `${scenario}-${name}`, options),
    /** `api(method, path, body, key)` with `key` = 'private' | 'public' | 'management' | a key | null. */
    api: (method, path, body, key) => ask(vault, method, path, body, key),
    /** The same for a vault of `startVault`. */
    apiOf: (other) => (method, path, body, key) => ask(other, method, path, body, key),
    bundle,
    /** A further browser, in which names lead to vaults; see `launch`. */
    launch: async (names) => {
      const other = await launch(names);
      stops.push(() => other.close());
      return other;
    },
    openPage: async ({ browser: other = browser, ...options } = {}) => {
      const page = await pages.openPage(other, options);
      opened.add(page);
      return page;
    },
    /** Closes a page and fails if it complained. */
    closePage: async (page) => {
      checkPage(page);
      opened.delete(page);
      await page.close();
    },
    shop: async (html, options) => {
      const shop = await startShop(html, options);
      stops.push(shop.stop);
      return shop;
    },
    /** A host with HTTPS that repeats what it gets; see `startHost`. */
    host: async (options) => {
      const host = await startHost(vault, options);
      stops.push(host.stop);
      return host;
    },
    /** A further development vault, with arguments of the command `dev`. */
    startVault: async (options) => {
      const other = await startVault(options);
      stops.push(other.stop);
      return other;
    },
    /** A part of the scenario with a name of its own in the output. */
    step: async (name, act) => {
      try {
        await act();
      } catch (error) {
        console.error(`  not ok: ${name}`);
        throw error;
      }
      console.log(`  ok: ${name}`);
    },
  };

  const stopAll = async () => {
    for (const page of opened) await page.close().catch(() => {});
    for (const stop of stops) await stop();
  };
  return {
    tools,
    close: async () => {
      for (const page of opened) checkPage(page);
      await stopAll();
    },
    /** After a failure: shows what the open pages look like and complained of. */
    abandon: async () => {
      let count = 0;
      for (const page of opened) {
        count += 1;
        for (const text of pages.complaints(page)) console.error(`  ${page.url()}: ${text}`);
        await takePicture(page, `${scenario}-failed-${count}`).catch(() => {});
      }
      await stopAll();
    },
  };
};
