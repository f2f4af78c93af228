// Development vaults, and requests to them as a shop's server sends them.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { within } from './wait.js';

/** Starts `strongroom dev` on a free port. `options` are further arguments of the command. */
export const startVault = async (options = []) => {
  const work = await mkdtemp(join(tmpdir(), 'strongroom-browser-'));
  const log = await open(join(work, 'log'), 'w');
  const fixed = ['dev', '--data', join(work, 'vault'), '--listen', '127.0.0.1:0', '--json', '--rate-limits', 'off'];
  const child = spawn(process.env.PROGRAM, [...fixed, ...options], { stdio: ['ignore', 'pipe', log.fd] });
  const ended = new Promise((done) => {
    child.once('exit', done);
    child.once('error', done);
  });
  const stop = async () => {
    child.kill();
    await within('the end of the vault', ended);
    await log.close();
    await rm(work, { recursive: true, force: true });
  };
  const firstLine = new Promise((done, refuse) => {
    createInterface(child.stdout).once('line', done);
    ended.then(() => refuse(new Error('The vault ended before it was ready.')));
  });
  try {
    const ready = JSON.parse(await within('the start of the vault', firstLine));
    return { ...ready, ca: readFileSync(ready.ca), directory: dirname(ready.ca), stop };
  } catch (error) {
    console.error(await readFile(join(work, 'log'), 'utf8'));
    await stop();
    throw error;
  }
};

/** Sends a request. `key` is `private`, `public`, `management`, or a key itself; `null` for none. */
export const ask = (vault, method, path, body, key = 'private') => {
  const headers = { 'Content-Type': 'application/json' };
  if (key !== null) headers['BT-API-KEY'] = vault.keys[key] ?? key;
  const answered = new Promise((resolve, reject) => {
    const sent = request(vault.url + path, { method, ca: vault.ca, headers }, (answer) => {
      const parts = [];
      answer.on('data', (part) => parts.push(part));
      answer.on('error', reject);
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString();
        const isJson = /json/.test(answer.headers['content-type'] ?? '');
        const parsed = isJson && text !== '' ? JSON.parse(text) : text;
        resolve({ status: answer.statusCode, headers: answer.headers, body: parsed });
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
  return within(`the answer to ${method} ${path}`, answered);
};
