//: argument {"args":{"number":"4242","name":"A & B"},"configuration":{"URL":"https://soap.test/pay"}}
//: answer {"headers":{"content-type":"text/xml"},"body":"<e:Envelope><e:Body><Result><Code>00</Code><Id>77</Id></Result></e:Body></e:Envelope>"}
//: request {"method":"POST","url":"https://soap.test/pay","headers":{"content-type":"text/xml","SOAPAction":"Pay"},"body":"<Envelope><Body><Pay><Number>4242</Number><Name>A &amp; B</Name></Pay></Body></Envelope>"}
//: outcome {"kind":"returned","value":{"raw":{"code":"00","id":"77"}}}
const fetch = require('node-fetch');
const escape = (text) => String(text).replace(/[<>&'"]/g, (it) => `&${{ '<': 'lt', '>': 'gt', '&': 'amp', "'": 'apos', '"': 'quot' }[it]};`);
const element = (name, content) => `<${name}>${content}</${name}>`;
module.exports = async ({ args, configuration }) => {
  const pay = element('Pay', element('Number', escape(args.number)) + element('Name', escape(args.name)));
  const response = await fetch(configuration.URL, {
    method: 'POST',
    headers: { 'Content-Type': 'text/xml', SOAPAction: 'Pay' },
    body: element('Envelope', element('Body', pay)),
  });
  const xml = await response.text();
  const [, code] = /<Code>(.*?)<\/Code>/.exec(xml);
  return { raw: { code, id: xml.match(/<Id>(.*?)<\/Id>/)[1] } };
};
