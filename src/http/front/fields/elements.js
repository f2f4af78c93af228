// The controller's part for pages with Elements: it knows the page's elements, fills their values into
// requests, and keeps the values of answers.

import {
  BadRequest, KINDS, admitEncryption, admitRequest, cleanElementOptions, dateText, fillElements, formatDate, memberAt, networksOf, showAnswer, showBin, showProblem,
} from './element_rules.js';
import { isPlain } from './rules.js';
import { encrypt, keyOf } from './encryption.js';
import { BadPattern } from './patterns.js';

const ELEMENTS_MAX = 100;
const ANSWERS_MAX = 50;
const KEYS_MAX = 20;
const BINS_MAX = 10;
const ID = /^e[0-9]{1,6}$/;
/** Options that are fixed when an element is made: another pattern would be another question about its text. */
const PATTERNS = ['mask', 'validation', 'transform'];
const KEY_CHARS_MAX = 200;

/** `tools` are the parts of the controller that both kinds of pages share. */
export const elementsOf = (tools) => {
  const { Shown, fields, toField, toPage } = tools;
  /** The page's elements: kind, options, and the source that an element mirrors. */
  const known = new Map();
  /** Values of answers by the ids of their references. */
  const revealed = new Map();
  const keys = new Set();
  /** Tokens that elements of this page made. Their masks are those of their types. */
  const made = new Set();
  const bins = new Map();
  /** Idempotency keys of the page, each with the one that is sent in its place. */
  const sentKeys = new Map();

  const kindOf = (id) => known.get(id)?.kind;
  /** A text that shows an answer may repeat a card that a person typed, and stays where cards stay. */
  const carriedBy = (id) => (known.get(id)?.isEcho ? 'echo' : kindOf(id));
  const error = (name, message, members = {}) => new Shown({ name, title: message, ...members });
  const wrongSetup = (message) => error('BasisTheoryConfigurationError', message, { details: { type: 'invalid-configuration', message } });

  const shownError = (thrown) => {
    if (thrown instanceof BadRequest || thrown instanceof BadPattern) return wrongSetup(thrown.message).members;
    return thrown instanceof Shown ? thrown.members : tools.failure('failed', 'The request failed.').members;
  };

  /** Makes sure that the vault admits the page with this key. */
  const admitKey = async (key) => {
    if (tools.verdict() === 'unknown') await tools.decide();
    if (tools.verdict() !== 'admitted') throw new Shown(tools.refusal());
    if (key === undefined || key === tools.page().key || keys.has(key)) return;
    if (keys.size >= KEYS_MAX) throw wrongSetup('This page has used too many keys. Load it again.');
    await tools.askForAccess(key);
    keys.add(key);
  };

  const VERDICTS = { empty: 'incomplete', incomplete: 'incomplete', invalid: 'invalid', expired: 'invalid' };

  /** The values of the elements of a request, by their ids, or the error that nothing was sent. */
  const collect = async (markers) => {
    // The ids count up in the order in which the page mounts its elements.
    const ids = [...new Set(markers.map(({ id }) => id))].sort((one, other) => one.slice(1) - other.slice(1));
    if (ids.some((id) => !fields.has(id))) throw wrongSetup('An element of the request is not mounted.');
    const answers = await Promise.all(ids.map((id) => tools.valuesOf(fields.get(id))));
    const failed = ids.map((id, at) => ({ id, ...answers[at] })).filter(({ values }) => values === null);
    if (failed.length > 0) {
      const validation = failed.map(({ id, failed: why }) => ({ id, part: why?.part, type: VERDICTS[why?.verdict] ?? 'incomplete' }));
      throw error('BasisTheoryValidationError', 'Unable to create token. Payload contains invalid or incomplete elements.', { validation });
    }
    return new Map(ids.map((id, at) => [id, answers[at].values]));
  };

  const valueFrom = (values) => ({ id, method, format }) => {
    const kind = kindOf(id);
    const found = values.get(id);
    if (kind === 'card') return found;
    if (kind === 'number' || kind === 'cvc') return found[kind];
    if (kind === 'text') return found.text;
    const date = { month: found.expiration_month, year: found.expiration_year };
    if (method === 'month' || method === 'year') return date[method];
    return formatDate(format ?? 'MM/yy', date);
  };

  /** `isEcho` is true for answers that may repeat values of a person: to requests with elements, and of other hosts, which may have got one before. */
  const keep = (value, isEcho) => {
    const correlationId = crypto.randomUUID();
    const elementId = crypto.randomUUID();
    if (revealed.size >= ANSWERS_MAX) revealed.delete(revealed.keys().next().value);
    revealed.set(correlationId, { value, isEcho });
    return (path) => ({ correlationId, elementId, path: path.length === 0 ? '$' : path.join('.') });
  };

  /**
   * The vault repeats the whole answer to whoever names the idempotency key. So the page does not know
   * the key of a request with elements, whose answer it sees in part.
   */
  const sentKeyOf = (key, hasElements) => {
    if (!hasElements) return key;
    if (!sentKeys.has(key)) {
      if (sentKeys.size >= ANSWERS_MAX) throw wrongSetup('This page has used too many idempotency keys. Load it again.');
      sentKeys.set(key, crypto.randomUUID());
    }
    return sentKeys.get(key);
  };

  const headersOf = ({ correlationId, idempotencyKey } = {}, hasElements) => {
    const isText = (value) => typeof value === 'string' && value !== '' && value.length <= KEY_CHARS_MAX;
    return {
      ...(isText(correlationId) ? { 'BT-TRACE-ID': correlationId } : {}),
      ...(isText(idempotencyKey) ? { 'BT-IDEMPOTENCY-KEY': sentKeyOf(idempotencyKey, hasElements) } : {}),
    };
  };

  /**
   * A page can make a token with a mask that shows everything, and put the value of an element into it
   * afterwards; a session that may read masked values would show it.
   */
  const refuseForeignToken = (service, input, elements) => {
    const isOwn = service !== 'tokens.update' || made.has(input?.id);
    if (!isOwn && elements.some(({ id }) => kindOf(id) !== 'cvc')) {
      throw new BadRequest('Elements change tokens that they made on this page, and the verification code of others. Create a new token instead.');
    }
  };

  const sent = (ids) => {
    for (const id of ids) if (fields.has(id)) toField(fields.get(id), 'sent');
  };

  const serve = async ({ service, input, options }) => {
    const key = typeof options?.apiKey === 'string' ? options.apiKey : undefined;
    // The vault's verdict on the page comes with the hosts.
    if (service === 'client') await admitKey();
    const admit = () => admitRequest(service, input, carriedBy, tools.page().hosts);
    const { elements } = admit();
    refuseForeignToken(service, input, elements);
    await admitKey(key);
    const values = await collect(elements);
    // While the values were collected, the page may have filled an answer into an element.
    const admitted = admit();
    for (const found of values.values()) if (found.number !== undefined) tools.refuseBeginnings(found.number);
    const body = admitted.body === undefined ? undefined : JSON.stringify(fillElements(admitted.body, valueFrom(values)));
    const content = body === undefined ? {} : { 'Content-Type': 'application/json' };
    const isElsewhere = admitted.url !== undefined;
    const own = () => headersOf(options, admitted.elements.length > 0);
    const answer = isElsewhere
      ? await tools.request(admitted.url, { method: admitted.method, headers: { ...content, ...admitted.headers }, body }, null)
      : await tools.request(`../../${admitted.path}`, { method: admitted.method, headers: { ...content, ...own(), ...admitted.headers }, body }, key);
    const isSecret = admitted.elements.length > 0;
    if (answer.status < 200 || answer.status > 299) {
      // A destination of a proxy, or another host, may repeat the values that it got.
      const problem = isElsewhere || (isSecret && admitted.answer === 'hidden') ? null : answer.body;
      const data = showProblem(answer.status, problem, isSecret);
      const title = typeof problem?.title === 'string' && answer.isJson ? problem.title : 'The request was refused.';
      throw error(isElsewhere ? 'HttpClientError' : 'BasisTheoryApiError', title, { status: answer.status, data });
    }
    if (isSecret && service === 'tokens.create' && typeof answer.body?.id === 'string') made.add(answer.body.id);
    sent(values.keys());
    return showAnswer(admitted, answer.body, { refer: (value) => keep(value, isSecret || isElsewhere), kindOf });
  };

  /** Encrypts to a key that the vault knows. With a key of its own, a page could read the result. */
  const seal = async ({ input, options }) => {
    const admit = () => admitEncryption(input, carriedBy);
    const { isOne, requests, pem, keyId, elements } = admit();
    const key = typeof options?.apiKey === 'string' ? options.apiKey : undefined;
    await admitKey(key);
    const values = await collect(elements);
    admit();
    for (const found of values.values()) if (found.number !== undefined) tools.refuseBeginnings(found.number);
    const { body } = await tools.request(`access?origin=${encodeURIComponent(tools.page().origin)}&key_id=${encodeURIComponent(String(keyId))}`, {}, key);
    const [ofVault, named] = [keyOf(body?.public_key_pem), keyOf(pem)];
    if (!ofVault || String(ofVault) !== String(named)) {
      throw wrongSetup('Elements encrypt to a client encryption key of the tenant. Make one with POST /keys, and give its id and its public key.');
    }
    const sealed = await Promise.all(requests.map(async ({ name, type, data }) => {
      const encrypted = await encrypt(String(keyId), ofVault, type, fillElements(data, valueFrom(values)));
      return [name, { encrypted, type }];
    }));
    sent(values.keys());
    return isOne ? sealed[0][1] : Object.fromEntries(sealed);
  };

  const textAt = (reference) => {
    const { correlationId, path } = reference ?? {};
    if (!revealed.has(correlationId) || typeof path !== 'string') return undefined;
    return memberAt(revealed.get(correlationId).value, path === '$' ? [] : path.split('.'));
  };

  /** The texts of an element's inputs from the references of the page. */
  const textsOf = (kind, value) => {
    const dateOf = (month, year) => {
      const [first, second] = [textAt(month), textAt(year)];
      return first && second ? dateText(first, second) : undefined;
    };
    if (kind === 'card') return { number: textAt(value?.number), expiry: dateOf(value?.expiration_month, value?.expiration_year), cvc: textAt(value?.cvc) };
    if (kind === 'expiry') return { expiry: dateOf(value?.month, value?.year) };
    return { [kind]: textAt(value) };
  };

  const isEchoed = (value) => [value, ...(isPlain(value) ? Object.values(value) : [])]
    .some((reference) => revealed.get(reference?.correlationId)?.isEcho === true);

  const lookUp = async (id, bin) => {
    if (!bins.has(bin)) {
      if (bins.size >= BINS_MAX) return;
      bins.set(bin, tools.request(`../../enrichments/card-details?bin=${bin}`));
    }
    const { status, body } = await bins.get(bin);
    const element = known.get(id);
    if (status !== 200 || !element || !fields.has(id)) return;
    toPage('bin', { field: id, binInfo: showBin(body) });
    element.offered = networksOf(body, element.options.networks);
    if (element.offered.length === 0) return;
    const chosen = element.options.preferredNetworks.find((name) => element.offered.includes(name));
    toField(fields.get(id), 'networks', { bin, networks: element.offered, chosen });
  };

  const isPatternSame = (before, after) => PATTERNS.every((name) => String(before[name] ?? '') === String(after[name] ?? ''));

  const hasPatterns = ({ options }) => PATTERNS.some((name) => options[name] !== undefined);

  const fromPage = {
    element: ({ id, type, options }) => {
      if (!tools.page().isElements || known.has(id)) return;
      try {
        if (typeof id !== 'string' || !ID.test(id) || !Object.hasOwn(KINDS, type)) throw new BadRequest('There is no such element.');
        if (known.size >= ELEMENTS_MAX) throw new BadRequest(`A page has at most ${ELEMENTS_MAX} elements.`);
        const kind = KINDS[type];
        known.set(id, { kind, options: cleanElementOptions(kind, options), source: null, isEcho: false });
      } catch (thrown) {
        toPage('refused', { field: id, error: shownError(thrown) });
      }
    },
    update: ({ id, request, options }) => {
      const element = known.get(id);
      try {
        if (!element) throw new BadRequest('There is no such element.');
        const cleaned = cleanElementOptions(element.kind, options);
        if (!isPatternSame(element.options, cleaned)) {
          throw new BadRequest('The mask, the validation and the transform of an element are fixed when it is made.');
        }
        element.options = cleaned;
        if (fields.has(id)) toField(fields.get(id), 'update', { options: cleaned });
        toPage('answer', { id: request, value: null });
      } catch (thrown) {
        toPage('answer', { id: request, error: shownError(thrown) });
      }
    },
    serve: async ({ id, ...content }) => {
      try {
        toPage('answer', { id, value: await (content.service === 'tokens.encrypt' ? seal(content) : serve(content)) });
      } catch (thrown) {
        toPage('answer', { id, error: shownError(thrown) });
      }
    },
    /** Fills an element from references. A value that may be a person's stays one: no pattern of the page is asked about it, and no button copies it. */
    set: ({ id, value }) => {
      const element = known.get(id);
      if (!element || !fields.has(id)) return;
      const isEcho = isEchoed(value);
      if (isEcho && hasPatterns(element)) {
        toPage('refused', { field: id, error: wrongSetup('An element with a mask, a validation or a transform does not show answers to requests with elements, or of other hosts.').members });
        return;
      }
      element.isEcho ||= isEcho;
      toField(fields.get(id), 'fill', { texts: textsOf(element.kind, value), isRevealed: !isEcho });
    },
    /** An element shows what is in another one of the same kind. A text with patterns would be questioned by them. */
    mirror: ({ id, source }) => {
      const [target, from] = [known.get(id), known.get(source)];
      if (!target || !from) return;
      const isSame = target.kind === 'copy' ? from.kind !== 'card' : target.kind === from.kind;
      if (!isSame || hasPatterns(target)) {
        toPage('refused', { field: id, error: wrongSetup('An element shows the value of another one of its type, without a mask, validation or transform of its own.').members });
        return;
      }
      target.source = source;
      if (target.kind !== 'copy' && fields.has(source)) toField(fields.get(source), 'watch');
    },
    leave: ({ id }) => {
      known.delete(id);
      fields.delete(id);
    },
    order: ({ id, order }) => {
      if (!['clear', 'focus', 'blur', 'validate'].includes(order) || !fields.has(id)) return;
      toField(fields.get(id), order === 'clear' ? 'empty' : order);
    },
  };

  const fromField = {
    key: (field, { key, altKey, ctrlKey, shiftKey, metaKey }) => toPage('key', { field, key, altKey, ctrlKey, shiftKey, metaKey }),
    mirror: (field, { texts }) => {
      for (const [id, element] of known) {
        if (element.source !== field || !fields.has(id)) continue;
        element.isEcho ||= known.get(field).isEcho;
        toField(fields.get(id), 'fill', { texts });
      }
    },
    copy: async (field) => {
      toPage('click', { field });
      const source = known.get(field)?.source;
      if (!source || !fields.has(source)) return;
      const { values, isRevealed } = await tools.valuesOf(fields.get(source));
      if (isRevealed && values !== null) toField(fields.get(field), 'copied', { text: String(valueFrom(new Map([[source, values]]))({ id: source })) });
    },
    clicked: (field) => toPage('click', { field }),
    copied: (field) => toPage('copied', { field }),
    network: (field, { network }) => {
      const isOffered = known.get(field)?.offered?.includes(network) === true;
      toPage('network', { field, network: isOffered ? network : null });
    },
  };

  return {
    fromPage,
    fromField,
    has: (id, kind) => kindOf(id) === kind && kind !== undefined,
    looksOf: (id) => (known.has(id) ? { style: [], options: known.get(id).options } : {}),
    /** A field has joined: others may show its value. */
    joined: (id) => {
      for (const { source } of known.values()) if (source === id) toField(fields.get(id), 'watch');
    },
    stateOf: ({ last4, isMaskFull }) => (tools.page().isElements ? { last4, isMaskFull } : {}),
    told: (id, { bin }) => {
      if (bin && known.get(id)?.options.binLookup) lookUp(id, bin).catch(() => {});
    },
  };
};
