// `structuredClone`.
'use strict';

const { DOMException } = require('abort.js');

const ERRORS = ['Error', 'EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError',
  'URIError'];

const refuse = (value) => {
  throw new DOMException(`${typeof value === 'symbol' ? String(value) : describe(value)} could not be cloned.`,
    'DataCloneError');
};
const describe = (value) => (typeof value === 'function' ? String(value) : '#<Object>');

const kindOf = (value) => Object.prototype.toString.call(value).slice(8, -1);

const clone = (value, known) => {
  if (typeof value === 'function' || typeof value === 'symbol') { refuse(value); }
  if (typeof value !== 'object' || value === null) { return value; }
  const before = known.get(value);
  if (before !== undefined) { return before; }
  const keep = (copy) => { known.set(value, copy); return copy; };
  if (Array.isArray(value)) {
    const copy = keep(new Array(value.length));
    for (const name of Object.keys(value)) { copy[name] = clone(value[name], known); }
    return copy;
  }
  if (value instanceof Error) {
    const Kind = ERRORS.includes(value.name) ? globalThis[value.name] : Error;
    const copy = keep(Object.create(Kind.prototype));
    const members = { message: value.message, stack: value.stack };
    if ('cause' in value) { members.cause = clone(value.cause, known); }
    for (const [name, member] of Object.entries(members)) {
      Object.defineProperty(copy, name, { value: member, writable: true, configurable: true });
    }
    return copy;
  }
  switch (kindOf(value)) {
    case 'Boolean': case 'Number': case 'String': return keep(Object(value.valueOf()));
    case 'BigInt': return keep(Object(value.valueOf()));
    case 'Date': return keep(new Date(value.getTime()));
    case 'RegExp': return keep(new RegExp(value.source, value.flags));
    case 'ArrayBuffer': return keep(value.slice(0));
    case 'Map': {
      const copy = keep(new Map());
      for (const [name, member] of [...value]) { copy.set(clone(name, known), clone(member, known)); }
      return copy;
    }
    case 'Set': {
      const copy = keep(new Set());
      for (const member of [...value]) { copy.add(clone(member, known)); }
      return copy;
    }
    case 'Promise': case 'WeakMap': case 'WeakSet': case 'WeakRef': case 'Generator':
      return refuse(value);
    default: break;
  }
  if (ArrayBuffer.isView(value)) {
    const buffer = clone(value.buffer, known);
    const Kind = value instanceof DataView ? DataView
      : globalThis[kindOf(value)];
    return keep(new Kind(buffer, value.byteOffset,
      value instanceof DataView ? value.byteLength : value.length));
  }
  const copy = keep({});
  for (const name of Object.keys(value)) { copy[name] = clone(value[name], known); }
  return copy;
};

exports.structuredClone = (value, options) => {
  if (options !== undefined && options !== null && options.transfer !== undefined
    && options.transfer.length > 0) {
    throw new DOMException('Nothing can be transferred', 'DataCloneError');
  }
  return clone(value, new Map());
};
