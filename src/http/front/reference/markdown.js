// A parser for the part of Markdown that chapters and descriptions use: headings, paragraphs, lists,
// tables, pictures, fenced code, inline code, links, bold and emphasis. It returns plain objects and knows no
// DOM, so that its tests run in Node. HTML in the text stays text.

const FENCE = /^( {0,3})(`{3,}|~{3,})\s*([\w+-]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)(?:\s+#+)?\s*$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( {1,4})(.*)$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
/** A picture of a chapter, on a line of its own. */
const PICTURE = /^!\[([^\]]+)\]\(([\w-]+\.svg)\)\s*$/;
const DELIMITER = /^\s*\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?$/;
/** Deeper lists are read as text: no chapter has them, and the parser's stack stays small. */
const DEPTH_MAX = 8;

/** The blocks of a Markdown text. */
export function parse(text, depth = 0) {
  const lines = String(text ?? '').replace(/\r\n?/g, '\n').replace(/\t/g, '    ').split('\n');
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at].trim() === '') {
      at += 1;
      continue;
    }
    const [block, next] = readBlock(lines, at, depth);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

function readBlock(lines, at, depth) {
  const line = lines[at];
  if (FENCE.test(line)) return readFence(lines, at);
  const heading = HEADING.exec(line);
  if (heading) return [{ kind: 'heading', level: heading[1].length, inline: inline(heading[2]) }, at + 1];
  if (RULE.test(line)) return [null, at + 1];
  const picture = PICTURE.exec(line);
  if (picture) return [{ kind: 'picture', text: picture[1], file: picture[2] }, at + 1];
  if (ITEM.test(line) && depth < DEPTH_MAX) return readList(lines, at, depth);
  if (isTable(lines, at)) return readTable(lines, at);
  return readParagraph(lines, at, depth);
}

function readFence(lines, at) {
  const [, indent, fence, language] = FENCE.exec(lines[at]);
  const end = new RegExp(`^ {0,3}${fence[0]}{${fence.length},}\\s*$`);
  const code = [];
  let next = at + 1;
  while (next < lines.length && !end.test(lines[next])) {
    code.push(withoutIndent(lines[next], indent.length));
    next += 1;
  }
  return [{ kind: 'code', language, text: code.join('\n') }, next + 1];
}

function withoutIndent(line, width) {
  let spaces = 0;
  while (spaces < width && line[spaces] === ' ') spaces += 1;
  return line.slice(spaces);
}

/** The lines of an item are those that are indented to its text, and those that go on its paragraph. */
function readList(lines, at, depth) {
  const isOrdered = /\d/.test(ITEM.exec(lines[at])[2]);
  const items = [];
  let next = at;
  while (next < lines.length) {
    const item = ITEM.exec(lines[next]);
    if (!item || /\d/.test(item[2]) !== isOrdered || RULE.test(lines[next])) break;
    const width = item[1].length + item[2].length + item[3].length;
    const own = [item[4]];
    next += 1;
    while (next < lines.length && belongs(lines, next, width)) {
      own.push(withoutIndent(lines[next], width));
      next += 1;
    }
    items.push(parse(own.join('\n'), depth + 1));
    while (lines[next]?.trim() === '' && ITEM.test(lines[next + 1] ?? '')) next += 1;
  }
  return [{ kind: 'list', isOrdered, items }, next];
}

function belongs(lines, at, width) {
  const line = lines[at];
  const isIndented = (it) => it.startsWith(' '.repeat(width));
  if (line.trim() === '') return lines[at + 1] !== undefined && isIndented(lines[at + 1]);
  if (isIndented(line)) return true;
  return lines[at - 1].trim() !== '' && !startsBlock(line);
}

const startsBlock = (line) => [FENCE, HEADING, ITEM, PICTURE, RULE].some((it) => it.test(line));

function isTable(lines, at) {
  return lines[at].includes('|') && DELIMITER.test(lines[at + 1] ?? '') && lines[at + 1].includes('|');
}

function readTable(lines, at) {
  const head = cells(lines[at]).map(inline);
  const rows = [];
  let next = at + 2;
  while (next < lines.length && lines[next].includes('|') && lines[next].trim() !== '') {
    const row = cells(lines[next]).map(inline);
    rows.push(head.map((_, index) => row[index] ?? []));
    next += 1;
  }
  return [{ kind: 'table', head, rows }, next];
}

/** A bar inside of inline code or after a backslash does not end a cell. */
function cells(line) {
  const found = [];
  let cell = '';
  let isCode = false;
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === '\\' && line[at + 1] === '|') {
      cell += '|';
      at += 1;
    } else if (line[at] === '|' && !isCode) {
      found.push(cell.trim());
      cell = '';
    } else {
      if (line[at] === '`') isCode = !isCode;
      cell += line[at];
    }
  }
  found.push(cell.trim());
  if (found[0] === '') found.shift();
  if (found.at(-1) === '') found.pop();
  return found;
}

