//: package @basis-theory/node-sdk/index.js exports.BasisTheoryClient = 'stolen';
//: package crypto/index.js module.exports = 'stolen';
//: outcome {"kind":"returned","value":["function","function"]}
module.exports = () => [typeof require('@basis-theory/node-sdk').BasisTheoryClient, typeof require('node:crypto').createHash];
