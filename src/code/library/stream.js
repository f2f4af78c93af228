// `stream`: readable, writable and transforming streams over memory.
//
// A program's data is in memory as a whole, so nothing waits for room: `write` always has space.
'use strict';

const EventEmitter = require('events.js');
const { Buffer } = require('buffer.js');
const { StringDecoder } = require('string_decoder.js');

const soon = (work) => { Promise.resolve().then(work); };

function Stream(options) { EventEmitter.call(this, options); }
Object.setPrototypeOf(Stream.prototype, EventEmitter.prototype);
Object.setPrototypeOf(Stream, EventEmitter);
Stream.prototype.pipe = function (target, options) {
  this.on('data', (piece) => target.write(piece));
  if (!options || options.end !== false) { this.on('end', () => target.end()); }
  target.emit('pipe', this);
  return target;
};

const destroyer = {
  destroy(error, done) {
    if (this.destroyed) { return this; }
    this.destroyed = true;
    const close = (failure) => {
      soon(() => {
        if (failure) {
          this.errored = failure;
          if (this.listenerCount('error') > 0) { this.emit('error', failure); }
        }
        this.closed = true;
        this.emit('close');
        if (typeof done === 'function') { done(failure); }
      });
    };
    if (typeof this._destroy === 'function') {
      this._destroy(error || null, (failure) => close(failure || error));
    } else {
      close(error);
    }
    return this;
  },
};

const initReadable = (stream, options) => {
  stream.readable = true;
  stream.readableEnded = false;
  stream.readableFlowing = null;
  stream.destroyed = false;
  stream.closed = false;
  stream._readableState = {
    pieces: [],
    isDone: false,
    decoder: null,
    isScheduled: false,
    isReading: false,
    objectMode: Boolean(options && (options.objectMode || options.readableObjectMode)),
    get ended() { return this.isDone; },
    get length() { return this.pieces.length; },
    endEmitted: false,
  };
  if (options && options.encoding) { stream.setEncoding(options.encoding); }
  if (options && typeof options.read === 'function') { stream._read = options.read; }
  if (options && typeof options.destroy === 'function') { stream._destroy = options.destroy; }
};

function Readable(options) {
  if (!(this instanceof Readable)) { return new Readable(options); }
  Stream.call(this, options);
  initReadable(this, options);
}
Object.setPrototypeOf(Readable.prototype, Stream.prototype);
Object.setPrototypeOf(Readable, Stream);

const flow = (stream) => {
  const state = stream._readableState;
  if (state.isScheduled) { return; }
  state.isScheduled = true;
  soon(() => {
    state.isScheduled = false;
    while (stream.readableFlowing && state.pieces.length > 0 && !stream.destroyed) {
      stream.emit('data', state.pieces.shift());
    }
    if (stream.destroyed) { return; }
    if (state.isDone) {
      const isTaken = stream.readableFlowing || stream.listenerCount('readable') > 0;
      if (state.pieces.length === 0 && !state.endEmitted && isTaken) {
        state.endEmitted = true;
        stream.readable = false;
        stream.readableEnded = true;
        stream.emit('end');
        if (stream.writable === undefined || stream.writableFinished || !stream.writable) {
          stream.closed = true;
          stream.emit('close');
        }
      }
    } else if (stream.readableFlowing && state.pieces.length === 0 && !state.isReading) {
      ask(stream);
    }
  });
};
const ask = (stream) => {
  const state = stream._readableState;
  if (state.isDone || state.isReading || stream.destroyed) { return; }
  state.isReading = true;
  try {
    stream._read(16384);
  } catch (error) {
    stream.destroy(error);
  }
};

