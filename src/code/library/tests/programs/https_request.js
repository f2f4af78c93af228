//: answer {"status":201,"headers":{"X-One":"1","content-type":"text/plain"},"body":"h\u00e9llo"}
//: request {"method":"POST","url":"https://a.test:8443/p?q=1","headers":{"Content-Length":"3","X-A":"b"},"body":"abc"}
//: outcome {"kind":"returned","value":[201,"Created","1","h\u00e9llo"]}
const https = require('https');
module.exports = () => new Promise((resolve, reject) => {
  const request = https.request({
    hostname: 'a.test', port: 8443, path: '/p?q=1', method: 'POST', headers: { 'Content-Length': 3, 'X-A': 'b' },
  }, (response) => {
    let body = '';
    response.setEncoding('utf8');
    response.on('data', (piece) => { body += piece; });
    response.on('end', () => resolve([response.statusCode, response.statusMessage, response.headers['x-one'], body]));
  });
  request.on('error', reject);
  request.write('ab');
  request.end('c');
});
