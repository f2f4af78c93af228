//: about A synchronous function that is assigned, then assigned again.
//: argument {"args":{"number":"4242424242424242"},"configuration":{"HOST":"a"}}
//: outcome {"kind":"returned","value":{"raw":{"last4":"4242","host":"a","hasBt":true}}}
module.exports = null;
module.exports = function (req) {
  const { args, configuration, bt } = req;
  return { raw: { last4: args.number.slice(-4), host: configuration.HOST, hasBt: bt !== null } };
};
