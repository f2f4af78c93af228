//: outcome {"kind":"threw","message":"The program threw a value without a message"}
module.exports = () => {
  throw new Proxy({}, { get() { throw new Error('trap'); }, ownKeys() { throw new Error('trap'); }, getPrototypeOf() { throw new Error('trap'); } });
};
