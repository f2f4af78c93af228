// Another host with HTTPS, with a record of all that browsers sent to it. It repeats every request.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { within } from './wait.js';

/** The answer by the path of the request: `/refuse` and `/redirect`, which leads to `elsewhere`. */
const answerOf = ({ url, text }, elsewhere) => {
  if (url === '/redirect') return { status: 307, headers: { Location: elsewhere }, body: {} };
  const sent = text === '' ? null : JSON.parse(text);
  return { status: url === '/refuse' ? 402 : 200, headers: {}, body: { sent, text, [text.slice(0, 40)]: 1, list: [sent], paid: true } };
};

/** `vault` lends its certificate, and pages of `allow` may read the answers. */
export const startHost = async (vault, { allow = '*', elsewhere = '' } = {}) => {
  const requests = [];
  const files = { cert: readFileSync(join(vault.directory, 'certificate.pem')), key: readFileSync(join(vault.directory, 'certificate.key')) };
  const server = createServer(files, (asked, answer) => {
    const parts = [];
    asked.on('data', (part) => parts.push(part));
    asked.on('end', () => {
      const { method, url, headers } = asked;
      const text = Buffer.concat(parts).toString();
      answer.setHeader('Access-Control-Allow-Origin', allow);
      answer.setHeader('Access-Control-Allow-Headers', 'content-type, authorization, x-order');
      answer.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
      if (method === 'OPTIONS') {
        answer.statusCode = 204;
        answer.end();
        return;
      }
      requests.push({ method, url, headers, text });
      const { status, headers: own, body } = answerOf({ url, text }, elsewhere);
      answer.writeHead(status, { 'Content-Type': 'application/json', ...own });
      answer.end(JSON.stringify(body));
    });
  });
  await within('the host', new Promise((done) => server.listen(0, '127.0.0.1', done)));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  return { host: `127.0.0.1:${server.address().port}`, requests, stop };
};
