// Card numbers, expiry dates and verification codes: recognizing, checking and formatting. Pure
// functions, which the frames and the tests share.

const LONGEST = 19;

/** The ASCII digits of a text, at most as many as a card number has. */
export const digitsOf = (text, most = LONGEST) => text.replace(/[^0-9]/g, '').slice(0, most);

/** The check digit of card numbers by ISO/IEC 7812-1. */
export const passesLuhn = (digits) => {
  let sum = 0;
  [...digits].reverse().forEach((character, place) => {
    const digit = Number(character) * (place % 2 + 1);
    sum += digit > 9 ? digit - 9 : digit;
  });
  return digits !== '' && sum % 10 === 0;
};

/** The rows of the vault's table whose range holds every number that begins with these digits. */
const rowsOf = (rows, digits) => {
  const lowest = digits.padEnd(LONGEST, '0');
  const highest = digits.padEnd(LONGEST, '9');
  return rows.filter(([first, last]) => first <= lowest && highest <= last);
};

const testCardOf = (table, digits) => {
  const key = digits.padEnd(LONGEST, '0');
  return table.test_cards.find(([first, last, lengths]) =>
    lengths.includes(digits.length) && first <= key && key <= last);
};

/** The brand of a whole number, as the vault decides it, or null. */
export const brandOfNumber = (table, digits) => {
  const row = testCardOf(table, digits)
    ?? rowsOf(table.ranges, digits).find(([, , lengths]) => lengths.includes(digits.length));
  return row ? row[3] : null;
};

/** The brand that the first digits suggest: of the narrowest range with numbers of this length. */
export const brandWhileTyping = (table, digits) => {
  if (digits === '') return null;
  const rows = rowsOf(table.ranges, digits);
  const row = rows.find(([, , lengths]) => Math.max(...lengths) >= digits.length);
  return row ? row[3] : brandOfNumber(table, digits);
};

/** `verdict` is `empty`, `incomplete`, `invalid` or `valid`. */
export const checkNumber = (table, digits) => {
  if (digits === '') return { verdict: 'empty', brand: null };
  const test = testCardOf(table, digits);
  if (test && (test[4] || passesLuhn(digits))) return { verdict: 'valid', brand: test[3] };
  const whole = brandOfNumber(table, digits);
  if (whole && passesLuhn(digits)) return { verdict: 'valid', brand: whole };
  const brand = brandWhileTyping(table, digits);
  const mayGrow = rowsOf(table.ranges, digits).some(([, , lengths]) => Math.max(...lengths) > digits.length);
  if (mayGrow && !(whole && isUsualLength(digits))) return { verdict: 'incomplete', brand };
  if (digits.length < table.digits[0]) return { verdict: 'incomplete', brand };
  // A number of no known range is the vault's to judge, if its check digit is right.
  return { verdict: !whole && passesLuhn(digits) ? 'valid' : 'invalid', brand: whole };
};

/** Most cards have 16 digits. Longer ones exist, but a wrong check digit is more likely. */
const isUsualLength = (digits) => digits.length >= 16;

/** The number of digits after which a person has most likely typed all of them. */
export const usualLength = (table, brand) => {
  const groups = table.brands[brand]?.groups ?? [];
  // Cards of UnionPay have 16 or 19 digits, both often.
  if (brand === 'unionpay') return LONGEST;
  return Math.min(16, groups.reduce((sum, group) => sum + group, 0) || 16);
};

/** The digits with the spaces that cards of the brand print. */
export const formatNumber = (table, digits) => {
  const brand = brandWhileTyping(table, digits);
  const groups = table.brands[brand]?.groups ?? [];
  const total = groups.reduce((sum, group) => sum + group, 0);
  const sizes = groups.length > 0 && digits.length <= total ? groups : [4, 4, 4, 4, 3];
  const parts = [];
  let from = 0;
  for (const size of sizes) {
    if (from >= digits.length) break;
    parts.push(digits.slice(from, from + size));
    from += size;
  }
  return parts.join(' ');
};

/** The digits of an expiry as they are shown: a month of two digits, then the year. */
export const digitsOfExpiry = (text) => {
  // "1/30" has a month of one digit; "5" can be no other month.
  const short = /^\s*([0-9])\s*[/.\s-]/.exec(text);
  const padded = short ? `0${text.trimStart()}` : text;
  const digits = digitsOf(padded, 6);
  return /^[2-9]/.test(digits) ? `0${digits}`.slice(0, 6) : digits;
};

/** `isGrowing` is false while the person deletes, since a separator would come back at once. */
export const formatExpiry = (digits, isGrowing = true) => {
  if (digits.length < 2 || (digits.length === 2 && !isGrowing)) return digits;
  const year = digits.slice(2);
  // A year of four digits begins with 20.
  const most = year.startsWith('20') ? 4 : 2;
  return `${digits.slice(0, 2)} / ${year.slice(0, most)}`;
};

export const parseExpiry = (digits) => {
  const month = Number(digits.slice(0, 2));
  const year = digits.slice(2);
  if (digits.length < 4 || year.length === 3) return null;
  return { month, year: year.length === 4 ? Number(year) : 2000 + Number(year) };
};

/** `verdict` is `empty`, `incomplete`, `invalid`, `expired` or `valid`. */
export const checkExpiry = (digits, now = new Date()) => {
  if (digits === '') return { verdict: 'empty' };
  const month = digits.slice(0, 2);
  if (month.length === 2 && !(month >= '01' && month <= '12')) return { verdict: 'invalid' };
  const parsed = parseExpiry(digits);
  if (!parsed) return { verdict: 'incomplete' };
  // A card is valid until the end of its month.
  const isPast = parsed.year * 12 + parsed.month < now.getFullYear() * 12 + now.getMonth() + 1;
  return { verdict: isPast ? 'expired' : 'valid', ...parsed };
};

/** The lengths of the code on cards of a brand: both, while the brand is not known. */
export const cvcLengths = (table, brand) => {
  const digits = table.brands[brand]?.cvc;
  return digits ? [digits] : [3, 4];
};

export const checkCvc = (digits, lengths) => {
  if (digits === '') return { verdict: 'empty' };
  if (lengths.includes(digits.length)) return { verdict: 'valid' };
  return { verdict: digits.length < Math.min(...lengths) ? 'incomplete' : 'invalid' };
};

/** The place in a formatted text after this many of its digits. */
export const caretAfter = (text, digits) => {
  if (digits === 0) return 0;
  let seen = 0;
  for (let at = 0; at < text.length; at += 1) {
    if (/[0-9]/.test(text[at])) seen += 1;
    if (seen === digits) return at + 1;
  }
  return text.length;
};
