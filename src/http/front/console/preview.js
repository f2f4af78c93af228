// The preview of what permissions and rules allow in a container, as the server answers it.

import { call } from './api.js';
import { el, fill, freshId } from './dom.js';
import { code, field, notice, problem, table, tag } from './parts.js';

const DELAY_MS = 400;

const SHOWS = {
  reveal: ['plain values', 'warn'],
  mask: ['masked values', ''],
  redact: ['no values', ''],
  outline: ['id and type', ''],
  nothing: ['nothing', ''],
};

/** A panel that asks the server about the access that `current` gives, at first in `container`. */
export const previewPanel = (current, { container: first = '/' } = {}) => {
  const container = el('input', { type: 'text', value: first, autocomplete: 'off', spellcheck: 'false' });
  const result = el('div', { 'aria-live': 'polite' });
  const id = freshId('preview');
  let timer;
  let asked = 0;
  const ask = async () => {
    asked += 1;
    const mine = asked;
    try {
      const answer = await call('POST', '/console/data/rules-preview', { body: { ...current(), container: container.value }, series: 'preview' });
      if (mine === asked) fill(result, ...shown(answer));
    } catch (failure) {
      if (mine === asked) fill(result, problem(failure));
    }
  };
  const refresh = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, DELAY_MS);
  };
  container.addEventListener('input', refresh);
  const element = el('section', { class: 'preview', 'aria-labelledby': id },
    el('h3', { id }, 'Preview'),
    field('For tokens in the container', container, 'A path such as /pci/high/. The answer is that of the server.'),
    result);
  return { element, refresh };
};

const shown = (answer) => {
  if (!answer.valid) {
    const mistakes = Object.entries(answer.errors);
    return [notice('warn', el('p', {}, 'Not complete yet:'), el('ul', {}, mistakes.map(([path, texts]) => el('li', {}, code(path), ` ${texts.join(' ')}`))))];
  }
  return [
    answer.reveals && notice('warn', el('p', {}, 'Some of these rights show stored values in plain.')),
    table('Rights on tokens', ['Permission', 'Allowed', 'By', 'The answer shows'], answer.token_permissions.map(row), ''),
    answer.other_permissions.length > 0 && [
      el('p', { class: 'quiet' }, 'Rights that no container limits:'),
      el('ul', { class: 'tags' }, answer.other_permissions.map((it) => el('li', {}, code(it)))),
    ],
  ].filter(Boolean).flat();
};

const row = (right) => [
  code(right.permission),
  right.allowed ? tag('yes', 'good') : tag('no'),
  by(right),
  right.allowed ? tag(...(SHOWS[right.shows] ?? [right.shows, ''])) : el('span', { class: 'quiet' }, '-'),
];

const by = (right) => {
  if (!right.allowed) return el('span', { class: 'quiet' }, '-');
  return right.by === 'rule' ? `rule ${right.rule + 1}` : 'permission';
};