function readParagraph(lines, at, depth) {
  const own = [lines[at].trim()];
  let next = at + 1;
  while (next < lines.length && lines[next].trim() !== '') {
    const begins = startsBlock(lines[next]) && !(ITEM.test(lines[next]) && depth >= DEPTH_MAX);
    if (begins || isTable(lines, next)) break;
    own.push(lines[next].trim());
    next += 1;
  }
  return [{ kind: 'paragraph', inline: inline(own.join(' ')) }, next];
}

const CODE = /^(`+)([\s\S]*?[^`])\1(?!`)/;
const LINK = /^\[((?:[^\[\]`]|`[^`]*`)+)\]\(\s*<?([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)>?(?:\s+"[^"]*")?\s*\)/;
const STRONG = /^(\*\*|__)(?=\S)([\s\S]*?\S)\1/;
const EMPHASIS = /^([*_])(?=[^\s*_])([\s\S]*?[^\s*_])\1(?!\w)/;
const ESCAPE = /^\\([!-/:-@[-`{-~])/;

/** The parts of a line of text: `text`, `code`, `link`, `strong` and `emphasis`. */
export function inline(text, depth = 0) {
  const parts = [];
  let rest = text;
  let before = '';
  while (rest !== '') {
    // Most characters start nothing; one step takes them all.
    const plain = /^[^\\`[*_]+/.exec(rest);
    const [part, length] = plain ? [{ kind: 'text', text: plain[0] }, plain[0].length] : readInline(rest, before, depth);
    const last = parts.at(-1);
    if (part.kind === 'text' && last?.kind === 'text') last.text += part.text;
    else parts.push(part);
    before = rest[length - 1];
    rest = rest.slice(length);
  }
  return parts;
}

function readInline(rest, before, depth) {
  const found = (pattern) => (depth < DEPTH_MAX ? pattern.exec(rest) : null);
  const escape = ESCAPE.exec(rest);
  if (escape) return [{ kind: 'text', text: escape[1] }, 2];
  const code = CODE.exec(rest);
  if (code) return [{ kind: 'code', text: code[2].replace(/^ (.*) $/, '$1') }, code[0].length];
  const link = found(LINK);
  if (link) return [{ kind: 'link', target: link[2], inline: inline(link[1], depth + 1) }, link[0].length];
  // A name such as token_id has no emphasis in it.
  const isInWord = /\w/.test(before) && rest[0] === '_';
  const strong = isInWord ? null : found(STRONG);
  if (strong) return [{ kind: 'strong', inline: inline(strong[2], depth + 1) }, strong[0].length];
  const emphasis = isInWord ? null : found(EMPHASIS);
  if (emphasis) return [{ kind: 'emphasis', inline: inline(emphasis[2], depth + 1) }, emphasis[0].length];
  return [{ kind: 'text', text: rest[0] }, 1];
}

/** The text of inline parts without their marks. */
export function plainText(parts) {
  return parts.map((part) => part.text ?? plainText(part.inline)).join('');
}

/** The anchor of a heading, as code forges make it. */
export function slug(text) {
  return text.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').trim().replace(/\s/g, '-');
}

/**
 * A link's target as the page may use it, or `null` for a target that it must not follow. Chapters
 * link to each other by file name; the page has them under their own addresses.
 */
export function safeTarget(target) {
  const chapter = /^(?:\.\/)?(?:[\w.-]+\/)*([\w-]+)\.md(?:#([\w-]+))?$/.exec(target);
  // The page has no README; its start says the same.
  if (chapter?.[1] === 'README') return '#start';
  if (chapter) return `#chapter/${chapter[1].toLowerCase()}${chapter[2] ? `/${chapter[2]}` : ''}`;
  if (/^#[\w/.:-]*$/.test(target)) return target;
  if (/^\/(?![/\\])[\w/.?=&%#-]*$/.test(target)) return target;
  if (/^https?:\/\/[\w.-]+(?::\d+)?(?:[/?#]\S*)?$/i.test(target)) return target;
  return null;
}
