// Tabs after the pattern of the ARIA guide: arrow keys move between tabs, Tab goes into the panel.

import { make, newId } from './dom.js';

/** Tabs of `[{ id, title, panel }]`. `onChange` gets the id of the tab that a person chose. */
export function tabs(label, entries, chosen, onChange) {
  const list = make('div', { role: 'tablist', 'aria-label': label });
  const buttons = entries.map((entry) => {
    const id = newId('tab');
    const button = make('button', { type: 'button', role: 'tab', id, 'aria-controls': `${id}-panel` }, entry.title);
    entry.panel.id = `${id}-panel`;
    entry.panel.setAttribute('role', 'tabpanel');
    entry.panel.setAttribute('aria-labelledby', id);
    return button;
  });
  const show = (at) => {
    for (const [index, entry] of entries.entries()) {
      buttons[index].setAttribute('aria-selected', String(index === at));
      buttons[index].tabIndex = index === at ? 0 : -1;
      entry.panel.hidden = index !== at;
    }
  };
  const choose = (at) => {
    show(at);
    buttons[at].focus();
    onChange?.(entries[at].id);
  };
  for (const [index, button] of buttons.entries()) {
    button.addEventListener('click', () => choose(index));
    button.addEventListener('keydown', (event) => {
      const last = buttons.length - 1;
      const next = { ArrowRight: index === last ? 0 : index + 1, ArrowLeft: index === 0 ? last : index - 1, Home: 0, End: last }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      choose(next);
    });
  }
  list.append(...buttons);
  show(Math.max(entries.findIndex((it) => it.id === chosen), 0));
  return make('div', { class: 'tabset' }, list, entries.map((it) => it.panel));
}

/** Makes tabs of the sections of the page, which stand one below the other without this script. */
export function upgradeTabs(holder) {
  const entries = [...holder.querySelectorAll('[data-tab]')].map((panel) => ({
    id: panel.dataset.tab,
    title: panel.dataset.tab,
    panel,
  }));
  holder.replaceChildren(tabs(holder.dataset.label, entries));
}
