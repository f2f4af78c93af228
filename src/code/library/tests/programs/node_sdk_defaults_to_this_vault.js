//: answer {"status":201,"body":{"id":"t1","tenant_id":"x","data":{"a_b":1}}}
//: answer {"body":{"card_number":"4"}}
//: answer {"status":404,"body":{"title":"Not Found","status":404}}
//: answer {"body":{"id":"r"}}
//: answer {"body":{"id":"r"}}
//: request {"method":"POST","url":"https://vault.internal/tokens","headers":{"BT-API-KEY":"k"},"body":"{\"type\":\"token\",\"data\":{\"aB\":1},\"expires_at\":\"later\"}"}
//: request {"method":"POST","url":"https://vault.internal/detokenize","body":"{\"cardNumber\":\"{{ t1 }}\"}"}
//: request {"method":"GET","url":"https://vault.internal/tokens/none"}
//: request {"method":"GET","url":"https://vault.internal/reactors/r","headers":{"BT-API-KEY":"key_of_call"}}
//: request {"method":"GET","url":"https://other.test/reactors/r","headers":{"BT-TRACE-ID":"trace"}}
//: outcome {"kind":"returned","value":[{"id":"t1","tenantId":"x","data":{"a_b":1}},{"card_number":"4"},[404,{"title":"Not Found","status":404},true],200,{"id":"r"}]}
const { BasisTheoryClient, BasisTheory, BasisTheoryEnvironment } = require('@basis-theory/node-sdk');
module.exports = async ({ applicationOptions }) => {
  const client = new BasisTheoryClient({ apiKey: 'k' });
  const failed = async () => {
    try {
      return await client.tokens.get('none');
    } catch (error) {
      return [error.statusCode, error.body, error instanceof BasisTheory.NotFoundError];
    }
  };
  const own = new BasisTheoryClient({
    apiKey: applicationOptions.apiKey, environment: BasisTheoryEnvironment.Default,
  });
  const other = new BasisTheoryClient({ apiKey: () => 'k', baseUrl: 'https://other.test/', correlationId: 'trace' });
  return [
    await client.tokens.create({ type: 'token', data: { aB: 1 }, expiresAt: 'later' }),
    await client.tokens.detokenize({ cardNumber: '{{ t1 }}' }),
    await failed(),
    (await own.reactors.get('r').withRawResponse()).rawResponse.status,
    await other.reactors.get('r'),
  ];
};
