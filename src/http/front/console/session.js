// The person of the operator's sign-on, or the keys that somebody signed in with. Keys live in the
// two variables below and nowhere else: no storage, no cookie, no address, no attribute. A reload
// forgets them.

import { permissionsOf } from './rights.js';

/** The key is forgotten when nobody used the page for this long. */
export const IDLE_MS = 15 * 60 * 1000;

let main;
let tokens;

/** A key with the application that it belongs to. */
const holder = (key, application) => {
  const permissions = permissionsOf(application);
  return Object.freeze({ headers: () => ({ 'BT-API-KEY': key }), application, permissions });
};

/** A person without a key: the sign-on answers for each call, and the header names the tenant. */
const person = (signedOn) => Object.freeze({
  headers: () => ({ 'Strongroom-Console': signedOn.tenant_id }),
  application: { name: signedOn.person, type: signedOn.role },
  permissions: new Set(signedOn.permissions),
  person: signedOn,
});

export const signedIn = () => main;

/** The key for the views of tokens and 3DS sessions; a private main key serves them itself. */
export const tokenHolder = () => tokens ?? (main?.application.type === 'private' ? main : undefined);

/** The same for the view of tokens, which a person of the sign-on sees masked without a key. */
export const tokenReader = () => tokenHolder() ?? (main?.person ? main : undefined);

export const signIn = (key, application) => { main = holder(key, application); };

export const signOn = (signedOn) => { main = person(signedOn); };

export const addTokenKey = (key, application) => { tokens = holder(key, application); };

export const dropTokenKey = () => { tokens = undefined; };

export const forget = () => {
  main = undefined;
  tokens = undefined;
};

/** True if the last use of the page was too long ago. */
export const isIdle = (lastUse, now) => now - lastUse >= IDLE_MS;
