//: about A request transform: the body goes out byte for byte as it was signed.
//: argument {"args":{"body":{"amount":100,"card":"4242"},"headers":{"Content-Type":"application/json","authorization":"old"},"method":"POST","path":"/pay","query":""},"configuration":{"KEY":"secret"}}
//: outcome {"kind":"returned","value":{"body":"{\"amount\":100,\"card\":\"4242\"}","headers":{"Content-Type":"application/json","authorization":"new","X-Signature":"aaa8e7788169d7a4b733ed45d6ad4abb5224d6b2c0ff4278da5b6f94f4bca629"}}}
const crypto = require('crypto');
module.exports = async ({ args: { body, headers }, configuration }) => {
  const text = JSON.stringify(body);
  headers.Authorization = 'new';
  return {
    body: text,
    headers: { ...headers, 'X-Signature': crypto.createHmac('sha256', configuration.KEY).update(text).digest('hex') },
  };
};
