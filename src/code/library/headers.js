// Headers of a transform: looked up without regard to case, listed by their own names.
'use strict';

// A write or a removal by another spelling changes the header that is there, so that no header goes
// out twice and none stays that a program removed.
exports.caseless = (headers) => {
  const own = (name) => {
    if (typeof name !== 'string' || Object.hasOwn(headers, name)) { return name; }
    const lower = name.toLowerCase();
    const found = Object.keys(headers).find((it) => it.toLowerCase() === lower);
    return found === undefined ? name : found;
  };
  return new Proxy(headers, {
    get: (target, name) => target[own(name)],
    has: (target, name) => own(name) in target,
    set: (target, name, value) => { target[own(name)] = value; return true; },
    deleteProperty: (target, name) => delete target[own(name)],
    defineProperty: (target, name, descriptor) => Reflect.defineProperty(target, own(name), descriptor),
    getOwnPropertyDescriptor: (target, name) => Reflect.getOwnPropertyDescriptor(target, own(name)),
  });
};
