// Every element in each of its looks, mounted once on a light and once on a dark ground. A frame follows
// the property `color-scheme` of the element around it.

const key = new URLSearchParams(location.hash.slice(1)).get('key') ?? '';
const digit = /\d/;

/** The label, the type and the options of each element. */
const LOOKS = [
  ['Card', 'card', {}],
  ['Card, filled in', 'card', { value: { number: '4242424242424242', expiration_month: 12, expiration_year: 2034, cvc: '123' } }],
  ['Card number', 'cardNumber', {}],
  ['Card number, icon on the right', 'cardNumber', { iconPosition: 'right', value: '5555555555554444' }],
  ['Card number, wrong', 'cardNumber', { value: '4242424242424241', validateOnChange: true }],
  ['Expiry date', 'cardExpirationDate', {}],
  ['Expiry date, filled in', 'cardExpirationDate', { value: { month: 12, year: 2034 } }],
  ['Security code', 'cardVerificationCode', {}],
  ['Security code of American Express', 'cardVerificationCode', { cardBrand: 'american-express', value: '1234' }],
  ['Text', 'text', { placeholder: 'Name on the card', autoComplete: 'name' }],
  ['Text, filled in', 'text', { value: 'Ada Lovelace' }],
  ['Text with a mask', 'text', { placeholder: '12-34', mask: [digit, digit, '-', digit, digit], inputMode: 'numeric' }],
  ['Text as a password', 'text', { password: true, value: 'secret' }],
  ['Text with an icon that copies', 'text', { enableCopy: true, value: 'Ada Lovelace' }],
  ['Text, disabled', 'text', { disabled: true, value: 'Ada Lovelace' }],
  ['Text, read only', 'text', { readOnly: true, value: 'Ada Lovelace' }],
  ['Text with a style', 'text', { value: 'Ada Lovelace', style: { base: { fontFamily: 'monospace', fontSize: '20px', letterSpacing: '2px' } } }],
  ['Copy button', 'copyButton', { text: 'Copy' }],
];

const report = (error) => {
  document.getElementById('problem').textContent = `${error.name}: ${error.message} Open the link that strongroom dev prints: it has the public key.`;
};

/** Adds a place with a label to a ground, and mounts the element there. */
const mount = async (bt, ground, at, [label, type, options]) => {
  const title = document.createElement('p');
  title.className = 'label';
  title.textContent = label;
  // The frame has the label for screen readers.
  title.ariaHidden = 'true';
  const place = document.createElement('div');
  place.className = 'field';
  place.id = `${ground}-${at}`;
  document.getElementById(ground).append(title, place);
  const element = bt.createElement(type, { targetId: place.id, title: label, 'aria-label': label, ...options });
  await element.mount(place);
  element.validate();
};

const start = async () => {
  const bt = await window.basistheory(key);
  await Promise.all(['light', 'dark'].flatMap((ground) => LOOKS.map((look, at) => mount(bt, ground, at, look))));
  document.documentElement.dataset.ready = 'true';
};

start().catch(report);
