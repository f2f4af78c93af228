// `util/types`.
'use strict';

module.exports = require('util.js').types;
