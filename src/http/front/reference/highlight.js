// Colours for code: comments, texts, numbers, names of members and words of the language. A mistake
// in the reading of a language costs a colour and nothing else.

const WORDS = 'await|const|def|except|export|for|from|import|in|new|print|return|try|with|None|True|False|null|true|false|curl|strongroom';
const COMMENTS = { hash: '(?:^|(?<=\\s))#[^\\n]*', slashes: '(?:^|(?<=\\s))//[^\\n]*', none: '(?!)' };
const COMMENT_OF = { js: 'slashes', node: 'slashes', go: 'slashes', java: 'slashes', json: 'none', html: 'none', text: 'none' };

function pattern(language) {
  const comment = COMMENTS[COMMENT_OF[language] ?? 'hash'];
  const text = '"(?:\\\\.|[^"\\\\\\n])*"|\'[^\']*\'|`[^`]*`';
  // An address has no colour; its digits would have one.
  return new RegExp(`https?://[^\\s"']+|(${comment})|("(?:\\\\.|[^"\\\\\\n])*"(?=\\s*:))|(${text})|(\\$\\w+)|(\\b\\d[\\d.]*\\b)|(?<![-/.])(\\b(?:${WORDS})\\b)(?![-.])`, 'gm');
}

const KINDS = ['comment', 'member', 'text', 'variable', 'number', 'word'];

/** The parts of the code, each as its kind and its text. Texts of no kind have `null`. */
export function highlighted(code, language) {
  if (!language || language === 'text') return [[null, code]];
  const parts = [];
  let end = 0;
  for (const match of code.matchAll(pattern(language))) {
    const kind = KINDS[match.slice(1).findIndex((it) => it !== undefined)] ?? null;
    parts.push([null, code.slice(end, match.index)], [kind, match[0]]);
    end = match.index + match[0].length;
  }
  return [...parts, [null, code.slice(end)]].filter(([, text]) => text !== '');
}
