// One proxy: its settings without the values of its configuration, its calls, and deleting it.

import { call } from '../api.js';
import { confirmed } from '../dialogs.js';
import { applicationNames } from '../directory.js';
import { announce, el, fill } from '../dom.js';
import { count, oneLine } from '../format.js';
import { action, code, codeBlock, copyButton, exactTime, facts, heading } from '../parts.js';
import { signedIn } from '../session.js';
import { access, failureOf } from './proxies.js';

export const proxy = async ({ place, signal, id, go }) => {
  const [found, counts, names] = await Promise.all([
    call('GET', `/proxies/${id}`, { signal }),
    call('GET', '/console/data/proxies', { signal }),
    applicationNames(signedIn(), signal),
  ]);
  const calls = counts.data.find((it) => it.id === id);
  const configuration = Object.keys(found.configuration ?? {});
  fill(place,
    el('p', { class: 'trail' }, el('a', { href: '#/proxies' }, 'Proxies'), ' / '),
    heading(oneLine(found.name) || '(no name)', undefined,
      action('Change', ['proxy:update'], () => go(`/proxies/${id}/edit`)),
      action('Delete', ['proxy:delete'], () => remove(found, go), { kind: 'danger' })),
    facts([
      ['Destination', code(found.destination_url)],
      ['Access', access(found)],
      ['Application', found.application_id ? names.get(found.application_id) ?? code(found.application_id) : 'that of the caller'],
      ['Expressions', found.disable_detokenization ? 'not evaluated' : 'evaluated: tokens become values'],
      ['Configuration', found.configuration === undefined ? 'not shown to you' : configuration.length === 0 ? 'none' : [configuration.map((name) => [code(name), ' ']), el('small', { class: 'quiet block' }, 'The console does not show the values.')]],
      ['Client certificate', found.client_certificate ? 'yes' : 'none'],
      ['Proxy key', found.key === undefined ? 'not shown to you' : copyButton(() => found.key, 'Copy the proxy key')],
      ['Id', code(found.id)],
      ['Created', exactTime(found.created_at)],
      found.modified_at && ['Changed', exactTime(found.modified_at)],
      ['Calls', `${count(calls?.calls ?? 0)}, ${count(calls?.failures ?? 0)} failed`],
      ['Last failure', failureOf(calls)],
    ]),
    found.configuration !== undefined && [
      transforms('Request transforms', transformsOf(found, 'request')),
      transforms('Response transforms', transformsOf(found, 'response')),
    ]);
};

/** The transforms of a side, in the form in which they were given: a list or one. */
export const transformsOf = (found, side) => found[`${side}_transforms`] ?? found[`${side}_transform`];

const transforms = (title, value) => el('section', { class: 'card' }, el('h2', {}, title),
  value === undefined ? el('p', { class: 'quiet' }, 'None.') : codeBlock(title, JSON.stringify(value, null, 2)));

const remove = (found, go) =>
  confirmed({
    title: 'Delete the proxy',
    text: el('p', {}, 'Calls through this proxy are refused from the next request on. This cannot be undone.'),
    label: 'Delete for ever',
    typed: oneLine(found.name) || found.id,
    run: async () => {
      await call('DELETE', `/proxies/${found.id}`);
      announce('The proxy is deleted.');
      go('/proxies');
    },
  });
