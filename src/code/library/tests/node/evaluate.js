// Evaluates a list of expressions, in Node and in the engine. The answers are compared.
'use strict';

const shown = (value) => {
  if (value === undefined) { return 'undefined'; }
  return JSON.stringify(value);
};

module.exports = async (lines, keys, crypto) => {
  const answers = [];
  for (const line of lines) {
    try {
      const make = new Function('require', 'keys', 'crypto', 'return (' + line + ');');
      answers.push(shown(await make(require, keys, crypto)));
    } catch (error) {
      answers.push('throws ' + error.name);
    }
  }
  return answers;
};
