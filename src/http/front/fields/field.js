// A frame with one field, or with the three inputs of the combined field. It speaks to one window
// only: the controller of its group, a frame of the same origin beside it. It never listens to the
// page around it, and shows no input before the controller has admitted the page.

import { markOf } from './brand_marks.js';
import { CardInput } from './inputs.js';
import { FIELD_NAMES } from './rules.js';

const own = location.origin;
// `number`, or `number.dark` with the colour scheme of the element that the field is mounted into.
const [field, scheme] = location.hash.slice(1).split('.');
if (['dark', 'both'].includes(scheme)) document.documentElement.classList.add(scheme);
// The name of the frame is that of its group, a dot and the name of the field.
const group = window.name.slice(0, window.name.lastIndexOf('.'));

/** A frame beside this one, of the same origin and with the name of the group. */
const findController = () => {
  for (let at = 0; at < window.parent.frames.length; at += 1) {
    const frame = window.parent.frames[at];
    try {
      if (frame.location.origin === own && frame.name === group) return frame;
    } catch {
      // A frame of another origin does not say its name.
    }
  }
  return null;
};

const controller = window.parent === window || group === '' ? null : findController();

const inputs = [];
const context = { table: null, brand: null };
let lastState = '';
/** The error that the page knows. */
let toldError = { part: null, error: null, message: '' };
let lastHeight = 0;
let hasFocus = false;

const send = (kind, content = {}) => {
  controller?.postMessage({ strongroom: kind, field, ...content }, own);
};

/** The state that the page learns: neither the text nor its length. */
const describe = () => {
  const ofNumber = inputs.find((input) => input.name === 'number')?.check() ?? null;
  // The length of the verification code depends on the brand.
  if (ofNumber) context.brand = ofNumber.brand;
  const checks = inputs.map((input) => input.check());
  const failed = inputs.find((input) => input.error !== null);
  return {
    empty: inputs.every((input) => input.isEmpty),
    valid: checks.every(({ verdict }) => verdict !== 'invalid' && verdict !== 'expired'),
    complete: checks.every(({ verdict }) => verdict === 'valid'),
    brand: ofNumber?.brand ?? null,
    part: failed?.name ?? null,
    error: failed?.error ?? null,
    message: failed?.errorText ?? '',
  };
};

const showBrand = (brand) => {
  const shown = document.getElementById('brand');
  if ((shown?.dataset.brand ?? null) === brand) return;
  shown?.remove();
  if (brand === null) return;
  const mark = markOf(brand, context.table.brands[brand]?.name ?? brand);
  mark.id = 'brand';
  mark.dataset.brand = brand;
  document.getElementById('form').append(mark);
};

const showState = (state) => {
  const error = document.getElementById('error');
  // The same text again would be announced again.
  if (error.textContent !== state.message) error.textContent = state.message;
  for (const input of inputs) input.element.classList.toggle('complete', input.check().verdict === 'valid');
  if (field === 'number') showBrand(state.brand);
};

/**
 * Reports a state only if it differs from the last one. An error that vanishes because a person types is
 * reported later, when the field is complete or loses the focus: a page that provokes errors could count
 * the keystrokes otherwise.
 */
const report = ({ isTyped = false } = {}) => {
  const state = describe();
  showState(state);
  const { part, error, message } = state;
  if (!isTyped || state.complete) toldError = { part, error, message };
  Object.assign(state, toldError);
  const text = JSON.stringify(state);
  if (text === lastState) return;
  lastState = text;
  send('state', { state });
};

const changed = (input, { isTyped }) => {
  report({ isTyped });
  if (isTyped) advance(input);
};

/** In the combined field, a complete input passes the focus on to the next one. */
const advance = (input) => {
  const next = inputs[inputs.indexOf(input) + 1];
  const isAtEnd = input.input.selectionStart === input.input.value.length;
  if (next && isAtEnd && input.isFinished()) next.input.focus();
};

