// The scheme of a field, as a page declares it by a style or by its meta element.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { createContext, runInContext } from 'node:vm';

const SOURCE = readFileSync(new URL('../../../src/http/front/fields/page_frames.js', import.meta.url), 'utf8');

const toolsOf = ({ computed, meta }) => {
  const currentScript = {};
  const document = { currentScript, querySelector: () => (meta === undefined ? null : { content: meta }) };
  runInContext(SOURCE, createContext({ document, getComputedStyle: () => ({ colorScheme: computed }) }));
  return currentScript.strongroom;
};

test('the meta element counts where the computed style has no scheme', () => {
  for (const [computed, meta, expected] of [
    ['normal', undefined, 'light'], ['normal', '', 'light'], ['normal', 'dark', 'dark'], ['normal', 'light dark', 'both'],
    ['normal', 'DARK  light', 'both'], ['normal', 'only light', 'light'], ['normal', 'darkish', 'light'], [undefined, 'dark', 'dark'],
    ['light', 'dark', 'light'], ['dark', 'light', 'dark'], ['light dark', undefined, 'both'], ['only dark', 'light', 'dark'],
  ]) {
    assert.equal(toolsOf({ computed, meta }).schemeOf({}), expected, `${computed} ${meta}`);
  }
});
