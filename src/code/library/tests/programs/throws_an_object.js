//: outcome {"kind":"threw","message":"{\"code\":5}"}
module.exports = () => { throw { code: 5 }; };
