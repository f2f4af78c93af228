// Runs examples in one process, each with its variables, and prints how each ended. The directory of
// the file with the jobs has the packages.
//
// Usage: run.mjs JOBS, a file with a list of {"variables", "code"}.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { pathToFileURL } from 'node:url';

const jobs = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const ends = [];
for (const [at, { variables, code }] of jobs.entries()) {
  Object.assign(process.env, variables);
  let out = '';
  console.log = (...values) => { out += `${values.map((it) => (typeof it === 'string' ? it : inspect(it))).join(' ')}\n`; };
  const file = join(dirname(process.argv[2]), `example-${at}.mjs`);
  writeFileSync(file, code);
  try {
    await import(pathToFileURL(file));
    ends.push({ ok: true, out });
  } catch (error) {
    ends.push({ ok: false, out: inspect(error).slice(0, 600) });
  }
}
process.stdout.write(JSON.stringify(ends));
