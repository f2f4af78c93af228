// Making a proxy, and changing one. Values of the configuration are written and never shown.

import { call, create } from '../api.js';
import { allApplications } from '../directory.js';
import { announce, el, fill } from '../dom.js';
import { parsedJson, showFailure } from '../form_input.js';
import { checkbox, field, heading, select, sending } from '../parts.js';
import { signedIn } from '../session.js';
import { transformsOf } from './proxy.js';

const SIDES = ['request', 'response'];

export const proxyForm = async ({ place, signal, id, go }) => {
  const [known, applications] = await Promise.all([
    id && call('GET', `/proxies/${id}`, { signal }),
    signedIn().permissions.has('application:read') ? allApplications(signal) : [],
  ]);
  const form = proxyEditor(known, applications.filter((it) => it.type !== 'management'));
  const result = el('div', {});
  const save = el('button', { type: 'submit', class: 'primary' }, id ? 'Save' : 'Create');
  const submit = async () => {
    try {
      const body = form.body();
      const saved = id ? await call('PATCH', `/proxies/${id}`, { body }) : await create('/proxies', body);
      announce(id ? 'The proxy is changed.' : 'The proxy is created.');
      go(`/proxies/${id ?? saved.id}`);
    } catch (failure) {
      showFailure(result, failure);
    }
  };
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/proxies' }, 'Proxies'), ' / '),
    heading(id ? `Change ${known.name}` : 'New proxy'),
    el('form', { class: 'editor', onsubmit: sending(save, submit) },
      form.parts, result,
      el('div', { class: 'row' }, save, el('a', { class: 'button', href: id ? `#/proxies/${id}` : '#/proxies' }, 'Cancel'))));
};

/** The members of one side's transforms. A list and a single transform have names of their own. */
export const transformMembers = (side, value, known) => {
  const [list, one] = [`${side}_transforms`, `${side}_transform`];
  if (value === undefined) {
    return Object.fromEntries([list, one].filter((name) => known?.[name] !== undefined).map((name) => [name, null]));
  }
  return { [Array.isArray(value) ? list : one]: value };
};

const proxyEditor = (known, applications) => {
  const input = (value, attributes) => {
    const made = el('input', { type: 'text', autocomplete: 'off', ...attributes });
    made.value = value ?? '';
    return made;
  };
  const area = (value) => {
    const made = el('textarea', { rows: '6', spellcheck: 'false', class: 'code' });
    made.value = value === undefined ? '' : JSON.stringify(value, null, 2);
    return made;
  };
  const name = input(known?.name, { required: true, maxlength: '200' });
  const destination = input(known?.destination_url, { required: true, type: 'url', class: 'long', placeholder: 'https://api.psp.example', spellcheck: 'false' });
  const application = select([['', 'That of the caller'], ...applications.map((it) => [it.id, it.name])], known?.application_id ?? '');
  let requiresKey = known?.require_auth ?? true;
  let isPlain = known?.disable_detokenization ?? false;
  const sides = Object.fromEntries(SIDES.map((side) => [side, area(known && transformsOf(known, side))]));
  const configuration = area();
  const body = () => {
    const values = parsedJson('Configuration', configuration.value);
    const chosen = application.value ? { application: { id: application.value } } : known?.application_id && { application: null };
    return {
      name: name.value,
      destination_url: destination.value.trim(),
      require_auth: requiresKey,
      disable_detokenization: isPlain,
      ...chosen,
      ...Object.assign({}, ...SIDES.map((side) =>
        transformMembers(side, parsedJson(`Transforms of the ${side}`, sides[side].value), known))),
      ...(values === undefined ? {} : { configuration: replaced(known?.configuration, values) }),
    };
  };
  const names = Object.keys(known?.configuration ?? {});
  return {
    body,
    parts: [
      el('section', { class: 'card' },
        field('Name', name),
        field('Destination', destination, 'An https URL. The operator\'s settings decide which hosts are allowed.'),
        checkbox('Callers need an API key', requiresKey, (isOn) => { requiresKey = isOn; }, 'Without one, everybody who has the key of the proxy can call it, with the rights of the application below.'),
        checkbox('Pass requests on as they are', isPlain, (isOn) => { isPlain = isOn; }, 'Expressions such as {{ token: id }} are not evaluated.'),
        applications.length > 0 && field('Application', application)),
      el('section', { class: 'card' }, el('h2', {}, 'Transforms'),
        field('Transforms of the request', sides.request, 'JSON: a list of transforms, or one. Empty: none.'),
        field('Transforms of the response', sides.response, 'JSON: a list of transforms, or one. Empty: none.')),
      el('section', { class: 'card' }, el('h2', {}, 'Configuration'),
        field(known ? 'New configuration' : 'Configuration', configuration, [
          'A JSON object of texts, such as {"API_KEY": "..."}, for expressions of the transforms. ',
          known && (names.length > 0 ? `Empty: the values of ${names.join(', ')} stay as they are. They are not shown.` : 'Empty: it stays without entries.'),
        ])),
    ],
  };
};

/** A merge patch keeps what it does not name, so entries that are gone are set to null. */
export const replaced = (before, after) => ({
  ...Object.fromEntries(Object.keys(before ?? {}).filter((name) => !(name in after)).map((name) => [name, null])),
  ...after,
});
