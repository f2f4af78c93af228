//: outcome {"kind":"threw","message":"the card was refused"}
module.exports = async () => { throw new Error('the card was refused'); };
