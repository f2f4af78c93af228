//: outcome {"kind":"threw","message":"CustomHttpResponseError: status must be an integer from 100 to 599"}
const { CustomHttpResponseError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = () => { throw new CustomHttpResponseError({ status: 99 }); };
