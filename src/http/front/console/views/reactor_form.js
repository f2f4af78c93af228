// Making a reactor, and changing one. Values of the configuration are written and never shown.

import { call, create } from '../api.js';
import { codeEditor } from '../code_editor.js';
import { configurationEditor } from '../configuration_editor.js';
import { allApplications } from '../directory.js';
import { announce, el, fill } from '../dom.js';
import { FormMistake, showFailure } from '../form_input.js';
import { field, heading, select, sending } from '../parts.js';
import { signedIn } from '../session.js';

const TEMPLATE = `module.exports = async ({ args, configuration, bt }) => {
  return { raw: { received: Object.keys(args) } };
};
`;

const IMAGES = [['node-bt', 'node-bt'], ['node22', 'node22'], ['node24', 'node24']];

const LINES = [
  ['', 'Not kept'], ['debug', 'Kept, all'], ['info', 'Kept, from info'], ['warn', 'Kept, from warn'], ['error', 'Kept, errors only'],
];

export const reactorForm = async ({ place, signal, id, go }) => {
  const [known, applications] = await Promise.all([
    id && call('GET', `/reactors/${id}`, { signal }),
    signedIn().permissions.has('application:read') ? allApplications(signal) : [],
  ]);
  const form = reactorEditor(known, applications.filter((it) => it.type !== 'management'));
  const result = el('div', {});
  const save = el('button', { type: 'submit', class: 'primary' }, id ? 'Save' : 'Create');
  const submit = async () => {
    try {
      const body = form.body();
      const saved = id ? await call('PATCH', `/reactors/${id}`, { body }) : await create('/reactors', body);
      announce(id ? 'The reactor is changed.' : 'The reactor is created.');
      go(`/reactors/${id ?? saved.id}`);
    } catch (failure) {
      showFailure(result, failure);
    }
  };
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/reactors' }, 'Reactors'), ' / '),
    heading(id ? `Change ${known.name}` : 'New reactor'),
    el('form', { class: 'editor', onsubmit: sending(save, submit) },
      form.parts, result,
      el('div', { class: 'row' }, save, el('a', { class: 'button', href: id ? `#/reactors/${id}` : '#/reactors' }, 'Cancel'))));
};

/** The code for the call. A text area has other line ends, so code that nobody changed is left out. */
export const codeChange = (known, text) =>
  (known !== undefined && known.replace(/\r\n?/g, '\n') === text ? {} : { code: text });

/** The member `runtime` of a creation or a merge patch; nothing if it stays as it is. */
export const runtimeChange = (known, { image, timeout, lines, permissions }) => {
  const seconds = timeout.trim() === '' ? undefined : Number(timeout);
  if (seconds !== undefined && !Number.isInteger(seconds)) throw new FormMistake('Time: a whole number of seconds.');
  const rights = permissions.split(/[\s,]+/).filter(Boolean);
  const before = known?.logs?.enabled ? known.logs.level || 'info' : '';
  const changed = {
    ...(image === (known?.image || 'node-bt') ? {} : { image }),
    ...(seconds === (known?.timeout || undefined) ? {} : { timeout: seconds ?? null }),
    ...(lines === before ? {} : { logs: lines ? { enabled: true, level: lines } : { enabled: false } }),
    ...(rights.join() === (known?.permissions ?? []).join() ? {} : { permissions: rights.length > 0 ? rights : null }),
  };
  return Object.keys(changed).length === 0 ? undefined : changed;
};

const reactorEditor = (known, applications) => {
  const input = (value, attributes) => {
    const made = el('input', { type: 'text', autocomplete: 'off', spellcheck: 'false', ...attributes });
    made.value = value ?? '';
    return made;
  };
  const runtime = known?.runtime;
  const name = input(known?.name, { required: true, maxlength: '200' });
  const code = codeEditor('Code', known?.code ?? TEMPLATE, 'A CommonJS module that exports a function. It is compiled when it is called.');
  const application = select([['', 'None: the program has no key'], ...applications.map((it) => [it.id, it.name])], known?.application?.id ?? '');
  const image = select(IMAGES, runtime?.image || 'node-bt');
  const timeout = input(runtime?.timeout || '', { inputmode: 'numeric', class: 'short' });
  const lines = select(LINES, runtime?.logs?.enabled ? runtime.logs.level || 'info' : '');
  const permissions = input((runtime?.permissions ?? []).join(' '), { placeholder: 'token:create token:read' });
  const configuration = configurationEditor(Object.keys(known?.configuration ?? {}));
  const member = (title, value) => (value === undefined ? {} : { [title]: value });
  // A key that may not read applications keeps the one that is there.
  const chosen = () => (applications.length === 0 || application.value === (known?.application?.id ?? '') ? undefined
    : application.value ? { id: application.value } : null);
  const body = () => ({
    name: name.value,
    ...codeChange(known?.code, code.input.value),
    ...member('application', chosen()),
    ...member('runtime', runtimeChange(runtime, { image: image.value, timeout: timeout.value, lines: lines.value, permissions: permissions.value })),
    ...member('configuration', configuration.change()),
  });
  return {
    body,
    parts: [
      el('section', { class: 'card' }, field('Name', name), code.element),
      el('section', { class: 'card' }, el('h2', {}, 'Rights and runtime'),
        applications.length > 0 && field('Application', application, 'The program calls this vault with the rights of this application: as bt, and with the key in applicationOptions.'),
        el('div', { class: 'columns' },
          field('Image', image, 'The contract. With node-bt the function gets args and bt and returns raw, with node22 and node24 it gets req and returns res.'),
          field('Time', timeout, 'Seconds that a call may take. Empty: the usual time of the image.'),
          field('Lines', lines, 'Texts of console and logger, in memory, for people with log:read. A line with a card number is left out.')),
        field('Permissions', permissions, 'Of node22 and node24, which have no application: rights of the program on this vault.')),
      el('section', { class: 'card' }, el('h2', {}, 'Configuration'),
        el('p', { class: 'quiet' }, 'Texts that the function gets as configuration. Stored values are not shown.'),
        configuration.element),
    ],
  };
};
