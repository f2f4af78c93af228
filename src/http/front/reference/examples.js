// A request of an operation as code for curl, Python and Node. Keys, ids and the CA file are
// variables of the reader's shell: code that is copied must not carry a key.

import { CLIENT_METHODS } from './clients.js';
import { expanded, heredoc, javascript, python, shell, variable } from './quoting.js';

export const LANGUAGES = [
  { id: 'curl', title: 'curl', write: curl },
  { id: 'python', title: 'Python', write: pythonCode },
  { id: 'node', title: 'Node', write: node },
];

const KEYS = { private: 'KEY', public: 'PUBLIC_KEY', management: 'MANAGEMENT_KEY' };

/** Values of the document's examples that a reader has in a variable. */
const VARIABLES = [
  [/01a1dd38-4eda-4df5-855c-ecae962e987a/g, 'ID'],
  [/VHCu87x3hRnXCQ4jDAAQWn/g, 'NONCE'],
  [/^https:\/\/psp\.example$/, 'PSP_URL'],
];

/** Variables for the parameters of a path. */
const PATH_VARIABLES = { id: 'ID', key: 'KEY_ID' };

/** The packages that examples import, and how a reader gets each. */
const PACKAGES = [
  ['python', 'from basis_theory ', 'pip install BasisTheoryClient'],
  ['python', 'import httpx', 'pip install httpx'],
  ['node', '"@basis-theory/node-sdk"', 'npm install @basis-theory/node-sdk'],
];

/** The command that installs the package which the code imports, or `null`. */
export const packageOf = (language, code) =>
  PACKAGES.find(([of, text]) => of === language && code.includes(text))?.[2] ?? null;

/** False for a form that only browsers post: its examples would need a transaction that is under way. */
export const isProgram = (operation) => !operation.body?.contents[0]?.type.includes('form');

/** The request that the document's examples describe: the values by place and name, and the body. */
export function exampleRequest(operation, exampleName) {
  const values = { path: {}, query: {}, header: {} };
  for (const parameter of operation.parameters) {
    const isShown = parameter.isRequired || (parameter.example !== undefined && parameter.place !== 'query');
    if (isShown && values[parameter.place]) {
      values[parameter.place][parameter.name] = String(parameter.example ?? parameter.name.toUpperCase());
    }
  }
  const content = operation.body?.contents[0];
  const example = content?.examples.find((it) => it.name === exampleName) ?? content?.examples[0];
  const hasBody = content !== undefined && (example !== undefined || operation.body.isRequired);
  return {
    id: operation.id,
    method: operation.method,
    path: filledPath(operation.path, values.path),
    pathValues: Object.values(values.path),
    query: Object.entries(values.query),
    headers: Object.entries(values.header),
    key: KEYS[operation.key] ?? null,
    type: hasBody ? content.type : null,
    body: hasBody ? example?.value ?? {} : undefined,
  };
}

/** The same request with variables in place of the values that each reader has others of. */
export function printedRequest(operation, exampleName) {
  const named = (parameter) => (parameter.place === 'path' && PATH_VARIABLES[parameter.name]
    ? { ...parameter, example: variable(PATH_VARIABLES[parameter.name]) } : parameter);
  const request = exampleRequest({ ...operation, parameters: operation.parameters.map(named) }, exampleName);
  return { ...request, headers: marked(request.headers), body: marked(request.body) };
}

function marked(value) {
  if (typeof value === 'string') return VARIABLES.reduce((text, [found, name]) => text.replace(found, variable(name)), value);
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member)]));
}

/** A path with its parameters in place, each as one segment, except for the path below a proxy. */
export function filledPath(path, values) {
  return path.replace(/\{([^}]+)\}/g, (whole, name) => {
    if (!Object.hasOwn(values, name)) return whole;
    if (values[name] === variable(PATH_VARIABLES[name])) return values[name];
    const segments = isWildcard(path, name) ? values[name].replace(/^\/+/, '').split('/') : [values[name]];
    return segments.map(encodeURIComponent).join('/');
  });
}

/** True for a parameter that stands for the whole rest of the path. */
export const isWildcard = (path, name) => name === 'path' && path.endsWith('/{path}');

/** The path and the query. */
export function targetOf(request) {
  const query = request.query.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  return query ? `${request.path}?${query}` : request.path;
}

/**
 * The seconds that a program waits. A call through a proxy may take 25 seconds, and a program that gives up earlier
 * does not learn whether the destination acted. `httpx` alone would wait 5 seconds.
 */
const TIMEOUT_S = 30;

const isJson = (type) => /[/+]json\b/.test(type ?? '');

/** The body as it is sent. */
export function bodyText(request, space) {
  if (request.body === undefined) return undefined;
  return isJson(request.type) || typeof request.body !== 'string' ? JSON.stringify(request.body, null, space) : request.body;
}

