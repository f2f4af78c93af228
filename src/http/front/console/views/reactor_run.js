// Running a reactor of a test tenant with arguments that a person types. The call is the published one, with the key
// of a private application: neither a management key nor a role of the console may use tokens, and this page gives
// them no way around it.

import { call } from '../api.js';
import { el, fill } from '../dom.js';
import { parsedJson, showFailure } from '../form_input.js';
import { code, codeBlock, field, notice, sending, tag } from '../parts.js';
import { linesTable, loadLines, noLines } from '../program_lines.js';
import { reasonAgainst } from '../rights.js';
import { signedIn, tokenHolder } from '../session.js';
import { tokenKeyPart } from '../token_key.js';
import { imageOf } from './reactors.js';

const BODY_CHARS_MAX = 100_000;

const WHY = 'A management key and a person of the sign-on cannot use tokens, so a run needs the key of a private application with reactor:invoke or token:use. Expressions in the arguments are evaluated with its rights. It stays in the memory of this page, like the first key.';

/** The reason for which the page does not offer a run, or nothing. */
export const reasonAgainstRun = (counts, permissions) => {
  if (counts.tenant_type !== 'test') {
    return 'The console runs programs of test tenants only, and this is a production tenant: a program can move money. Call the reactor from your own program.';
  }
  if (!counts.runs_programs) return 'No program runs on this server.';
  return reasonAgainst(permissions, ['reactor:update']);
};

/** The body of the call. With the newer images the program gets the whole body. */
export const runBody = (image, text) => {
  const given = parsedJson('Arguments', text);
  return image === 'node-bt' ? { args: given ?? {} } : given ?? {};
};

/** An answer as it is shown: JSON with line breaks, any other text as it is, and not more than a page can hold. */
export const shownAnswer = ({ content, text }) => {
  const whole = content === undefined ? text : JSON.stringify(content, null, 2);
  return whole.length > BODY_CHARS_MAX ? `${whole.slice(0, BODY_CHARS_MAX)}\n... (cut, ${whole.length} characters in all)` : whole;
};

/** The section with the arguments, the button and the answer. `again` draws the view. */
export const runPart = (found, counts, { again, isKept }) => {
  const section = (...content) => el('section', { class: 'card' }, el('h2', {}, 'Run with these arguments'), content);
  const reason = reasonAgainstRun(counts, signedIn().permissions);
  if (reason) return section(notice('', el('p', {}, reason)));
  const holder = tokenHolder();
  const key = tokenKeyPart(again, { use: 'Running with', why: WHY });
  if (!holder) return section(key);
  if (!['reactor:invoke', 'token:use'].some((it) => holder.permissions.has(it))) {
    return section(key, notice('warn', el('p', {}, 'This key cannot call reactors. Needs reactor:invoke or token:use.')));
  }
  const image = imageOf(found);
  const input = el('textarea', { rows: '6', spellcheck: 'false', autocomplete: 'off', class: 'code' });
  input.value = '{}';
  const result = el('div', { 'aria-live': 'polite' });
  const button = el('button', { type: 'submit', class: 'primary' }, 'Run');
  const run = async () => {
    try {
      const body = runBody(image, input.value);
      fill(result, el('p', { class: 'quiet' }, 'The program runs...'));
      const answer = await call('POST', `/reactors/${found.id}/react`, { holder, body, secret: 'both', isWhole: true });
      fill(result, answered(answer), await linesOf(found, answer, isKept));
    } catch (failure) {
      showFailure(result, failure);
    }
  };
  const hint = [image === 'node-bt' ? 'JSON: args of the function. ' : 'JSON: req of the function, the whole body of the call. ',
    'Expressions such as {{ id of a token }} become values. Use test values: the answer is shown as the program gives it.'];
  return section(key,
    el('form', { class: 'editor', onsubmit: sending(button, run) }, field('Arguments', input, hint), button),
    result);
};

const answered = (answer) => {
  if (answer.isRedirect) return notice('warn', el('p', {}, 'The program answered with a redirection, which a browser does not show to a page.'));
  const isGood = answer.status >= 200 && answer.status < 300;
  return [
    el('h3', {}, 'Answer'),
    el('p', { class: 'row' }, tag(`status ${answer.status}`, isGood ? 'good' : 'bad'), `${Math.round(answer.ms)} ms, trace id `, code(answer.traceId ?? 'unknown')),
    answer.text === '' ? el('p', { class: 'quiet' }, 'Without a body.') : codeBlock('Body of the answer', shownAnswer(answer)),
  ];
};

/** The lines of the run alone: they have the trace id of its answer. */
const linesOf = async (found, { traceId }, isKept) => {
  const reason = noLines(isKept);
  const show = async () => {
    const page = await loadLines(`/reactors/${found.id}/logs`, { trace: traceId });
    // Newest first; a run is read from its start.
    return linesTable(page.data.toReversed(), 'The program wrote none.');
  };
  return [el('h3', {}, 'Lines of this run'), reason || !traceId ? el('p', { class: 'quiet' }, reason ?? 'The answer has no trace id.') : await show()];
};
