// Literals of the languages that examples are written in. A value of an example may have any
// character, so each function must return text that the language reads back as exactly that value.

/** A place in a value that each language fills with a variable of the reader's shell. */
export const variable = (name) => `\ue000${name}\ue001`;
const VARIABLE = /\ue000(\w+)\ue001/;

/** The text as a shell sees it, with variables. */
export const expanded = (text) => text.replace(new RegExp(VARIABLE, 'g'), '$$$1');

/** The text of a here-document, in which a shell fills in the variables. */
export const heredoc = (text) => expanded(text.replace(/[\\`]|\$(?=[\w({])/g, '\\$&'));

/** A word of a POSIX shell. Inside of single quotes only the single quote has a meaning. */
export function shell(text) {
  if (VARIABLE.test(text)) return `"${expanded(text.replace(/["\\`$]/g, '\\$&'))}"`;
  if (text !== '' && /^[\w@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** A JavaScript expression for a JSON value. */
export function javascript(value, indent = '') {
  return literal(value, indent, { name: javascriptName, word: (it) => String(it), variable: (it) => `process.env.${it}` });
}

/** A Python expression for a JSON value. */
export function python(value, indent = '') {
  const words = new Map([[null, 'None'], [true, 'True'], [false, 'False']]);
  return literal(value, indent, { name: text, word: (it) => words.get(it), indent: '    ', variable: (it) => `os.environ["${it}"]` });
}

/** Both languages read the escapes of JSON. The separators U+2028 and U+2029 would end a line. */
function text(value) {
  const escaped = (it) => `\\u${it.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped);
}

function textWithVariables(value, language) {
  const parts = value.split(VARIABLE).map((it, at) => (at % 2 === 0 ? it && text(it) : language.variable(it)));
  return parts.filter((it) => it !== '').join(' + ') || text('');
}

function javascriptName(name) {
  // As a plain name it would set the prototype of the object.
  if (name === '__proto__') return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : text(name);
}

function literal(value, indent, language) {
  if (typeof value === 'string') return textWithVariables(value, language);
  if (typeof value === 'number') return String(value);
  if (value === null || typeof value === 'boolean') return language.word(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const inner = indent + (language.indent ?? '  ');
  const parts = Array.isArray(value)
    ? value.map((it) => literal(it, inner, language))
    : Object.entries(value).map(([name, it]) => `${language.name(name)}: ${literal(it, inner, language)}`);
  if (parts.length === 0) return open + close;
  const short = open + (open === '{' && language.indent === undefined ? ` ${parts.join(', ')} ` : parts.join(', ')) + close;
  if (short.length + indent.length <= 72 && !short.includes('\n')) return short;
  return `${open}\n${parts.map((it) => `${inner}${it},\n`).join('')}${indent}${close}`;
}
