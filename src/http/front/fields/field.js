// A frame with one field, or with the three inputs of the combined field. It speaks to one window
// only: the controller of its group, a frame of the same origin beside it. It never listens to the
// page around it, and shows no input before the controller has admitted the page.

import { markOf } from './brand_marks.js';
import { CardInput } from './inputs.js';
import { CopyButton, copyIcon } from './copy_button.js';
import { NetworkChoice } from './network_choice.js';
import { FIELD_NAMES } from './rules.js';
import { TextInput } from './text_input.js';

const own = location.origin;
// `number`, or `number.dark` with the colour scheme of the element that the field is mounted into, or
// `number.dark.e1.rtl` with the id of an element and the direction of its text: a page with Elements may
// have several of a kind.
const [kind, scheme, id = kind, direction] = location.hash.slice(1).split('.');
if (direction === 'rtl') document.documentElement.dir = direction;
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
const context = { table: null, brand: null, brands: null, skipLuhn: false };
let options = {};
let ownTexts = {};
/** Numbers whose last digits the page knows. */
const endsTold = [];
const ENDS_MAX = 10;
let lastState = '';
/** The error that the page knows. */
let toldError = { part: null, error: null, message: '' };
let lastHeight = 0;
let hasFocus = false;

const send = (order, content = {}) => {
  controller?.postMessage({ strongroom: order, field: id, ...content }, own);
};

/** The last digits of a whole number, of one number only: not of its beginnings as well. */
const endOf = (digits) => {
  const isRelated = endsTold.some((told) => told !== digits && (told.startsWith(digits) || digits.startsWith(told)));
  if (isRelated || endsTold.length >= ENDS_MAX) return {};
  if (!endsTold.includes(digits)) endsTold.push(digits);
  return { last4: digits.slice(-4), bin: digits.slice(0, 8) };
};

/**
 * The state that the page learns: neither the text nor its length. The controller keeps the first digits
 * for itself, and tells the last four to pages with Elements.
 */
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
    ...(ofNumber?.verdict === 'valid' ? endOf(inputs[0].values().number) : {}),
    ...(checks[0]?.isMaskFull === undefined ? {} : { isMaskFull: checks[0].isMaskFull }),
  };
};

const showBrand = (brand) => {
  const shown = document.getElementById('brand');
  if ((shown?.dataset.brand ?? null) === brand) return;
  shown?.remove();
  if (brand === null || options.iconPosition === 'none') return;
  const mark = markOf(brand, context.table.brands[brand]?.name ?? brand);
  mark.id = 'brand';
  mark.dataset.brand = brand;
  const form = document.getElementById('form');
  if (options.iconPosition === 'left') form.prepend(mark);
  else form.append(mark);
};

const form = () => document.getElementById('form');

const showState = (state) => {
  const error = document.getElementById('error');
  // The same text again would be announced again.
  if (error.textContent !== state.message) error.textContent = state.message;
  for (const input of inputs) input.element.classList.toggle('complete', input.check().verdict === 'valid');
  form().classList.toggle('empty', state.empty);
  choice.keepFor(numberOf());
  if (kind === 'number') showBrand(choice.chosen ?? state.brand);
  const copy = document.getElementById('copy-icon');
  if (copy) copy.disabled = copiedText() === null;
};

/** The digits of a complete number, or an empty text. */
const numberOf = () => inputs.find((input) => input.name === 'number')?.values()?.number ?? '';

/** The text for the clipboard: the value of the first input, if the vault filled it in. */
const copiedText = () => {
  const [{ name, raw, isRevealed }] = inputs;
  if (!isRevealed) return null;
  return name === 'text' ? raw.text : raw[name].replaceAll(' ', '');
};

const choice = new NetworkChoice((network) => {
  send('network', { network });
  if (network !== null) report();
});

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

/** What a person typed may be replaced by the page of an element a few times only between two requests. */
let isTypedByPerson = false;
let replaced = 0;
const REPLACED_MAX = 5;

/**
 * Never while a person types: a page that set the rest of a number, or emptied it between two keys,
 * would learn the typed digit.
 */
const mayReplace = () => {
  if (hasFocus) return false;
  if (isTypedByPerson) replaced += 1;
  return replaced <= REPLACED_MAX;
};

