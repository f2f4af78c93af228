// An input with its label, and the events that the inputs of cards and of texts have in common.

/** Gives `owner` its `input` and the `element` around it. `typed` gets the events of typing. */
export const labelInput = (owner, input, label, typed) => {
  input.id = owner.name;
  input.spellcheck = false;
  input.setAttribute('aria-describedby', 'error');
  const text = document.createElement('label');
  text.htmlFor = input.id;
  text.textContent = label;
  owner.input = input;
  owner.element = document.createElement('div');
  owner.element.className = `part part-${owner.name}`;
  owner.element.append(text, input);
  input.addEventListener('input', typed);
  input.addEventListener('focus', () => { owner.isFocused = true; });
  input.addEventListener('blur', () => {
    owner.isFocused = false;
    owner.showError();
    owner.onChange(owner, { isTyped: false });
  });
};
