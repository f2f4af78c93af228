// The examples of an operation: one tab a language, and a choice where the document has several.

import { codeBlock, make, newId } from './dom.js';
import { LANGUAGES, exampleRequest } from './examples.js';
import { tabs } from './tabs.js';

/** The language that the reader chose last, for the operations that come after. */
let language = 'curl';

const NOTES = {
  curl: ['CA', ' is the path of the CA file and ', 'KEY', ' an API key.'],
  python: ['BasisTheoryClient', ' on PyPI is the published client for Python. It takes this address as ', 'base_url', '.'],
  node: ['@basis-theory/node-sdk', ' on npm is the published client for Node. It takes this address as ', 'baseUrl', '.'],
};

export function examplesPanel(operation) {
  const examples = operation.body?.contents[0]?.examples ?? [];
  const holder = make('div');
  const show = (name) => {
    const request = exampleRequest(operation, name);
    const entries = LANGUAGES.map(({ id, title, write }) => ({
      id,
      title,
      panel: make('div', null, codeBlock(write(request, location.origin), `${title} example`), note(id)),
    }));
    holder.replaceChildren(tabs('Language of the example', entries, language, (id) => { language = id; }));
  };
  show(examples[0]?.name);
  return make('section', { class: 'panel example', 'aria-labelledby': 'examples-title' },
    make('h2', { id: 'examples-title' }, 'Example'),
    examples.length > 1 ? chooser(examples, show) : null,
    holder);
}

/** Names of things are at the even places. */
const note = (id) => make('p', { class: 'quiet small' }, NOTES[id].map((it, at) => (at % 2 === 0 ? make('code', null, it) : it)));

function chooser(examples, show) {
  const id = newId('example');
  const select = make('select', { id }, examples.map((it) => make('option', { value: it.name }, it.summary)));
  select.addEventListener('change', () => show(select.value));
  return make('p', { class: 'field' }, make('label', { for: id }, 'Request'), select);
}