const changed = (input, { isTyped }) => {
  if (isTyped) isTypedByPerson = true;
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
  base: 'input, button, select',
  container: 'main',
  empty: '.empty input',
  complete: '.complete input',
  hover: 'input:hover, button:hover',
  readonly: 'input:read-only',
  disabled: 'input:disabled, button:disabled',
  focus: 'input:focus, button:focus',
  invalid: 'input[aria-invalid="true"]',
  placeholder: 'input::placeholder',
  selection: 'input::selection',
  copy: '#copy-icon',
  copied: '#copy-icon.done',
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

const setOptions = (given) => {
  options = given ?? {};
  Object.assign(context, { brands: options.brands ?? null, skipLuhn: options.skipLuhn === true });
  if (kind === 'cvc' && options.cardBrand !== undefined) context.brand = options.cardBrand;
  if (options.style) applyStyle(options.style);
  for (const { input } of inputs) {
    input.disabled = options.disabled === true;
    input.readOnly = options.readOnly === true;
    if (options.inputMode) input.inputMode = options.inputMode;
    if (options.autocomplete === 'off') input.autocomplete = 'off';
  }
};

/** The names of the inputs, and their texts with those of the element. */
const inputsOf = (texts) => {
  const names = kind === 'card' ? ['number', 'expiry', 'cvc'] : [kind];
  const own = { ...texts };
  for (const name of names) {
    const placeholder = kind === 'card' ? options.placeholder?.[name] : options.placeholder;
    if (typeof placeholder === 'string') own[`placeholder_${name}`] = placeholder;
    if (names.length === 1 && options.label) own[`label_${name}`] = options.label;
  }
  own.label_text = options.label ?? options.placeholder ?? 'Text';
  own.label_copy = options.text ?? 'Copy';
  return { names, own };
};

const makeInput = (name, texts) => {
  if (name === 'text') return new TextInput({ ...options, label: texts.label_text }, changed);
  if (name === 'copy') return new CopyButton(options, send);
  return new CardInput(name, context, texts, changed);
};

const LISTENABLE = ['Enter', 'Escape'];

/** The controller has admitted the page: shows the inputs. */
const admit = ({ table, texts, language, style, options: given }) => {
  if (inputs.length > 0) return;
  document.documentElement.lang = language;
  context.table = table;
  applyStyle(style);
  setOptions(given);
  const { names, own: all } = inputsOf(texts);
  ownTexts = all;
  const title = names.map((name) => ownTexts[`label_${name}`]).join(', ');
  document.title = title;
  document.getElementById('title').textContent = title;
  const place = form();
  place.classList.add(kind);
  for (const name of names) {
    const input = makeInput(name, ownTexts);
    inputs.push(input);
    place.append(input.element);
    input.input.addEventListener('keydown', (event) => {
      goBack(input, event);
      const { key, altKey, ctrlKey, shiftKey, metaKey } = event;
      if (given && LISTENABLE.includes(key)) send('key', { key, altKey, ctrlKey, shiftKey, metaKey });
    });
  }
  if (options.enableCopy) place.append(copyIcon(`${texts.copy}: ${title}`, copiedText, send));
  setOptions(given);
  place.addEventListener('submit', (event) => event.preventDefault());
  place.addEventListener('focusin', () => {
    if (!hasFocus) send('focus');
    hasFocus = true;
  });
  place.addEventListener('focusout', (event) => {
    hasFocus = place.contains(event.relatedTarget);
    if (hasFocus) return;
    send('blur');
    if (isWatched) sendRaw();
  });
  new ResizeObserver(reportHeight).observe(document.querySelector('main'));
  if (options.value) fill({ texts: options.value });
  report();
  send('shown');
};

let isWatched = false;

/** Another element shows what is in this one, from the moment at which the person leaves it. */
const sendRaw = () => send('mirror', { texts: Object.assign({}, ...inputs.map((input) => input.raw)) });

const watch = () => {
  isWatched = true;
  if (!hasFocus && inputs.some((input) => !input.isEmpty)) sendRaw();
};

const fill = ({ texts, isRevealed = false }) => {
  if (!mayReplace()) return;
  isTypedByPerson = false;
  for (const input of inputs) {
    if (typeof texts?.[input.name] === 'string') input.fill(texts[input.name], isRevealed);
  }
};

const validate = () => {
  for (const input of inputs) if (!input.isFocused) input.showError({ isRequired: true });
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
      const { verdict } = input.check();
      if (!input.isFocused) input.showError({ isRequired: true });
      send('values', { ask, values: null, failed: { part: input.name, verdict } });
      return;
    }
    Object.assign(values, found);
  }
  const isRevealed = inputs.length > 0 && inputs.every((input) => input.isRevealed);
  send('values', { ask, isRevealed, values: inputs.length > 0 ? values : null });
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
  empty: () => fill({ texts: Object.fromEntries(inputs.map(({ name }) => [name, ''])) }),
  sent: () => { replaced = 0; },
  networks: ({ bin, networks, chosen }) => {
    if (numberOf().startsWith(bin)) choice.show(form(), { bin, networks, chosen, label: ownTexts.label_network, table: context.table });
  },
  fill,
  watch,
  validate,
  update: ({ options: given }) => {
    const isNewValue = JSON.stringify(given.value) !== JSON.stringify(options.value);
    setOptions(given);
    for (const input of inputs) {
      const placeholder = kind === 'card' ? given.placeholder?.[input.name] : given.placeholder;
      if (typeof placeholder === 'string') input.input.placeholder = placeholder;
    }
    if (isNewValue && given.value) fill({ texts: given.value });
    if (inputs.length > 0) report();
  },
  blur: () => inputs.forEach((input) => input.input.blur()),
  copied: ({ text }) => inputs.forEach((input) => input.copied?.(text)),
  mark: ({ parts }) => inputs.filter((input) => parts.includes(input.name)).forEach((input) => input.refuse()),
};

window.addEventListener('message', (event) => {
  if (event.origin !== own || event.source !== controller || controller === null) return;
  const order = event.data?.strongroom;
  if (typeof order === 'string' && Object.hasOwn(orders, order)) orders[order](event.data);
});

if ([...FIELD_NAMES, 'text', 'copy'].includes(kind)) send('join', { kind });
