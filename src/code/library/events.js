// `events`.
'use strict';

// Classes of packages call the constructor as a function.
function EventEmitter() { EventEmitter.init.call(this); }
EventEmitter.init = function () {
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) {
    this._events = Object.create(null);
  }
};
const eventsOf = (emitter) => {
  if (emitter._events === undefined || emitter._events === null) { EventEmitter.init.call(emitter); }
  return emitter._events;
};
const checked = (listener) => {
  if (typeof listener !== 'function') {
    const error = new TypeError('The "listener" argument must be of type function.');
    error.code = 'ERR_INVALID_ARG_TYPE';
    throw error;
  }
};
const add = (emitter, name, listener, isFirst) => {
  checked(listener);
  const events = eventsOf(emitter);
  if (events.newListener !== undefined) {
    emitter.emit('newListener', name, listener.listener || listener);
  }
  const list = events[name] || [];
  events[name] = isFirst ? [listener, ...list] : [...list, listener];
  return emitter;
};
const onceOf = (emitter, name, listener) => {
  checked(listener);
  const once = function (...given) {
    emitter.removeListener(name, once);
    return listener.apply(emitter, given);
  };
  once.listener = listener;
  return once;
};

const methods = {
  on(name, listener) { return add(this, name, listener, false); },
  addListener(name, listener) { return add(this, name, listener, false); },
  prependListener(name, listener) { return add(this, name, listener, true); },
  once(name, listener) { return this.on(name, onceOf(this, name, listener)); },
  prependOnceListener(name, listener) {
    return this.prependListener(name, onceOf(this, name, listener));
  },
  off(name, listener) { return this.removeListener(name, listener); },
  removeListener(name, listener) {
    const events = eventsOf(this);
    const list = events[name] || [];
    const at = list.findLastIndex((it) => it === listener || it.listener === listener);
    if (at >= 0) {
      events[name] = list.toSpliced(at, 1);
      if (events[name].length === 0) { delete events[name]; }
      if (events.removeListener !== undefined) { this.emit('removeListener', name, listener); }
    }
    return this;
  },
  removeAllListeners(name) {
    if (name === undefined) {
      this._events = Object.create(null);
    } else {
      delete eventsOf(this)[name];
    }
    return this;
  },
  emit(name, ...given) {
    const list = eventsOf(this)[name];
    if (list === undefined) {
      if (name === 'error') {
        throw given[0] instanceof Error ? given[0] : new Error('Unhandled error.');
      }
      return false;
    }
    for (const listener of list) { listener.apply(this, given); }
    return true;
  },
  listeners(name) { return (eventsOf(this)[name] || []).map((it) => it.listener || it); },
  rawListeners(name) { return [...(eventsOf(this)[name] || [])]; },
  listenerCount(name) { return (eventsOf(this)[name] || []).length; },
  eventNames() { return Reflect.ownKeys(eventsOf(this)); },
  setMaxListeners() { return this; },
  getMaxListeners() { return EventEmitter.defaultMaxListeners; },
};
Object.assign(EventEmitter.prototype, methods);

EventEmitter.defaultMaxListeners = 10;
EventEmitter.EventEmitter = EventEmitter;
EventEmitter.default = EventEmitter;
EventEmitter.once = (emitter, name) => new Promise((resolve, reject) => {
  const failed = (error) => { emitter.removeListener(name, done); reject(error); };
  const done = (...given) => { emitter.removeListener('error', failed); resolve(given); };
  emitter.once(name, done);
  if (name !== 'error') { emitter.once('error', failed); }
});
EventEmitter.listenerCount = (emitter, name) => emitter.listenerCount(name);
EventEmitter.setMaxListeners = () => {};
EventEmitter.errorMonitor = Symbol('events.errorMonitor');
EventEmitter.captureRejectionSymbol = Symbol('nodejs.rejection');

module.exports = EventEmitter;
