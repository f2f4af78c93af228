//: package lib/package.json {"main": "./lib/main", "exports": {".": {"import": "./no.mjs", "require": "./lib/main.js"}, "./part/*": "./parts/*.js"}}
//: package lib/lib/main.js exports.name = require('./inner').name + require('../data.json').n + typeof require('crypto').createHash; exports.dir = __dirname;
//: package lib/lib/inner/index.js exports.name = 'inner'; exports.up = require('../main');
//: package lib/data.json {"n": 5}
//: package lib/parts/a.js module.exports = 'part a';
//: package @scope/x/index.js module.exports = require('deep');
//: package @scope/x/node_modules/deep/index.js module.exports = 'nested deep';
//: package @scope/x/node_modules/deep/package.json {}
//: package deep/index.js module.exports = 'deep';
//: outcome {"kind":"returned","value":["inner5function","lib/lib","part a","nested deep","deep",true,"MODULE_NOT_FOUND","MODULE_NOT_FOUND","MODULE_NOT_FOUND"]}
const failure = (name) => {
  try {
    return require(name);
  } catch (error) {
    return error.code;
  }
};
module.exports = () => [require('lib').name, require('lib').dir, require('lib/part/a'), require('@scope/x'),
  require('deep'), require('lib') === require('lib'), failure('./lib'), failure('lib/../../etc/passwd'), failure('/etc/passwd')];
