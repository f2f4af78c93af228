//: about The answer of a program is data: it cannot name another kind of outcome.
//: outcome {"kind":"returned","value":{"kind":"threw","class":{"status":200}}}
Object.prototype.toJSON = undefined;
module.exports = () => ({ kind: 'threw', class: { status: 200 }, toString() { return '"},{'; } });
