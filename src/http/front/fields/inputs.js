// One input for a card number, an expiry date or a verification code: its label, its formatting
// while a person types, and its error.

import {
  caretAfter, checkCvc, checkExpiry, checkNumber, cvcLengths, digitsOf, digitsOfExpiry, formatExpiry, formatNumber,
  usualLength,
} from './card.js';
import { labelInput } from './labelled_input.js';

/** A page may take cards of some brands only, or numbers without a check digit. */
const checkOfNumber = (digits, { table, brands, skipLuhn }) => {
  const found = checkNumber(table, digits);
  if (brands && found.brand && !brands.includes(found.brand)) return { ...found, verdict: 'invalid' };
  if (skipLuhn && found.verdict === 'invalid' && found.brand) return { ...found, verdict: 'valid' };
  return found;
};

const KINDS = {
  number: {
    autocomplete: 'cc-number',
    digits: (text) => digitsOf(text),
    format: (digits, context) => formatNumber(context.table, digits),
    check: checkOfNumber,
    isFinished: (digits, context) => digits.length >= usualLength(context.table, context.brand),
    values: (digits) => ({ number: digits }),
  },
  expiry: {
    autocomplete: 'cc-exp',
    digits: digitsOfExpiry,
    format: (digits, context) => formatExpiry(digits, context.isGrowing),
    check: (digits) => checkExpiry(digits),
    // 01 / 20 may become 01 / 2030.
    isFinished: (digits) => !(digits.length === 4 && digits.endsWith('20')),
    values: (digits) => {
      const { month, year } = checkExpiry(digits);
      return { expiration_month: month, expiration_year: year };
    },
  },
  cvc: {
    autocomplete: 'cc-csc',
    digits: (text) => digitsOf(text, 4),
    format: (digits) => digits,
    check: (digits, context) => checkCvc(digits, cvcLengths(context.table, context.brand)),
    isFinished: () => true,
    values: (digits) => ({ cvc: digits }),
  },
};

const digitCount = (text) => text.replace(/[^0-9]/g, '').length;

/** An input and its state. `onChange` is called after every change of either. */
export class CardInput {
  #kind;
  #context;
  #texts;
  #digits = '';
  #shown = '';
  #error = null;
  isFocused = false;
  /** The vault filled the value in. */
  isRevealed = false;

  constructor(name, context, texts, onChange) {
    this.name = name;
    this.#kind = KINDS[name];
    this.#context = context;
    this.#texts = texts;
    this.onChange = onChange;
    this.#build();
  }

  #build() {
    const input = document.createElement('input');
    input.name = this.#kind.autocomplete;
    input.type = 'text';
    input.autocomplete = this.#kind.autocomplete;
    input.inputMode = 'numeric';
    input.setAttribute('autocorrect', 'off');
    input.placeholder = this.#texts[`placeholder_${this.name}`];
    labelInput(this, input, this.#texts[`label_${this.name}`], (event) => this.#typed(event));
  }

  /** Formats the text and puts the caret behind the digit that it was behind. */
  #typed({ inputType = '' }) {
    const { input } = this;
    const raw = input.value;
    let before = digitCount(raw.slice(0, input.selectionStart ?? raw.length));
    let digits = this.#kind.digits(raw);
    const isGrowing = !String(inputType).startsWith('delete');
    if (!isGrowing && digits === this.#digits && before > 0 && raw.length === this.#shown.length - 1) {
      // The person deleted a separator and means the digit before it.
      digits = digits.slice(0, before - 1) + digits.slice(before);
      before -= 1;
    }
    // A zero that was put before a month of one digit.
    before += Math.max(0, digitCount(digits) - digitCount(raw));
    this.#show(digits, isGrowing);
    const isAtEnd = isGrowing && before >= digits.length;
    const caret = isAtEnd ? this.#shown.length : caretAfter(this.#shown, before);
    input.setSelectionRange(caret, caret);
    this.isRevealed = false;
    this.#setError(null);
    this.onChange(this, { isTyped: true });
  }

  fill(text, isRevealed) {
    this.#show(this.#kind.digits(text), true);
    this.isRevealed = isRevealed && text !== '';
    this.#setError(null);
    this.onChange(this, { isTyped: false });
  }

  get raw() {
    return { [this.name]: this.#shown };
  }

  #show(digits, isGrowing) {
    this.#digits = digits;
    this.#shown = this.#kind.format(digits, { ...this.#context, isGrowing });
    this.input.value = this.#shown;
  }

  /** `empty`, `incomplete`, `invalid`, `expired` or `valid`, and the brand of a number. */
  check() {
    const found = this.#kind.check(this.#digits, this.#context);
    // The beginning of a longer number can be valid by chance. While a person types, it is not taken
    // for the whole number, or a page could get a token of each beginning.
    const isBeginning = this.isFocused && this.name === 'number' && found.verdict === 'valid'
      && this.#digits.length < usualLength(this.#context.table, found.brand);
    return isBeginning ? { ...found, verdict: 'incomplete' } : found;
  }

  get error() {
    return this.#error;
  }

  get isEmpty() {
    return this.#digits === '';
  }

  /** The text of the error that the person sees, or an empty text. */
  get errorText() {
    return this.#error ? this.#texts[`error_${this.name}_${this.#error}`] ?? '' : '';
  }

  /** Shows the mistake of the input. A person who only passes through an empty one made none. */
  showError({ isRequired = false } = {}) {
    const { verdict } = this.check();
    if (verdict === 'valid') return;
    if (verdict === 'empty') this.#setError(isRequired ? 'required' : this.#error);
    else this.#setError(verdict);
    this.onChange(this, { isTyped: false });
  }

  /** The vault refused the value. */
  refuse() {
    this.#setError('refused');
    this.onChange(this, { isTyped: false });
  }

  clear() {
    this.fill('', false);
  }

  /** True if the value is valid and a longer one is not likely. */
  isFinished() {
    return this.check().verdict === 'valid' && this.#kind.isFinished(this.#digits, this.#context);
  }

  /** The members of the card's data, or null if the input is not complete. */
  values() {
    return this.check().verdict === 'valid' ? this.#kind.values(this.#digits) : null;
  }

  #setError(code) {
    this.#error = code;
    this.input.setAttribute('aria-invalid', String(code !== null));
  }
}
