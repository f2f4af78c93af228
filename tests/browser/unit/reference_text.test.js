// The reference page's parser of Markdown and its literals, without a browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';

import { inline, parse, plainText, safeTarget, slug } from '../../../src/http/front/reference/markdown.js';
import { heredoc, javascript, python, shell, variable } from '../../../src/http/front/reference/quoting.js';

const text = (value) => ({ kind: 'text', text: value });

test('a heading has its level and loses its closing marks', () => {
  assert.deepEqual(parse('## Rate limits ##'), [{ kind: 'heading', level: 2, inline: [text('Rate limits')] }]);
  assert.deepEqual(parse('#tag')[0].kind, 'paragraph');
});

test('the lines of a paragraph are joined', () => {
  assert.deepEqual(parse('one\ntwo\n\nthree'), [
    { kind: 'paragraph', inline: [text('one two')] },
    { kind: 'paragraph', inline: [text('three')] },
  ]);
});

test('a list has items with blocks of their own', () => {
  const [list] = parse('- one\n  goes on\n- two\n  - inner\n\n  ```sh\n  ls -l\n  ```\n\n- three\n\nafter');
  assert.equal(list.isOrdered, false);
  assert.equal(list.items.length, 3);
  assert.equal(plainText(list.items[0][0].inline), 'one goes on');
  assert.deepEqual(list.items[1].map((it) => it.kind), ['paragraph', 'list', 'code']);
  assert.equal(list.items[1][2].text, 'ls -l');
  assert.equal(parse('1. a\n2. b\n\nafter').length, 2);
  assert.equal(parse('1. a\n2. b')[0].isOrdered, true);
});

test('fenced code keeps every character', () => {
  const [code, after] = parse('```json\n{"a": "**b**"}\n\n# no heading\n```\nafter');
  assert.deepEqual(code, { kind: 'code', language: 'json', text: '{"a": "**b**"}\n\n# no heading' });
  assert.equal(plainText(after.inline), 'after');
  assert.equal(parse('```\nnever closed')[0].text, 'never closed');
});

test('a bar in code or after a backslash does not end a cell', () => {
  const [table] = parse('| a | b |\n|---|:-:|\n| `x | y` | 1 \\| 2 |\n| short |');
  assert.deepEqual(table.head.map(plainText), ['a', 'b']);
  assert.deepEqual(table.rows.map((row) => row.map(plainText)), [['x | y', '1 | 2'], ['short', '']]);
});

test('inline marks are read, and names with underscores are not emphasis', () => {
  assert.deepEqual(inline('**a** `b*c*` [d](#e) *f*'), [
    { kind: 'strong', inline: [text('a')] }, text(' '), { kind: 'code', text: 'b*c*' }, text(' '),
    { kind: 'link', target: '#e', inline: [text('d')] }, text(' '), { kind: 'emphasis', inline: [text('f')] },
  ]);
  assert.deepEqual(inline('token_id and key_id, 2 * 3 * 4, \\*x\\*'), [text('token_id and key_id, 2 * 3 * 4, *x*')]);
});

test('a picture of a chapter is a block, and a picture from elsewhere stays text', () => {
  const [before, picture] = parse('before\n![The ways](flow.svg)\n\nafter');
  assert.equal(plainText(before.inline), 'before');
  assert.deepEqual(picture, { kind: 'picture', text: 'The ways', file: 'flow.svg' });
  for (const other of ['![a](https://x.example/a.svg)', '![a](../a.svg)', '![a](a.png)', '![a](/a.svg)', '![](a.svg)']) {
    assert.equal(parse(other)[0].kind, 'paragraph', other);
  }
});

test('HTML in Markdown stays text', () => {
  const [block] = parse('<img src=x onerror=alert(1)>');
  assert.deepEqual(block, { kind: 'paragraph', inline: [text('<img src=x onerror=alert(1)>')] });
});

test('only harmless targets become links', () => {
  for (const target of ['javascript:alert(1)', 'JaVaScRiPt:x', 'data:text/html,x', '//evil.example', '/\\evil.example', 'vbscript:x', 'https://a@evil.example/']) {
    assert.equal(safeTarget(target), null, target);
  }
  assert.equal(safeTarget('/openapi.json'), '/openapi.json');
  assert.equal(safeTarget('https://www.rfc-editor.org/rfc/rfc9457'), 'https://www.rfc-editor.org/rfc/rfc9457');
  assert.equal(safeTarget('#sessions'), '#sessions');
  assert.equal(safeTarget('proxies.md'), '#chapter/proxies');
  assert.equal(safeTarget('../../../../README.md#install'), '#start');
  assert.equal(safeTarget('src/http/front/chapters/proxies.md#transforms'), '#chapter/proxies/transforms');
});

test('deep nesting and unclosed marks end', () => {
  const deep = Array.from({ length: 200 }, (_, depth) => `${' '.repeat(depth * 2)}- x`).join('\n');
  assert.ok(parse(deep).length > 0);
  assert.equal(plainText(inline('**a '.repeat(1000))), '**a '.repeat(1000));
  assert.equal(plainText(inline('[a'.repeat(1000))), '[a'.repeat(1000));
  assert.equal(slug('3-D Secure: how?'), '3-d-secure-how');
});

/** Texts that break careless quoting. */
const NASTY = [
  '', ' ', "it's", '"', '\\', "\\'", '$HOME', '`id`', '$(id)', '!!', '@file', '-x', 'a\nb', 'tab\t', '%s', '#{x}', '${x}',
  '\u2028\u2029', '\u007f', '\ud83d\ude00', '{{ t | json: \'$.number\' }}', '__proto__', '</script>', '~', '*', '[a]',
];

test('a shell reads back what was quoted', () => {
  for (const value of NASTY) {
    const out = execFileSync('sh', ['-c', `printf %s ${shell(value)}x`]);
    assert.equal(out.toString(), `${value}x`);
  }
});

test('a variable in a value is read from the shell, in every language', () => {
  const value = `a "$HOME" \\ \`id\` ${variable('ID')}'$.number'`;
  const expected = 'a "$HOME" \\ `id` 7\'$.number\'';
  const env = { ...process.env, ID: '7' };
  const run = (program, ...words) => execFileSync(program, words, { env }).toString();
  assert.equal(run('sh', '-c', `printf %s ${shell(value)}`), expected);
  assert.equal(run('sh', '-c', `cat <<END\n${heredoc(value)}\nEND`), `${expected}\n`);
  assert.equal(run('python3', '-c', `import os\nprint(${python(value)}, end="")`), expected);
  assert.equal(run('node', '-e', `process.stdout.write(${javascript(value)})`), expected);
});

const VALUES = [...NASTY, 0, -1.5, 1e21, true, false, null, [], {}, [1, [2]], { 'a-b': [NASTY] },
  JSON.parse('{"__proto__": {"a": 1}, "b": null}'), { long: 'x'.repeat(90), other: ['y'.repeat(60), null, true] }];

test('JavaScript reads back what was quoted', () => {
  for (const value of VALUES) {
    const back = new Function(`return ${javascript(value)};`)();
    assert.equal(JSON.stringify(back), JSON.stringify(value), javascript(value));
  }
});

test('Python reads back what was quoted', () => {
  const program = `import json\nprint(json.dumps([${VALUES.map((it) => python(it)).join(',\n')}]))`;
  const back = JSON.parse(execFileSync('python3', ['-c', program]).toString());
  assert.deepEqual(JSON.stringify(back), JSON.stringify(VALUES));
});
