// Checkboxes for permissions, in groups by subject, with the descriptions of the server.

import { el, fill } from './dom.js';
import { checkbox } from './parts.js';
import { byGroup } from './rights.js';

/** A picker that changes the set `chosen` and calls `onchange`. `draw` follows the type. */
export const permissionPicker = (all, chosen, onchange) => {
  const element = el('div', { class: 'groups' });
  const draw = (type) => {
    const possible = all.filter((it) => it.application_types.includes(type));
    const known = new Set(possible.map((it) => it.type));
    [...chosen].filter((it) => !known.has(it)).forEach((it) => chosen.delete(it));
    // A program may have granted rights of features that this server does not have.
    const offered = possible.filter((it) => !it.absent_feature || chosen.has(it.type));
    fill(element, [...byGroup(offered)].map(([name, permissions]) => group(name, permissions, chosen, onchange)));
  };
  return { element, draw };
};

const group = (name, permissions, chosen, onchange) =>
  el('fieldset', {}, el('legend', {}, name), permissions.map((it) =>
    checkbox(el('code', {}, it.type), chosen.has(it.type), (isOn) => {
      if (isOn) {
        chosen.add(it.type);
      } else {
        chosen.delete(it.type);
      }
      onchange();
    }, it.description)));
