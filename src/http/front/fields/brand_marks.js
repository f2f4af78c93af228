// Marks of card brands, drawn from simple shapes: a hint for the customer while the number is typed.

const SVG = 'http://www.w3.org/2000/svg';

const rect = (fill, x = 0, y = 0, width = 34, height = 22, rx = 3) => ['rect', { fill, x, y, width, height, rx }];
const circle = (fill, cx, r = 6, opacity = 1) => ['circle', { fill, cx, cy: 11, r, opacity }];
const stroke = (color, d, width = 2) => ['path', { d, fill: 'none', stroke: color, 'stroke-width': width, 'stroke-linejoin': 'round', 'stroke-linecap': 'round' }];
const circles = (left, right) => [rect('#f4f4f4'), circle(left, 13), circle(right, 21, 6, 0.85)];
const slanted = (fill, x) => ['path', { fill, d: `M${x + 3} 4h9l-3 14h-9z` }];

/** The shapes of a mark on a card of 34 by 22. */
const MARKS = {
  visa: [rect('#1a2f7a'), stroke('#fff', 'M6 7l3 8 3-8M15 7l-2 8M23 8c-3-2-6 0-4 2.500s3 4.500-1.500 4.500M25 15l4-8 1 8M26.500 12.500h3.500', 1.6)],
  mastercard: circles('#e2231a', '#f5a623'),
  maestro: circles('#e2231a', '#1573c8'),
  'american-express': [rect('#1873c9'), stroke('#fff', 'M4 15l3-8 3 8M5 12.500h4M12 15V7l3 4 3-4v8M26 7h-5v8h5M21 11h4M28 7l3 8M31 7l-3 8', 1.5)],
  discover: [rect('#f4f4f4'), circle('#ef7b22', 17, 6.5)],
  'diners-club': [rect('#2a6fb5'), circle('#fff', 17, 7), stroke('#2a6fb5', 'M14 6.500a5 5 0 0 0 0 9M20 6.500a5 5 0 0 1 0 9', 2)],
  jcb: [rect('#f4f4f4'), rect('#1565b3', 7, 4, 6, 14, 2), rect('#d5202e', 14, 4, 6, 14, 2), rect('#1d8a3e', 21, 4, 6, 14, 2)],
  unionpay: [rect('#f4f4f4'), slanted('#d5202e', 4), slanted('#1b4f8f', 11), slanted('#1d7f83', 18)],
};

/** Other brands: a card without a name. */
const PLAIN = [rect('#6a7382'), rect('#ffffff', 4, 6, 6, 5, 1), rect('#ffffff', 4, 15, 16, 2, 1)];

/** The mark of a brand as an image with the name of the brand. */
export const markOf = (brand, name) => {
  const mark = document.createElementNS(SVG, 'svg');
  mark.setAttribute('viewBox', '0 0 34 22');
  mark.setAttribute('role', 'img');
  mark.setAttribute('aria-label', name);
  for (const [shape, attributes] of Object.hasOwn(MARKS, brand) ? MARKS[brand] : PLAIN) {
    const element = document.createElementNS(SVG, shape);
    for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
    mark.append(element);
  }
  return mark;
};
