//: argument {"args":{"customer":"c1"}}
//: answer {"body":{"iban":"DE00","name":"N"}}
//: request {"method":"GET","url":"https://bank.test/customers/c1"}
//: outcome {"kind":"returned","value":{"tokenize":{"iban":{"type":"bank","data":"DE00"}},"raw":{"name":"N"}}}
module.exports = async ({ args }) => {
  const { iban, name } = await (await fetch(`https://bank.test/customers/${args.customer}`)).json();
  return { tokenize: { iban: { type: 'bank', data: iban } }, raw: { name } };
};
