// A text area for code: line numbers, and a Tab key that indents. Escape gives the Tab key back, so that the
// keyboard can leave.

import { el, freshId } from './dom.js';

const INDENT = '  ';

/**
 * The change that the Tab key makes: the text between `from` and `to` is replaced, and `start` and `end` are the new
 * selection. Without a line break in the selection, Tab adds spaces there; otherwise whole lines move.
 */
export const indentation = (text, start, end, isBack) => {
  if (!isBack && !text.slice(start, end).includes('\n')) {
    return { from: start, to: end, text: INDENT, start: start + INDENT.length, end: start + INDENT.length };
  }
  const from = start === 0 ? 0 : text.lastIndexOf('\n', start - 1) + 1;
  const to = text.indexOf('\n', end) < 0 ? text.length : text.indexOf('\n', end);
  const lines = text.slice(from, to).split('\n');
  const moved = lines.map((line) => (isBack ? line.replace(/^(?: {1,2}|\t)/, '') : line && INDENT + line));
  const all = moved.join('\n');
  const lastLine = from + all.length - moved.at(-1).length;
  return {
    from,
    to,
    text: all,
    start: Math.max(from, start + moved[0].length - lines[0].length),
    end: Math.max(lastLine, from + all.length - (to - end)),
  };
};

/** The numbers of the lines of a text, a line each. */
export const lineNumbers = (text) =>
  Array.from({ length: text.split('\n').length }, (_, at) => at + 1).join('\n');

/** A labelled editor; `input` is its text area. */
export const codeEditor = (label, text, hint) => {
  const id = freshId('code');
  const numbers = el('pre', { class: 'line-numbers', 'aria-hidden': 'true' });
  let leaves = false;
  const draw = () => {
    const wanted = lineNumbers(input.value);
    if (numbers.textContent !== wanted) numbers.textContent = wanted;
    numbers.scrollTop = input.scrollTop;
  };
  const input = el('textarea', {
    id,
    class: 'code',
    rows: '18',
    wrap: 'off',
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'off',
    'aria-describedby': `${id}-hint`,
    oninput: draw,
    onscroll: () => { numbers.scrollTop = input.scrollTop; },
    onkeydown: (event) => {
      const isIndenting = event.key === 'Tab' && !leaves && !event.ctrlKey && !event.altKey && !event.metaKey;
      if (event.key !== 'Shift') leaves = event.key === 'Escape';
      if (!isIndenting) return;
      event.preventDefault();
      apply(input, indentation(input.value, input.selectionStart, input.selectionEnd, event.shiftKey));
    },
  });
  input.value = text;
  draw();
  const element = el('div', { class: 'field' },
    el('label', { for: id }, label),
    el('div', { class: 'code-editor' }, numbers, input),
    el('small', { id: `${id}-hint`, class: 'quiet' }, hint, ' Tab indents; Escape and then Tab leaves the field.'));
  return { element, input };
};

/** `insertText` keeps the browser's undo, which `setRangeText` forgets. */
const apply = (input, change) => {
  if (input.value.slice(change.from, change.to) !== change.text) {
    input.setSelectionRange(change.from, change.to);
    const isDone = change.text === '' ? document.execCommand('delete') : document.execCommand('insertText', false, change.text);
    if (!isDone) input.setRangeText(change.text, change.from, change.to);
  }
  input.setSelectionRange(change.start, change.end);
  input.dispatchEvent(new Event('input'));
};
