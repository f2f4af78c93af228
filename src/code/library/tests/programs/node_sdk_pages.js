//: answer {"body":{"pagination":{"page_size":1,"next":"c2"},"data":[{"id":"a","created_by":"x"}]}}
//: answer {"body":{"pagination":{"page_size":1},"data":[{"id":"b"}]}}
//: request {"method":"GET","url":"https://vault.internal/v2/tokens?size=1&metadata.some_key=v"}
//: request {"method":"GET","url":"https://vault.internal/v2/tokens?size=1&metadata.some_key=v&start=c2"}
//: outcome {"kind":"returned","value":[{"id":"a","createdBy":"x"},{"id":"b"}]}
const { BasisTheoryClient } = require('@basis-theory/node-sdk-2');
module.exports = async () => {
  const found = [];
  const page = await new BasisTheoryClient({ apiKey: 'k' }).tokens.listV2({ size: 1, metadata: { some_key: 'v' } });
  for await (const token of page) { found.push(token); }
  return found;
};
