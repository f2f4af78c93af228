//: outcome {"kind":"threw","class":{"status":429,"title":"Rate Limit Exceeded","detail":"Rate Limit Exceeded","errors":{"error":["The program gave no reason."]}}}
const errors = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = () => { throw new errors.RateLimitError(); };