const goBack = (input, event) => {
  const previous = inputs[inputs.indexOf(input) - 1];
  if (event.key === 'Backspace' && input.isEmpty && previous) {
    event.preventDefault();
    previous.input.focus();
    const end = previous.input.value.length;
    previous.input.setSelectionRange(end, end);
  }
};

const SELECTORS = {
  base: 'input',
  focus: 'input:focus',
  invalid: 'input[aria-invalid="true"]',
  complete: '.complete input',
  placeholder: 'input::placeholder',
};

/** Sets declarations one by one: their values cannot become selectors or further declarations. */
const applyStyle = (declarations) => {
  const sheet = new CSSStyleSheet();
  for (const [state, property, value] of declarations) {
    const at = sheet.insertRule(`${SELECTORS[state]} {}`, sheet.cssRules.length);
    sheet.cssRules[at].style.setProperty(property, value);
  }
  document.adoptedStyleSheets = [sheet];
};

const reportHeight = () => {
  const height = Math.ceil(document.querySelector('main').getBoundingClientRect().height);
  if (height === lastHeight) return;
  lastHeight = height;
  send('height', { height });
};

/** The controller has admitted the page: shows the inputs. */
const admit = ({ table, texts, language, style }) => {
  if (inputs.length > 0) return;
  document.documentElement.lang = language;
  context.table = table;
  const names = field === 'card' ? ['number', 'expiry', 'cvc'] : [field];
  const title = names.map((name) => texts[`label_${name}`]).join(', ');
  document.title = title;
  document.getElementById('title').textContent = title;
  applyStyle(style);
  const form = document.getElementById('form');
  form.classList.add(field);
  for (const name of names) {
    const input = new CardInput(name, context, texts, changed);
    inputs.push(input);
    form.append(input.element);
    input.input.addEventListener('keydown', (event) => goBack(input, event));
  }
  form.addEventListener('submit', (event) => event.preventDefault());
  form.addEventListener('focusin', () => {
    if (!hasFocus) send('focus');
    hasFocus = true;
  });
  form.addEventListener('focusout', (event) => {
    hasFocus = form.contains(event.relatedTarget);
    if (!hasFocus) send('blur');
  });
  new ResizeObserver(reportHeight).observe(document.querySelector('main'));
  report();
  send('shown');
};

const refuse = ({ text }) => {
  if (inputs.length > 0) return;
  const refusal = document.createElement('p');
  refusal.id = 'refusal';
  refusal.textContent = text;
  document.getElementById('form').replaceChildren(refusal);
};

/** The values of all inputs, or the first input that is not complete. */
const collect = ({ ask }) => {
  const values = {};
  for (const input of inputs) {
    const found = input.values();
    if (found === null) {
      if (!input.isFocused) input.showError({ isRequired: true });
      send('values', { ask, values: null });
      return;
    }
    Object.assign(values, found);
  }
  send('values', { ask, values: inputs.length > 0 ? values : null });
};

const focusFirst = ({ part }) => {
  const isWanted = (input) => (part ? input.name === part : input.values() === null);
  (inputs.find(isWanted) ?? inputs[0])?.input.focus();
};

const orders = {
  admit,
  refuse,
  collect,
  focus: focusFirst,
  // A page that cleared a field between keystrokes would learn the brand of each digit by itself.
  clear: () => { if (!hasFocus) inputs.forEach((input) => input.clear()); },
  brand: ({ brand }) => {
    context.brand = brand;
    if (inputs.length > 0) report();
  },
  mark: ({ parts }) => inputs.filter((input) => parts.includes(input.name)).forEach((input) => input.refuse()),
};

window.addEventListener('message', (event) => {
  if (event.origin !== own || event.source !== controller || controller === null) return;
  const order = event.data?.strongroom;
  if (typeof order === 'string' && Object.hasOwn(orders, order)) orders[order](event.data);
});

if (FIELD_NAMES.includes(field)) send('join');
