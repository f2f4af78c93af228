// Facts about applications that several views need: all of them with the last use of their keys.

import { call } from './api.js';
import { shortId, withQuery } from './format.js';

const PAGE_SIZE = 100;
/** The server has at most 1000 applications for a tenant. */
const PAGES_MAX = 10;

/** All applications of the tenant. */
export const allApplications = async (signal) => {
  const found = [];
  for (let page = 1; page <= PAGES_MAX; page += 1) {
    const answer = await call('GET', withQuery('/applications', { page, size: PAGE_SIZE }), { signal });
    found.push(...answer.data);
    if (page >= answer.pagination.total_pages) break;
  }
  return found;
};

/** The uses of all keys, by application. */
export const keyUses = async (signal) => {
  const { data } = await call('GET', '/console/data/keys', { signal });
  const uses = new Map();
  for (const use of data) uses.set(use.application_id, [...(uses.get(use.application_id) ?? []), use]);
  return uses;
};

/** The time of the newest use among keys. */
export const newestUse = (uses = []) =>
  uses.map((use) => use.last_used_at).filter(Boolean).sort().at(-1);

/** Names of applications by id, or nothing for a key that may not read applications. */
export const applicationNames = async (holder, signal) => {
  if (!holder.permissions.has('application:read')) return new Map();
  return distinctNames(await allApplications(signal));
};

/** Names by id. Applications that share a name have a part of their id beside it. */
export const distinctNames = (applications) => {
  const counts = new Map();
  for (const { name } of applications) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(applications.map(({ id, name }) => [id, counts.get(name) > 1 ? `${name} (${shortId(id)})` : name]));
};

/** Applications that match a text (name or id) and a type. */
export const matching = (applications, text, type) => {
  const wanted = text.trim().toLowerCase();
  return applications.filter((it) =>
    (!type || it.type === type) && (!wanted || it.name.toLowerCase().includes(wanted) || it.id.startsWith(wanted)));
};
