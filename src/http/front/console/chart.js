// A chart of counts over time: stacked bars as SVG, with a table of the same numbers below it.

import { el, svg } from './dom.js';
import { count } from './format.js';
import { table } from './parts.js';

const WIDTH = 720;
const HEIGHT = 180;
const BASE = 24;
const TOP = 14;
const LEFT = 44;

/** Kinds of answer, from the bottom of a bar to its top. */
export const SERIES = [
  ['ok', 'Answered'],
  ['refused', 'Refused (4xx)'],
  ['limited', 'Rate limited (429)'],
  ['failed', 'Failed (5xx)'],
];

const sum = (bucket) => SERIES.reduce((total, [name]) => total + bucket[name], 0);

/** The next round number at or above the highest bar, so that the axis has a readable end. */
export const axisEnd = (highest) => {
  if (highest <= 4) return 4;
  const step = 10 ** Math.floor(Math.log10(highest));
  const factor = [1, 2, 4, 5, 10].find((it) => it * step >= highest);
  return factor * step;
};

/** Rectangles of the stacked bars: series, position and size in the units of the drawing. */
export const bars = (buckets, width = WIDTH, height = HEIGHT) => {
  const end = axisEnd(Math.max(0, ...buckets.map(sum)));
  const step = (width - LEFT) / Math.max(1, buckets.length);
  const scale = (height - BASE - TOP) / end;
  return buckets.flatMap((bucket, at) => {
    let bottom = height - BASE;
    return SERIES.filter(([name]) => bucket[name] > 0).map(([name]) => {
      const size = bucket[name] * scale;
      bottom -= size;
      return { name, x: LEFT + at * step + step * 0.1, y: bottom, width: step * 0.8, height: size };
    });
  });
};

const label = (text, width) => {
  const at = new Date(text);
  const options = width === 'hour' ? { hour: '2-digit' } : { hour: '2-digit', minute: '2-digit' };
  return at.toLocaleTimeString(undefined, options);
};

/** A figure with the bars of `buckets`; `unit` is 'minute' or 'hour'. */
export const chart = (title, buckets, unit) => {
  const total = buckets.reduce((all, bucket) => all + sum(bucket), 0);
  const end = axisEnd(Math.max(0, ...buckets.map(sum)));
  const step = (WIDTH - LEFT) / Math.max(1, buckets.length);
  const every = Math.ceil(buckets.length / 6);
  const y = (value) => HEIGHT - BASE - ((HEIGHT - BASE - TOP) * value) / end;
  const lines = [0, end / 2, end].map((value) => [
    svg('line', { x1: LEFT, x2: WIDTH, y1: y(value), y2: y(value), class: 'grid' }),
    svg('text', { x: LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' }, count(value)),
  ]);
  const times = buckets.map((bucket, at) => at % every === 0
    && svg('text', { x: LEFT + at * step, y: HEIGHT - 6 }, label(bucket.at, unit)));
  const drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}: ${count(total)} requests in all. The table below has the numbers.` },
    lines, times, bars(buckets).map(({ name, ...size }) => svg('rect', { class: `bar-${name}`, ...size })));
  return el('figure', { class: 'chart' },
    el('figcaption', {}, el('strong', {}, title), ' ', el('span', { class: 'quiet' }, `${count(total)} requests`)),
    el('div', { class: 'drawing', role: 'group', 'aria-label': `Chart: ${title}`, tabindex: '0' }, drawing),
    el('ul', { class: 'legend' }, SERIES.map(([name, text]) => el('li', {}, el('span', { class: `swatch bar-${name}` }), text))),
    el('details', {}, el('summary', {}, 'The numbers as a table'),
      table(title, ['Time', ...SERIES.map(([, text]) => text)], numbers(buckets, unit), 'No requests in this time.')));
};

const numbers = (buckets, unit) =>
  buckets.filter((bucket) => sum(bucket) > 0).reverse()
    .map((bucket) => [label(bucket.at, unit), ...SERIES.map(([name]) => count(bucket[name]))]);
