// Calls of the API of this server. Every call is recorded for the list of calls, without keys and
// without secret bodies.

import { shownBody, shownPath } from './format.js';
import { learnTime } from './server_time.js';
import { signedIn } from './session.js';

/** A refusal of the API, with the parts of its problem details. */
export class Refusal extends Error {
  constructor(status, problem, traceId, retryAfter) {
    super(problem.detail || problem.title || 'The server gave no reason.');
    this.status = status;
    this.title = problem.title || (status ? `Status ${status}` : 'No answer');
    this.fields = problem.errors ?? {};
    this.traceId = traceId;
    this.retryAfter = retryAfter;
  }
}

const listeners = { call: [], unauthorized: [] };

export const onCall = (listener) => listeners.call.push(listener);
export const onUnauthorized = (listener) => listeners.unauthorized.push(listener);

/**
 * Calls the API and gives the parsed answer.
 *
 * With `secret: 'both'` the list of calls has neither the bodies nor the values of the query. Members that hold
 * texts of keys are never in the list. `series` names calls that the list counts as one.
 */
export const call = async (method, path, options = {}) => {
  const holder = options.holder ?? signedIn();
  if (!holder) throw new Refusal(401, { title: 'Signed out', detail: 'Sign in again.' });
  return send(holder.headers(), method, path, { ...options, holder });
};

/** Behind the operator's sign-on, the browser's cookies and certificate must go with every call. */
let credentials = 'omit';

export const useSignOn = () => { credentials = 'same-origin'; };

/** Idempotency keys of calls whose answer was lost. */
const unanswered = new Map();

/** Makes something. A repetition after a lost answer has the same key, so that it makes no second one. */
export const create = async (path, body) => {
  const purpose = `${path} ${JSON.stringify(body)}`;
  const idempotencyKey = unanswered.get(purpose) ?? crypto.randomUUID();
  unanswered.set(purpose, idempotencyKey);
  try {
    const made = await call('POST', path, { body, idempotencyKey });
    unanswered.delete(purpose);
    return made;
  } catch (failure) {
    if (failure.status !== 0) unanswered.delete(purpose);
    throw failure;
  }
};

/** Calls the API with a key that is not signed in yet. */
export const ask = (key, method, path, options) => send({ 'BT-API-KEY': key }, method, path, options);

/**
 * Calls the API with the headers of a key, of a person, or of nobody.
 *
 * With `isWhole` the answer of a program is given as it is, whatever its status: a program can answer 401 by itself,
 * and 302.
 */
export const send = async (identity, method, path, options = {}) => {
  const { body, secret, series, signal, idempotencyKey, isWhole } = options;
  const headers = { ...identity };
  if (body !== undefined) headers['Content-Type'] = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  if (idempotencyKey) headers['BT-IDEMPOTENCY-KEY'] = idempotencyKey;
  const begun = performance.now();
  const isSecret = secret === 'both';
  const record = { method, path: shownPath(path, isSecret), series, body: shownBody(body, isSecret) };
  let answer;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: 'no-store',
      credentials,
      redirect: isWhole ? 'manual' : 'error',
      referrerPolicy: 'no-referrer',
    });
  } catch (failure) {
    if (failure.name === 'AbortError') throw failure;
    tell({ ...record, status: 0, ms: performance.now() - begun });
    const detail = credentials === 'omit' ? 'The server could not be reached.'
      : 'The server could not be reached, or your sign-on has ended. Reload the page.';
    throw new Refusal(0, { title: 'No answer', detail });
  }
  learnTime(answer.headers.get('date'));
  const text = await answer.text();
  const content = parsed(text);
  const traceId = answer.headers.get('bt-trace-id') ?? content?.trace_id;
  const ms = performance.now() - begun;
  tell({
    ...record,
    status: answer.status,
    ms,
    traceId,
    answer: shownBody(content, isSecret && (answer.ok || isWhole)),
  });
  if (isWhole) return { status: answer.status, text, content, traceId, ms, isRedirect: answer.type === 'opaqueredirect' };
  if (answer.ok) return content;
  const refusal = new Refusal(answer.status, content ?? {}, traceId, Number(answer.headers.get('retry-after')) || undefined);
  if (answer.status === 401 && options.holder) {
    listeners.unauthorized.forEach((listener) => listener(options.holder, refusal));
  }
  throw refusal;
};

const parsed = (text) => {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
};

const tell = (record) => { listeners.call.forEach((listener) => listener({ ...record, at: new Date() })); };
