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

/** Stands for a phone: the views are names, and the rest is what the package for phones asks of them. */
const PHONE = `
module.exports = {
  ...Object.fromEntries(['Image', 'Modal', 'ScrollView', 'Text', 'TextInput', 'TouchableOpacity', 'View'].map((name) => [name, name])),
  Dimensions: { get: () => ({ width: 1, height: 1, scale: 1 }) },
  NativeModules: {},
  Platform: { OS: 'ios', Version: '18.0', select: (all) => all.ios },
  StyleSheet: { create: (styles) => styles, flatten: (styles) => Object.assign({}, ...[styles].flat(9)) },
};`;

const withPhone = {
  name: 'with-phone',
  setup: (build) => {
    build.onResolve({ filter: /^react-native$/ }, ({ path }) => ({ path, namespace: 'phone' }));
    build.onLoad({ filter: /./, namespace: 'phone' }, () => ({ contents: PHONE, loader: 'js' }));
  },
};

const AS_PAGE = { format: 'iife', platform: 'browser', define: { 'process.env.NODE_ENV': '"production"', global: 'window' } };
const AS_PHONE = { format: 'cjs', platform: 'node', define: { 'process.env.NODE_ENV': '"development"' }, loader: { '.png': 'empty' } };

/** A program with the installed packages, bundled as their users do: for a page, or for Node as a phone. */
export const bundle = async (program, { isPhone = false } = {}) => {
  const resolveDir = fileURLToPath(new URL('../../../target/clients/browser', import.meta.url));
  const built = await installed('esbuild').build({
    stdin: { contents: program, resolveDir, loader: 'jsx' },
    plugins: [withPhone],
    bundle: true, write: false, logLevel: 'silent',
    ...(isPhone ? AS_PHONE : AS_PAGE),
  });
  return built.outputFiles[0].text;
};

// Every host but this machine is unknown to the browser: a page that needs another one fails.
// All frames share a process, so that the errors of each are seen in one place.
const RESOLVER = '--host-resolver-rules=';
const ARGUMENTS = [
  '--no-sandbox',
  '--ignore-certificate-errors',
  `${RESOLVER}MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1`,
  '--disable-site-isolation-trials',
  '--disable-features=IsolateOrigins,site-per-process',
  '--disable-dev-shm-usage',
  '--hide-scrollbars',
];

/** With `BROWSER=firefox` the tests drive Debian's Firefox, and run the scenarios that have a `core`. */
export const isFirefox = process.env.BROWSER === 'firefox';
const DEBIANS_FIREFOX = '/usr/bin/firefox-esr';
/** The customer's system is light; a page may read the clipboard, as tests do. */
const PREFERENCES = { 'layout.css.prefers-color-scheme.content-override': 1, 'dom.events.testing.asyncClipboard': true };

/** `names` are hosts of one vault: `{ 'pay.shop.test': 'https://127.0.0.1:8443' }` leads port 443 of the name there. */
export const launch = async (names = {}) => {
  const puppeteer = installed('puppeteer-core');
  const rules = Object.entries(names).map(([name, url]) => `MAP ${name}:443 ${new URL(url).host}`);
  const args = ARGUMENTS.map((it) => (it.startsWith(RESOLVER) ? it.replace(RESOLVER, `${RESOLVER}${rules.map((rule) => `${rule}, `).join('')}`) : it));
  const common = { acceptInsecureCerts: true, protocolTimeout: 120_000, timeout: 120_000 };
  if (isFirefox) {
    if (rules.length > 0) throw new Error('Firefox has no rules for names.');
    return puppeteer.launch({ ...common, browser: 'firefox', executablePath: DEBIANS_FIREFOX, extraPrefsFirefox: PREFERENCES });
  }
  if (existsSync(DEBIANS_CHROMIUM)) {
    return puppeteer.launch({ ...common, args, executablePath: DEBIANS_CHROMIUM });
  }
  const { default: chromium } = await import(pathToFileURL(installed.resolve('@sparticuz/chromium')));
  const executablePath = await chromium.executablePath();
  return puppeteer.launch({
    ...common, args: [...chromium.args, ...args], executablePath, headless: 'shell',
  });
};
