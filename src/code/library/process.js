// `process`, as far as packages look at it. The environment is empty.
'use strict';

const EventEmitter = require('events.js');
const ports = require('ports');

const started = ports.now();
const absent = (name) => () => {
  throw new Error(`process.${name} is not available to programs`);
};
const sink = (level) => ({
  isTTY: false,
  fd: level === 'info' ? 1 : 2,
  write: (text) => { ports.log(level, String(text).replace(/\n$/, '')); return true; },
});
const hrtime = (before) => {
  const ms = ports.now() - started;
  const [s, ns] = [Math.floor(ms / 1000), (ms % 1000) * 1e6];
  if (before === undefined) { return [s, ns]; }
  const borrow = ns < before[1] ? 1 : 0;
  return [s - before[0] - borrow, ns - before[1] + borrow * 1e9];
};
hrtime.bigint = () => BigInt(ports.now() - started) * 1000000n;

const process = Object.assign(new EventEmitter(), {
  arch: 'x64',
  argv: ['node', 'program.js'],
  browser: undefined,
  cwd: () => '/',
  emitWarning: () => {},
  env: {},
  execArgv: [],
  exit: absent('exit'),
  abort: absent('abort'),
  kill: absent('kill'),
  chdir: absent('chdir'),
  binding: absent('binding'),
  dlopen: absent('dlopen'),
  hrtime,
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  nextTick: (work, ...given) => { Promise.resolve().then(() => work(...given)); },
  pid: 1,
  platform: 'linux',
  release: { name: 'node' },
  stderr: sink('error'),
  stdout: sink('info'),
  title: 'program',
  umask: () => 0o22,
  uptime: () => (ports.now() - started) / 1000,
  version: 'v22.0.0',
  versions: { node: '22.0.0' },
});

module.exports = process;
Object.defineProperty(process, 'process', { value: process });
