// Hosted card fields for a shop's page: https://<vault>/fields/v1.js defines `Strongroom.fields`.
// Card numbers are typed into frames of the vault. This script opens the frames and passes messages;
// it never sees a digit of them.
(() => {
  'use strict';

  const base = new URL('v1/', document.currentScript.src);
  const { SCHEMES, addController, addStyle, makeField, randomName, schemeOf } = document.currentScript.strongroom;
  const vault = base.origin;
  const EVENTS = ['ready', 'change', 'focus', 'blur', 'complete', 'error'];
  /** The attributes `data-field-...` of the element that a field is mounted into. */
  const STATES = ['focus', 'invalid', 'complete'];
  /** The texts of errors below the fields. */
  const ERRORS = `
    :where(.strongroom-error) {
      margin: 4px 0 0; font: 13px/1.4 system-ui, sans-serif; color: #b3261e; color: light-dark(#b3261e, #ff9b93);
    }
    :where(.strongroom-error:empty) { display: none; }`;
  const START_MS_MAX = 20_000;
  const HEIGHT_MAX = 200;

  /** A failure of a request, with the vault's problem where there is one. It never holds a value. */
  class FieldsError extends Error {
    constructor({ code, title, detail, status, trace_id: traceId, fields }) {
      super(detail || title);
      this.name = 'FieldsError';
      Object.assign(this, { code, title, detail, status, traceId, fields });
    }
  }

  /** A copy without the proxies and functions of frameworks, which cannot be sent to a frame. */
  const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

  const elementOf = (place) => {
    const element = typeof place === 'string' ? document.querySelector(place) : place;
    if (!(element instanceof Element)) throw new TypeError('There is no such element to mount a card field into.');
    return element;
  };

  /** Puts the text of a field's error below its box. In a row of boxes it takes no place of its own. */
  const placeError = (element, error) => {
    const { display, flexDirection } = getComputedStyle(element.parentElement ?? element);
    const isRow = display.endsWith('grid') || (display.endsWith('flex') && flexDirection.startsWith('row'));
    if (isRow) {
      if (getComputedStyle(element).position === 'static') element.style.position = 'relative';
      Object.assign(error.style, { position: 'absolute', top: '100%', left: '0' });
      element.append(error);
    } else {
      element.after(error);
    }
  };

  class Fields {
    #name = randomName();
    #controller;
    #settings;
    #frames = new Map();
    #places = new Map();
    #scheme;
    #states = new Map();
    #shown = new Set();
    #listeners = new Map(EVENTS.map((event) => [event, new Set()]));
    #requests = new Map();
    #titles = {};
    #loads = 0;
    #isStarted = false;
    #ended = null;
    #isComplete = false;
    #requestCount = 0;
    #receive = (event) => this.#received(event);

    constructor({ key, locale, texts, style, placeholders, scheme } = {}) {
      if (typeof key !== 'string' || key === '') throw new TypeError('Card fields need a public key or a session key.');
      if (scheme !== undefined && !Object.hasOwn(SCHEMES, scheme)) {
        throw new TypeError(`There is no scheme ${scheme}: there are ${Object.keys(SCHEMES).join(', ')}.`);
      }
      this.#scheme = scheme;
      this.#settings = plain({ key, locale: locale ?? navigator.language, texts, style, placeholders });
      window.addEventListener('message', this.#receive);
      this.#controller = addController(this.#name, base, () => this.#loaded());
      setTimeout(() => this.#isStarted || this.#emit('error', {
        error: new FieldsError({ code: 'unreachable', title: 'The frames of the vault did not load.' }),
      }), START_MS_MAX);
    }

    number(place) { return this.#mount('number', place); }
    expiry(place) { return this.#mount('expiry', place); }
    cvc(place) { return this.#mount('cvc', place); }
    card(place) { return this.#mount('card', place); }

    on(event, listener) {
      const listeners = this.#listeners.get(event);
      if (!listeners) throw new TypeError(`There is no event ${event}: there are ${EVENTS.join(', ')}.`);
      listeners.add(listener);
      return this;
    }

    off(event, listener) {
      this.#listeners.get(event)?.delete(listener);
      return this;
    }

    createTokenIntent(options) { return this.#request('intent', options); }
    createToken(options) { return this.#request('token', options); }

    clear() { this.#post('clear'); }

    focus(field) {
      this.#frames.get(field)?.focus();
      this.#post('focus', { field });
    }

    destroy() {
      window.removeEventListener('message', this.#receive);
      for (const frame of [this.#controller, ...this.#frames.values()]) frame.remove();
      for (const { element, error } of this.#places.values()) {
        for (const state of STATES) element.removeAttribute(`data-field-${state}`);
        error.remove();
      }
      this.#isStarted = true;
      this.#end(new FieldsError({ code: 'destroyed', title: 'The card fields were removed from the page.' }));
    }

    #mount(field, place) {
      const isCombined = field === 'card' ? this.#frames.size > 0 : this.#frames.has('card');
      if (this.#frames.has(field) || isCombined) {
        throw new TypeError('A group has one combined field, or one field of each kind.');
      }
      const element = elementOf(place);
      const scheme = this.#scheme ?? schemeOf(element);
      const frame = makeField(`${this.#name}.${field}`, new URL(`field#${field}.${scheme}`, base), scheme);
      frame.title = this.#titles[field] ?? 'Card';
      this.#frames.set(field, frame);
      const error = document.createElement('p');
      error.className = 'strongroom-error';
      error.style.colorScheme = SCHEMES[scheme];
      // The frame announces the same text.
      error.setAttribute('aria-hidden', 'true');
      this.#places.set(field, { element, error });
      placeError(element, error);
      this.#states.set(field, { empty: true, valid: true, complete: false, brand: null, error: null });
      // A field looks for its controller when it loads.
      if (this.#loads > 0) element.append(frame);
      else this.#controller.addEventListener('load', () => element.append(frame), { once: true });
      return this;
    }

    #loaded() {
      this.#loads += 1;
      if (this.#loads === 1) this.#post('start', this.#settings);
      // Something of the page moved or navigated the frame, and the group is lost with it.
      else this.#end(new FieldsError({ code: 'controller_gone', title: 'The frame of the card fields was reloaded.' }));
    }

    #end(error) {
      this.#ended = error;
      for (const { reject } of this.#requests.values()) reject(error);
      this.#requests.clear();
      if (error.code !== 'destroyed') this.#emit('error', { error });
    }

    #post(kind, content = {}) {
      // The browser delivers it to the vault's origin alone, wherever the frame is now.
      this.#controller.contentWindow?.postMessage({ strongroom: kind, ...content }, vault);
    }

    #request(kind, options) {
      if (this.#ended) return Promise.reject(this.#ended);
      return new Promise((resolve, reject) => {
        this.#requestCount += 1;
        this.#requests.set(this.#requestCount, { resolve, reject });
        this.#post('submit', { id: this.#requestCount, kind, options: plain(options), order: [...this.#frames.keys()] });
      });
    }

    #emit(event, detail) {
      const listeners = this.#listeners.get(event);
      for (const listener of listeners) listener(detail);
      if (event === 'error' && listeners.size === 0) console.error(`Strongroom card fields: ${detail.error.message}`);
    }

    #mark(field, state, isOn) {
      this.#places.get(field)?.element.toggleAttribute(`data-field-${state}`, isOn);
    }

    #received(event) {
      if (event.origin !== vault || event.source !== this.#controller.contentWindow) return;
      const { strongroom: kind, ...content } = event.data ?? {};
      if (Object.hasOwn(this.#handlers, kind)) this.#handlers[kind](content);
    }

    #handlers = {
      titles: ({ titles }) => {
        this.#isStarted = true;
        this.#titles = titles;
        for (const [field, frame] of this.#frames) frame.title = titles[field];
      },
      shown: ({ field }) => {
        this.#shown.add(field);
        if (this.#shown.size === this.#frames.size) this.#emit('ready', {});
      },
      change: ({ field, state }) => {
        this.#states.set(field, state);
        this.#mark(field, 'invalid', state.error !== null);
        this.#mark(field, 'complete', state.complete);
        const place = this.#places.get(field);
        if (place) place.error.textContent = state.message;
        this.#emit('change', { field, ...state });
        const isComplete = [...this.#states.values()].every((it) => it.complete);
        if (isComplete && !this.#isComplete) this.#emit('complete', {});
        this.#isComplete = isComplete;
      },
      // The page's `:focus-within` does not see the focus inside a frame of another origin.
      focus: ({ field }) => {
        this.#mark(field, 'focus', true);
        this.#emit('focus', { field });
      },
      blur: ({ field }) => {
        this.#mark(field, 'focus', false);
        this.#emit('blur', { field });
      },
      height: ({ field, height }) => {
        const frame = this.#frames.get(field);
        if (frame && height > 0 && height <= HEIGHT_MAX) frame.style.height = `${height}px`;
      },
      error: ({ error }) => this.#emit('error', { error: new FieldsError(error) }),
      answer: ({ id, value, error }) => {
        const request = this.#requests.get(id);
        this.#requests.delete(id);
        if (error) request?.reject(new FieldsError(error));
        else request?.resolve(value);
      },
    };
  }

  const publish = (target) => {
    Object.defineProperty(target, 'Strongroom', { value: Object.freeze({ fields: (options) => new Fields(options) }) });
  };
  if (!window.Strongroom) {
    addStyle(ERRORS);
    publish(window);
  }
})();
