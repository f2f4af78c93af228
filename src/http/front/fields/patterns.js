// Patterns that a page sets for a text element: masks, validations and transforms. A pattern runs in
// the frame over a value that the page must not read, so it is bounded and answers little. Pure
// functions, which the frames and the tests share.

import { digitsOf, passesLuhn } from './card.js';

const SOURCE_CHARS_MAX = 200;
const MASK_SLOTS_MAX = 100;
const REPLACEMENT_CHARS_MAX = 200;
const VALUE_CHARS_MAX = 1_000;
const REPETITION_MAX = 1_000;

/** A pattern that a frame does not run, with the sentence for the developer. */
export class BadPattern extends Error {}

/** The body of the innermost group that closes at `end`, by a scan that knows escapes and classes. */
const groupsOf = (source) => {
  const groups = [];
  const open = [];
  let isInClass = false;
  for (let at = 0; at < source.length; at += 1) {
    const character = source[at];
    if (character === '\\') at += 1;
    else if (isInClass) isInClass = character !== ']';
    else if (character === '[') isInClass = true;
    else if (character === '(') open.push(at);
    else if (character === ')') groups.push([open.pop() ?? 0, at]);
  }
  return groups;
};

const withoutClasses = (source) => source.replace(/\\[^]/g, 'x').replace(/\[[^\]]*\]/g, 'x');

/**
 * True if matching may take time that grows faster than the text: a repeated group that repeats or
 * chooses inside, more than two unbounded repetitions, or a reference to a group.
 */
export const isCostly = (source) => {
  if (/\\(?:[1-9]|k<)/.test(source)) return true;
  const isRepeated = (end) => /^(?:[*+]|\{[0-9]+,?[0-9]*\})/.test(source.slice(end + 1));
  const isNested = groupsOf(source).some(([start, end]) => {
    const body = withoutClasses(source.slice(start + 1, end).replace(/^\?(?:[:=!]|<[=!]|<[^>]*>)/, ''));
    return isRepeated(end) && /[*+|?]|\{[0-9]+,/.test(body);
  });
  const plain = withoutClasses(source);
  const unbounded = plain.match(/[*+]|\{[0-9]+,\}/g) ?? [];
  const counts = (plain.match(/\{([0-9]+)(?:,([0-9]*))?\}/g) ?? []).flatMap((text) => text.match(/[0-9]+/g).map(Number));
  return isNested || unbounded.length > 4 || counts.some((count) => count > REPETITION_MAX);
};

/** A regular expression of the page, `{ source, flags }`, as one that a frame runs. */
export const patternOf = (given, flags = '') => {
  const source = given?.source;
  if (typeof source !== 'string' || source.length > SOURCE_CHARS_MAX) {
    throw new BadPattern(`A pattern is a regular expression of at most ${SOURCE_CHARS_MAX} characters.`);
  }
  if (isCostly(source)) {
    throw new BadPattern('This pattern repeats what already repeats, and could stop the page. Write it without nested repetitions.');
  }
  const own = typeof given.flags === 'string' && given.flags.includes('i') ? 'i' : '';
  try {
    return new RegExp(source, own + flags);
  } catch {
    throw new BadPattern('This is not a regular expression.');
  }
};

const RANGES = [['0', '9'], ['a', 'z'], ['A', 'Z']];

const isAlike = (pattern, [first, last]) => {
  const results = new Set();
  for (let code = first.charCodeAt(0); code <= last.charCodeAt(0); code += 1) {
    results.add(pattern.test(String.fromCharCode(code)));
  }
  return results.size === 1;
};

/**
 * The slots of a mask: a literal, or a pattern for one character. A slot takes all digits or none, and
 * all letters of a case or none: a slot for one digit alone would tell the page the digit.
 */
export const maskOf = (given) => {
  if (!Array.isArray(given) || given.length > MASK_SLOTS_MAX) {
    throw new BadPattern(`A mask is a list of at most ${MASK_SLOTS_MAX} texts and regular expressions.`);
  }
  return given.map((slot) => {
    if (typeof slot === 'string') {
      if ([...slot].length === 1) return slot;
      throw new BadPattern('A text in a mask is one character.');
    }
    const pattern = patternOf(slot);
    if (!RANGES.every((range) => isAlike(pattern, range))) {
      throw new BadPattern('A place of a mask takes all digits or none, and all letters of a case or none.');
    }
    return pattern;
  });
};

/** `[RegExp, text]` or a RegExp alone, which removes its matches. */
export const transformOf = (given) => {
  const [pattern, replacement = ''] = Array.isArray(given) ? given : [given];
  if (typeof replacement !== 'string' || replacement.length > REPLACEMENT_CHARS_MAX) {
    throw new BadPattern(`The text of a transform has at most ${REPLACEMENT_CHARS_MAX} characters.`);
  }
  return [patternOf(pattern, 'gu'), replacement];
};

/** The text with the literals of the mask, and whether the mask is full. */
export const applyMask = (slots, text) => {
  const isLiteral = (slot) => typeof slot === 'string';
  const literals = slots.filter(isLiteral);
  const typed = [...text].filter((character) => !literals.includes(character) || slots.some((slot) => !isLiteral(slot) && slot.test(character)));
  let shown = '';
  let at = 0;
  for (const slot of slots) {
    if (at >= typed.length) break;
    if (isLiteral(slot)) {
      shown += slot;
      if (typed[at] === slot) at += 1;
      continue;
    }
    while (at < typed.length && !slot.test(typed[at])) at += 1;
    if (at < typed.length) {
      shown += typed[at];
      at += 1;
    }
  }
  return { shown, isFull: [...shown].length === slots.length };
};

/** A text that may be a card number. No pattern of the page is asked about it. */
export const mayBeCardNumber = (text) => {
  const digits = digitsOf(text, 40);
  return digits.length >= 12 && digits.length <= 19 && passesLuhn(digits);
};

/** Whether the pattern of the page takes the text; never for a card number. */
export const passes = (pattern, text) =>
  text.length <= VALUE_CHARS_MAX && !mayBeCardNumber(text) && pattern.test(text);
