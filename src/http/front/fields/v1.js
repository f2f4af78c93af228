// Hosted card fields for a shop's page: https://<vault>/fields/v1.js defines `Strongroom.fields`.
// Card numbers are typed into frames of the vault. This script opens the frames and passes messages;
// it never sees a digit of them.
(() => {
  'use strict';

  const base = new URL('v1/', document.currentScript.src);
  const vault = base.origin;
  const EVENTS = ['ready', 'change', 'focus', 'blur', 'complete', 'error'];
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

  const randomName = () => {
    const bytes = crypto.getRandomValues(new Uint8Array(12));
    return `strongroom-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
  };

  /** A copy without the proxies and functions of frameworks, which cannot be sent to a frame. */
  const plain = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

  const makeFrame = (name, path) => {
    const frame = document.createElement('iframe');
    frame.name = name;
    frame.src = new URL(path, base).href;
    frame.referrerPolicy = 'no-referrer';
    frame.style.border = '0';
    return frame;
  };

  const elementOf = (place) => {
    const element = typeof place === 'string' ? document.querySelector(place) : place;
    if (!(element instanceof Element)) throw new TypeError('There is no such element to mount a card field into.');
    return element;
  };

  class Fields {
    #name = randomName();
    #controller;
    #settings;
    #frames = new Map();
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

    constructor({ key, locale, texts, style, placeholders } = {}) {
      if (typeof key !== 'string' || key === '') throw new TypeError('Card fields need a public key or a session key.');
      this.#settings = plain({ key, locale: locale ?? navigator.language, texts, style, placeholders });
      window.addEventListener('message', this.#receive);
      this.#controller = makeFrame(this.#name, 'controller');
      this.#controller.hidden = true;
      this.#controller.style.display = 'none';
      this.#controller.setAttribute('aria-hidden', 'true');
      this.#controller.tabIndex = -1;
      this.#controller.addEventListener('load', () => this.#loaded());
      (document.body ?? document.documentElement).append(this.#controller);
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
      this.#isStarted = true;
      this.#end(new FieldsError({ code: 'destroyed', title: 'The card fields were removed from the page.' }));
    }

    #mount(field, place) {
      const isCombined = field === 'card' ? this.#frames.size > 0 : this.#frames.has('card');
      if (this.#frames.has(field) || isCombined) {
        throw new TypeError('A group has one combined field, or one field of each kind.');
      }
      const element = elementOf(place);
      const frame = makeFrame(`${this.#name}.${field}`, `field#${field}`);
      frame.title = this.#titles[field] ?? 'Card';
      Object.assign(frame.style, { display: 'block', width: '100%', height: '40px' });
      this.#frames.set(field, frame);
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
        this.#post('submit', { id: this.#requestCount, kind, options: plain(options) });
      });
    }

    #emit(event, detail) {
      for (const listener of this.#listeners.get(event)) listener(detail);
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
        this.#emit('change', { field, ...state });
        const isComplete = [...this.#states.values()].every((it) => it.complete);
        if (isComplete && !this.#isComplete) this.#emit('complete', {});
        this.#isComplete = isComplete;
      },
      focus: ({ field }) => this.#emit('focus', { field }),
      blur: ({ field }) => this.#emit('blur', { field }),
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
  if (!window.Strongroom) publish(window);
})();
