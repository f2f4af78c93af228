//: about Values of the library that pass through setters, species and iterators are plain data.
//: answer {"body":{"id":"t1"}}
//: request {"method":"GET","url":"https://vault.internal/tokens/t1","headers":{"BT-API-KEY":"key_of_call"}}
//: outcome {"kind":"returned","value":{"functions":[],"id":"t1"}}
module.exports = async ({ bt }) => {
  const seen = new Set();
  const note = (value) => { seen.add(value); };
  const members = ['fetch', 'log', 'wait', 'source', 'compile', 'library', 'crypto', 'exports', 'main'];
  for (const target of [Object.prototype, Array.prototype]) {
    for (const name of members) {
      Object.defineProperty(target, name, { set: note, get: () => undefined, configurable: true });
    }
  }
  Object.defineProperty(Object.prototype, 'then', { get() { note(this); return undefined; }, configurable: true });
  const { iterator } = Symbol;
  const original = Array.prototype[iterator];
  Array.prototype[iterator] = function () { note(this); for (let at = 0; at < this.length; at++) { note(this[at]); } return Reflect.apply(original, this, []); };
  const token = await bt.tokens.retrieve('t1');
  Array.prototype[iterator] = original;
  for (const target of [Object.prototype, Array.prototype]) {
    for (const name of [...members, 'then']) { delete target[name]; }
  }
  const functions = [];
  const look = (value, depth) => {
    if (depth > 4 || value === null || typeof value !== 'object') {
      if (typeof value === 'function' && /\[native code\]/.test(Function.prototype.toString.call(value))) { functions.push(value.name); }
      return;
    }
    for (const name of Reflect.ownKeys(value)) { look(value[name], depth + 1); }
  };
  seen.forEach((value) => look(value, 0));
  return { functions: functions.filter((name) => /fetch|wait|log|source|library|compile|random|hash|sign/.test(name)), id: token.id };
};
