// Bars of use against a limit.

import { el } from './dom.js';
import { count, percent } from './format.js';

/** The name of a member in words. */
export const words = (name) => {
  const text = name.replaceAll('_', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** A bar of use against a limit, with the numbers as text. */
export const meter = (used, limit, label) => {
  if (limit === undefined || limit === null) {
    return el('div', { class: 'meter' }, el('span', {}, `${count(used)}, no limit`));
  }
  const share = percent(used, limit);
  const tone = share >= 90 ? 'bad' : share >= 70 ? 'warn' : '';
  return el('div', { class: 'meter' },
    el('progress', { class: tone, max: String(Math.max(limit, 1)), value: String(Math.min(used, limit)), 'aria-label': label }),
    el('span', {}, `${count(used)} of ${count(limit)} (${share} %)`));
};
