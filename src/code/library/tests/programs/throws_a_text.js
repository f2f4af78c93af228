//: outcome {"kind":"threw","message":"plain"}
module.exports = () => { throw 'plain'; };
