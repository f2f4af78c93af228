//: outcome {"kind":"threw","message":"undefined"}
module.exports = () => { throw undefined; };
