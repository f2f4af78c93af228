// Writes `answers.txt`: node make_answers.js
'use strict';

const fs = require('fs');
const path = require('path');

const read = (name) => fs.readFileSync(path.join(__dirname, name), 'utf8');
const lines = read('expressions.txt').trimEnd().split('\n');

require('./evaluate.js')(lines, JSON.parse(read('keys.json')), require('crypto')).then((answers) => {
  fs.writeFileSync(path.join(__dirname, 'answers.txt'), answers.join('\n') + '\n');
});
