// Making a webhook, and changing one.

import { call, create } from '../api.js';
import { announce, el, fill } from '../dom.js';
import { checkbox, field, heading, problem, select, sending } from '../parts.js';
import { webhookBody } from './webhooks.js';

/** Kinds that the interface names and this server never sends: their features are absent. */
const NEVER_SENT = /^(account-updater|google-pay|http|network-token|tenant\.(invitation|member|deleted))\b/;

/** The kinds to choose from: those that are sent, and what a program has chosen before. */
export const offeredKinds = (kinds, chosen) => kinds.filter((kind) => !NEVER_SENT.test(kind) || chosen.has(kind));

const STATES = [['enabled', 'Enabled: events are sent'], ['disabled', 'Disabled: no events']];

export const webhookForm = async ({ place, signal, id, go }) => {
  const [kinds, known] = await Promise.all([
    call('GET', '/webhooks/event-types', { signal }),
    id && call('GET', `/webhooks/${id}`, { signal }),
  ]);
  const input = (value, attributes) => {
    const made = el('input', { autocomplete: 'off', ...attributes });
    made.value = value ?? '';
    return made;
  };
  const name = input(known?.name, { type: 'text', required: true, maxlength: '200' });
  const url = input(known?.url, { type: 'url', required: true, class: 'long', placeholder: 'https://shop.example/events', spellcheck: 'false' });
  const email = input(known?.notify_email, { type: 'email' });
  const status = select(STATES, known?.status ?? 'enabled');
  const chosen = new Set(known?.events ?? []);
  const result = el('div', {});
  const save = el('button', { type: 'submit', class: 'primary' }, id ? 'Save' : 'Create');
  const submit = async () => {
    const body = webhookBody({ name: name.value, url: url.value.trim(), events: [...chosen], notify_email: email.value.trim() });
    try {
      if (id) {
        await call('PUT', `/webhooks/${id}`, { body: { ...body, status: status.value } });
      } else {
        await create('/webhooks', body);
      }
      announce(id ? 'The webhook is changed.' : 'The webhook is created.');
      go('/webhooks');
    } catch (failure) {
      fill(result, problem(failure));
      result.scrollIntoView({ block: 'nearest' });
    }
  };
  const toggle = (kind) => (isOn) => (isOn ? chosen.add(kind) : chosen.delete(kind));
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/webhooks' }, 'Webhooks'), ' / '),
    heading(id ? `Change ${known.name}` : 'New webhook'),
    el('form', { class: 'editor', onsubmit: sending(save, submit) },
      el('section', { class: 'card' },
        field('Name', name),
        field('Receiver', url, 'An https URL. Every event is signed; the chapter on webhooks says how to check it.'),
        field('Email address of the receiver\'s owner', email, 'Optional. It is kept with the webhook; the vault sends no email.'),
        id && field('Status', status)),
      el('section', { class: 'card' }, el('fieldset', { class: 'events' }, el('legend', {}, 'Events'),
        offeredKinds(kinds, chosen).map((kind) => checkbox(el('code', {}, kind), chosen.has(kind), toggle(kind))))),
      result,
      el('div', { class: 'row' }, save, el('a', { class: 'button', href: '#/webhooks' }, 'Cancel'))));
};
