// The rules of the card fields that need no browser: recognizing, checking and formatting.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as card from '../../../src/http/front/fields/card.js';

/** The table as the vault serves it, made from the same files. */
const rows = (name) => readFileSync(new URL(`../../../src/domain/card/iin/${name}`, import.meta.url), 'utf8')
  .split('\n').filter((line) => line !== '' && !line.startsWith('#')).map((line) => line.split(','));
const lengths = (text) => text.split(' ').flatMap((part) => {
  const [first, last = first] = part.split('-').map(Number);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
});
const span = (first, last) => [first.padEnd(19, '0'), (last || first).padEnd(19, '9')];
const width = ([first, last]) => BigInt(last) - BigInt(first);
const table = {
  digits: [13, 19],
  brands: {
    'american-express': { name: 'American Express', groups: [4, 6, 5], cvc: 4 },
    'diners-club': { name: 'Diners Club', groups: [4, 6, 4], cvc: 3 },
    ...Object.fromEntries(['visa', 'mastercard', 'discover', 'jcb', 'unionpay', 'elo', 'mir', 'hipercard', 'ebt']
      .map((name) => [name, { name, groups: [4, 4, 4, 4, 3], cvc: 3 }])),
  },
  ranges: rows('iin.csv').map(([first, last, text, brand]) => [...span(first, last), lengths(text), brand])
    .sort((one, other) => (width(one) < width(other) ? -1 : 1)),
  test_cards: [],
};
const testCards = rows('test_cards.csv').filter(([first, , brand, , , use]) =>
  use === '3ds' || card.brandOfNumber(table, first) !== brand);
table.test_cards = testCards.map(([first, last, brand, , , use]) =>
  [...span(first, last), [first.length], brand, use === '3ds']);

test('every documented test card is valid and has its brand', () => {
  for (const [number, , brand, , , use] of rows('test_cards.csv')) {
    const found = card.checkNumber(table, number);
    if (use === '3ds' || card.passesLuhn(number)) assert.deepEqual(found, { verdict: 'valid', brand }, number);
    else assert.equal(found.verdict, 'invalid', number);
  }
});

test('a number is judged by its check digit and the lengths of its brand', () => {
  const expected = [
    ['', 'empty', null],
    ['4', 'incomplete', 'visa'],
    ['4242', 'incomplete', 'visa'],
    ['424242424242424', 'incomplete', 'visa'],
    ['4242424242424242', 'valid', 'visa'],
    ['4242424242424241', 'invalid', 'visa'],
    ['4222222222222', 'valid', 'visa'],
    ['378282246310005', 'valid', 'american-express'],
    ['371449635398432', 'invalid', 'american-express'],
    ['37144963539843', 'incomplete', 'american-express'],
    ['5105105105105100', 'valid', 'mastercard'],
    ['5105105105105101', 'invalid', 'mastercard'],
    ['9999', 'incomplete', null],
    ['9999999999999995', 'valid', null],
    ['9999999999999999', 'invalid', null],
  ];
  for (const [digits, verdict, brand] of expected) {
    assert.deepEqual(card.checkNumber(table, digits), { verdict, brand }, digits);
  }
});

test('a number is grouped as its brand prints it, whatever was typed between the digits', () => {
  const expected = [
    ['4242-4242 4242 4242', '4242 4242 4242 4242'],
    ['4242', '4242'],
    ['42424', '4242 4'],
    ['378282246310005', '3782 822463 10005'],
    ['3782822', '3782 822'],
    ['36227206271667', '3622 720627 1667'],
    ['3622720627166789', '3622 7206 2716 6789'],
    ['4242424242424242424', '4242 4242 4242 4242 424'],
    ['42424242424242424249999', '4242 4242 4242 4242 424'],
    ['no digits', ''],
  ];
  for (const [typed, shown] of expected) assert.equal(card.formatNumber(table, card.digitsOf(typed)), shown, typed);
});

test('an expiry is read as people write it', () => {
  const now = new Date(2026, 10, 15);
  const expected = [
    ['1/30', '01 / 30', 'valid', 1, 2030],
    ['01 / 2030', '01 / 2030', 'valid', 1, 2030],
    ['0130', '01 / 30', 'valid', 1, 2030],
    ['12.29', '12 / 29', 'valid', 12, 2029],
    ['5', '05 / ', 'incomplete'],
    ['1', '1', 'incomplete'],
    ['12', '12 / ', 'incomplete'],
    ['12/3', '12 / 3', 'incomplete'],
    ['1326', '13 / 26', 'invalid'],
    ['0030', '00 / 30', 'invalid'],
    ['11/26', '11 / 26', 'valid', 11, 2026],
    ['10/26', '10 / 26', 'expired', 10, 2026],
    ['01/2020', '01 / 2020', 'expired', 1, 2020],
    ['', '', 'empty'],
  ];
  for (const [typed, shown, verdict, month, year] of expected) {
    const digits = card.digitsOfExpiry(typed);
    assert.equal(card.formatExpiry(digits), shown, typed);
    const found = card.checkExpiry(digits, now);
    assert.equal(found.verdict, verdict, typed);
    if (month) assert.deepEqual([found.month, found.year], [month, year], typed);
  }
});

test('a code has the length of its brand, or either while the brand is not known', () => {
  assert.equal(card.checkCvc('123', card.cvcLengths(table, 'visa')).verdict, 'valid');
  assert.equal(card.checkCvc('1234', card.cvcLengths(table, 'visa')).verdict, 'invalid');
  assert.equal(card.checkCvc('123', card.cvcLengths(table, 'american-express')).verdict, 'incomplete');
  assert.equal(card.checkCvc('1234', card.cvcLengths(table, 'american-express')).verdict, 'valid');
  for (const digits of ['123', '1234']) assert.equal(card.checkCvc(digits, card.cvcLengths(table, null)).verdict, 'valid');
  assert.equal(card.checkCvc('', [3]).verdict, 'empty');
});

test('the caret stands behind the digit that it stood behind', () => {
  assert.equal(card.caretAfter('4242 4242', 0), 0);
  assert.equal(card.caretAfter('4242 4242', 4), 4);
  assert.equal(card.caretAfter('4242 4242', 5), 6);
  assert.equal(card.caretAfter('4242 4242', 99), 9);
});
