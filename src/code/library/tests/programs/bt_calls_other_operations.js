//: answer {"body":{"id":"t1","data":"d"}}
//: answer {"body":{"pagination":{"total_items":1,"page_size":2},"data":[{"id":"t1","created_at":"now"}]}}
//: answer {"status":200,"body":{"id":"t1"}}
//: answer {"status":204,"headers":{}}
//: answer {"body":{"card_number":"t2"}}
//: answer {"body":{"ok_flag":true}}
//: answer {"body":{"raw":{"a_b":1}}}
//: request {"method":"GET","url":"https://vault.internal/tokens/t%2F1"}
//: request {"method":"GET","url":"https://vault.internal/tokens?id=a&id=b&size=2"}
//: request {"method":"PATCH","url":"https://vault.internal/tokens/t1","headers":{"content-type":"application/merge-patch+json"},"body":"{\"data\":{\"aB\":1}}"}
//: request {"method":"DELETE","url":"https://vault.internal/tokens/t1"}
//: request {"method":"POST","url":"https://vault.internal/tokenize","body":"{\"cardNumber\":{\"type\":\"token\",\"data\":1}}"}
//: request {"method":"POST","url":"https://vault.internal/proxy/pay?q=1","headers":{"BT-PROXY-URL":"https://psp.test"},"body":"{\"cardNumber\":1}"}
//: request {"method":"POST","url":"https://vault.internal/reactors/r1/react","body":"{\"args\":{\"aB\":1}}"}
//: outcome {"kind":"returned","value":[{"id":"t1","data":"d"},{"pagination":{"totalItems":1,"pageSize":2},"data":[{"id":"t1","createdAt":"now"}]},{"id":"t1"},null,{"card_number":"t2"},{"ok_flag":true},{"raw":{"a_b":1}}]}
module.exports = async ({ bt }) => [
  await bt.tokens.retrieve('t/1'),
  await bt.tokens.list({ id: ['a', 'b'], size: 2 }),
  await bt.tokens.update('t1', { data: { aB: 1 } }),
  await bt.tokens.delete('t1'),
  await bt.tokenize({ cardNumber: { type: 'token', data: 1 } }),
  await bt.proxy.post({
    path: 'pay', query: { q: 1 }, headers: { 'BT-PROXY-URL': 'https://psp.test' }, body: { cardNumber: 1 },
  }),
  await bt.reactors.react('r1', { args: { aB: 1 } }),
];
