//: answer {"status":302,"headers":{"location":"/b"}}
//: answer {"status":307,"headers":{"location":"https://other.test/c"}}
//: answer {"headers":{"content-type":"text/plain","set-cookie":"a=1"},"body":"done"}
//: request {"method":"POST","url":"https://a.test/a","headers":{"authorization":"s"},"body":"x"}
//: request {"method":"GET","url":"https://a.test/b","headers":{"authorization":"s"}}
//: request {"method":"GET","url":"https://other.test/c","headers":{"accept":"*/*"}}
//: outcome {"kind":"returned","value":["done",true,"https://other.test/c",["a=1"],false]}
module.exports = async () => {
  const response = await fetch('https://a.test/a', { method: 'POST', body: 'x', headers: { Authorization: 's' } });
  return [await response.text(), response.redirected, response.url, response.headers.getSetCookie(),
    response.headers.has('authorization')];
};
