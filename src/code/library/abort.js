// `AbortController`, `EventTarget` and the errors of the browser.
'use strict';

const CODES = { InvalidCharacterError: 5, AbortError: 20, DataCloneError: 25, TimeoutError: 23,
  NotSupportedError: 9, SyntaxError: 12, InvalidAccessError: 15, QuotaExceededError: 22 };

class DOMException extends Error {
  #name;

  constructor(message = '', name = 'Error') {
    super(message);
    this.#name = typeof name === 'object' && name !== null ? String(name.name) : String(name);
  }

  get name() { return this.#name; }

  get code() { return CODES[this.#name] || 0; }
}

class Event {
  constructor(type, options = {}) {
    this.type = String(type);
    this.cancelable = Boolean(options.cancelable);
    this.defaultPrevented = false;
    this.target = null;
    this.currentTarget = null;
  }

  preventDefault() { this.defaultPrevented = this.cancelable; }

  stopPropagation() {}

  stopImmediatePropagation() { this.isStopped = true; }
}

class EventTarget {
  #listeners = new Map();

  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) { return; }
    const list = this.#listeners.get(type) || [];
    if (list.some((it) => it.listener === listener)) { return; }
    const once = typeof options === 'object' && options !== null && Boolean(options.once);
    this.#listeners.set(type, [...list, { listener, once }]);
  }

  removeEventListener(type, listener) {
    const list = this.#listeners.get(type) || [];
    this.#listeners.set(type, list.filter((it) => it.listener !== listener));
  }

  dispatchEvent(event) {
    event.target = this;
    event.currentTarget = this;
    const own = this['on' + event.type];
    if (typeof own === 'function') { own.call(this, event); }
    for (const { listener, once } of this.#listeners.get(event.type) || []) {
      if (event.isStopped) { break; }
      if (once) { this.removeEventListener(event.type, listener); }
      if (typeof listener === 'function') {
        listener.call(this, event);
      } else {
        listener.handleEvent(event);
      }
    }
    return !event.defaultPrevented;
  }
}

class AbortSignal extends EventTarget {
  #state = { aborted: false, reason: undefined };

  get aborted() { return this.#state.aborted; }

  get reason() { return this.#state.reason; }

  throwIfAborted() { if (this.aborted) { throw this.reason; } }

  static abort(reason) {
    const controller = new AbortController();
    controller.abort(reason);
    return controller.signal;
  }

  static timeout(ms) {
    const controller = new AbortController();
    const late = () => controller.abort(
      new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
    require('timers.js').setTimeout(late, ms);
    return controller.signal;
  }

  static any(signals) {
    const controller = new AbortController();
    for (const signal of signals) {
      if (signal.aborted) { controller.abort(signal.reason); }
      signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
    }
    return controller.signal;
  }

  static stop(signal, reason) {
    if (signal.aborted) { return; }
    signal.#state = {
      aborted: true,
      reason: reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason,
    };
    signal.dispatchEvent(new Event('abort'));
  }
}
const stop = AbortSignal.stop;
delete AbortSignal.stop;

class AbortController {
  #signal = new AbortSignal();

  get signal() { return this.#signal; }

  abort(reason) { stop(this.#signal, reason); }
}

module.exports = { AbortController, AbortSignal, DOMException, Event, EventTarget };
