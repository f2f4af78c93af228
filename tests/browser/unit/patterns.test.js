// Patterns of a page that run over values which the page must not read.
import assert from 'node:assert/strict';
import test from 'node:test';
import { modulesOf } from '../lib/modules.js';

const load = await modulesOf('fields');
const { BadPattern, applyMask, isCostly, mayBeCardNumber, maskOf, passes, patternOf, transformOf } = await load('patterns.js');

test('a pattern whose matching may take very long is refused', () => {
  for (const source of ['(a+)+$', '(a|a)*b', '([a-z]+)*', '(?:x?)+', '(\\d{1,})+', '(a)\\1', '((a*)b)*', 'a{5000}', 'a*b*c*d*e*']) {
    assert.equal(isCostly(source), true, source);
  }
  for (const source of ['^\\d{3}-\\d{2}-\\d{4}$', '^[a-z+]+@[a-z.]+$', '^(foo|bar)$', '\\(\\d+\\)', '[(a+)+]', '^.{1,40}$']) {
    assert.equal(isCostly(source), false, source);
  }
  assert.throws(() => patternOf({ source: '(a+)+$' }), BadPattern);
  assert.throws(() => patternOf({ source: 'x'.repeat(201) }), BadPattern);
  assert.throws(() => patternOf({ source: '(' }), BadPattern);
  assert.throws(() => patternOf('text'), BadPattern);
  assert.throws(() => transformOf([{ source: 'a' }, 7]), BadPattern);
});

test('a place of a mask tells digits from letters, and no digit from another', () => {
  for (const slot of [{ source: '\\d' }, { source: '[0-9]' }, { source: '[a-zA-Z]' }, { source: '.' }, { source: '\\S' }, { source: '[a-z]', flags: 'i' }]) {
    assert.equal(maskOf([slot]).length, 1, slot.source);
  }
  for (const slot of [{ source: '4' }, { source: '[2-9]' }, { source: '[^0]' }, { source: '[a-y]' }, { source: '[A-Z]|7' }]) {
    assert.throws(() => maskOf([slot]), BadPattern, slot.source);
  }
  assert.throws(() => maskOf(['ab']), BadPattern);
  assert.throws(() => maskOf(Array(101).fill('-')), BadPattern);
});

test('a mask adds its literals and leaves out the rest', () => {
  const ssn = maskOf([{ source: '\\d' }, { source: '\\d' }, '-', { source: '\\d' }]);
  const check = (text, shown, isFull) => assert.deepEqual(applyMask(ssn, text), { shown, isFull }, text);
  check('', '', false);
  check('1', '1', false);
  check('12', '12', false);
  check('123', '12-3', true);
  check('12-3', '12-3', true);
  check('a1b2c3d4', '12-3', true);
});

test('no pattern of the page is asked about a card number', () => {
  const any = patternOf({ source: '^4' });
  assert.equal(passes(any, '4'), true);
  for (const number of ['4242424242424242', '4242 4242 4242 4242', '378282246310005']) {
    assert.equal(mayBeCardNumber(number), true);
    assert.equal(passes(patternOf({ source: '.' }), number), false);
  }
  assert.equal(mayBeCardNumber('123-45-6789'), false);
});
