// Rows of names and values for a configuration. Known values are not shown: a row keeps its value until a new one is
// typed or the row is removed.

import { announce, el, fill } from './dom.js';
import { FormMistake } from './form_input.js';

/** The member `configuration` of a creation or a merge patch; nothing if it stays as it is. */
export const configurationChange = (known, rows) => {
  const used = rows.filter((row) => row.name !== '' || row.value !== '');
  const names = used.map((row) => row.name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (names.includes('')) throw new FormMistake('Configuration: a value has no name.');
  if (twice !== undefined) throw new FormMistake(`Configuration: the name ${twice} is there twice.`);
  const gone = known.filter((name) => !names.includes(name)).map((name) => [name, null]);
  const changed = used.filter((row) => !row.isKnown || row.value !== '').map((row) => [row.name, row.value]);
  return gone.length + changed.length === 0 ? undefined : Object.fromEntries([...gone, ...changed]);
};

/** An editor for a configuration with the names `known`; `change()` gives the member for the call. */
export const configurationEditor = (known) => {
  const list = el('div', { class: 'configuration' });
  let rows = known.map((name) => ({ name, value: '', isKnown: true }));
  const draw = () => fill(list,
    rows.length === 0 && el('p', { class: 'quiet' }, 'No entries.'),
    rows.map((row, at) => drawn(row, at, () => {
      rows = rows.filter((it) => it !== row);
      draw();
      announce(`Entry ${at + 1} removed.`);
      add.focus();
    })));
  const add = el('button', { type: 'button', class: 'small', onclick: () => {
    rows = [...rows, { name: '', value: '' }];
    draw();
    list.querySelector('.entry:last-of-type input')?.focus();
  } }, 'Add an entry');
  draw();
  return { element: [list, add], change: () => configurationChange(known, rows) };
};

const drawn = (row, at, remove) => {
  const input = (member, label, attributes) => {
    const made = el('input', {
      type: 'text', autocomplete: 'off', spellcheck: 'false', 'aria-label': `${label} of entry ${at + 1}`, ...attributes,
      oninput: () => { row[member] = made.value; },
    });
    made.value = row[member];
    return made;
  };
  return el('div', { class: 'entry' },
    input('name', 'Name', { placeholder: 'NAME', readonly: row.isKnown }),
    input('value', 'Value', { placeholder: row.isKnown ? 'stays as it is' : 'value' }),
    el('button', { type: 'button', class: 'small', 'aria-label': `Remove entry ${at + 1}`, onclick: remove }, 'Remove'));
};
