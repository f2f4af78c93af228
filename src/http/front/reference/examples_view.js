// The examples of an operation: one tab a language, and a choice where the document has several.

import { codeBlock, make, newId } from './dom.js';
import { LANGUAGES, isProgram, packageOf, printedRequest } from './examples.js';
import { tabs } from './tabs.js';

/** The language that the reader chose last, for the operations that come after. */
let language = 'curl';

const VARIABLES = {
  CA: 'the path of the CA file',
  KEY: 'a private key',
  MANAGEMENT_KEY: 'a management key',
  PUBLIC_KEY: 'a public key',
  ID: 'the id of a token',
  KEY_ID: 'the id of a key',
  NONCE: 'the nonce of a new session',
  PSP_URL: 'the address of your payment provider',
};


export function examplesPanel(operation) {
  if (!isProgram(operation)) return null;
  const examples = operation.body?.contents[0]?.examples ?? [];
  const holder = make('div');
  const show = (name) => {
    const request = printedRequest(operation, name);
    const entries = LANGUAGES.map(({ id, title, write }) => {
      const code = write(request, location.origin);
      return { id, title, panel: make('div', null, codeBlock(code, `${title} example`, id), note(id, code, operation)) };
    });
    holder.replaceChildren(tabs('Language of the example', entries, language, (id) => { language = id; }));
  };
  show(examples[0]?.name);
  return make('section', { class: 'panel example', 'aria-labelledby': 'examples-title' },
    make('h2', { id: 'examples-title' }, 'Example'),
    examples.length > 1 ? chooser(examples, show) : null,
    holder);
}

/** The variables that the code reads, and the package that it needs. */
function note(id, code, operation) {
  const used = Object.entries(VARIABLES).filter(([name]) => new RegExp(`[$."]${name}\\b`).test(code));
  const texts = operation.path.includes('{id}') ? { ID: 'the id in the path' } : {};
  const meaning = ([name, text], at) => [at === 0 ? '' : ', ', make('code', null, name), ` is ${texts[name] ?? text}`];
  const needed = packageOf(id, code);
  if (used.length === 0 && needed === null) return null;
  return make('p', { class: 'quiet small' }, used.length > 0 ? [used.map(meaning), '. '] : null,
    needed === null ? null : ['It needs ', make('code', null, needed), '.']);
}

function chooser(examples, show) {
  const id = newId('example');
  const select = make('select', { id }, examples.map((it) => make('option', { value: it.name }, it.summary)));
  select.addEventListener('change', () => show(select.value));
  return make('p', { class: 'field' }, make('label', { for: id }, 'Request'), select);
}
