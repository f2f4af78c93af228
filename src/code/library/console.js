// `console`, and the logger of the newer contract. Lines go to the log of the program alone.
'use strict';

const { format, inspect } = require('util.js');
const ports = require('ports');

const counts = new Map();
const timers = new Map();
let indent = '';

const writer = (level) => (...given) => {
  ports.log(level, indent + format(...given).replace(/\n/g, '\n' + indent));
};
const seconds = (label) => `${label}: ${ports.now() - (timers.get(label) || ports.now())}ms`;

const console = {
  log: writer('info'),
  info: writer('info'),
  debug: writer('debug'),
  warn: writer('warn'),
  error: writer('error'),
  trace: (...given) => ports.log('debug', 'Trace: ' + format(...given)),
  dir: (value, options) => ports.log('info', inspect(value, options)),
  dirxml: writer('info'),
  table: (value) => ports.log('info', inspect(value)),
  assert: (condition, ...given) => {
    if (!condition) { ports.log('error', 'Assertion failed' + (given.length ? ': ' + format(...given) : '')); }
  },
  count: (label = 'default') => {
    counts.set(label, (counts.get(label) || 0) + 1);
    ports.log('info', `${label}: ${counts.get(label)}`);
  },
  countReset: (label = 'default') => { counts.delete(label); },
  group: (...given) => {
    if (given.length > 0) { console.log(...given); }
    indent += '  ';
  },
  groupCollapsed: (...given) => console.group(...given),
  groupEnd: () => { indent = indent.slice(2); },
  time: (label = 'default') => { timers.set(label, ports.now()); },
  timeLog: (label = 'default', ...given) => ports.log('info', [seconds(label), format(...given)].join(' ').trim()),
  timeEnd: (label = 'default') => {
    ports.log('info', seconds(label));
    timers.delete(label);
  },
  clear: () => {},
};

const logger = {
  debug: writer('debug'),
  error: writer('error'),
  fatal: writer('error'),
  info: writer('info'),
  log: writer('info'),
  trace: writer('debug'),
  warn: writer('warn'),
};
// A program that returns its whole argument does not fail at it.
Object.defineProperty(logger, 'toJSON', { value: () => undefined });

module.exports = { ...console, console, logger };