const readable = {
  ...destroyer,
  _read() {},
  push(piece, encoding) {
    const state = this._readableState;
    state.isReading = false;
    if (piece === null) {
      if (state.decoder !== null) {
        const rest = state.decoder.end();
        if (rest !== '') { state.pieces.push(rest); }
      }
      state.isDone = true;
    } else if (state.objectMode) {
      state.pieces.push(piece);
    } else {
      let bytes = typeof piece === 'string' ? Buffer.from(piece, encoding) : Buffer.from(piece);
      if (state.decoder !== null) { bytes = state.decoder.write(bytes); }
      if (bytes.length > 0) { state.pieces.push(bytes); }
    }
    if (this.listenerCount('readable') > 0) { soon(() => this.emit('readable')); }
    flow(this);
    return true;
  },
  unshift(piece) { this._readableState.pieces.unshift(piece); },
  read() {
    const state = this._readableState;
    if (state.pieces.length === 0) {
      ask(this);
      if (state.pieces.length === 0) { flow(this); return null; }
    }
    if (state.objectMode) { return state.pieces.shift(); }
    const pieces = state.pieces.splice(0);
    flow(this);
    return state.decoder === null ? Buffer.concat(pieces) : pieces.join('');
  },
  on(name, listener) {
    EventEmitter.prototype.on.call(this, name, listener);
    if (name === 'data' && this.readableFlowing !== false) { this.resume(); }
    if (name === 'readable') {
      this.readableFlowing = false;
      ask(this);
      if (this._readableState.pieces.length > 0 || this._readableState.isDone) {
        soon(() => this.emit('readable'));
      }
    }
    return this;
  },
  resume() { this.readableFlowing = true; flow(this); return this; },
  pause() { this.readableFlowing = false; return this; },
  isPaused() { return this.readableFlowing === false; },
  setEncoding(encoding) {
    const state = this._readableState;
    state.decoder = new StringDecoder(encoding);
    state.pieces = state.pieces.map((piece) => state.decoder.write(piece));
    return this;
  },
  unpipe() { return this; },
  wrap(old) {
    old.on('data', (piece) => this.push(piece));
    old.on('end', () => this.push(null));
    return this;
  },
  async * [Symbol.asyncIterator]() {
    const waiting = [];
    let wake = null;
    let isEnd = false;
    let failure = null;
    const rouse = () => { if (wake !== null) { wake(); wake = null; } };
    this.on('data', (piece) => { waiting.push(piece); rouse(); });
    this.once('end', () => { isEnd = true; rouse(); });
    this.once('error', (error) => { failure = error; rouse(); });
    this.once('close', () => { isEnd = true; rouse(); });
    for (;;) {
      while (waiting.length > 0) { yield waiting.shift(); }
      if (failure !== null) { throw failure; }
      if (isEnd) { return; }
      await new Promise((resolve) => { wake = resolve; });
    }
  },
};
readable.addListener = readable.on;
for (const name of Reflect.ownKeys(readable)) {
  Object.defineProperty(Readable.prototype, name, {
    value: readable[name], writable: true, configurable: true,
  });
}
Object.defineProperty(Readable.prototype, 'readableLength', {
  get() { return this._readableState.pieces.length; }, configurable: true,
});
Readable.from = (source, options) => {
  const isWhole = typeof source === 'string' || source instanceof Uint8Array;
  const stream = new Readable({ objectMode: !isWhole, ...options });
  const iterator = isWhole ? [source][Symbol.iterator]()
    : (source[Symbol.asyncIterator] || source[Symbol.iterator]).call(source);
  stream._read = async () => {
    try {
      const { done, value } = await iterator.next();
      stream.push(done ? null : await value);
    } catch (error) {
      stream.destroy(error);
    }
  };
  return stream;
};

const initWritable = (stream, options) => {
  stream.writable = true;
  stream.writableEnded = false;
  stream.writableFinished = false;
  stream._writableState = {
    queue: [],
    isBusy: false,
    isEnding: false,
    encoding: 'utf8',
    objectMode: Boolean(options && (options.objectMode || options.writableObjectMode)),
    get ended() { return this.isEnding; },
    get finished() { return stream.writableFinished; },
    length: 0,
    highWaterMark: 16384,
  };
  if (!options) { return; }
  for (const name of ['write', 'writev', 'final', 'destroy']) {
    if (typeof options[name] === 'function') { stream['_' + name] = options[name]; }
  }
};

function Writable(options) {
  if (!(this instanceof Writable)) { return new Writable(options); }
  Stream.call(this, options);
  this.destroyed = false;
  this.closed = false;
  initWritable(this, options);
}
Object.setPrototypeOf(Writable.prototype, Stream.prototype);
Object.setPrototypeOf(Writable, Stream);

const drain = (stream) => {
  const state = stream._writableState;
  if (state.isBusy || stream.destroyed) { return; }
  const next = state.queue.shift();
  if (next === undefined) {
    if (state.isEnding && !stream.writableFinished) { finish(stream); }
    return;
  }
  state.isBusy = true;
  const done = (error) => {
    state.isBusy = false;
    if (error) {
      if (next.done) { next.done(error); }
      stream.destroy(error);
      return;
    }
    if (next.done) { next.done(); }
    if (state.queue.length === 0 && !state.isEnding) { soon(() => stream.emit('drain')); }
    drain(stream);
  };
  try {
    stream._write(next.piece, next.encoding, done);
  } catch (error) {
    done(error);
  }
};
const finish = (stream) => {
  const done = (error) => {
    if (error) { stream.destroy(error); return; }
    stream.writableFinished = true;
    stream.writable = false;
    soon(() => {
      stream.emit('prefinish');
      stream.emit('finish');
      if (stream._readableState === undefined) {
        stream.closed = true;
        stream.emit('close');
      }
    });
  };
  if (stream._writableState.isFinal) { return; }
  stream._writableState.isFinal = true;
  if (typeof stream._final === 'function') {
    stream._final(done);
  } else {
    done();
  }
};

