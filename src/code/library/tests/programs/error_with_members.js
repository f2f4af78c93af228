//: outcome {"kind":"threw","class":{"status":402,"title":"Invalid Payment Method","detail":"Invalid Payment Method","errors":{"code":["declined"],"all":["a","b"],"inner":["{\"x\":1}"]}}}
const { InvalidPaymentMethodError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = () => {
  throw new InvalidPaymentMethodError({ code: 'declined', all: ['a', 'b'], inner: { x: 1 } });
};
