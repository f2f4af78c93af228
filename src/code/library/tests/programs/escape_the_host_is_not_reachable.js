//: about Nothing of the host is a global, a member of a function, or on the stack of an error.
//: outcome {"kind":"returned","value":{"names":[],"caller":"no","frames":"undefined","global":true,"this":true}}
module.exports = async function program() {
  const globals = new Function('return this')();
  const names = Object.getOwnPropertyNames(globals).filter((name) => /host|ports|internal$|boot|compile|library|source/i.test(name));
  let frames = 'undefined';
  Error.prepareStackTrace = (error, sites) => { frames = sites.map((site) => site.getFunction && site.getFunction()); return ''; };
  String(new Error('x').stack);
  let caller = 'no';
  try {
    caller = program.caller === undefined || program.caller === null ? 'no' : 'yes';
  } catch {
    caller = 'no';
  }
  return { names, caller, frames: String(frames), global: globals === globalThis, this: (function () { return this; })() === globalThis };
};
