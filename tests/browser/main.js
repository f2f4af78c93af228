// Runs the scenarios, all or those that the arguments name, one after the other against one
// development vault. A scenario is a file of `scenarios/` that exports `name` and `run(harness)`.
import { readdir } from 'node:fs/promises';
import { harness } from './harness.js';
import { isFirefox, launch } from './lib/browser.js';
import { startVault } from './lib/vault.js';
import { within } from './lib/wait.js';

/** A scenario that takes longer hangs in a place that has no deadline of its own. */
const SCENARIO_MS = 10 * 60_000;

const load = async (wanted) => {
  const folder = new URL('./scenarios/', import.meta.url);
  const files = (await readdir(folder)).filter((file) => file.endsWith('.js')).sort();
  const scenarios = await Promise.all(files.map((file) => import(new URL(file, folder))));
  const unknown = wanted.filter((name) => !scenarios.some((it) => it.name === name));
  if (unknown.length > 0) throw new Error(`There is no scenario ${unknown.join(', ')}.`);
  const chosen = wanted.length === 0 ? scenarios : scenarios.filter((it) => wanted.includes(it.name));
  return isFirefox ? chosen.filter((it) => it.core).map(({ name, core }) => ({ name: `${name} in Firefox`, run: core })) : chosen;
};

const runOne = async (scenario, vault, browser) => {
  console.log(`scenario ${scenario.name}`);
  const h = harness(vault, browser, scenario.name);
  try {
    await within(`the scenario ${scenario.name}`, scenario.run(h.tools), SCENARIO_MS);
    await h.close();
    return true;
  } catch (error) {
    console.error(`FAILED: ${scenario.name}: ${error.stack}`);
    await h.abandon();
    return false;
  }
};

const scenarios = await load(process.argv.slice(2));
const vault = await startVault();
const browser = await launch();
const failed = [];
try {
  for (const scenario of scenarios) {
    if (!(await runOne(scenario, vault, browser))) failed.push(scenario.name);
  }
} finally {
  await browser.close();
  await vault.stop();
}
console.log(failed.length === 0 ? `${scenarios.length} scenarios passed.` : `Failed: ${failed.join(', ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;
