//: outcome {"kind":"threw","message":"null"}
module.exports = async () => { throw null; };
