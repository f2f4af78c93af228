// Making an application, and changing one.

import { call, create } from '../api.js';
import { showNewKey } from '../dialogs.js';
import { announce, el, fill } from '../dom.js';
import { checkbox, field, heading, notice, problem, select, sending } from '../parts.js';
import { permissionPicker } from '../permission_picker.js';
import { previewPanel } from '../preview.js';
import { numbered } from '../rights.js';
import { rulesEditor } from '../rules_editor.js';

const TYPES = [
  ['private', 'Private: a back end, with values as its rules allow'],
  ['public', 'Public: a browser or an app, puts values in'],
  ['management', 'Management: applications, logs and settings, no values'],
];

export const applicationForm = async ({ place, signal, id, go }) => {
  const [all, templates, known] = await Promise.all([
    call('GET', '/permissions', { signal }),
    id ? [] : call('GET', '/application-templates', { signal }),
    id && call('GET', `/applications/${id}`, { signal }),
  ]);
  const form = applicationEditor(all, known);
  const result = el('div', {});
  const save = el('button', { type: 'submit', class: 'primary' }, id ? 'Save' : 'Create');
  const submit = async () => {
    try {
      const saved = id
        ? await call('PUT', `/applications/${id}`, { body: form.body() })
        : await create('/applications', { ...form.body(), type: form.type(), create_key: form.wantsKey() });
      announce(id ? 'The application is changed.' : 'The application is created.');
      if (saved.key) await showNewKey(saved.key);
      if (form.lostOrigins(saved)) {
        fill(result, notice('bad', el('p', {}, 'The application is saved, but this server does not know allowed origins.')));
        return;
      }
      go(`/applications/${saved.id}`);
    } catch (failure) {
      fill(result, problem(failure));
      result.scrollIntoView({ block: 'nearest' });
    }
  };
  const title = id ? `Change ${known.name}` : 'New application';
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/applications' }, 'Applications'), ' / '),
    heading(title),
    el('form', { class: 'editor', onsubmit: sending(save, submit) },
      templates.length > 0 && templateField(templates, form),
      form.parts,
      result,
      el('div', { class: 'row' }, save, el('a', { class: 'button', href: id ? `#/applications/${id}` : '#/applications' }, 'Cancel'))));
  form.start();
};

const templateField = (templates, form) => {
  const choice = select([['', 'Nothing'], ...templates.map((it) => [it.id, it.name])], '', { onchange: () => {
    const chosen = templates.find((it) => it.id === choice.value);
    if (chosen) form.use(chosen);
    hint.textContent = chosen?.description ?? '';
  } });
  const hint = el('p', { class: 'quiet', 'aria-live': 'polite' });
  return el('section', { class: 'card' }, field('Start from a template', choice), hint);
};

/** The inputs of an application, and the body that they make. */
const applicationEditor = (all, known) => {
  const name = el('input', { type: 'text', required: true, maxlength: '200', autocomplete: 'off' });
  name.value = known?.name ?? '';
  const type = select(TYPES, known?.type ?? 'private', { disabled: Boolean(known), onchange: () => changed(true) });
  const origins = el('textarea', { rows: '3', spellcheck: 'false', placeholder: 'https://shop.example' });
  origins.value = (known?.allowed_origins ?? []).join('\n');
  const chosen = new Set(known?.permissions ?? []);
  let wantsKey = true;
  const preview = previewPanel(() => ({ type: type.value, permissions: [...chosen], rules: numbered(rules.rules()) }));
  const picker = permissionPicker(all, chosen, () => preview.refresh());
  const rules = rulesEditor(known?.rules ?? [], all, () => preview.refresh());
  const originPart = el('section', { class: 'card' }, el('h2', {}, 'Allowed origins'),
    field('One origin a line', origins, 'Pages of these origins may use the card fields with this application. Empty: none, except pages of this machine for a test tenant.'));
  const rulePart = el('section', { class: 'card' }, el('h2', {}, 'Rules'),
    el('p', { class: 'quiet' }, 'A rule grants rights on tokens in a container and below it. The first rule that fits decides.'), rules.element);
  const changed = (isNewType) => {
    originPart.hidden = type.value !== 'public';
    rulePart.hidden = type.value === 'management';
    if (isNewType) {
      picker.draw(type.value);
      rules.draw(type.value);
    }
    preview.refresh();
  };
  const originList = () => origins.value.split(/\s+/).filter(Boolean);
  const body = () => ({
    name: name.value,
    permissions: [...chosen],
    ...(type.value === 'management' ? {} : { rules: numbered(rules.rules()) }),
    ...(type.value === 'public' && (originList().length > 0 || known?.allowed_origins) ? { allowed_origins: originList() } : {}),
  });
  return {
    parts: [
      el('section', { class: 'card' }, field('Name', name), field('Type', type),
        !known && checkbox('Make a first key', true, (isOn) => {
          wantsKey = isOn;
        }, 'It is shown once, after the application is made.')),
      el('section', { class: 'card' }, el('h2', {}, 'Permissions'),
        el('p', { class: 'quiet' }, 'They hold in every container. To limit rights on tokens to a container, use rules instead.'), picker.element),
      rulePart,
      originPart,
      el('section', { class: 'card' }, preview.element),
    ],
    start: () => changed(true),
    use: (template) => {
      const kind = template.application_type;
      if (TYPES.some(([it]) => it === kind)) type.value = kind;
      chosen.clear();
      template.permissions.forEach((it) => chosen.add(it));
      rules.set(template.rules ?? []);
      changed(true);
    },
    body,
    type: () => type.value,
    wantsKey: () => wantsKey,
    lostOrigins: (saved) => body().allowed_origins?.length > 0 && saved.allowed_origins === undefined,
  };
};
