// The editor of access rules. The first rule that covers a container decides, so their order counts:
// the editor gives priorities by position.

import { announce, el, fill } from './dom.js';
import { checkbox, field, select } from './parts.js';
import { RULE_PERMISSIONS, moved } from './rights.js';

const TRANSFORMS = [
  ['mask', 'mask: values are masked'],
  ['redact', 'redact: no values'],
  ['reveal', 'reveal: values in plain'],
];

/** An editor that starts with `rules` and calls `onchange`; `rules()` gives the current list. */
export const rulesEditor = (rules, all, onchange) => {
  const element = el('div', { class: 'rule-list' });
  let list = rules.map((rule) => ({ ...rule, permissions: [...rule.permissions] }));
  let type = 'private';
  const change = (next, said) => {
    list = next;
    draw();
    onchange();
    announce(said);
  };
  const draw = () => {
    const allowed = RULE_PERMISSIONS.filter((name) =>
      all.some((it) => it.type === name && it.application_types.includes(type)));
    list.forEach((rule) => { rule.permissions = rule.permissions.filter((it) => allowed.includes(it)); });
    fill(element,
      list.length === 0 && el('p', { class: 'quiet' }, 'No rules: the permissions above hold in every container.'),
      list.map((rule, at) => card(rule, at, { list, allowed, onchange, change })),
      el('button', { type: 'button', onclick: add }, 'Add a rule'));
  };
  const add = () => {
    change([...list, { container: '/', transform: 'mask', permissions: [] }], `Rule ${list.length + 1} added.`);
    element.querySelector('fieldset:last-of-type input')?.focus();
  };
  return {
    element,
    rules: () => list,
    set: (next) => {
      list = next.map((rule) => ({ ...rule, permissions: [...rule.permissions] }));
      draw();
    },
    draw: (kind) => {
      type = kind;
      draw();
    },
  };
};

const card = (rule, at, { list, allowed, onchange, change }) => {
  const input = (name, value, attributes) => {
    const made = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes, oninput: () => {
      rule[name] = made.value;
      onchange();
    } });
    made.value = value ?? '';
    return made;
  };
  const transform = select(TRANSFORMS, rule.transform, { onchange: () => {
    rule.transform = transform.value;
    onchange();
  } });
  const toggle = (name) => (isOn) => {
    rule.permissions = allowed.filter((it) => (it === name ? isOn : rule.permissions.includes(it)));
    onchange();
  };
  const button = (label, name, run, disabled) =>
    el('button', { type: 'button', class: 'small', disabled, 'aria-label': `${name} rule ${at + 1}`, onclick: run }, label);
  const move = (to) => () => change(moved(list, at, to), `Rule ${at + 1} is now rule ${to + 1}.`);
  return el('fieldset', { class: 'rule', 'data-rule': at },
    el('legend', {}, `Rule ${at + 1}`),
    el('div', { class: 'columns' },
      field('Container', input('container', rule.container, { placeholder: '/pci/high/' })),
      field('Answers show', transform),
      field('Description', input('description', rule.description, {}))),
    el('div', { class: 'checks', role: 'group', 'aria-label': `Permissions of rule ${at + 1}` },
      allowed.map((name) => checkbox(el('code', {}, name), rule.permissions.includes(name), toggle(name)))),
    el('div', { class: 'row end' },
      button('Up', 'Move up', move(at - 1), at === 0),
      button('Down', 'Move down', move(at + 1), at === list.length - 1),
      button('Remove', 'Remove', () => change(list.filter((_, other) => other !== at), `Rule ${at + 1} removed.`), false)));
};
