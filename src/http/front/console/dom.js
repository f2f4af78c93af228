// Elements of the page. Text from the server only ever becomes a text node: no function here parses
// markup, so a name such as "<img onerror=...>" is shown as it is.

const SVG = 'http://www.w3.org/2000/svg';

/** An element with attributes, listeners (`onclick: f`) and children (nodes, texts, lists of them). */
export const el = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

const filled = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') {
      element.addEventListener(name.slice(2), value);
    } else if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  append(element, children);
  return element;
};

export const append = (element, ...children) => {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
};

/** Replaces the content of an element. */
export const fill = (element, ...children) => {
  element.replaceChildren();
  return append(element, children);
};

let counter = 0;

/** An id for a label and its input. */
export const freshId = (prefix) => {
  counter += 1;
  return `${prefix}-${counter}`;
};

/** Says something to screen readers, without moving the focus. */
export const announce = (text) => { document.getElementById('status').textContent = text; };
