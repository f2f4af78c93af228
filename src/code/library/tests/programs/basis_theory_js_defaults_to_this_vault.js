//: answer {"body":{"id":"t1","tenant_id":"x"}}
//: request {"method":"GET","url":"https://vault.internal/tokens/t1","headers":{"BT-API-KEY":"k"}}
//: outcome {"kind":"returned","value":{"id":"t1","tenantId":"x"}}
const { BasisTheory } = require('@basis-theory/basis-theory-js');
module.exports = async () => {
  const bt = await new BasisTheory().init('k');
  return bt.tokens.retrieve('t1');
};
