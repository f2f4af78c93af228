//: contract node
//: argument {"req":{"body":"text"}}
//: outcome {"kind":"returned","value":{"req":{"body":"text"},"configuration":{},"applicationOptions":{"baseUrl":"https://vault.internal"}}}
module.exports = (event) => event;
