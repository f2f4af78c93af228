// The input of a text element. It has the members of the inputs of a card.

import { labelInput } from './labelled_input.js';
import { applyMask, mayBeCardNumber, passes } from './patterns.js';

const TEXT_CHARS_MAX = 10_000;
const FOCUSED_JUDGMENTS_MAX = 3;
/** Names for browsers that would fill a card into a text element, whose patterns the page chose. */
const CARD_NAMES = ['cc-number', 'cc-csc', 'cc-exp', 'cc-exp-month', 'cc-exp-year'];

export class TextInput {
  name = 'text';
  isFocused = false;
  /** The vault filled the value in: the page's patterns are not asked about it. */
  isRevealed = false;
  #options;
  #error = null;
  #isJudged = false;
  #judgments = 0;

  /** `options` has `label`, `placeholder`, `mask`, `validation`, `transform`, `maxLength`, `password`, `autocomplete`. */
  constructor(options, onChange) {
    this.#options = options;
    this.onChange = onChange;
    const input = document.createElement('input');
    input.name = 'text';
    input.type = options.password ? 'password' : 'text';
    input.autocomplete = CARD_NAMES.includes(options.autocomplete) ? 'off' : options.autocomplete ?? 'off';
    input.maxLength = Math.min(options.maxLength ?? TEXT_CHARS_MAX, TEXT_CHARS_MAX);
    input.placeholder = options.placeholder ?? '';
    labelInput(this, input, options.label, (event) => this.#typed(event));
  }

  #typed({ inputType = '' }) {
    this.isRevealed = false;
    this.#isJudged = false;
    const isGrowing = !String(inputType).startsWith('delete');
    const { mask } = this.#options;
    const isAtEnd = this.input.selectionStart === this.input.value.length;
    // Literals come back only while the text grows at its end, or nothing could be deleted.
    if (mask && isGrowing && isAtEnd) this.input.value = applyMask(mask, this.input.value).shown;
    this.#setError(null);
    this.onChange(this, { isTyped: true });
  }

  /** The page's patterns are asked when the person leaves the input, not while they type. */
  check() {
    const { mask, validation } = this.#options;
    const { value } = this.input;
    if (this.isRevealed) return { verdict: 'valid', isMaskFull: true };
    if (value === '') return { verdict: mask || validation ? 'empty' : 'valid', isMaskFull: !mask };
    const masked = mask ? applyMask(mask, value) : null;
    const isMaskFull = masked === null || (masked.isFull && masked.shown === value);
    if (!isMaskFull) return { verdict: 'incomplete', isMaskFull };
    if (validation && this.#isJudged && !passes(validation, value)) return { verdict: 'invalid', isMaskFull };
    if (validation && !this.#isJudged) return { verdict: 'incomplete', isMaskFull };
    return { verdict: 'valid', isMaskFull };
  }

  /** A page that sends the text after each key gets a few verdicts of its pattern, not one for each key. */
  #judge() {
    if (this.isFocused && !this.#isJudged) this.#judgments += 1;
    this.#isJudged = !this.isFocused || this.#judgments <= FOCUSED_JUDGMENTS_MAX;
  }

  get error() { return this.#error; }
  get isEmpty() { return this.input.value === ''; }
  get errorText() { return ''; }

  showError({ isRequired = false } = {}) {
    if (!this.isFocused || isRequired) this.#judge();
    const { verdict } = this.check();
    if (verdict === 'valid') this.#setError(null);
    else if (verdict === 'empty') this.#setError(isRequired ? 'required' : this.#error);
    else this.#setError(verdict);
    this.onChange(this, { isTyped: false });
  }

  refuse() {
    this.#setError('refused');
    this.onChange(this, { isTyped: false });
  }

  clear() { this.fill('', false); }

  fill(text, isRevealed) {
    const { mask } = this.#options;
    const masked = mask && text !== '' ? applyMask(mask, text) : null;
    this.input.value = (masked?.isFull ? masked.shown : text).slice(0, TEXT_CHARS_MAX);
    this.isRevealed = isRevealed && text !== '';
    this.#isJudged = false;
    this.#setError(null);
    this.onChange(this, { isTyped: false });
  }

  isFinished() { return false; }

  /** The text to send, or null if it is not complete. */
  values() {
    this.#judge();
    if (this.check().verdict !== 'valid') return null;
    const { transform } = this.#options;
    const { value } = this.input;
    // The vault's values and card numbers are sent as they are.
    const isPlain = !transform || this.isRevealed || mayBeCardNumber(value);
    return { text: isPlain ? value : value.replace(transform[0], transform[1]) };
  }

  get raw() { return { text: this.input.value }; }

  #setError(code) {
    this.#error = code;
    this.input.setAttribute('aria-invalid', String(code !== null));
  }
}
