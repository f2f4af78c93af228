//: outcome {"kind":"threw","class":{"status":400,"title":"Bad Request","detail":"Bad Request","errors":{"error":["number is missing"]}}}
const { BadRequestError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = async () => { throw new BadRequestError('number is missing'); };
