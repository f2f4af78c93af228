//: outcome {"kind":"threw","response":{"status":418,"headers":[["X-Reason","tea"],["Set-Cookie","a=1"],["Set-Cookie","b=2"]],"body":{"error":"short and stout"}}}
const { CustomHttpResponseError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = async () => {
  throw new CustomHttpResponseError({
    status: 418, headers: { 'X-Reason': 'tea', 'Set-Cookie': ['a=1', 'b=2'] }, body: { error: 'short and stout' },
  });
};
