// The packages of target/clients/browser, and the Chromium that the tests drive.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

const installed = createRequire(fileURLToPath(new URL('../../../target/clients/browser/package.json', import.meta.url)));
const DEBIANS_CHROMIUM = '/usr/bin/chromium';

/** The text of a file of an installed package. */
export const packageText = (path) => readFileSync(installed.resolve(path), 'utf8');

/** The published browser SDK for 3-D Secure, as a shop's page includes it. */
export const threedsSdk = () => {
  const root = new URL('../../../target/clients/browser/node_modules/', import.meta.url);
  return readFileSync(new URL('@basis-theory/web-threeds/dist/bundle/index.js', root), 'utf8');
};

// Every host but this machine is unknown to the browser: a page that needs another one fails.
// All frames share a process, so that the errors of each are seen in one place.
const ARGUMENTS = [
  '--no-sandbox',
  '--ignore-certificate-errors',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1',
  '--disable-site-isolation-trials',
  '--disable-features=IsolateOrigins,site-per-process',
  '--disable-dev-shm-usage',
  '--hide-scrollbars',
];

export const launch = async () => {
  const puppeteer = installed('puppeteer-core');
  const common = { acceptInsecureCerts: true, protocolTimeout: 120_000, timeout: 120_000 };
  if (existsSync(DEBIANS_CHROMIUM)) {
    return puppeteer.launch({ ...common, args: ARGUMENTS, executablePath: DEBIANS_CHROMIUM });
  }
  const { default: chromium } = await import(pathToFileURL(installed.resolve('@sparticuz/chromium')));
  const executablePath = await chromium.executablePath();
  return puppeteer.launch({
    ...common, args: [...chromium.args, ...ARGUMENTS], executablePath, headless: 'shell',
  });
};
