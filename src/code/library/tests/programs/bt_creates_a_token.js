//: argument {"args":{"card":{"number":"4242424242424242","expiration_month":12}}}
//: answer {"status":201,"body":{"id":"t1","tenant_id":"x","type":"card","metadata":{"some_key":"v"},"data":{"expiration_month":12},"fingerprint_expression":"{{ data.number }}"}}
//: request {"method":"POST","url":"https://vault.internal/tokens","headers":{"BT-API-KEY":"key_of_call","Content-Type":"application/json"},"body":"{\"type\":\"card\",\"data\":{\"number\":\"4242424242424242\",\"expiration_month\":12},\"fingerprint_expression\":\"{{ data.number }}\",\"deduplicate_token\":true,\"metadata\":{\"someKey\":\"v\"}}"}
//: outcome {"kind":"returned","value":{"raw":{"id":"t1","tenantId":"x","type":"card","metadata":{"some_key":"v"},"data":{"expiration_month":12},"fingerprintExpression":"{{ data.number }}"}}}
module.exports = async ({ args, bt }) => {
  const token = await bt.tokens.create({
    type: 'card', data: args.card, fingerprintExpression: '{{ data.number }}', deduplicateToken: true,
    metadata: { someKey: 'v' },
  });
  return { raw: token };
};
