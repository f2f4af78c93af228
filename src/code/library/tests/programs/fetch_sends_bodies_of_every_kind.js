//: answer {}
//: answer {}
//: answer {}
//: answer {"error":"connection refused"}
//: request {"method":"POST","url":"https://a.test/","headers":{"content-type":"application/x-www-form-urlencoded;charset=UTF-8"},"body":"a=1"}
//: request {"method":"POST","url":"https://a.test/","body":"\u0001\u0002"}
//: request {"method":"POST","url":"https://a.test/","headers":{"content-type":"multipart/form-data; boundary=----formdata-141a9a66628f145b7b72a25d"},"body":"------formdata-141a9a66628f145b7b72a25d\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\nx\r\n------formdata-141a9a66628f145b7b72a25d--\r\n"}
//: request {"method":"GET","url":"https://a.test/"}
//: outcome {"kind":"returned","value":["TypeError","fetch failed: connection refused"]}
module.exports = async () => {
  const post = (body) => fetch('https://a.test/', { method: 'POST', body });
  await post(new URLSearchParams({ a: 1 }));
  await post(Buffer.from([1, 2]));
  const form = new FormData();
  form.append('file', new Blob(['x'], { type: 'text/plain' }), 'f.txt');
  await post(form);
  return fetch('https://a.test/#frag').catch((error) => [error.name, error.message]);
};
