//: outcome {"kind":"threw","message":"BigInt are forbidden in JSON.stringify"}
module.exports = () => ({ raw: 10n });
