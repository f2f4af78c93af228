// Prints every example of the reference as JSON: operation, name, language and code.
//
// Usage: print.mjs DOCUMENT ORIGIN
import { readFileSync } from 'node:fs';
import { LANGUAGES, isProgram, printedRequest } from '../../../src/http/front/reference/examples.js';
import { readDocument } from '../../../src/http/front/reference/model.js';

const [document, origin] = process.argv.slice(2);
const printed = [];
for (const operation of readDocument(JSON.parse(readFileSync(document, 'utf8'))).operations.values()) {
  if (!isProgram(operation)) continue;
  const names = operation.body?.contents[0]?.examples.map((it) => it.name) ?? [];
  for (const name of names.length > 0 ? names : [null]) {
    const request = printedRequest(operation, name);
    for (const { id, write } of LANGUAGES) {
      const { path, method } = operation;
      printed.push({ path, method: method.toLowerCase(), name: name ?? '', language: id, code: write(request, origin) });
    }
  }
}
process.stdout.write(JSON.stringify(printed));
