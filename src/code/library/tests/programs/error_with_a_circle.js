//: outcome {"kind":"threw","class":{"status":503,"title":"Service Unavailable","detail":"Service Unavailable","errors":{"error":["{\"self\":\"[Circular]\"}","boom"]}}}
const { ServiceUnavailableError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = () => {
  const circle = {};
  circle.self = circle;
  throw new ServiceUnavailableError([circle, new Error('boom')]);
};
