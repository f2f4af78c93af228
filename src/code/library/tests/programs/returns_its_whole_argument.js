//: about Functions are dropped, circles are cut, and the key is not in it.
//: argument {"args":{"a":1},"configuration":{"SECRET":"s"}}
//: outcome {"kind":"returned","value":{"args":{"a":1,"self":"[Circular]"},"configuration":{"SECRET":"s"},"applicationOptions":{"environment":"https://vault.internal","baseUrl":"https://vault.internal"},"work":{}}}
module.exports = async function (context) {
  context.args.self = context.args;
  context.work = { run() {} };
  return context;
};