export function curl(request, origin) {
  const words = ['curl --cacert "$CA"', shell(origin + targetOf(request))];
  const isImplied = request.body === undefined ? request.method === 'GET' : request.method === 'POST';
  if (request.method === 'HEAD') words.push('--head');
  else if (!isImplied) words.push(`-X ${request.method}`);
  if (request.key) words.push(`-H "BT-API-KEY: $${request.key}"`);
  for (const [name, value] of request.headers) words.push(`-H ${shell(`${name}: ${value}`)}`);
  if (request.body !== undefined) {
    words.push(`-H ${shell(`Content-Type: ${request.type}`)}`);
    const text = bodyText(request, 2);
    // With --data, a text that begins with @ would name a file.
    words.push(expanded(text) === text ? `--data-raw ${shell(text)}` : `--data-binary @- <<END\n${heredoc(text)}\nEND`);
  }
  return words.join(' \\\n  ');
}

export function pythonCode(request, origin) {
  const method = CLIENT_METHODS[request.id]?.python;
  const start = '# Start it with: SSL_CERT_FILE="$CA" python3 example.py';
  const key = request.key ? `os.environ["${request.key}"]` : null;
  if (method) {
    const named = [...request.query, ...(isWhole(request) ? [['request', request.body]] : Object.entries(request.body ?? {}))];
    const lines = [...request.pathValues.map((it) => python(it)), ...named.map(([name, value]) => `${name}=${python(value, '    ')}`)];
    return [start, 'import os', '', 'from basis_theory import BasisTheory', '',
      `vault = BasisTheory(base_url=${python(origin)}, api_key=${key})`,
      `answer = vault.${method}(${called(lines, '    ')})`, 'print(answer)'].join('\n');
  }
  const headers = request.headers.map(([name, value]) => `${python(name)}: ${python(value)}`);
  if (key) headers.unshift(`"BT-API-KEY": ${key}`);
  const lines = [python(request.method), python(origin + targetOf(request))];
  if (request.body !== undefined && request.type !== 'application/json') headers.push(`"Content-Type": ${python(request.type)}`);
  if (headers.length > 0) lines.push(`headers={${headers.join(', ')}}`);
  if (request.body !== undefined) {
    lines.push(isJson(request.type) ? `json=${python(request.body, '    ')}` : `content=${python(bodyText(request))}`);
  }
  lines.push(`timeout=${TIMEOUT_S}`);
  const call = `answer = httpx.request(${called(lines, '    ')})`;
  return [start, ...(call.includes('os.environ') ? ['import os', ''] : []), 'import httpx', '', call,
    'print(answer.status_code, answer.text)'].join('\n');
}

export function node(request, origin) {
  const method = CLIENT_METHODS[request.id]?.node;
  const start = '// Start it with: NODE_EXTRA_CA_CERTS="$CA" node example.mjs';
  const key = request.key ? `process.env.${request.key}` : null;
  if (method) {
    const named = isWhole(request) ? request.body : camel({ ...Object.fromEntries(request.query), ...request.body });
    const hasNamed = request.query.length > 0 || request.body !== undefined;
    const inputs = [...request.pathValues.map((it) => javascript(it)), ...(hasNamed ? [javascript(named)] : [])];
    return [start, 'import { BasisTheoryClient } from "@basis-theory/node-sdk";', '',
      `const vault = new BasisTheoryClient({ baseUrl: ${javascript(origin)}, apiKey: ${key} });`,
      `const answer = await vault.${method}(${inputs.join(', ')});`, 'console.log(answer);'].join('\n');
  }
  const headers = request.headers.map(([name, value]) => `${javascript(name)}: ${javascript(value)}`);
  if (key) headers.unshift(`"BT-API-KEY": ${key}`);
  if (request.body !== undefined) headers.push(`"Content-Type": ${javascript(request.type)}`);
  const lines = [];
  if (request.method !== 'GET') lines.push(`method: ${javascript(request.method)}`);
  if (headers.length > 0) lines.push(`headers: { ${headers.join(', ')} }`);
  if (request.body !== undefined) {
    lines.push(isJson(request.type) ? `body: JSON.stringify(${javascript(request.body, '  ')})` : `body: ${javascript(bodyText(request))}`);
  }
  const options = lines.length > 0 ? `, {${called(lines, '  ')}}` : '';
  return [start, `const answer = await fetch(${javascript(origin + targetOf(request))}${options});`,
    'console.log(answer.status, await answer.text());'].join('\n');
}

const called = (lines, indent) => (lines.length > 0 ? `\n${lines.map((it) => `${indent}${it},\n`).join('')}` : '');

/** Bodies of these are any JSON, which the clients take as one value. */
const isWhole = (request) => ['Tokenize', 'Detokenize'].includes(request.id);

/** The Node client has its own spelling for members of the interface, and none inside of these. */
const FREE = new Set(['data', 'metadata', 'configuration', 'settings']);

function camel(value) {
  if (Array.isArray(value)) return value.map(camel);
  if (typeof value !== 'object' || value === null) return value;
  const name = (text) => text.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [name(key), FREE.has(key) ? member : camel(member)]));
}
