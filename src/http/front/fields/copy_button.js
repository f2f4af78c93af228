// A button that copies the value of another element to the clipboard, when a person presses it. The
// controller gives it values that the vault filled in, which the page's key may read anyhow; a value
// that a person typed is never copied.

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

  async copied(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.#send('copied');
    } catch {
      // The browser or the page's policy refuses, and the person sees no confirmation.
    }
  }

  check() { return { verdict: 'valid' }; }
  values() { return null; }
  isFinished() { return false; }
  showError() {}
  refuse() {}
  clear() {}
  fill() {}
}
