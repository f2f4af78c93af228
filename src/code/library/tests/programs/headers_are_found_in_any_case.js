//: argument {"args":{"headers":{"content-type":"a","BT-TRACE-ID":"t","X-Gone":"x"}}}
//: outcome {"kind":"returned","value":[["content-type","BT-TRACE-ID"],"a","t",true,false,true,{"content-type":"b","BT-TRACE-ID":"t"},{"content-type":"b","BT-TRACE-ID":"t"}]}
module.exports = ({ args: { headers } }) => {
  delete headers['x-gone'];
  const names = Object.keys(headers);
  const seen = [names, headers['Content-Type'], headers['bt-trace-id'], 'CONTENT-TYPE' in headers,
    'x-gone' in headers, Object.prototype.hasOwnProperty.call(headers, 'Content-Type')];
  headers['Content-Type'] = 'b';
  return [...seen, { ...headers }, JSON.parse(JSON.stringify(headers))];
};
