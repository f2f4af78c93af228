// `stream/promises`.
'use strict';

module.exports = require('stream.js').promises;
