// A request of an operation as code for curl, Python and Node. The key and the CA file are variables
// of the reader's shell: code that is copied must not carry a key.

import { javascript, python, shell } from './quoting.js';

export const LANGUAGES = [
  { id: 'curl', title: 'curl', write: curl },
  { id: 'python', title: 'Python', write: pythonCode },
  { id: 'node', title: 'Node', write: node },
];

/** The request that the document's examples describe: the values by place and name, and the body. */
export function exampleRequest(operation, exampleName) {
  const values = { path: {}, query: {}, header: {} };
  for (const parameter of operation.parameters) {
    const isShown = parameter.isRequired || (parameter.example !== undefined && parameter.place === 'path');
    if (isShown && values[parameter.place]) {
      values[parameter.place][parameter.name] = String(parameter.example ?? parameter.name.toUpperCase());
    }
  }
  const content = operation.body?.contents[0];
  const example = content?.examples.find((it) => it.name === exampleName) ?? content?.examples[0];
  const hasBody = content !== undefined && (example !== undefined || operation.body.isRequired);
  return {
    method: operation.method,
    path: filledPath(operation.path, values.path),
    query: Object.entries(values.query),
    headers: Object.entries(values.header),
    needsKey: operation.permissions !== null,
    type: hasBody ? content.type : null,
    body: hasBody ? example?.value ?? {} : undefined,
  };
}

/** A path with its parameters in place, each as one segment, except for the path below a proxy. */
export function filledPath(path, values) {
  return path.replace(/\{([^}]+)\}/g, (whole, name) => {
    if (!Object.hasOwn(values, name)) return whole;
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

const isJson = (type) => /[/+]json\b/.test(type ?? '');

/** The body as it is sent. */
export function bodyText(request, space) {
  if (request.body === undefined) return undefined;
  return isJson(request.type) || typeof request.body !== 'string' ? JSON.stringify(request.body, null, space) : request.body;
}

export function curl(request, origin) {
  const words = [`curl --cacert "$CA" ${shell(origin + targetOf(request))}`];
  const isImplied = request.body === undefined ? request.method === 'GET' : request.method === 'POST';
  if (request.method === 'HEAD') words.push('--head');
  else if (!isImplied) words.push(`-X ${request.method}`);
  if (request.needsKey) words.push('-H "BT-API-KEY: $KEY"');
  for (const [name, value] of request.headers) words.push(`-H ${shell(`${name}: ${value}`)}`);
  if (request.body !== undefined) {
    words.push(`-H ${shell(`Content-Type: ${request.type}`)}`);
    // With --data, a text that begins with @ would name a file.
    words.push(`--data-raw ${shell(bodyText(request, 2))}`);
  }
  return words.join(' \\\n  ');
}

export function pythonCode(request, origin) {
  const usesEnvironment = ['import os', '', 'import requests', ''];
  const headers = [];
  if (request.needsKey) headers.push('"BT-API-KEY": os.environ["KEY"]');
  for (const [name, value] of request.headers) headers.push(`${python(name)}: ${python(value)}`);
  const lines = [python(origin + targetOf(request))];
  if (request.body !== undefined && request.type !== 'application/json') headers.push(`"Content-Type": ${python(request.type)}`);
  if (headers.length > 0) lines.push(`headers={${headers.join(', ')}}`);
  if (request.body !== undefined) {
    lines.push(isJson(request.type) ? `json=${python(request.body, '    ')}` : `data=${python(bodyText(request))}`);
  }
  lines.push('verify=os.environ["CA"]', 'timeout=30');
  const call = `answer = requests.${request.method.toLowerCase()}(\n${lines.map((it) => `    ${it},\n`).join('')})`;
  return [...usesEnvironment, call, 'print(answer.status_code, answer.text)'].join('\n');
}

export function node(request, origin) {
  const headers = [];
  if (request.needsKey) headers.push('"BT-API-KEY": process.env.KEY');
  for (const [name, value] of request.headers) headers.push(`${javascript(name)}: ${javascript(value)}`);
  if (request.body !== undefined) headers.push(`"Content-Type": ${javascript(request.type)}`);
  const lines = [];
  if (request.method !== 'GET') lines.push(`method: ${javascript(request.method)}`);
  if (headers.length > 0) lines.push(`headers: { ${headers.join(', ')} }`);
  if (request.body !== undefined) {
    lines.push(isJson(request.type) ? `body: JSON.stringify(${javascript(request.body, '  ')})` : `body: ${javascript(bodyText(request))}`);
  }
  const url = javascript(origin + targetOf(request));
  const options = lines.length > 0 ? `, {\n${lines.map((it) => `  ${it},\n`).join('')}}` : '';
  return [
    '// Start it with: NODE_EXTRA_CA_CERTS="$CA" KEY="$KEY" node example.mjs',
    `const answer = await fetch(${url}${options});`,
    'console.log(answer.status, await answer.text());',
  ].join('\n');
}
