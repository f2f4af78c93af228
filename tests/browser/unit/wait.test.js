import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until, within } from '../lib/wait.js';

test('a wait that is too long ends with its name', async () => {
  await assert.rejects(within('the rain', new Promise(() => {}), 20), /Waited 0.02 s for the rain\./);
  await assert.rejects(until('the sun', async () => false, 20), /for the sun\./);
  await assert.rejects(until('the wind', () => new Promise(() => {}), 20), /for the wind\./);
});

test('a wait gives what it waited for', async () => {
  assert.equal(await within('seven', Promise.resolve(7)), 7);
  const answers = [0, '', 'found'];
  assert.equal(await until('the third answer', async () => answers.shift()), 'found');
});
