// Frames of the vault in a page. The server puts this file before the script of the card fields and before
// that of Elements, which find its tools at their own script element: a page has no further global.
(() => {
  'use strict';

  /** The schemes of a field with their values of the property `color-scheme`. */
  const SCHEMES = { light: 'light', dark: 'dark', both: 'light dark' };

  const randomName = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(12));
    return `strongroom-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  };

  const makeFrame = (name, url) => {
    const frame = document.createElement('iframe');
    frame.name = name;
    frame.src = url.href;
    frame.referrerPolicy = 'no-referrer';
    frame.style.border = '0';
    return frame;
  };

  /** The hidden frame of a group of fields. It has the key and sends all requests. */
  const addController = (name, base, onLoad) => {
    const frame = makeFrame(name, new URL('controller', base));
    frame.hidden = true;
    frame.style.display = 'none';
    frame.setAttribute('aria-hidden', 'true');
    frame.tabIndex = -1;
    frame.addEventListener('load', onLoad);
    (document.body ?? document.documentElement).append(frame);
    return frame;
  };

  /** A frame with a field. One whose scheme is not that of its document gets an opaque ground. */
  const makeField = (name, url, scheme) => {
    const frame = makeFrame(name, url);
    Object.assign(frame.style, { display: 'block', width: '100%', height: '40px', colorScheme: SCHEMES[scheme] });
    return frame;
  };

  /**
   * The colour schemes that an element takes part in: `light`, `dark` or `both`, as the page declares
   * them by a style or by its meta element, which the computed style of some browsers does not show. A
   * page that declares none is light, whatever the customer's system prefers.
   */
  const schemeOf = (element) => {
    const computed = getComputedStyle(element).colorScheme ?? 'normal';
    const ofPage = () => document.querySelector('meta[name="color-scheme" i][content]')?.content ?? '';
    const declared = (computed === 'normal' ? ofPage() : computed).toLowerCase().split(/\s+/);
    if (!declared.includes('dark')) return 'light';
    return declared.includes('light') ? 'both' : 'dark';
  };

  /** A ring around the place with the focus, and further rules, all without weight: any rule of the page goes before them. */
  const addStyle = (further = '') => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`:where([data-field-focus]) { outline: 2px solid Highlight; outline-offset: 1px; }${further}`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  };

  document.currentScript.strongroom = { SCHEMES, addController, addStyle, makeField, randomName, schemeOf };
})();
