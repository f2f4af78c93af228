//: answer {"status":404,"headers":{"Content-Type":"application/json","X-Id":"7"},"body":{"why":"none"}}
//: answer {"body":"[1]"}
//: answer {"error":"the address is not public"}
//: request {"method":"GET","url":"https://api.test/v1/items?a=1&b%5B%5D=2&b%5B%5D=3&c=x+y","headers":{"X-Key":"k","X-Added":"yes","Accept":"application/json, text/plain, */*"}}
//: request {"method":"PUT","url":"https://api.test/v1/form","headers":{"content-type":"application/x-www-form-urlencoded"},"body":"a=1&b%5Bc%5D=2"}
//: request {"method":"GET","url":"https://10.0.0.1/"}
//: outcome {"kind":"returned","value":[["ERR_BAD_REQUEST",404,{"why":"none"},"7","Request failed with status code 404"],[1],["ERR_NETWORK","the address is not public",true]]}
const axios = require('axios').default;
module.exports = async () => {
  const client = axios.create({ baseURL: 'https://api.test/v1/', headers: { 'X-Key': 'k' } });
  client.interceptors.request.use((config) => { config.headers['X-Added'] = 'yes'; return config; });
  client.interceptors.response.use((response) => response.data, (error) => Promise.reject(error));
  const first = await client.get('/items', { params: { a: 1, b: [2, 3], c: 'x y' } }).catch((error) => [
    error.code, error.response.status, error.response.data, error.response.headers['x-id'], error.message,
  ]);
  const second = await client({
    method: 'PUT', url: 'form', data: { a: 1, b: { c: 2 } },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  const third = await axios('https://10.0.0.1/').catch((error) => [error.code, error.message, error.response === undefined]);
  return [first, second, third];
};
