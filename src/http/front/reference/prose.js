// Markdown as elements.

import { codeBlock, make, table } from './dom.js';
import { inline, parse, plainText, safeTarget, slug } from './markdown.js';
import { withOwnValues } from './own_values.js';

/** The elements of a Markdown text. Headings begin at `level`, below those around the text. */
export function prose(text, level = 3) {
  return blockElements(typeof text === 'string' ? parse(text) : text, level);
}

/** The elements of one line of Markdown. */
export const line = (text) => inlineElements(inline(text ?? ''));

function blockElements(blocks, level) {
  const least = Math.min(...blocks.filter((it) => it.kind === 'heading').map((it) => it.level), 6);
  return blocks.map((block) => blockElement(block, level, least));
}

function blockElement(block, level, least) {
  switch (block.kind) {
    case 'heading': {
      const depth = Math.min(level + block.level - least, 6);
      const anchor = slug(plainText(block.inline));
      return make(`h${depth}`, { id: `text-${anchor}`, tabindex: '-1' }, inlineElements(block.inline));
    }
    case 'list':
      return make(block.isOrdered ? 'ol' : 'ul', null, block.items.map((item) => make('li', null, itemElements(item, level))));
    case 'table':
      return table('Table', block.head.map(inlineElements), block.rows.map((row) => row.map(inlineElements)));
    case 'code':
      return codeBlock(withOwnValues(block.text), block.language ? `${block.language} code` : 'code', block.language);
    case 'picture':
      return make('img', { class: 'picture', src: `/reference/${block.file}`, alt: block.text });
    default:
      return make('p', null, inlineElements(block.inline));
  }
}

/** An item that is one paragraph needs no paragraph element. */
function itemElements(blocks, level) {
  const [first, ...rest] = blocks;
  if (first?.kind !== 'paragraph') return blockElements(blocks, level);
  return [inlineElements(first.inline), blockElements(rest, level)];
}

function inlineElements(parts) {
  return parts.map((part) => {
    switch (part.kind) {
      case 'code':
        return make('code', null, part.text);
      case 'strong':
        return make('strong', null, inlineElements(part.inline));
      case 'emphasis':
        return make('em', null, inlineElements(part.inline));
      case 'link':
        return linkElement(part);
      default:
        return part.text;
    }
  });
}

function linkElement(part) {
  const href = safeTarget(part.target);
  const children = inlineElements(part.inline);
  if (href === null) return make('span', null, children);
  const isForeign = /^https?:/i.test(href);
  return make('a', { href, rel: isForeign ? 'noreferrer noopener' : null }, children);
}
