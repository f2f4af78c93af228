//: outcome {"kind":"threw","message":"Cannot find module 'abcd'"}
const abcd = require('abcd');
module.exports = () => abcd;
