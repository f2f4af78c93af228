// `os`: constants, since a program learns nothing about its machine.
'use strict';

module.exports = {
  EOL: '\n',
  arch: () => 'x64',
  constants: { signals: {} },
  cpus: () => [],
  endianness: () => 'LE',
  freemem: () => 0,
  homedir: () => '/',
  hostname: () => 'program',
  loadavg: () => [0, 0, 0],
  networkInterfaces: () => ({}),
  platform: () => 'linux',
  release: () => '0',
  tmpdir: () => '/tmp',
  totalmem: () => 0,
  type: () => 'Linux',
  uptime: () => 0,
  userInfo: () => ({ username: 'program' }),
  version: () => '0',
};