const writable = {
  ...destroyer,
  _write(piece, encoding, done) { done(); },
  write(piece, encoding, done) {
    if (typeof encoding === 'function') { return this.write(piece, undefined, encoding); }
    if (this._writableState.isEnding) {
      const error = new Error('write after end');
      error.code = 'ERR_STREAM_WRITE_AFTER_END';
      this.destroy(error);
      if (done) { done(error); }
      return false;
    }
    const state = this._writableState;
    const given = state.objectMode || typeof piece !== 'string' ? piece
      : Buffer.from(piece, encoding || state.encoding);
    state.queue.push({
      piece: given,
      encoding: typeof given === 'string' ? encoding || 'utf8' : 'buffer',
      done,
    });
    drain(this);
    return true;
  },
  end(piece, encoding, done) {
    if (typeof piece === 'function') { return this.end(undefined, undefined, piece); }
    if (typeof encoding === 'function') { return this.end(piece, undefined, encoding); }
    if (piece !== undefined && piece !== null) { this.write(piece, encoding); }
    if (typeof done === 'function') { this.once('finish', done); }
    this.writableEnded = true;
    this._writableState.isEnding = true;
    drain(this);
    return this;
  },
  cork() {},
  uncork() {},
  setDefaultEncoding(encoding) { this._writableState.encoding = encoding; return this; },
};
const writableGetters = {
  writableLength: { get() { return this._writableState.queue.length; }, configurable: true },
  writableHighWaterMark: { get() { return 16384; }, configurable: true },
};
const addWritable = (prototype) => {
  for (const name of Object.keys(writable)) {
    Object.defineProperty(prototype, name, {
      value: writable[name], writable: true, configurable: true,
    });
  }
  Object.defineProperties(prototype, writableGetters);
};
addWritable(Writable.prototype);

function Duplex(options) {
  if (!(this instanceof Duplex)) { return new Duplex(options); }
  Readable.call(this, options);
  initWritable(this, options);
}
Object.setPrototypeOf(Duplex.prototype, Readable.prototype);
Object.setPrototypeOf(Duplex, Readable);
addWritable(Duplex.prototype);
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(value) {
    return Function.prototype[Symbol.hasInstance].call(this, value)
      || (this === Writable && value instanceof Duplex);
  },
});

function Transform(options) {
  if (!(this instanceof Transform)) { return new Transform(options); }
  Duplex.call(this, options);
  if (options && typeof options.transform === 'function') { this._transform = options.transform; }
  if (options && typeof options.flush === 'function') { this._flush = options.flush; }
}
Object.setPrototypeOf(Transform.prototype, Duplex.prototype);
Object.setPrototypeOf(Transform, Duplex);
Transform.prototype._write = function (piece, encoding, done) {
  this._transform(piece, encoding, (error, result) => {
    if (!error && result !== undefined && result !== null) { this.push(result); }
    done(error);
  });
};
Transform.prototype._final = function (done) {
  const end = (error, result) => {
    if (!error && result !== undefined && result !== null) { this.push(result); }
    if (!error) { this.push(null); }
    done(error);
  };
  if (typeof this._flush === 'function') { this._flush(end); } else { end(); }
};

function PassThrough(options) {
  if (!(this instanceof PassThrough)) { return new PassThrough(options); }
  Transform.call(this, options);
}
Object.setPrototypeOf(PassThrough.prototype, Transform.prototype);
Object.setPrototypeOf(PassThrough, Transform);
PassThrough.prototype._transform = (piece, encoding, done) => done(null, piece);

const finished = (stream, options, given) => {
  const done = typeof options === 'function' ? options : given;
  let isDone = false;
  const once = (error) => { if (!isDone) { isDone = true; done(error); } };
  stream.on('error', once);
  stream.on('end', () => once());
  stream.on('finish', () => { if (stream._readableState === undefined) { once(); } });
  stream.on('close', () => {
    const isWhole = stream.readableEnded || stream.writableFinished;
    once(isWhole ? undefined : stream.errored || new Error('Premature close'));
  });
  return () => { isDone = true; };
};
const pipeline = (...given) => {
  const done = typeof given[given.length - 1] === 'function' ? given.pop() : () => {};
  const streams = given.length === 1 && Array.isArray(given[0]) ? given[0] : given;
  let isDone = false;
  const once = (error) => {
    if (isDone) { return; }
    isDone = true;
    if (error) { streams.forEach((stream) => stream.destroy(error)); }
    done(error);
  };
  streams.forEach((stream) => stream.on('error', once));
  const last = streams[streams.length - 1];
  last.on('finish', () => once());
  last.on('end', () => once());
  return streams.reduce((from, to) => from.pipe(to));
};

module.exports = Stream;
Object.assign(Stream, {
  Duplex,
  PassThrough,
  Readable,
  Stream,
  Transform,
  Writable,
  finished,
  pipeline,
  promises: {
    finished: (stream) => new Promise((resolve, reject) => {
      finished(stream, (error) => (error ? reject(error) : resolve()));
    }),
    pipeline: (...streams) => new Promise((resolve, reject) => {
      pipeline(...streams, (error) => (error ? reject(error) : resolve()));
    }),
  },
  isReadable: (stream) => Boolean(stream && stream.readable),
  addAbortSignal: (signal, stream) => {
    signal.addEventListener('abort', () => stream.destroy(signal.reason));
    return stream;
  },
});
