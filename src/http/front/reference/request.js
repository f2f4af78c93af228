// The request that try-it sends, made from the texts of its inputs. It never leaves this origin.

import { filledPath, isWildcard, targetOf } from './examples.js';

/** Methods that replace or remove something that exists. */
const DESTRUCTIVE = new Set(['DELETE', 'PATCH', 'PUT']);

/** A request, or the mistakes in the inputs. `values` has texts by place and name of the parameters. */
export function makeRequest(operation, values, bodyInput, origin) {
  const mistakes = [];
  const path = {};
  const request = { method: operation.method, query: [], headers: [] };
  for (const parameter of operation.parameters) {
    const value = values[parameter.place]?.[parameter.name] ?? '';
    if (value === '') {
      if (parameter.isRequired || parameter.place === 'path') mistakes.push(`${parameter.name} is missing.`);
    } else if (parameter.place === 'path') {
      // A browser removes such a segment together with the one before it, even when it is escaped.
      const segments = isWildcard(operation.path, parameter.name) ? value.split('/') : [value];
      if (segments.some((it) => /^\.{1,2}$/.test(it))) mistakes.push(`${parameter.name} must not have "." or ".." as a part.`);
      path[parameter.name] = value;
    } else if (parameter.place === 'query') {
      request.query.push([parameter.name, value]);
    } else if (parameter.place === 'header') {
      if (/[^\t\x20-\x7e]/.test(value)) mistakes.push(`${parameter.name} must be one line of ASCII.`);
      request.headers.push([parameter.name, value]);
    }
  }
  request.path = filledPath(operation.path, path);
  if (bodyInput && bodyInput.text.trim() !== '') {
    if (/json/.test(bodyInput.type) && !isJson(bodyInput.text)) mistakes.push('The body is not JSON.');
    request.body = bodyInput.text;
    request.headers.push(['Content-Type', bodyInput.type]);
  } else if (operation.body?.isRequired) {
    mistakes.push('The body is missing.');
  }
  const url = sameOriginUrl(targetOf(request), origin);
  if (url === null) mistakes.push('The address would leave this server.');
  return mistakes.length > 0 ? { mistakes } : { request: { ...request, url } };
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The whole address, or `null` if it would be one of another server. */
export function sameOriginUrl(target, origin) {
  if (!target.startsWith('/') || /^\/[/\\]/.test(target)) return null;
  try {
    const url = new URL(target, origin);
    return url.origin === origin && url.username === '' ? url.href : null;
  } catch {
    return null;
  }
}

/** The question before a request that changes something for good, or `null` when none is needed. */
export function confirmation({ method, summary = '', description = '' }, path, key) {
  const isProduction = key.startsWith('key_') && !key.startsWith('key_test_');
  if (DESTRUCTIVE.has(method)) {
    const act = method === 'DELETE' ? 'deletes' : 'changes';
    const whose = isProduction ? 'real data of a production tenant' : 'data of this server';
    // The words of the document name the thing, and all that is lost with it.
    const what = [summary && `${summary}.`, firstSentence(description)].filter(Boolean).join(' ');
    return [what, `${method} ${path} ${act} ${whose}. It cannot be undone.`].filter(Boolean).join(' ');
  }
  if (isProduction && method === 'POST') return `${method} ${path} acts on real data of a production tenant.`;
  return null;
}

const firstSentence = (text) => /^[^]*?\.(?=\s|$)/.exec(text)?.[0].replaceAll('`', '') ?? '';

/** A body for people: JSON with indents, anything else as it came. Digits of numbers stay as they are. */
export function readable(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  return indented(text);
}

/** Indents valid JSON without parsing its numbers: JavaScript would round long ones. */
function indented(text) {
  let out = '';
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) ?? [];
  for (const [at, token] of tokens.entries()) {
    const isEmpty = (token === '{' && tokens[at + 1] === '}') || (token === '[' && tokens[at + 1] === ']');
    const endsEmpty = (token === '}' && tokens[at - 1] === '{') || (token === ']' && tokens[at - 1] === '[');
    if (token === '{' || token === '[') {
      depth += 1;
      out += isEmpty ? token : token + line();
    } else if (token === '}' || token === ']') {
      depth -= 1;
      out += endsEmpty ? token : line() + token;
    } else if (token === ',') out += token + line();
    else out += token === ':' ? ': ' : token;
  }
  return out;
}
