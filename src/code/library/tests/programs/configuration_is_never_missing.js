//: key null
//: argument {"args":[1,2]}
//: outcome {"kind":"returned","value":{"raw":{"configuration":{},"bt":null,"args":[1,2],"options":{"environment":"https://vault.internal","baseUrl":"https://vault.internal"}}}}
module.exports = ({ args, configuration, bt, applicationOptions }) => (
  { raw: { configuration, bt, args, options: applicationOptions } });
