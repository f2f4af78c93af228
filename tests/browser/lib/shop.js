// A shop: a small server of another origin, with a record of all that browsers sent to it.
import { createServer } from 'node:http';
import { within } from './wait.js';

/**
 * Serves `html` at `/`, and each member of `files` ({ '/path': { type, text } }) beside it. `origin`
 * is `http://NAME.localhost`, which browsers take for a secure place; the port is added.
 * `requests` of the result has method, URL, headers and body of every request.
 */
export const startShop = async (html, { origin = 'http://shop.localhost', files = {}, headers = {} } = {}) => {
  const requests = [];
  const server = createServer((asked, answer) => {
    const parts = [];
    asked.on('data', (part) => parts.push(part));
    asked.on('end', () => {
      const { method, url, headers: sent } = asked;
      requests.push({ method, url, headers: sent, body: Buffer.concat(parts).toString() });
      const path = url.split('?')[0];
      const found = path === '/' ? { type: 'text/html; charset=utf-8', text: html } : files[path];
      answer.statusCode = found ? 200 : path === '/favicon.ico' ? 204 : 404;
      for (const [name, value] of Object.entries(headers)) answer.setHeader(name, value);
      if (found) answer.setHeader('Content-Type', found.type);
      answer.end(found?.text);
    });
  });
  await within('the shop', new Promise((done) => server.listen(0, '127.0.0.1', done)));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { origin: `${origin}:${server.address().port}`, requests, stop };
};
