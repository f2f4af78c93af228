// Buttons that copy a value to the clipboard, when a person presses them: an element of its own for the
// value of another element, and the icon of `enableCopy` inside of an element. Only values that the vault
// filled in are copied, which the page's key may read anyhow; a value that a person typed never is.

/** Tells of the copy. The browser or the page's policy may refuse, and the person sees no confirmation. */
const copyText = async (text, send) => {
  try {
    await navigator.clipboard.writeText(text);
    send('copied');
    return true;
  } catch {
    return false;
  }
};

const SVG = 'http://www.w3.org/2000/svg';
const DONE_MS = 2_000;

/** The icon of an element. `textOf` gives the text, or null if it may not be copied. */
export const copyIcon = (label, textOf, send) => {
  const button = document.createElement('button');
  button.type = 'button';
  button.id = 'copy-icon';
  button.setAttribute('aria-label', label);
  const icon = document.createElementNS(SVG, 'svg');
  icon.setAttribute('viewBox', '0 0 16 16');
  icon.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', 'M5 5V2h9v9h-3M2 5h9v9H2z');
  icon.append(path);
  button.append(icon);
  button.addEventListener('click', async () => {
    send('clicked');
    const text = textOf();
    if (text === null || !(await copyText(text, send))) return;
    button.classList.add('done');
    setTimeout(() => button.classList.remove('done'), DONE_MS);
  });
  return button;
};

export class CopyButton {
  name = 'copy';
  isFocused = false;
  isRevealed = false;
  isEmpty = true;
  error = null;
  errorText = '';
  raw = {};
  #send;

  constructor({ text }, send) {
    this.#send = send;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.addEventListener('click', () => send('copy'));
    this.element = document.createElement('div');
    this.element.className = 'part part-copy';
    this.element.append(button);
    this.input = button;
  }

  copied(text) { return copyText(text, this.#send); }

  check() { return { verdict: 'valid' }; }
  values() { return null; }
  isFinished() { return false; }
  showError() {}
  refuse() {}
  clear() {}
  fill() {}
}
