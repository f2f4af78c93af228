// Programs with the published package for phones, in Node: the package is whole and unchanged, and a few
// lines stand for the phone. A phone has no origin and no frames; its fields are those of the app.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from './browser.js';

const RUN_MS_MAX = 60_000;

/** Runs a program in JSX whose last line of output is JSON, and trusts the certificate of the vault. */
export const runPhone = async (vault, program) => {
  const work = await mkdtemp(join(tmpdir(), 'strongroom-phone-'));
  try {
    const [script, ca] = [join(work, 'app.cjs'), join(work, 'ca.pem')];
    await writeFile(script, await bundle(program, { isPhone: true }));
    await writeFile(ca, vault.ca);
    const env = { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: ca };
    const { stdout } = await promisify(execFile)(process.execPath, [script], { env, timeout: RUN_MS_MAX });
    return JSON.parse(stdout.trim().split('\n').at(-1));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
};
