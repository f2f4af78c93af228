// Elements: https://<vault>/web-elements/<version>/client/index.js defines `BasisTheoryElements` for the
// published packages, and .../index.js in a script tag defines `basistheory`. Values are typed into
// frames of the vault. This script opens the frames and passes messages; it never sees a value.
(() => {
  'use strict';

  const { src } = document.currentScript;
  const [, asked] = /\/web-elements\/([0-9.]+)\//.exec(src) ?? [];
  if (asked !== undefined && !/^[12]\./.test(asked)) {
    throw new Error(`This vault serves Elements 1.x and 2.x, and not version ${asked}. Use a package of version 2, which has the same calls.`);
  }
  const { addController, addStyle, makeField, randomName, schemeOf } = document.currentScript.strongroom;
  const base = new URL('fields/v1/', src.slice(0, src.lastIndexOf('/web-elements/') + 1));
  const vault = base.origin;
  const ELEMENT = 'strongroom:element';
  const KINDS = {
    card: 'card', cardNumber: 'number', cardExpirationDate: 'expiry', cardVerificationCode: 'cvc', text: 'text', copyButton: 'copy',
  };
  const CARD_KINDS = ['card', 'number'];
  /** The inputs of the combined element, by the names of the packages. */
  const PARTS = { number: 'cardNumber', expiry: 'expirationDate', cvc: 'cvc' };
  const START_MS_MAX = 20_000;
  const HEIGHT_MAX = 200;
  const DEPTH_MAX = 20;

  class ElementsError extends Error {
    constructor({ name, message, title, detail, ...members }) {
      super(message || title || detail);
      this.name = name ?? 'BasisTheoryApiError';
      Object.assign(this, members);
    }
  }

  const wrongSetup = (message) =>
    new ElementsError({ name: 'BasisTheoryConfigurationError', message, details: { type: 'invalid-configuration', message } });

  /** The element that a member of a request is, or wraps as `month()` does, as its marker. */
  const markerOf = (value) => {
    if (value instanceof VaultElement) return value.marker();
    if (value?.element instanceof VaultElement) return value.element.marker(value.method, value.formattingOptions?.format);
    return null;
  };

  /** A copy that can be sent to a frame: elements become markers, patterns their sources. */
  const sendable = (value, depth = 0) => {
    if (depth > DEPTH_MAX) throw wrongSetup('The request is too deep.');
    const marker = markerOf(value);
    if (marker) return marker;
    if (value instanceof RegExp) return { source: value.source, flags: value.flags };
    if (Array.isArray(value)) return value.map((item) => sendable(item, depth + 1));
    if (value instanceof Date) return value.toISOString();
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, sendable(member, depth + 1)]).filter(([, member]) => member !== undefined));
    }
    return ['string', 'number', 'boolean'].includes(typeof value) || value === null ? value : undefined;
  };

  const hasElement = (value, depth = 0) => {
    if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return false;
    if (markerOf(value)) return true;
    return Object.values(value).some((member) => hasElement(member, depth + 1));
  };

  /** The hidden frame of the page's elements: it has the key and sends all requests. */
  class Controller {
    #frame;
    #name = randomName();
    #elements = new Map();
    #requests = new Map();
    #count = 0;
    #loads = 0;
    #isAdmitted = false;

    constructor(key) {
      this.key = key;
      this.ready = new Promise((resolve, reject) => { this.settle = { resolve, reject }; });
      this.loaded = new Promise((resolve) => { this.isLoaded = resolve; });
      window.addEventListener('message', (event) => this.#received(event));
      this.#frame = addController(this.#name, base, () => this.#frameLoaded());
      setTimeout(() => this.settle.reject(wrongSetup(`The frames of ${vault} did not load.`)), START_MS_MAX);
    }

    get name() { return this.#name; }

    nextId() {
      this.#count += 1;
      return `e${this.#count}`;
    }

    add(element) { this.#elements.set(element.id, element); }
    remove(element) {
      this.#elements.delete(element.id);
      this.post('leave', { id: element.id });
    }

    post(kind, content = {}) {
      // The browser delivers it to the vault's origin alone, wherever the frame is now.
      this.#frame.contentWindow?.postMessage({ strongroom: kind, ...content }, vault);
    }

    ask(kind, content) {
      return this.loaded.then(() => new Promise((resolve, reject) => {
        this.#count += 1;
        this.#requests.set(this.#count, { resolve, reject });
        this.post(kind, { ...(kind === 'update' ? { request: this.#count } : { id: this.#count }), ...content });
      }));
    }

    #frameLoaded() {
      this.#loads += 1;
      if (this.#loads === 1) {
        this.post('start', { key: this.key, locale: navigator.language, surface: 'elements' });
        this.isLoaded();
        return;
      }
      // Something of the page moved or navigated the frame, and the elements are lost with it.
      const error = wrongSetup('The hidden frame of the elements was reloaded. Load the page again.');
      for (const { reject } of this.#requests.values()) reject(error);
      this.#requests.clear();
    }

    #received(event) {
      if (event.origin !== vault || event.source !== this.#frame.contentWindow) return;
      const { strongroom: kind, ...content } = event.data ?? {};
      if (kind === 'answer') this.#answered(content);
      else if (kind === 'admitted') {
        this.#isAdmitted = true;
        this.settle.resolve();
      } else if (kind === 'error') {
        const error = wrongSetup(content.error.detail || content.error.title);
        if (content.error.code !== 'unreachable') this.settle.reject(error);
        if (this.#isAdmitted) console.error(error);
      } else this.#elements.get(content.field)?.told(kind, content);
    }

    #answered({ id, value, error }) {
      const request = this.#requests.get(id);
      this.#requests.delete(id);
      if (!error) request?.resolve(value);
      else request?.reject(new ElementsError(this.#withTargets(error)));
    }

    /** The mistakes of a request by the page's own names of its elements. */
    #withTargets({ validation, ...error }) {
      if (!validation) return error;
      const named = validation.map(({ id, part, type }) => ({ targetId: this.#elements.get(id)?.targetOf(part) ?? id, type }));
      return { ...error, details: Object.fromEntries(named.map(({ targetId, type }) => [targetId, { type }])), validation: named };
    }
  }

  const EVENTS = ['ready', 'change', 'focus', 'blur', 'keydown', 'click', 'copy'];
  const ERRORS = { required: 'incomplete', incomplete: 'incomplete', invalid: 'invalid', expired: 'invalid', refused: 'invalid' };

  class VaultElement {
    #controller;
    #options;
    #kind;
    #frame = null;
    #mounting = null;
    #listeners = new Map(EVENTS.map((event) => [event, new Set()]));
    #lastChange = '';
    #binInfo;
    #network;

    constructor(controller, type, options) {
      this.#controller = controller;
      this.#kind = KINDS[type];
      this.#options = { ...options };
      this.type = type;
      this.targetId = options.targetId ?? type;
      this.metadata = { complete: false, valid: false, maskSatisfied: undefined, empty: true, errors: [] };
      if (CARD_KINDS.includes(this.#kind)) this.cardMetadata = { cardBrand: 'unknown' };
      this.mounted = false;
    }

    /** The name of a part of this element in events and errors. */
    targetOf(part) { return this.#kind === 'card' && part ? PARTS[part] : this.targetId; }

    marker(method, format) {
      if (!this.mounted) throw wrongSetup(`The element ${this.targetId} is not mounted.`);
      if (this.#controller !== current) throw wrongSetup('The element belongs to an earlier key of the page.');
      return { [ELEMENT]: this.id, method, format };
    }

    async mount(place) {
      const node = typeof place === 'string' ? document.querySelector(place) : place;
      if (!(node instanceof Element)) throw wrongSetup(`There is no element ${place} to mount into.`);
      if (this.mounted) throw wrongSetup(`The element ${this.targetId} is mounted already.`);
      this.mounted = true;
      const controller = this.#controller;
      this.id = controller.nextId();
      controller.add(this);
      const shown = new Promise((resolve, reject) => { this.#mounting = { resolve, reject }; });
      await controller.loaded;
      controller.post('element', { id: this.id, type: this.type, options: sendable(this.#options) });
      const scheme = schemeOf(node);
      const path = `field#${this.#kind}.${scheme}.${this.id}.${getComputedStyle(node).direction}`;
      const frame = makeField(`${controller.name}.${this.id}`, new URL(path, base), scheme);
      frame.title = this.#options.title ?? this.#options['aria-label'] ?? this.#options.ariaLabel ?? `${this.type} of the vault`;
      if (this.#kind === 'copy' || this.#options.enableCopy) frame.allow = 'clipboard-write';
      this.#frame = frame;
      if (this.mounted) node.append(frame);
      await Promise.race([shown, controller.ready.then(() => shown)]);
    }

    async update(options = {}) {
      this.#options = { ...this.#options, ...options };
      if (options.title !== undefined && this.#frame) this.#frame.title = options.title;
      if (this.mounted) await this.#controller.ask('update', { id: this.id, options: sendable(this.#options) });
    }

    unmount() {
      if (!this.mounted) return;
      this.mounted = false;
      this.#frame?.remove();
      this.#frame = null;
      this.#controller.remove(this);
    }

    clear() { this.#order('clear'); }
    blur() { this.#order('blur'); }
    validate() { this.#order('validate'); }

    focus() {
      this.#frame?.focus();
      this.#order('focus');
    }

    #order(order) { if (this.mounted) this.#controller.post('order', { id: this.id, order }); }

    setValue(value) { if (this.mounted) this.#controller.post('set', { id: this.id, value: sendable(value) }); }

    setValueRef(other) {
      const source = other instanceof VaultElement ? other : other?.element;
      if (!(source instanceof VaultElement)) throw wrongSetup('setValueRef takes an element.');
      const link = () => {
        if (this.id && source.id) this.#controller.post('mirror', { id: this.id, source: source.id });
      };
      Promise.all([this.#whenMounted(), source.#whenMounted()]).then(link);
    }

    #whenMounted() {
      return this.#frame ? Promise.resolve() : new Promise((resolve) => { this.#listeners.get('ready').add(resolve); });
    }

    on(event, listener) {
      const listeners = this.#listeners.get(event);
      if (!listeners) throw wrongSetup(`There is no event ${event}.`);
      listeners.add(listener);
      return { unsubscribe: () => listeners.delete(listener) };
    }

    #emit(type, detail = {}) {
      for (const listener of this.#listeners.get(type)) listener({ type, ...detail });
    }

    #changed() {
      const change = { ...this.metadata, ...this.cardMetadata, ...(this.#binInfo ? { binInfo: this.#binInfo } : {}), ...(this.#network ? { selectedNetwork: this.#network } : {}) };
      const text = JSON.stringify(change);
      if (text === this.#lastChange) return;
      this.#lastChange = text;
      this.#emit('change', change);
    }

    #setState({ empty, valid, complete, brand, part, error, last4, isMaskFull }) {
      const isInvalid = error === null && !valid && this.#options.validateOnChange === true;
      const type = isInvalid ? 'invalid' : ERRORS[error];
      this.metadata = {
        empty,
        // A number of the right length with a wrong check digit is complete and not valid.
        complete: complete || !valid,
        valid: complete,
        ...(isMaskFull === undefined ? {} : { maskSatisfied: isMaskFull }),
        errors: type ? [{ targetId: this.targetOf(part), type }] : [],
      };
      if (this.cardMetadata) {
        this.cardMetadata = { cardBrand: brand ?? 'unknown', ...(last4 ? { cardLast4: last4 } : {}) };
        if (!complete) this.#binInfo = this.#network = undefined;
      }
      this.#changed();
    }

    told(kind, content) {
      if (Object.hasOwn(this.#handlers, kind)) this.#handlers[kind](content);
    }

    #handlers = {
      shown: () => {
        this.#mounting?.resolve();
        this.#emit('ready');
      },
      refused: ({ error }) => {
        const refusal = new ElementsError(error);
        this.#mounting?.reject(refusal);
        console.error(refusal);
      },
      change: ({ state }) => this.#setState(state),
      bin: ({ binInfo }) => {
        this.#binInfo = binInfo;
        this.#changed();
      },
      network: ({ network }) => {
        this.#network = network;
        this.#changed();
      },
      // The page's `:focus-within` does not see the focus inside a frame of another origin.
      focus: () => {
        this.#frame?.parentElement?.toggleAttribute('data-field-focus', true);
        this.#emit('focus', { targetId: this.targetId });
      },
      blur: () => {
        this.#frame?.parentElement?.toggleAttribute('data-field-focus', false);
        this.#emit('blur', { targetId: this.targetId, state: this.metadata });
      },
      key: ({ key, altKey, ctrlKey, shiftKey, metaKey }) =>
        this.#emit('keydown', { targetId: this.targetId, key, altKey, ctrlKey, shiftKey, metaKey }),
      click: () => this.#emit('click', { targetId: this.targetId }),
      copied: () => this.#emit('copy', { targetId: this.targetId }),
      height: ({ height }) => {
        if (this.#frame && height > 0 && height <= HEIGHT_MAX) this.#frame.style.height = `${height}px`;
      },
    };
  }

  /** The date element gives parts of its value to requests, never to the page. */
  class DateElement extends VaultElement {
    month() { return { element: this, method: 'month' }; }
    year() { return { element: this, method: 'year' }; }
    format(format) { return { element: this, method: 'format', formattingOptions: { format } }; }
  }

  let current = null;

  const serve = (service, input, { apiKey, correlationId, idempotencyKey } = {}) => {
    if (!current) return Promise.reject(wrongSetup('Call init first.'));
    try {
      return current.ask('serve', { service, input: sendable(input), options: { apiKey, correlationId, idempotencyKey } });
    } catch (error) {
      return Promise.reject(error);
    }
  };

  const proxy = (method) => ({ path, query, headers, body, ...options } = {}) => serve('proxy', { method, path, query, headers, body }, options);

  /** Requests to hosts that the operator of the vault lists. */
  const client = (method) => (url, body, { headers } = {}) => serve('client', { method, url: String(url), headers, body });
  const clientWithoutBody = (method) => (url, config) => client(method)(url, undefined, config);

  const deviceInfo = () => ({
    languages: [...navigator.languages],
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    platform: navigator.platform,
    screenWidth: screen.width,
    screenHeight: screen.height,
    innerWidth,
    innerHeight,
    devicePixelRatio,
  });

  const elements = {
    init: async (apiKey) => {
      if (typeof apiKey !== 'string' || apiKey === '') throw wrongSetup('Elements need a public key or a session key.');
      if (/_(?:pvt|mgt)_/.test(apiKey)) throw wrongSetup('This key is secret and must never be in a page. Use the key of a public application.');
      if (current?.key !== apiKey) current = new Controller(apiKey);
      const mine = current;
      try {
        await mine.ready;
      } catch (error) {
        // A second attempt starts with a frame of its own.
        if (current === mine) current = null;
        throw error;
      }
      return elements;
    },
    hasElement: (payload) => hasElement(payload),
    createElement: (type, options = {}) => {
      if (!current) throw wrongSetup('Call init first.');
      if (!Object.hasOwn(KINDS, type)) throw wrongSetup(`There is no element ${type}: there are ${Object.keys(KINDS).join(', ')}.`);
      return type === 'cardExpirationDate' ? new DateElement(current, type, options) : new VaultElement(current, type, options);
    },
    tokens: {
      create: (model, options) => serve('tokens.create', { model }, options),
      retrieve: (id, options) => serve('tokens.retrieve', { id }, options),
      update: (id, model, options) => serve('tokens.update', { id, model }, options),
      encrypt: (model, options) => serve('tokens.encrypt', { model }, options),
    },
    tokenIntents: { create: (model, options) => serve('tokenIntents.create', { model }, options) },
    tokenize: (model, options) => serve('tokenize', { model }, options),
    sessions: { create: (options) => serve('sessions.create', {}, options) },
    proxy: { get: proxy('GET'), post: proxy('POST'), put: proxy('PUT'), patch: proxy('PATCH'), delete: proxy('DELETE') },
    client: { get: clientWithoutBody('GET'), post: client('POST'), put: client('PUT'), patch: client('PATCH'), delete: clientWithoutBody('DELETE') },
    device: { getDeviceInfo: deviceInfo },
  };

  if (!window.BasisTheoryElements) {
    addStyle();
    window.BasisTheoryElements = elements;
  }
  // A page with a script tag has no package that starts this script.
  if (!src.includes('/client/')) {
    window.basistheory ??= (apiKey) => window.BasisTheoryElements.init(apiKey);
    // Older pages call `BasisTheory.init`, and then the members of `BasisTheory`.
    window.BasisTheory ??= window.BasisTheoryElements;
  }
})();
