// Scripts of pages, for unit tests. Node reads a file as a module only below a package that says so,
// and the sources of the program have none: so the folder is copied to where there is one.
import { rmSync } from 'node:fs';
import { cp, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** A function that imports scripts of a folder below `src/http/front`, by their names. */
export const modulesOf = async (folder) => {
  const work = await mkdtemp(join(tmpdir(), 'strongroom-scripts-'));
  process.once('exit', () => rmSync(work, { recursive: true, force: true }));
  const sources = fileURLToPath(new URL(`../../../src/http/front/${folder}`, import.meta.url));
  await cp(sources, work, { recursive: true });
  await writeFile(join(work, 'package.json'), '{"type":"module"}');
  return (name) => import(pathToFileURL(join(work, name)).href);
};
